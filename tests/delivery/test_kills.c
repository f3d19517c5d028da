/* SPDX-License-Identifier: Apache-2.0 */
/* test_kills.c - SIGKILL after each system call of a put and of a delivery; many deliverers at once; a user who says no
 * in the middle of it. The result that counts is what a real collector has stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector_process.h"
#include "http_exchange.h"
#include "http_server.h"
#include "killer.h"
#include "payloads.h"
#include "test_folder.h"

static int make_folder(void **state)
{
    *state = sbx_test_folder_make();
    (void)sbx_test_mount(*state, "size=32m,mode=0700"); /* only for speed */
    return 0;
}

static int remove_folder(void **state)
{

    umount(*state);
    sbx_test_folder_remove(*state);
    return 0;
}

/* ---- SPL-3 ---- */

struct work {
    const char *path, *url;
    struct sbx_spool *spool;
    uint32_t number;
    uint8_t id[16], *envelope; /* made before anything is killed */
    size_t bytes;
};

static void open_for_work(void *context)
{
    struct work *work = context;
    work->spool = sbx_test_spool(work->path, NULL);
}

static void put_work(void *context)
{
    struct work *work = context;
    if (sbx_spool_put(work->spool, work->id, work->envelope, work->bytes) != 0) {
        _exit(1);
    }
}

static int count_whole(void *context, const char *path, const uint8_t id[16])
{
    assert_true(sbx_test_is_whole(path, id));
    ++*(unsigned *)context;
    return 0;
}

static void test_spl_03_killed_behind_any_call_of_a_put_the_record_is_whole_or_absent(void **state)
{
    struct work work = {.path = *state, .number = 1};
    unsigned kills = 0, whole = 0, absent = 0;
    struct sbx_spool *first = sbx_test_spool(*state, NULL);
    const unsigned before = 2;
    assert_int_equal(sbx_test_put(first, 1001), 0);
    assert_int_equal(sbx_test_put(first, 1002), 0);
    sbx_spool_close(first);
    for (bool was_killed = true; was_killed; work.number++) {
        work.envelope = sbx_test_payload(work.number, work.id, &work.bytes);
        was_killed = sbx_kill_after_call(++kills, open_for_work, put_work, &work);
        free(work.envelope);
        struct sbx_spool *spool = sbx_test_spool(*state, NULL);
        assert_int_equal(sbx_test_count(*state, ".tmp"), 0); /* its writer is dead: deleted when the spool is opened */
        unsigned now = 0;
        assert_int_equal(sbx_spool_each(spool, count_whole, &now), 0);
        assert_in_range(now, before, before + 1);
        bool is_there = sbx_test_exists(sbx_test_payload_path(*state, work.number));
        assert_int_equal(is_there, now == before + 1);
        assert_true(was_killed || is_there); /* it ended by itself, so the file must exist */
        whole += is_there;
        absent += !is_there;
        unlink(sbx_test_payload_path(*state, work.number)); /* otherwise each put would make one more call */
        sbx_spool_close(spool);
    }
    assert_true(kills > 8 && whole >= 2 && absent >= 5);
}

/* Load what the first transfer loads, so that only the calls of a delivery are counted. */
static void open_and_warm(void *context)
{
    struct work *work = context;
    struct sbx_http_reply reply;
    uint8_t body[64];
    const struct sbx_http_question question = {.server_url = work->url, .path = "/healthz", .answer_bytes_max = 4096};
    open_for_work(work);
    if (!sbx_http_exchange(&question, body, sizeof body, &reply)) {
        fprintf(stderr, "healthz: %s\n", reply.why);
        _exit(1);
    }
}

static void deliver_work(void *context)
{
    struct work *work = context;
    struct sbx_deliverer *deliverer = sbx_deliverer_create(work->spool, work->url, NULL);
    if (deliverer == NULL || sbx_deliverer_step(deliverer) != UINT64_MAX) {
        _exit(1);
    }
    sbx_deliverer_destroy(deliverer);
}

static void test_spl_03_killed_behind_any_call_of_a_delivery_everything_arrives_and_is_stored_once(void **state)
{
    struct sbx_collector_process collector;
    sbx_collector_process_start(&collector);
    struct work work = {.path = *state, .url = collector.url, .number = 1};
    unsigned kills = 0, sent_before_death = 0, left = 0;
    for (bool was_killed = true; was_killed; work.number++) {
        struct sbx_spool *spool = sbx_test_spool(*state, NULL);
        assert_int_equal(sbx_test_put(spool, work.number), 0);
        sbx_spool_close(spool);
        was_killed = sbx_kill_after_call(++kills, open_and_warm, deliver_work, &work);
        bool is_left = sbx_test_exists(sbx_test_payload_path(*state, work.number));
        left += is_left;
        sent_before_death += !is_left;
        spool = sbx_test_spool(*state, NULL);
        struct sbx_deliverer *deliverer = sbx_deliverer_create(spool, collector.url, NULL);
        assert_true(sbx_test_deliver_all(deliverer, 30)); /* the lock was released when its holder died */
        assert_int_equal(sbx_test_count(*state, ".sbx"), 0);
        assert_int_equal(sbx_test_count(sbx_test_path(*state, "bad"), ".sbx"), 0);
        unlink(sbx_test_payload_path(sbx_test_path(*state, "sent"),
                                     work.number)); /* otherwise the next one makes one more call */
        sbx_deliverer_destroy(deliverer);
        sbx_spool_close(spool);
    }
    assert_int_equal(sbx_collector_process_stored(&collector), work.number - 1);
    unsigned twice = sbx_collector_process_duplicates(&collector);
    print_message("%u kills: %u before it was marked as sent, %u after; %u came again and were known\n", kills - 1,
                  left, sent_before_death, twice);
    assert_true(left > 30 && sent_before_death >= 5 && twice >= 1 && twice < left);
    sbx_collector_process_stop(&collector);
}

/* ---- SPL-11 ---- */

struct crew {
    const char *path, *url;
    atomic_bool has_failed;
};

static void *deliver_until_empty(void *context)
{
    struct crew *crew = context;
    struct sbx_spool *spool = sbx_test_spool(crew->path, NULL);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(spool, crew->url, NULL);
    for (int i = 0; i < 600; i++) {
        if (sbx_deliverer_step(deliverer) == UINT64_MAX) {
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    if (sbx_test_count(crew->path, ".sbx") != 0 || sbx_test_counts(deliverer).refused != 0) {
        atomic_store(&crew->has_failed, true);
    }
    sbx_deliverer_destroy(deliverer);
    sbx_spool_close(spool);
    return NULL;
}

static void test_spl_11_two_processes_of_ten_threads_send_each_payload_once(void **state)
{
    enum {
        THREADS = 10,
        PAYLOADS = 60
    };
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    struct crew crew = {.path = *state, .url = sbx_http_server_url(server)};
    struct sbx_spool *spool = sbx_test_spool(*state, NULL);
    for (uint32_t i = 1; i <= PAYLOADS; i++) {
        assert_int_equal(sbx_test_put(spool, i), 0);
    }
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            pthread_t threads[THREADS];
            for (int j = 0; j < THREADS; j++) {
                if (pthread_create(&threads[j], NULL, deliver_until_empty, &crew) != 0) {
                    _exit(2);
                }
            }
            for (int j = 0; j < THREADS; j++) {
                pthread_join(threads[j], NULL);
            }
            _exit(atomic_load(&crew.has_failed) ? 1 : 0);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(sbx_http_server_request_count(server), PAYLOADS);
    for (size_t i = 0; i < PAYLOADS; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_memory_not_equal(sbx_http_server_request(server, i)->body + 16,
                                    sbx_http_server_request(server, j)->body + 16, 16);
        }
    }
    sbx_spool_close(spool);
    sbx_http_server_stop(server);
}

static void test_spl_11_a_holder_that_is_stopped_blocks_nobody_and_its_end_frees_the_spool(void **state)
{
    const struct sbx_http_answer stall = {.behaviour = SBX_HTTP_STALL};
    struct sbx_http_server *server = sbx_http_server_start(0, &stall, 1);
    struct sbx_spool *spool = sbx_test_spool(*state, NULL);
    struct work work = {.path = *state, .url = sbx_http_server_url(server), .spool = spool};
    assert_int_equal(sbx_test_put(spool, 1), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        deliver_work(&work);
        _exit(0);
    }
    while (sbx_http_server_connection_count(server) == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(kill(child, SIGSTOP), 0);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(spool, work.url, NULL);
    for (int i = 0; i < 100; i++) { /* returns at once each time, without waiting for the lock */
        uint64_t due_ms = sbx_deliverer_step(deliverer);
        assert_true(due_ms > 0 && due_ms <= 60000);
    }
    assert_int_equal(sbx_test_put(spool, 2), 0); /* putting needs no lock at all */
    assert_int_equal(sbx_http_server_request_count(server), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(sbx_test_deliver_all(deliverer, 30));
    assert_int_equal(sbx_http_server_request_count(server), 2);
    sbx_deliverer_destroy(deliverer);
    sbx_spool_close(spool);
    sbx_http_server_stop(server);
}

/* ---- SPL-13 ---- */

static void *step_once(void *context)
{
    (void)sbx_deliverer_step(context);
    return NULL;
}

static void test_spl_13_a_no_while_it_is_sent_breaks_it_off_and_empties_the_spool(void **state)
{
    enum {
        PAYLOADS = 5
    };
    const struct sbx_http_answer answers[] = {{.behaviour = SBX_HTTP_STORE}, {.behaviour = SBX_HTTP_STALL}};
    struct sbx_http_server *server = sbx_http_server_start(0, answers, 2);
    struct sbx_spool *spool = sbx_test_spool(*state, NULL);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(spool, sbx_http_server_url(server), NULL);
    for (uint32_t i = 1; i <= PAYLOADS; i++) {
        assert_int_equal(sbx_test_put(spool, i), 0);
    }
    sbx_test_write(sbx_test_path(*state, "consent"), "granted\n", 8);
    struct timespec begin, end;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, step_once, deliverer), 0);
    while (sbx_http_server_connection_count(server) < 2) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    sbx_test_write(sbx_test_path(*state, "consent"), "denied\n", 7);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pthread_join(thread, NULL); /* the server would have held it for 20 s, and curl for 30 */
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 15);
    assert_int_equal(sbx_test_count(*state, ".sbx"), 0);
    assert_int_equal(sbx_http_server_connection_count(server), 2); /* the third was not begun */
    assert_int_equal(sbx_test_counts(deliverer).sent, 1);
    assert_int_equal(sbx_test_counts(deliverer).later, 0); /* that was not the server's fault */
    assert_int_equal(sbx_test_put(spool, 9), 0);           /* packed while the user said no */
    assert_true(sbx_deliverer_step(deliverer) > 60000);
    assert_int_equal(sbx_test_count(*state, ".sbx"), 0);
    assert_int_equal(sbx_http_server_connection_count(server), 2);
    sbx_deliverer_destroy(deliverer);
    sbx_spool_close(spool);
    sbx_http_server_stop(server);
}

int main(void)
{
#define KILL_TEST(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        KILL_TEST(test_spl_03_killed_behind_any_call_of_a_put_the_record_is_whole_or_absent),
        KILL_TEST(test_spl_03_killed_behind_any_call_of_a_delivery_everything_arrives_and_is_stored_once),
        KILL_TEST(test_spl_11_two_processes_of_ten_threads_send_each_payload_once),
        KILL_TEST(test_spl_11_a_holder_that_is_stopped_blocks_nobody_and_its_end_frees_the_spool),
        KILL_TEST(test_spl_13_a_no_while_it_is_sent_breaks_it_off_and_empties_the_spool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
