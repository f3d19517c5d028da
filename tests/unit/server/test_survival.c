/* SPDX-License-Identifier: Apache-2.0 */
/* test_survival.c - what is left after a kill, a crash in triage and a full disk.
 *
 * The server runs in a child process. This process has no threads, so it may fork. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "started_server.h"
#include "store.h"

static pid_t child; /* 0: none */

static void kill_child(int signal_number)
{
    int status;
    if (child <= 0)
        return;
    assert_int_equal(kill(child, signal_number), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    child = 0;
}

static int clean_up(void **state)
{
    if (child > 0)
        kill_child(SIGKILL);
    return remove_server(state);
}

/* Run the server in a child until it is killed. `file_bytes_max` above 0: no file may grow beyond that. SIGUSR1 removes
 * the limit. */
static void lift_limit(int signal_number)
{
    (void)signal_number;
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static rlim_t descriptors_max; /* of the child; 0: no limit */

static void start_child(rlim_t file_bytes_max)
{
    int ends[2];
    uint16_t port = 0;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        signal(SIGXFSZ, SIG_IGN); /* like a full disk: write fails, without a signal */
        signal(SIGUSR1, lift_limit);
        if (descriptors_max && setrlimit(RLIMIT_NOFILE, &(struct rlimit){descriptors_max, descriptors_max}) != 0)
            _exit(1);
        fixture_start(&fixture);
        if (file_bytes_max) {
            struct rlimit limit;
            getrlimit(RLIMIT_FSIZE, &limit);
            limit.rlim_cur = file_bytes_max;
            setrlimit(RLIMIT_FSIZE, &limit);
        }
        if (write(ends[1], &fixture.port, sizeof(fixture.port)) != sizeof(fixture.port))
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &port, sizeof(port)), sizeof(port));
    close(ends[0]);
    fixture.port = port;
}

static void test_what_was_answered_is_there_after_kill_9_between_posts(void **state)
{
    (void)state;
    struct envelope envelopes[4];
    for (size_t i = 0; i < 4; i++) {
        envelopes[i] = envelope_of(SBX_SCENARIO_SLEEP, i + 1);
        start_child(0);
        post_stored(fixture.port, &envelopes[i]);
        kill_child(SIGKILL);
    }
    start_child(0);
    for (size_t i = 0; i < 4; i++) {
        assert_true(wait_for_triage(fixture.port, envelopes[i].id));
        post_stored(fixture.port, &envelopes[i]);
        envelope_finish(&envelopes[i]);
    }
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 4);
    assert_true(metric(fixture.port, "stallbox_snapshots_duplicates_total") == 4);
    assert_true(metric(fixture.port, "stallbox_snapshots_stored_total") == 0);
}

/* Put a payload into the store without triage, as a server leaves it that was killed in between. */
static struct envelope store_untriaged(uint64_t seed, unsigned attempts)
{
    struct envelope envelope = envelope_of(SBX_SCENARIO_LOCK, seed);
    struct sbx_store *store;
    struct sbx_stall *stall;
    enum sbx_stored stored;
    char why[200];
    assert_int_equal(sbx_store_open(fixture.data_dir, "0", &store, why, sizeof(why)), 0);
    assert_int_equal(sbx_stall_decode(envelope.bytes, envelope.count, &stall, why, sizeof(why)), 0);
    assert_int_equal(sbx_store_put(store, stall, envelope.bytes, envelope.count, (int64_t)time(NULL) * 1000, &stored),
                     0);
    for (unsigned i = 0; i < attempts; i++)
        assert_int_equal(sbx_store_begin_triage(store, stall->payload_id), 0);
    sbx_stall_destroy(stall);
    sbx_store_close(store);
    return envelope;
}

static void test_pending_triage_is_resumed_at_the_next_start(void **state)
{
    (void)state;
    struct envelope first = store_untriaged(1, 0), second = store_untriaged(2, 2);
    fixture_start(&fixture);
    assert_true(wait_for_triage(fixture.port, first.id));
    assert_true(wait_for_triage(fixture.port, second.id));
    assert_true(metric(fixture.port, "stallbox_triaged_total") == 2);
    assert_true(metric(fixture.port, "stallbox_triage_seconds_count") == 2);
    fixture_stop(&fixture);
    envelope_finish(&first);
    envelope_finish(&second);
}

static void test_a_payload_that_took_the_server_down_too_often_is_shown_as_failed(void **state)
{
    (void)state;
    char path[80];
    struct envelope poison = store_untriaged(1, SBX_TRIAGE_ATTEMPTS_MAX), good = store_untriaged(2, 0);
    fixture_start(&fixture);
    assert_false(wait_for_triage(fixture.port, poison.id));
    assert_true(wait_for_triage(fixture.port, good.id));
    snprintf(path, sizeof(path), "/stalls/%s", poison.id);
    struct answer answer = get(fixture.port, path);
    assert_int_equal(answer.status, 200);
    assert_true(answer_has(&answer, "triage failed"));
    assert_true(answer_has(&answer, "never came to an end"));
    answer_finish(&answer);
    snprintf(path, sizeof(path), "/v1/snapshots/%s.json", poison.id);
    answer = get(fixture.port, path);
    assert_int_equal(answer.status, 404);
    answer_finish(&answer);
    assert_true(metric(fixture.port, "stallbox_triage_failed_total") == 1);
    assert_true(metric(fixture.port, "stallbox_store_failed") == 1);
    fixture_stop(&fixture);
    envelope_finish(&poison);
    envelope_finish(&good);
}

/* A payload in the store that this server cannot decode: damaged, or from a client that is newer than the server. */
static void test_a_payload_that_cannot_be_decoded_is_shown_as_failed(void **state)
{
    (void)state;
    char path[100];
    sqlite3 *db;
    struct envelope envelope = store_untriaged(1, 0);
    snprintf(path, sizeof(path), "%s/store.db", fixture.data_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE payload SET envelope = x'00112233'", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    fixture_start(&fixture);
    assert_false(wait_for_triage(fixture.port, envelope.id));
    struct answer answer = get(fixture.port, "/");
    assert_true(answer_has(&answer, "triage failed"));
    answer_finish(&answer);
    fixture_stop(&fixture);
    envelope_finish(&envelope);
}

static void test_a_full_disk_acknowledges_nothing_and_recovers(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 1);
    start_child(4096);
    struct answer answer = post(fixture.port, envelope.bytes, envelope.count);
    assert_int_equal(answer.status, 503);
    assert_non_null(strstr(answer.headers.data, "Retry-After: "));
    assert_false(answer_has(&answer, "STALLBOX-STORED"));
    answer_finish(&answer);
    assert_true(metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"store\"}") == 1);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 0);
    assert_int_equal(kill(child, SIGUSR1), 0);
    for (int i = 0; i < 100; i++) {
        answer = post(fixture.port, envelope.bytes, envelope.count);
        long status = answer.status;
        answer_finish(&answer);
        if (status == 200)
            break;
        sleep_ms(20);
    }
    post_stored(fixture.port, &envelope);
    assert_true(wait_for_triage(fixture.port, envelope.id));
    envelope_finish(&envelope);
}

/* More connections than the server has places for. The first ones hold all places; the others wait to be accepted. */
static void test_connections_that_say_nothing_do_not_keep_a_visitor_out(void **state)
{
    (void)state;
    enum {
        DESCRIPTORS = 300,
        SILENT = 400
    };
    int silent[SILENT];
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 1);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    descriptors_max = DESCRIPTORS;
    start_child(0);
    descriptors_max = 0;
    address.sin_port = htons(fixture.port);
    for (int i = 0; i < SILENT; i++) {
        silent[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(silent[i] >= 0);
        int result = connect(silent[i], (struct sockaddr *)&address, sizeof(address));
        assert_true(result == 0 || errno == EINPROGRESS); /* the kernel's queue may be full; it tries again */
    }
    post_stored(fixture.port, &envelope);                            /* within the client's time-out of a minute */
    assert_int_equal(wait_for_triage(fixture.port, envelope.id), 1); /* triage has the descriptors that it needs */
    struct answer answer = get(fixture.port, "/healthz");
    assert_int_equal(answer.status, 200);
    answer_finish(&answer);
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
    envelope_finish(&envelope);
}

int main(void)
{
#define ALONE(name) cmocka_unit_test_setup_teardown(name, prepare_server, clean_up)
    const struct CMUnitTest tests[] = {
        ALONE(test_what_was_answered_is_there_after_kill_9_between_posts),
        ALONE(test_pending_triage_is_resumed_at_the_next_start),
        ALONE(test_a_payload_that_took_the_server_down_too_often_is_shown_as_failed),
        ALONE(test_a_payload_that_cannot_be_decoded_is_shown_as_failed),
        ALONE(test_a_full_disk_acknowledges_nothing_and_recovers),
        ALONE(test_connections_that_say_nothing_do_not_keep_a_visitor_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
