/* SPDX-License-Identifier: Apache-2.0 */
/* test_bounds.c - one visitor or one write must not block the others. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "started_server.h"

static void test_pages_answer_while_a_long_write_goes_on(void **state)
{
    (void)state;
    char path[100], sql[] = "BEGIN IMMEDIATE; UPDATE snapshot SET received_ms = received_ms + 1;";
    sqlite3 *db;
    struct envelope envelope = envelope_of(SBX_SCENARIO_LOCK, 1);
    fixture_start(&fixture);
    post_stored(fixture.port, &envelope);
    assert_true(wait_for_triage(fixture.port, envelope.id));
    snprintf(path, sizeof(path), "%s/store.db", fixture.data_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    static const char *const paths[] = {"/", "/healthz", "/metrics", "/v1/issues", "/v1/snapshots", "/symbols"};
    for (int times = 0; times < 3; times++)
        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
            struct answer answer = get(fixture.port, paths[i]);
            assert_int_equal(answer.status, 200);
            answer_finish(&answer);
        }
    assert_int_equal(status_of(fixture.port, "/stalls/", envelope.id, ""), 200);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", envelope.id, ".json"), 200);
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    envelope_finish(&envelope);
}

static void *read_pages(void *context)
{
    int *failures = context;
    for (int i = 0; i < 20; i++) {
        struct answer answer = get(fixture.port, i % 2 ? "/" : "/v1/issues");
        *failures += answer.status != 200;
        answer_finish(&answer);
    }
    return NULL;
}

static void test_many_readers_and_writers_at_once_all_get_answers(void **state)
{
    (void)state;
    enum {
        READERS = 12
    };
    pthread_t threads[READERS];
    int failures[READERS] = {0};
    fixture_start(&fixture);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_pages, &failures[i]), 0);
    for (uint64_t i = 0; i < 10; i++) {
        struct envelope envelope = envelope_of(SBX_SCENARIO_IO, 1 + i);
        post_stored(fixture.port, &envelope);
        envelope_finish(&envelope);
    }
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(failures[i], 0);
    }
    expect_metric("stallbox_triaged_total", 10);
}

static void test_a_machine_that_sends_too_much_is_told_to_wait_and_others_are_not(void **state)
{
    (void)state;
    struct envelope envelopes[4];
    fixture.options.machine_rate = 2;
    fixture_start(&fixture);
    for (uint64_t i = 0; i < 4; i++)
        envelopes[i] = envelope_of_machine(SBX_SCENARIO_LOCK, 1 + i, i < 3 ? 1 : 2);
    post_stored(fixture.port, &envelopes[0]);
    post_stored(fixture.port, &envelopes[1]);
    struct answer answer = post(fixture.port, envelopes[2].bytes, envelopes[2].count);
    assert_int_equal(answer.status, 429);
    assert_non_null(strstr(answer.headers.data, "Retry-After: "));
    answer_finish(&answer);
    post_stored(fixture.port, &envelopes[3]);
    assert_true(metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"rate\"}") == 1);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 3);
    for (size_t i = 0; i < 4; i++)
        envelope_finish(&envelopes[i]);
}

int main(void)
{
#define PREPARED(name) cmocka_unit_test_setup_teardown(name, prepare_server, remove_server)
    const struct CMUnitTest tests[] = {
        PREPARED(test_pages_answer_while_a_long_write_goes_on),
        PREPARED(test_many_readers_and_writers_at_once_all_get_answers),
        PREPARED(test_a_machine_that_sends_too_much_is_told_to_wait_and_others_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
