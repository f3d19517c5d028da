/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_servers.c - a server with its symbols in Redis. Stalls get their names from there and wait when it goes
 * away. If it stays away they are reported without names, and they get their names when it is back. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "redis_servers.h"
#include "sample_stall.h"
#include "started_server.h"

enum {
    SOON_MS = 60000, /* the most that anything takes */
    LOOK_MS = 50,
    PATIENCE_MS = 2000, /* the server's patience, where it should end */
};

static struct redis_server redis;
static char where[128], socket_path[100], log_path[100];

static int prepare(void **state)
{
    prepare_server(state);
    redis_server_start(&redis, false, NULL, NULL);
    snprintf(where, sizeof(where), "redis://127.0.0.1:%u", redis.port);
    snprintf(log_path, sizeof(log_path), "%s/log", fixture.data_dir);
    fixture.options.symbol_store = where;
    fixture.options.symbol_patience_ms = PATIENCE_MS;
    fixture.options.log.out = fopen(log_path, "w");
    return fixture.options.log.out ? 0 : -1;
}

static int finish(void **state)
{
    FILE *log = fixture.options.log.out;
    fixture_stop(&fixture);
    if (log)
        fclose(log);
    redis_server_stop(&redis);
    return remove_server(state);
}

/* The same Redis server through its Unix socket. */
static void use_socket(void)
{
    redis_server_kill(&redis);
    snprintf(socket_path, sizeof(socket_path), "%s/socket", redis.folder);
    redis_server_restart(&redis, "--unixsocket", socket_path);
    snprintf(where, sizeof(where), "unix:%s", socket_path);
}

/* As a machine that loses power; its data is on its disk. */
static void take_away(void)
{
    freeReplyObject(redis_server_ask(&redis, "SAVE"));
    redis_server_kill(&redis);
}

static void bring_back(void)
{
    if (strncmp(where, "unix:", 5) == 0)
        redis_server_restart(&redis, "--unixsocket", socket_path);
    else
        redis_server_restart(&redis, NULL, NULL);
}

/* How often the log contains `text`. */
static int logged(const char *text)
{
    static char log[1 << 16];
    int fd = open(log_path, O_RDONLY | O_CLOEXEC), count = 0;
    ssize_t bytes = read(fd, log, sizeof(log) - 1);
    close(fd);
    log[bytes > 0 ? bytes : 0] = '\0';
    for (const char *at = log; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

static void wait_for_log(const char *text)
{
    for (int waited = 0; logged(text) == 0; waited += LOOK_MS) {
        if (waited > SOON_MS)
            fail_msg("the log never says \"%s\"", text);
        sleep_ms(LOOK_MS);
    }
}

static struct answer put(const void *bytes, size_t count)
{
    return ask(fixture.port, &(struct question){.method = "PUT",
                                                .path = "/v1/symbols",
                                                .body = bytes,
                                                .body_bytes = count,
                                                .header = "Content-Type: application/octet-stream"});
}

static void upload(const void *bytes, size_t count)
{
    struct answer answer = put(bytes, count);
    if (answer.status != 201)
        fail_msg("%ld: %.300s", answer.status, answer.body.data ? answer.body.data : "");
    answer_finish(&answer);
}

static char *read_sample(size_t *count_out)
{
    struct stat status;
    int fd = open(SAMPLE_DEBUG, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    char *bytes = malloc((size_t)status.st_size);
    assert_int_equal(read(fd, bytes, (size_t)status.st_size), status.st_size);
    close(fd);
    *count_out = (size_t)status.st_size;
    return bytes;
}

static void upload_sample(void)
{
    size_t count;
    char *bytes = read_sample(&count);
    upload(bytes, count);
    free(bytes);
}

/* Upload unused names of a runtime, which makes workers ask again for what they knew. */
static void upload_map(void)
{
    static const char map[] = "stallbox-provider-map 1\ttoy\nd1450bc5fa9af7e6\t3\ttoy.script\tspin_the_wheel\n";
    upload(map, strlen(map));
}

static void post_sample(uint64_t seed, char id[33])
{
    struct envelope envelope = sample_stall(seed);
    post_stored(fixture.port, &envelope);
    memcpy(id, envelope.id, 33);
    envelope_finish(&envelope);
}

/* Whether the stall's verdict names the function. */
static int is_named(const char *id)
{
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", id, "");
    int is = answer_has(&answer, "\"function\":\"sample_inner\"");
    answer_finish(&answer);
    return is;
}

/* The same for the report, which another process of the server makes. */
static int is_report_named(const char *id)
{
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", id, ".json");
    int is = answer_has(&answer, "\"function\":\"sample_middle\"");
    answer_finish(&answer);
    return is;
}

static void wait_for_names(const char *id)
{
    for (int waited = 0; !is_named(id); waited += LOOK_MS) {
        if (waited > SOON_MS)
            fail_msg("%s never has its names", id);
        sleep_ms(LOOK_MS);
    }
    assert_true(is_report_named(id));
}

static int is_missing(const char *build_id)
{
    struct answer answer = get(fixture.port, "/v1/symbols/missing");
    assert_int_equal(answer.status, 200);
    int is_there = answer_has(&answer, build_id);
    answer_finish(&answer);
    return is_there;
}

static void expect_names_through_an_outage(void)
{
    char first[33], second[33];
    fixture.options.workers = 1;
    fixture_start(&fixture);
    upload_sample();
    struct envelope other = envelope_of(SBX_SCENARIO_LOCK, 3); /* its worker is connected when Redis goes away */
    post_stored(fixture.port, &other);
    assert_true(wait_for_triage(fixture.port, other.id));
    envelope_finish(&other);
    assert_int_equal(logged("symbols:"), 0);

    take_away();
    post_sample(1, first);
    assert_true(wait_for_triage(fixture.port, first));
    assert_false(is_named(first));
    assert_true(is_missing(sample_build_id()));
    assert_false(is_report_named(first));
    post_sample(2, second);
    assert_true(wait_for_triage(fixture.port, second));
    assert_false(is_named(second));
    expect_metric("stallbox_symbol_store_away", 1);
    assert_int_equal(logged("symbols:"), 1);
    assert_int_equal(logged(where), 1);

    bring_back();
    wait_for_names(first);
    wait_for_names(second);
    assert_false(is_missing(sample_build_id()));
    expect_metric("stallbox_triaged_anew_total", 2);
    expect_metric("stallbox_symbol_store_away", 0);
    assert_int_equal(logged("symbols:"), 2);
    assert_int_equal(logged("answers again"), 1);
    assert_int_equal(logged("is put off"), 0);

    post_sample(4, first);
    assert_true(wait_for_triage(fixture.port, first));
    assert_true(is_named(first));
}

static void test_names_come_from_a_server_and_come_back_with_it(void **state)
{
    (void)state;
    expect_names_through_an_outage();
}

static void test_names_come_from_a_server_by_its_socket_too(void **state)
{
    (void)state;
    use_socket();
    expect_names_through_an_outage();
}

static void test_a_stall_waits_for_a_server_that_is_away_for_a_moment(void **state)
{
    (void)state;
    char id[33];
    fixture.options.symbol_patience_ms = 10 * SOON_MS;
    fixture_start(&fixture);
    upload_sample();
    take_away();
    post_sample(1, id);
    wait_for_log(where);
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", id, "");
    assert_true(answer_has(&answer, "\"state\":\"pending\""));
    answer_finish(&answer);
    bring_back();
    assert_true(wait_for_triage(fixture.port, id));
    assert_true(is_named(id));
    expect_metric("stallbox_triaged_anew_total", 0);
}

/* A worker with a broken connection is replaced by one with a new connection, without a message. */
static void test_a_server_that_was_started_anew_is_connected_to_again(void **state)
{
    (void)state;
    char id[33];
    fixture.options.workers = 1;
    fixture_start(&fixture);
    upload_sample();
    post_sample(1, id);
    assert_true(wait_for_triage(fixture.port, id));
    take_away();
    bring_back();
    post_sample(2, id);
    assert_true(wait_for_triage(fixture.port, id));
    assert_true(is_named(id));
    assert_int_equal(logged(where), 0);
}

static void test_an_upload_is_for_later_while_the_server_is_away(void **state)
{
    (void)state;
    size_t count;
    char *bytes = read_sample(&count);
    fixture_start(&fixture);
    take_away();
    for (int i = 0; i < 2; i++) {
        struct answer answer = put(bytes, count);
        assert_int_equal(answer.status, 503);
        assert_true(answer_has(&answer, "the store of symbols does not answer"));
        assert_false(answer_has(&answer, "127.0.0.1")); /* the address is only for the operator */
        answer_finish(&answer);
    }
    assert_int_equal(logged("symbols that were sent are not taken"), 1);
    bring_back();
    for (int waited = 0, is_taken = 0; !is_taken; waited += LOOK_MS) {
        struct answer answer = put(bytes, count);
        is_taken = answer.status == 201;
        answer_finish(&answer);
        assert_true(waited < SOON_MS);
        sleep_ms(is_taken ? 0 : LOOK_MS);
    }
    free(bytes);
}

/* The store remembers that names were unavailable. */
static void test_what_an_outage_left_without_names_is_known_after_a_restart(void **state)
{
    (void)state;
    char named[33], nameless[33];
    fixture_start(&fixture);
    post_sample(1, named);
    assert_true(wait_for_triage(fixture.port, named));
    upload_sample(); /* from now on it is known that these symbols came */
    wait_for_names(named);
    upload_map();
    take_away();
    post_sample(2, nameless);
    assert_true(wait_for_triage(fixture.port, nameless));
    assert_false(is_named(nameless));
    fixture_stop(&fixture);
    bring_back();
    fixture_start(&fixture);
    wait_for_names(nameless);
}

/* Otherwise the stall would be judged once more without names. */
static void test_what_waits_to_be_triaged_anew_waits_for_the_server(void **state)
{
    (void)state;
    char id[33];
    fixture_start(&fixture);
    post_sample(1, id);
    assert_true(wait_for_triage(fixture.port, id));
    fixture_stop(&fixture);
    fixture_run_sql(&fixture, "UPDATE module SET next_seq = 9223372036854775807");
    take_away();
    fixture_start(&fixture);
    wait_for_log("then they are told without names"); /* although no stall came */
    sleep_ms(PATIENCE_MS);
    assert_true(metric(fixture.port, "stallbox_triaged_anew_total") == 0);
    bring_back();
    expect_metric("stallbox_triaged_anew_total", 1);
    upload_sample();
    wait_for_names(id);
}

/* A worker connects to every master before it reads a payload. The sample's chunks are on one of them. */
static void test_names_come_from_a_cluster(void **state)
{
    (void)state;
    static struct redis_servers cluster;
    char id[33];
    redis_servers_start(&cluster, false);
    snprintf(where, sizeof(where), "redis+cluster://127.0.0.1:%u", cluster.servers[0].port);
    fixture_start(&fixture);
    upload_sample();
    post_sample(1, id);
    assert_true(wait_for_triage(fixture.port, id));
    assert_true(is_named(id));
    assert_true(is_report_named(id));
    assert_int_equal(logged("symbols:"), 0);
    fixture_stop(&fixture);
    redis_servers_stop(&cluster);
}

int main(void)
{
#define WITH_REDIS(name) cmocka_unit_test_setup_teardown(name, prepare, finish)
    const struct CMUnitTest tests[] = {
        WITH_REDIS(test_names_come_from_a_server_and_come_back_with_it),
        WITH_REDIS(test_names_come_from_a_server_by_its_socket_too),
        WITH_REDIS(test_a_stall_waits_for_a_server_that_is_away_for_a_moment),
        WITH_REDIS(test_a_server_that_was_started_anew_is_connected_to_again),
        WITH_REDIS(test_what_an_outage_left_without_names_is_known_after_a_restart),
        WITH_REDIS(test_an_upload_is_for_later_while_the_server_is_away),
        WITH_REDIS(test_names_come_from_a_cluster),
        WITH_REDIS(test_what_waits_to_be_triaged_anew_waits_for_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
