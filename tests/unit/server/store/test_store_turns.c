/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_turns.c - servers that share a database: which of them waits for which. On one machine there is only one
 * writer. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "sql_postgres.h"
#include "stall_facts.h"
#include "started_server.h"
#include "store.h"
#include "store_place.h"

enum {
    WAIT_S = 120, /* for operations that should not wait */
    APP = 7,
    OTHER_APP = 8
};
#define OTHER_SERVER "SET search_path = stallbox; SET idle_in_transaction_session_timeout = '300s'"

static struct sbx_store *store;
static struct sbx_sql *other; /* another server's connection, in the middle of a transaction */
static const uint8_t machine[SBX_ROTATING_ID_BYTES] = {7};

static int set_up(void **state)
{
    char why[300] = "";
    prepare_server(state);
    if (!store_is_postgres())
        return 0;
    const char *place = store_place_of(fixture.data_dir);
    if (sbx_store_open(place, "1", &store, why, sizeof(why)) != 0 ||
        sbx_sql_open_postgres(place, OTHER_SERVER, &other, why, sizeof(why)) != 0)
        fail_msg("%s", why);
    return 0;
}

static int tear_down(void **state)
{
    if (store_is_postgres()) {
        sbx_sql_close(other);
        sbx_store_close(store);
    }
    return remove_server(state);
}

static void begin_elsewhere(enum sbx_sql_turn turn, uint64_t app)
{
    assert_int_equal(other->engine->begin(other, turn, app, false), 0);
}

static void commit_elsewhere(void)
{
    assert_int_equal(other->engine->commit(other), 0);
}

/* ---- a thread of this server ---- */

struct doing {
    pthread_t thread;
    uint8_t name;
    uint64_t app;
    bool is_end;
    int result;
};

static void *put(void *context)
{
    struct doing *doing = context;
    struct sbx_stall stall = {.payload_id = {doing->name},
                              .session_id = {1},
                              .app_build_id = {1},
                              .app_build_id_bytes = 8,
                              .app_what = doing->app,
                              .created_day = 20000,
                              .sampling = {.weight = 1, .one_in = 1},
                              .trigger = {.kind = doing->is_end ? SBX_TRIGGER_END : SBX_TRIGGER_ANR}};
    enum sbx_stored stored;
    if (doing->is_end) {
        stall.completes[0] = 200;
        stall.end.how = SBX_END_ANSWERED;
    }
    doing->result = sbx_store_put(store, &stall, "abc", 3, 1000, &stored);
    return NULL;
}

/* The names and missing modules of both applications' stalls. */
static void *judge(void *context)
{
    struct doing *doing = context;
    const uint8_t id[SBX_ID_BYTES] = {doing->name}, key[SBX_ID_BYTES] = {1, doing->name}, module[] = {9, 9};
    const struct sbx_said_row said[] = {{SBX_FACT_CAUSE, "cpu", 5}};
    const struct sbx_gap_row gaps[] = {{module, sizeof(module), "libc.so.6", false, 3}};
    const struct sbx_verdict_row verdict = {.app = "shop",
                                            .cause = "cpu",
                                            .class_ = "on_cpu",
                                            .function = "f",
                                            .module = "m",
                                            .headline = "it computed",
                                            .key = key,
                                            .said = said,
                                            .said_count = 1,
                                            .gaps = gaps,
                                            .gap_count = 1};
    doing->result = sbx_store_put_verdict(store, id, &verdict);
    return NULL;
}

static void *erase(void *context)
{
    struct doing *doing = context;
    doing->result = sbx_store_erase(store, machine, 2000, NULL, NULL);
    return NULL;
}

static void begin(struct doing *doing, void *(*run)(void *))
{
    doing->result = -1;
    assert_int_equal(pthread_create(&doing->thread, NULL, run, doing), 0);
}

/* Expect that it waits for the transaction of the other connection. */
static void expect_to_wait(void)
{
    for (int i = 0; i < WAIT_S * 100; i++) {
        if (store_number(fixture.data_dir,
                         "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") > 0)
            return;
        sleep_ms(10);
    }
    fail_msg("nobody waits");
}

static void expect_to_end(struct doing *doing, int result)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    if (pthread_timedjoin_np(doing->thread, NULL, &until) != 0) {
        commit_elsewhere();
        pthread_join(doing->thread, NULL);
        fail_msg("it waited for the transaction of another server");
    }
    assert_int_equal(doing->result, result);
}

/* ---- */

static void test_a_payload_is_taken_in_while_another_server_writes_sums(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct doing doing = {.name = 1, .app = APP};
    begin_elsewhere(SBX_TURN_SUMS, 0);
    begin(&doing, put);
    expect_to_end(&doing, 0);
    commit_elsewhere();
}

static void test_payloads_of_two_applications_are_taken_in_side_by_side(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct doing same = {.name = 1, .app = APP}, another = {.name = 2, .app = OTHER_APP};
    begin_elsewhere(SBX_TURN_INTAKE, APP);
    begin(&another, put);
    expect_to_end(&another, 0);
    begin(&same, put);
    expect_to_wait();
    commit_elsewhere();
    expect_to_end(&same, 0);
}

static void put_one_of_each(struct doing *same, struct doing *another)
{
    put(same);
    put(another);
    assert_int_equal(same->result, 0);
    assert_int_equal(another->result, 0);
}

static void test_verdicts_of_two_applications_are_written_side_by_side(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct doing same = {.name = 1, .app = APP}, another = {.name = 2, .app = OTHER_APP};
    put_one_of_each(&same, &another);
    begin_elsewhere(SBX_TURN_SUMS, APP);
    begin(&same, judge);
    expect_to_wait();
    begin(&another, judge); /* in the same server: the waiting thread does not keep its connection */
    expect_to_end(&another, 0);
    commit_elsewhere();
    expect_to_end(&same, 0);
}

/* Both name the same things, and both lack the same module. Neither may wait for these rows. */
static void test_verdicts_that_say_the_same_of_two_applications_write_no_common_row(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct doing same = {.name = 1, .app = APP}, another = {.name = 2, .app = OTHER_APP};
    put_one_of_each(&same, &another);
    judge(&same);
    assert_int_equal(same.result, 0);
    begin_elsewhere(SBX_TURN_SUMS, APP); /* another verdict of the first application, inside of its transaction */
    assert_int_equal(sbx_sql_execute(other,
                                     "INSERT INTO said(seq, kind, word, us) SELECT seq, 1, word, 1 FROM said;"
                                     "INSERT INTO gap(module, tenant, seq, unnamed) SELECT module, tenant, seq + 1000,"
                                     " 1 FROM gap; UPDATE place SET hits = hits; UPDATE fact SET hits = hits;"
                                     "UPDATE label SET hits = hits; UPDATE app SET machines = machines"),
                     0);
    begin(&another, judge);
    expect_to_end(&another, 0);
    commit_elsewhere();
}

static void test_a_removal_waits_for_the_verdicts_of_any_application(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct doing doing = {.name = 0};
    begin_elsewhere(SBX_TURN_SUMS, APP);
    begin(&doing, erase);
    expect_to_wait();
    commit_elsewhere();
    expect_to_end(&doing, 0);
}

/* A payload was looked up before its machine was to be forgotten, and is stored after that. */
static void test_a_payload_on_its_way_does_not_outlive_the_erasure_of_its_machine(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct doing doing = {.name = 0};
    begin_elsewhere(SBX_TURN_INTAKE, APP);
    begin(&doing, erase);
    expect_to_wait();
    assert_int_equal(
        sbx_sql_execute(other,
                        "INSERT INTO snapshot(id, received_ms, created_day, bytes, session, duration_ns,"
                        " threshold_ms) VALUES('\\x01000000000000000000000000000001', 1000, 20000, 3,"
                        " '\\x01000000000000000000000000000002', 5, 5); INSERT INTO rotating(seq, id) SELECT seq,"
                        " '\\x07000000000000000000000000000000' FROM snapshot"),
        0);
    commit_elsewhere();
    expect_to_end(&doing, 1);
    assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM snapshot"), 0);
}

/* Otherwise neither would find the other. */
static void test_the_end_of_a_stall_waits_for_a_stall_that_is_taken_in(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct doing doing = {.name = 3, .app = OTHER_APP, .is_end = true};
    begin_elsewhere(SBX_TURN_INTAKE, APP);
    begin(&doing, put);
    expect_to_wait();
    commit_elsewhere();
    expect_to_end(&doing, 0);
    assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM stall_end"), 1);
}

/* ---- what is on its way ---- */

static struct sbx_sql *open_mine(void)
{
    struct sbx_sql *mine;
    char why[300] = "";
    if (sbx_sql_open_postgres(getenv("STALLBOX_TEST_DATABASE"), "SET search_path = stallbox; SET lock_timeout = '2s'",
                              &mine, why, sizeof(why)) != 0)
        fail_msg("%s", why);
    return mine;
}

static struct sbx_statement *prepared(struct sbx_sql *sql, const char *text)
{
    struct sbx_statement *statement;
    assert_int_equal(sbx_sql_prepare(sql, text, &statement), 0);
    return statement;
}

/* A verdict takes some fifty statements, and each of them waited for the answer to the one before over the network. */
static void test_a_statement_without_rows_is_not_waited_for_within_a_transaction(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct sbx_sql *mine = open_mine();
    struct sbx_statement *change = prepared(mine, "UPDATE app SET machines = ?1 WHERE tenant = ?2");
    store_run(fixture.data_dir, "INSERT INTO app(tenant, name) VALUES(1, 'shop')");
    begin_elsewhere(SBX_TURN_INTAKE, OTHER_APP);
    assert_int_equal(sbx_sql_execute(other, "UPDATE app SET machines = 3"), 0); /* it keeps the row locked */
    assert_int_equal(mine->engine->begin(mine, SBX_TURN_INTAKE, APP, false), 0);
    sbx_bind_integer(change, 1, 5);
    sbx_bind_integer(change, 2, 1);
    assert_int_equal(sbx_store_step(change), 0);
    commit_elsewhere();
    assert_int_equal(mine->engine->commit(mine), 0);
    assert_int_equal(store_number(fixture.data_dir, "SELECT machines FROM app"), 5);
    sbx_statement_finalize(change);
    sbx_sql_close(mine);
}

static void test_what_a_statement_failed_with_is_told_by_the_commit_and_nothing_of_it_stays(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct sbx_sql *mine = open_mine();
    struct sbx_statement *add = prepared(mine, "INSERT INTO app(tenant, name) VALUES(?1, ?2)");
    for (int round = 0; round < 2; round++) {
        assert_int_equal(mine->engine->begin(mine, SBX_TURN_INTAKE, APP, false), 0);
        for (int i = 0; i < 3; i++) { /* the second one exists already */
            sbx_bind_integer(add, 1, i / 2);
            sbx_bind_text(add, 2, "shop");
            assert_int_equal(sbx_store_step(add), 0);
        }
        assert_true(mine->engine->commit(mine) < 0);
        mine->engine->roll_back(mine);
        assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM app"), 0);
    }
    /* A wait in vain is reported differently from an error. */
    struct sbx_statement *change = prepared(mine, "UPDATE app SET machines = ?1");
    store_run(fixture.data_dir, "INSERT INTO app(tenant, name) VALUES(1, 'shop')");
    begin_elsewhere(SBX_TURN_INTAKE, OTHER_APP);
    assert_int_equal(sbx_sql_execute(other, "UPDATE app SET machines = 3"), 0);
    assert_int_equal(mine->engine->begin(mine, SBX_TURN_INTAKE, APP, false), 0);
    sbx_bind_integer(change, 1, 5);
    assert_int_equal(sbx_store_step(change), 0);
    assert_int_equal(mine->engine->commit(mine), -EBUSY);
    commit_elsewhere();
    assert_int_equal(store_number(fixture.data_dir, "SELECT machines FROM app"), 3);
    sbx_statement_finalize(change);
    sbx_statement_finalize(add);
    sbx_sql_close(mine);
}

static void test_rows_numbers_and_counts_are_of_the_statement_that_they_are_asked_of(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip();
    struct sbx_sql *mine = open_mine();
    struct sbx_statement *add = prepared(mine, "INSERT INTO app(tenant, name) VALUES(?1, ?2)");
    struct sbx_statement *change = prepared(mine, "UPDATE app SET machines = machines + 1 WHERE tenant <= ?1");
    struct sbx_statement *count = prepared(mine, "SELECT tenant, machines FROM app WHERE num >= ?1 ORDER BY tenant");
    assert_int_equal(mine->engine->begin(mine, SBX_TURN_INTAKE, APP, false), 0);
    for (int i = 1; i <= 250; i++) { /* more than may be under way at a time */
        sbx_bind_integer(add, 1, i);
        sbx_bind_text(add, 2, "shop");
        assert_int_equal(sbx_store_step(add), 0);
    }
    int64_t last = sbx_sql_last_id(mine);
    assert_int_equal(last, store_number(fixture.data_dir, "SELECT last_value FROM app_num_seq"));
    sbx_bind_integer(change, 1, 40);
    assert_int_equal(sbx_store_step(change), 0);
    assert_int_equal(sbx_sql_changes(mine), 40);
    sbx_bind_integer(change, 1, 30);
    assert_int_equal(sbx_store_step(change), 0);
    sbx_bind_integer(count, 1, last - 249);
    int rows = 0;
    int64_t sum = 0;
    while (sbx_store_step(count) > 0) {
        assert_int_equal(sbx_column_integer(count, 0), ++rows);
        sum += sbx_column_integer(count, 1);
    }
    assert_int_equal(rows, 250);
    assert_int_equal(sum, 70);
    assert_int_equal(mine->engine->commit(mine), 0);
    assert_int_equal(store_number(fixture.data_dir, "SELECT SUM(machines) FROM app"), 70);
    sbx_statement_finalize(count);
    sbx_statement_finalize(change);
    sbx_statement_finalize(add);
    sbx_sql_close(mine);
}

int main(void)
{
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_a_payload_is_taken_in_while_another_server_writes_sums),
        STORE_TEST(test_payloads_of_two_applications_are_taken_in_side_by_side),
        STORE_TEST(test_verdicts_of_two_applications_are_written_side_by_side),
        STORE_TEST(test_verdicts_that_say_the_same_of_two_applications_write_no_common_row),
        STORE_TEST(test_a_removal_waits_for_the_verdicts_of_any_application),
        STORE_TEST(test_a_payload_on_its_way_does_not_outlive_the_erasure_of_its_machine),
        STORE_TEST(test_the_end_of_a_stall_waits_for_a_stall_that_is_taken_in),
        STORE_TEST(test_a_statement_without_rows_is_not_waited_for_within_a_transaction),
        STORE_TEST(test_what_a_statement_failed_with_is_told_by_the_commit_and_nothing_of_it_stays),
        STORE_TEST(test_rows_numbers_and_counts_are_of_the_statement_that_they_are_asked_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
