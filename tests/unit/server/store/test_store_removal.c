/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_removal.c - new stalls are stored while many others are removed. */
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
#include <sqlite3.h>

#include "sql_postgres.h"
#include "stall_facts.h"
#include "started_server.h"
#include "statement_log.h"
#include "store.h"
#include "store_handle.h"
#include "store_place.h"
#include "store_schema.h"

enum {
    STALLS = 600, /* of one machine; more than two batches */
    WAIT_S = 60,
};

static struct sbx_store *store;
static const uint8_t machine[SBX_ROTATING_ID_BYTES] = {7};

static int set_up(void **state)
{
    char why[200] = "";
    prepare_server(state);
    statement_log_watch();
    return sbx_store_open(store_place_of(fixture.data_dir), "1", &store, why, sizeof(why));
}

static int tear_down(void **state)
{
    sbx_store_close(store);
    return remove_server(state);
}

static int put(uint32_t name, const uint8_t *rotating_id)
{
    struct sbx_stall stall = {.session_id = {1},
                              .app_build_id = {1},
                              .app_build_id_bytes = 8,
                              .created_day = 20000,
                              .sampling = {.weight = 1, .one_in = 1},
                              .trigger = {.kind = SBX_TRIGGER_ANR, .duration_ns = 1000000, .threshold_ms = 5}};
    enum sbx_stored stored;
    memcpy(stall.payload_id, &name, sizeof(name));
    stall.has_rotating_id = rotating_id != NULL;
    if (rotating_id)
        memcpy(stall.rotating_id, rotating_id, sizeof(stall.rotating_id));
    return sbx_store_put(store, &stall, "x", 1, 1000, &stored);
}

static void put_many(void)
{
    for (uint32_t name = 1; name <= STALLS; name++)
        assert_int_equal(put(name, machine), 0);
}

static int64_t left(void)
{
    return store_number(fixture.data_dir, "SELECT COUNT(*) FROM rotating");
}

/* ---- an upload that comes in the middle ---- */

struct upload {
    pthread_t thread;
    bool has_begun, is_stored;
    int64_t left_behind; /* how many were still to be removed then */
    int gone;
};

static void *run_upload(void *context)
{
    struct upload *upload = context;
    upload->is_stored = put(STALLS + 1, NULL) == 0;
    return NULL;
}

/* Called for the first removed stall: an upload arrives, and must be stored before the erasure goes on. */
static void upload_meanwhile(void *context, const uint8_t id[SBX_ID_BYTES])
{
    struct upload *upload = context;
    struct timespec until;
    (void)id;
    upload->gone++;
    if (upload->has_begun)
        return;
    upload->has_begun = true;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    assert_int_equal(pthread_create(&upload->thread, NULL, run_upload, upload), 0);
    if (pthread_timedjoin_np(upload->thread, NULL, &until) == 0)
        upload->thread = 0;
    upload->left_behind = upload->is_stored ? left() : -1;
}

static void assert_uploaded_meanwhile(struct upload *upload)
{
    if (upload->thread)
        pthread_join(upload->thread, NULL);
    assert_int_equal(upload->gone, STALLS);
    assert_in_range(upload->left_behind, 1, STALLS - 1);
    assert_int_equal(left(), 0);
}

/* Symptom: the lock was held from the first stall of a machine to the last, so that thousands of stalls kept every
 * upload waiting. */
static void test_an_upload_is_stored_while_a_machine_is_erased(void **state)
{
    (void)state;
    struct upload upload = {.gone = 0};
    put_many();
    assert_int_equal(sbx_store_erase(store, machine, 2000, upload_meanwhile, &upload), STALLS);
    assert_uploaded_meanwhile(&upload);
}

static void test_an_upload_is_stored_while_stalls_age_out(void **state)
{
    (void)state;
    struct upload upload = {.gone = 0};
    int batches = 0;
    put_many();
    while (sbx_store_age(store, SBX_AGED_SNAPSHOT, 1001, SIZE_MAX, upload_meanwhile, &upload) > 0)
        batches++;
    if (upload.thread)
        pthread_join(upload.thread, NULL);
    assert_in_range(batches, 2, STALLS); /* several at a time, but not all */
    assert_int_equal(upload.gone, STALLS + 1);
    assert_in_range(upload.left_behind, 1, STALLS - 1);
}

/* ---- what a removal reads ---- */

/* How SQLite finds the rows of `table` in a statement of the writer: "SEARCH met_day USING PRIMARY KEY (place=? AND
 * ...)". */
static void read_plan(sqlite3 *db, enum writer_statement index, const char *table, char *plan_out, size_t room)
{
    char text[2000], begin[60];
    sqlite3_stmt *statement;
    snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", sbx_store_writer_sql[index]);
    snprintf(begin, sizeof(begin), "SEARCH %s ", table);
    plan_out[0] = '\0';
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(statement, 3);
        if (strncmp(detail, begin, strlen(begin)) == 0)
            snprintf(plan_out, room, "%s", detail);
    }
    sqlite3_finalize(statement);
}

/* Symptom: each removal read all machines that the application had on a build: 6,455 rows in a store of 150,000
 * stalls. */
static void test_a_removal_reads_no_more_rows_of_sums_than_it_changes(void **state)
{
    (void)state;
    static const struct {
        enum writer_statement statement;
        const char *table, *last; /* the last column of the table's key */
    } drops[] = {{DROP_MET_DAY, "met_day", "who=?"},
                 {DROP_LABELS, "label", "word=?"},
                 {DROP_SPREAD, "spread", "bucket=?"},
                 {DROP_FACT, "fact", "build=?"}};
    char path[128], plan[300];
    sqlite3 *db;
    if (store_is_postgres())
        skip();
    snprintf(path, sizeof(path), "%s/store.db", fixture.data_dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
        read_plan(db, drops[i].statement, drops[i].table, plan, sizeof(plan));
        if (!strstr(plan, drops[i].last))
            fail_msg("%s: %s", drops[i].table, plan);
    }
    sqlite3_close(db);
}

/* ---- what a batch costs ---- */

static void judge(uint32_t name, uint8_t place)
{
    uint8_t id[SBX_ID_BYTES] = {0};
    const uint8_t key[SBX_ID_BYTES] = {place};
    const struct sbx_said_row said[] = {
        {SBX_FACT_CAUSE, "cpu", 5}, {SBX_FACT_FUNCTION, "f", 5}, {SBX_FACT_OS, "Debian", 0}};
    const struct sbx_verdict_row verdict = {.app = "shop",
                                            .cause = "cpu",
                                            .class_ = "on_cpu",
                                            .function = "f",
                                            .module = "m",
                                            .headline = "it computed",
                                            .key = key,
                                            .said = said,
                                            .said_count = 3};
    memcpy(id, &name, sizeof(name));
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
}

/* Put stalls of that many machines, all of one place, day and build. */
static void put_judged(uint32_t first, uint32_t count)
{
    for (uint32_t name = first; name < first + count; name++) {
        uint8_t rotating_id[SBX_ROTATING_ID_BYTES] = {9};
        memcpy(rotating_id + 1, &name, sizeof(name));
        assert_int_equal(put(name, rotating_id), 0);
        judge(name, 1);
    }
}

static void age(size_t count)
{
    assert_int_equal(sbx_store_age(store, SBX_AGED_SNAPSHOT, 1001, count, NULL, NULL), count);
}

static int64_t rows_of_sums(void)
{
    return store_number(fixture.data_dir, "SELECT (SELECT COUNT(*) FROM fact) + (SELECT COUNT(*) FROM spread) + (SELECT"
                                          " COUNT(*) FROM label) + (SELECT COUNT(*) FROM met) + (SELECT COUNT(*) FROM"
                                          " met_day)");
}

/* Symptom: a removal subtracted each stall separately, with some thirty statements and 1.5 ms of the single writer.
 * Ageing was hardly faster than intake. */
static void test_many_stalls_go_in_as_many_statements_as_one(void **state)
{
    (void)state;
    if (store_is_postgres())
        skip(); /* PostgreSQL does not report it */
    put_judged(1, 122);
    statement_log_clear();
    age(1);
    int64_t statements = statement_log_count(), steps = statement_log_steps();
    statement_log_clear();
    age(60);
    assert_int_equal(statement_log_count(), statements);
    if (statement_log_steps() > 60 * steps * 2 / 3)
        fail_msg("%lld steps for one, %lld for sixty", (long long)steps, (long long)statement_log_steps());
    int64_t of_sixty = statement_log_steps();
    put_judged(1000, 1); /* and a group of which only later stalls are left */
    statement_log_clear();
    age(61);
    assert_true(statement_log_count() <= statements);
    assert_true(statement_log_steps() < of_sixty * 2);
}

static void note_gone(void *context, const uint8_t id[SBX_ID_BYTES])
{
    uint32_t name;
    memcpy(&name, id, sizeof(name));
    *(uint64_t *)context += name;
}

static int age_bytes(size_t count, uint64_t *names)
{
    return sbx_store_age(store, SBX_AGED_PAYLOAD, 1001, count, note_gone, names);
}

/* Symptom: each blob was looked up separately. In PostgreSQL each lookup scanned all removed rows that were not
 * vacuumed yet. */
static void test_the_bytes_of_many_payloads_go_in_as_many_statements_as_of_one(void **state)
{
    (void)state;
    uint64_t names = 0;
    put_judged(1, 40);
    assert_int_equal(put(41, NULL), 0); /* never judged: it is removed as a whole */
    statement_log_clear();
    assert_int_equal(age_bytes(1, &names), 1);
    int64_t statements = statement_log_count();
    statement_log_clear();
    assert_int_equal(age_bytes(30, &names), 30);
    assert_int_equal(statement_log_count(), statements);
    assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM payload"), 10);
    assert_int_equal(age_bytes(1000, &names), 10);
    assert_int_equal(age_bytes(1000, &names), 0);
    assert_int_equal(names, 41 * 42 / 2); /* each is reported once */
    assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM payload"), 0);
    assert_int_equal(store_number(fixture.data_dir, "SELECT SUM(bytes) FROM snapshot"), 0);
    assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM snapshot"), 40);
}

/* A group that is removed as a whole is not subtracted. Its rows are deleted by a range of their keys, whatever they
 * contain. */
static void test_a_day_that_goes_whole_goes_by_a_range(void **state)
{
    (void)state;
    put_judged(1, 40);
    assert_int_equal(store_number(fixture.data_dir, "SELECT hits FROM fact WHERE place > 0 AND day >= 0"), 40);
    /* A false sum, which a subtraction would leave behind. */
    store_run(fixture.data_dir, "UPDATE label SET hits = hits + 7");
    store_run(fixture.data_dir, "UPDATE spread SET weight = weight + 7");
    age(40);
    assert_int_equal(rows_of_sums(), 0);
    assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM place"), 0);
}

/* The sums of days: all of them, and those in a table of the day. */
static int64_t rows_of_days(void)
{
    return store_number(fixture.data_dir,
                        "SELECT (SELECT COUNT(*) FROM fact WHERE day >= 0) + (SELECT COUNT(*) FROM spread"
                        " WHERE day >= 0) + (SELECT COUNT(*) FROM label WHERE day >= 0) + (SELECT COUNT(*)"
                        " FROM met_day WHERE day >= 0)");
}

static int64_t tables_of_day(void)
{
    return store_number(fixture.data_dir, "SELECT COUNT(*) FROM pg_class WHERE relkind = 'r' AND relname IN ('fact_0',"
                                          " 'spread_0', 'label_0', 'met_day_0')");
}

/* Nothing is deleted row by row, so a row that would not be found does not stay either. */
static void test_the_sums_of_a_past_day_go_with_their_table(void **state)
{
    (void)state;
    if (!store_is_postgres())
        skip(); /* SQLite has one table */
    put_judged(1, 40);
    assert_int_equal(tables_of_day(), 4);
    assert_int_equal(sbx_store_close_day(store, 0), 0); /* the day is not over */
    assert_true(rows_of_days() > 40);
    int64_t deleted = store_number(fixture.data_dir, "SELECT COUNT(*) FROM met_day WHERE day < 0");
    assert_int_equal(sbx_store_close_day(store, 1), 1);
    assert_int_equal(sbx_store_close_day(store, 1), 0);
    assert_int_equal(tables_of_day(), 0);
    assert_int_equal(rows_of_days(), 0);
    /* The stalls stay until they are old enough themselves, in the general table. */
    assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM met_day WHERE day < 0"), deleted);
    assert_int_equal(store_number(fixture.data_dir, "SELECT hits FROM fact WHERE place > 0"), 40);
    assert_int_equal(store_number(fixture.data_dir, "SELECT machine_days FROM fact WHERE place > 0"), 0);
    put_judged(1000, 1); /* a late one, and one that is judged again */
    judge(3, 2);
    assert_int_equal(rows_of_days(), 0);
    assert_int_equal(store_number(fixture.data_dir, "SELECT SUM(hits) FROM fact WHERE place > 0"), 41);
    age(41);
    assert_int_equal(rows_of_sums(), 0);
}

/* If a page reads for minutes, all others would wait for the table that is to be dropped. */
static void test_a_day_stays_while_somebody_reads_its_sums(void **state)
{
    (void)state;
    struct sbx_sql *reader;
    char why[300];
    if (!store_is_postgres())
        skip();
    put_judged(1, 2);
    assert_int_equal(sbx_sql_open_postgres(getenv("STALLBOX_TEST_DATABASE"), "SET search_path = stallbox", &reader, why,
                                           sizeof(why)),
                     0);
    assert_int_equal(sbx_sql_execute(reader, "BEGIN; LOCK TABLE fact IN ACCESS SHARE MODE"), 0);
    assert_int_equal(sbx_store_close_day(store, 1), -EBUSY);
    assert_int_equal(tables_of_day(), 4);
    assert_int_equal(store_number(fixture.data_dir, "SELECT machine_days FROM fact WHERE place > 0 AND day < 0"), 2);
    sbx_sql_close(reader);
    assert_int_equal(sbx_store_close_day(store, 1), 1);
}

/* Two servers receive the first stall of a day at the same moment. */
static void *open_a_day(void *context)
{
    int *result = context;
    *result = sbx_store_open_days(store, 20005, 20010);
    return NULL;
}

static void test_tables_of_a_day_are_made_once(void **state)
{
    (void)state;
    pthread_t threads[4];
    int results[4];
    if (!store_is_postgres())
        skip();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_a_day, &results[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(results[i], 0);
    }
    assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM sum_day"), 6);
}

static void test_a_machine_is_erased_by_group(void **state)
{
    (void)state;
    put_judged(1, 5);
    for (uint32_t name = 100; name < 150; name++) {
        assert_int_equal(put(name, machine), 0);
        judge(name, (uint8_t)(1 + name % 2));
    }
    int64_t rows = rows_of_sums();
    statement_log_clear();
    assert_int_equal(sbx_store_erase(store, machine, 2000, NULL, NULL), 50);
    if (!store_is_postgres())
        assert_in_range(statement_log_count(), 30, 90); /* one batch, and one that finds nothing more */
    assert_true(rows_of_sums() < rows);
    assert_int_equal(store_number(fixture.data_dir, "SELECT SUM(hits) FROM place"), 5);
    assert_int_equal(store_number(fixture.data_dir, "SELECT SUM(hits) FROM fact WHERE place > 0 AND day >= 0"), 5);
    assert_int_equal(store_number(fixture.data_dir, "SELECT COUNT(*) FROM place"), 1);
}

/* To find what a batch changes, no table that grows with stalls is scanned. */
static void test_a_batch_walks_over_no_table(void **state)
{
    (void)state;
    static const char *const tables[] = {"snapshot", "payload", "rotating", "said", "profile", "met",  "met_day",
                                         "gap",      "kin",     "was_in",   "fact", "spread",  "label"};
    char path[128];
    if (store_is_postgres())
        skip();
    snprintf(path, sizeof(path), "%s/store.db", fixture.data_dir);
    for (int index = NEXT_AGED_PAYLOADS; index <= GOING_EMPTY_PLACES; index++)
        for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
            if ((index <= AGED_GAP || index >= GOING_NONE) && index != NEXT_AGED_PAYLOADS &&
                index != GOING_AGED && /* a limit ends these */
                statement_log_scans(path, SBX_GOING_TABLES, sbx_store_writer_sql[index], tables[i]) > 0)
                fail_msg("walks over %s: %s", tables[i], sbx_store_writer_sql[index]);
}

/* ---- whose turn it is ---- */

static struct sbx_store_handle handle;
static bool had_it; /* protected by the handle's lock */

static void *take_it(void *context)
{
    (void)context;
    sbx_store_handle_lock(&handle);
    had_it = true;
    sbx_store_handle_unlock(&handle);
    return NULL;
}

/* Symptom: a removal stood back for only 20 ms. On a machine with a load of 80 a post waited for 22 s, until the whole
 * removal was over. */
static void test_who_waits_for_the_store_has_it_before_the_next_batch(void **state)
{
    (void)state;
    pthread_t thread;
    char path[128], why[200] = "";
    snprintf(path, sizeof(path), "%s/any.db", fixture.data_dir);
    assert_int_equal(sbx_store_handle_open(&handle, path, "", NULL, 0, why, sizeof(why)), 0);
    sbx_store_handle_stand_back(&handle, WAIT_S * 1000); /* nobody waits, so it returns at once */
    for (int round = 0; round < 300; round++) {
        had_it = false;
        sbx_store_handle_lock(&handle);
        assert_int_equal(pthread_create(&thread, NULL, take_it, NULL), 0);
        while (!sbx_store_handle_is_wanted(&handle))
            sleep_ms(1);
        sbx_store_handle_unlock(&handle);
        sbx_store_handle_stand_back(&handle, 0); /* a waiting thread gets it, however long that takes */
        sbx_store_handle_lock(&handle);
        assert_true(had_it);
        sbx_store_handle_unlock(&handle);
        pthread_join(thread, NULL);
    }
    sbx_store_handle_close(&handle);
}

int main(void)
{
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_an_upload_is_stored_while_a_machine_is_erased),
        STORE_TEST(test_an_upload_is_stored_while_stalls_age_out),
        STORE_TEST(test_a_removal_reads_no_more_rows_of_sums_than_it_changes),
        STORE_TEST(test_many_stalls_go_in_as_many_statements_as_one),
        STORE_TEST(test_the_bytes_of_many_payloads_go_in_as_many_statements_as_of_one),
        STORE_TEST(test_a_day_that_goes_whole_goes_by_a_range),
        STORE_TEST(test_the_sums_of_a_past_day_go_with_their_table),
        STORE_TEST(test_a_day_stays_while_somebody_reads_its_sums),
        STORE_TEST(test_tables_of_a_day_are_made_once),
        STORE_TEST(test_a_machine_is_erased_by_group),
        STORE_TEST(test_a_batch_walks_over_no_table),
        STORE_TEST(test_who_waits_for_the_store_has_it_before_the_next_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
