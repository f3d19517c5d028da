/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_reading.c - the rows that lists, pages and comparisons read do not grow with the number of stored stalls.
 * Counts of machines that are estimated from a sample are as exact as stated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine_sample.h"
#include "stall_facts.h"
#include "started_server.h"
#include "statement_log.h"
#include "store.h"
#include "store_compare.h"
#include "store_place.h"
#include "store_symbols.h"

enum {
    DAY = 20000,
    DAYS = 3,
    PLACES = 3,
    BUILDS = 4, /* of two versions */
    SEEDS = DAYS * PLACES * BUILDS,
    SAMPLE_ROWS = 512,
    NEVER = 1000000
};

static struct sbx_store *store;
static struct sbx_store_view view;
#define ALL (&view)

static void put_seeds(void)
{
    for (uint8_t i = 0; i < SEEDS; i++) {
        const uint8_t build = i % BUILDS, day = i / BUILDS % DAYS, place = (uint8_t)(1 + i / (BUILDS * DAYS));
        const struct sbx_stall stall = {.payload_id = {1, i},
                                        .session_id = {2, i},
                                        .app_build_id = {1, build},
                                        .app_build_id_bytes = 8,
                                        .app_version = {1, build / 2, 0},
                                        .created_day = DAY + day,
                                        .has_rotating_id = true,
                                        .rotating_id = {3, i},
                                        .sampling = {.weight = 1, .one_in = 1},
                                        .trigger = {.kind = SBX_TRIGGER_ANR, .duration_ns = 100000000 + i * 1000000}};
        const uint8_t key[SBX_ID_BYTES] = {place};
        const struct sbx_said_row said[] = {{SBX_FACT_CAUSE, "cpu", 5}, {SBX_FACT_OS, "Debian 12", 0}};
        const struct sbx_verdict_row verdict = {.app = "shop",
                                                .cause = "cpu",
                                                .class_ = "on_cpu",
                                                .function = "f",
                                                .module = "m",
                                                .headline = "it computed",
                                                .key = key,
                                                .path = "on_click > f",
                                                .said = said,
                                                .said_count = 2,
                                                .profile = "a 1\n"};
        enum sbx_stored stored;
        assert_int_equal(
            sbx_store_put(store, &stall, "abc", 3, (DAY + day) * INT64_C(86400000) + i * INT64_C(1000), &stored), 0);
        assert_int_equal(sbx_store_put_verdict(store, stall.payload_id, &verdict), 0);
    }
}

static int set_up(void **state)
{
    char why[200] = "";
    prepare_server(state);
    statement_log_watch();
    if (sbx_store_open(store_place_of(fixture.data_dir), "1", &store, why, sizeof(why)) != 0)
        fail_msg("%s", why);
    sbx_store_set_sample_rows(store, SAMPLE_ROWS);
    view = (struct sbx_store_view){store, 0};
    put_seeds();
    return 0;
}

static int tear_down(void **state)
{
    sbx_store_close(store);
    return remove_server(state);
}

static void run(const char *sql)
{
    store_run(fixture.data_dir, sql);
}

/* Hashes that are as far from each other as possible, and different for each pair of numbers. */
#define HASH(number, family) \
    "(((" number ") * 2654435761 + (" family ") * 40503) %% 4294967296 * 2147483648 + " number ")"

static const char GROWN_SUMS[] =
    "DELETE FROM met; DELETE FROM met_day; DELETE FROM spread; DELETE FROM label; DELETE FROM fact;"
    "INSERT INTO fact(place, day, build, hits, weight, variance) SELECT place, day, build, COUNT(*), SUM(weight), 0"
    " FROM summed GROUP BY 1, 2, 3;"
    "INSERT INTO spread(place, day, build, bucket, weight) SELECT place, day, build, bucket, SUM(weight) FROM"
    " summed GROUP BY 1, 2, 3, 4;"
    "INSERT INTO label(place, day, build, kind, word, hits, weight, us) SELECT s.place, s.day, s.build, d.kind,"
    " d.word, COUNT(*), SUM(s.weight), SUM(d.us) FROM summed s JOIN said d ON d.seq = s.seq GROUP BY 1, 2, 3, 4, 5;"
    "INSERT INTO met_day(place, day, build, who, count) SELECT place, day, build, machine, COUNT(*) FROM summed"
    " GROUP BY 1, 2, 3, 4;"
    "INSERT INTO met(kind, of, who, count) SELECT 0, place, process, COUNT(*) FROM snapshot GROUP BY 2, 3;"
    "INSERT INTO met(kind, of, who, count) SELECT 1, place, machine, COUNT(*) FROM snapshot GROUP BY 2, 3;"
    "INSERT INTO met(kind, of, who, count) SELECT 1, whole, machine, COUNT(*) FROM snapshot GROUP BY 2, 3;"
    "INSERT INTO met(kind, of, who, count) SELECT 2, place, build, COUNT(*) FROM snapshot GROUP BY 2, 3;"
    "INSERT INTO met(kind, of, who, count) SELECT 3, place, machine, COUNT(*) FROM snapshot GROUP BY 2, 3;"
    "INSERT INTO met(kind, of, who, count) SELECT 4, build, machine, COUNT(*) FROM snapshot GROUP BY 2, 3;"
    "UPDATE place SET hits = (SELECT COUNT(*) FROM snapshot s WHERE s.place = num), newest = (SELECT MAX(s.seq)"
    " FROM snapshot s WHERE s.place = num);";

/* PostgreSQL keeps each version of a row until the transaction ends, and a trigger changes the same few rows for each
 * new stall. For thousands of stalls at once that is thousands of versions, which are scanned thousands of times. So
 * there the triggers are off, and the counts are calculated afterwards. */
static const char NO_TRIGGERS[] = "SET session_replication_role = replica;";
static const char COUNTED[] =
    "UPDATE place p SET (sessions, machines, builds, sure) = (SELECT COUNT(*) FILTER (WHERE kind = 0), COUNT(*) FILTER"
    " (WHERE kind = 1), COUNT(*) FILTER (WHERE kind = 2), COUNT(*) FILTER (WHERE kind = 3) FROM met"
    " WHERE of = p.num AND kind < 4);"
    "UPDATE word SET used = (SELECT COUNT(*) FROM said WHERE word = num);"
    "UPDATE app SET machines = (SELECT COUNT(*) FROM met WHERE kind = 1 AND of = -num);"
    "UPDATE build SET sure = (SELECT COUNT(*) FROM met WHERE kind = 4 AND of = num);"
    "UPDATE fact f SET (machines, machine_days) = (SELECT COUNT(*) FILTER (WHERE m.day = f.day), COUNT(*) FILTER (WHERE"
    " m.day >= 0 AND (m.day = f.day OR f.day = -1)) FROM met_day m WHERE m.place = f.place AND m.build = f.build)";

/* Insert `copies` of each stall, from other machines and processes, a moment later; and the sums of them. */
static void grow(int copies)
{
    char sql[6000];
    const char *id = "randomblob(16)", *session = id, *before = "", *after = "";
    if (store_is_postgres()) {
        id = "decode(md5(n.i || ' 1 ' || s.seq), 'hex')";
        session = "decode(md5(n.i || ' 2 ' || s.seq), 'hex')";
        before = NO_TRIGGERS;
        after = COUNTED;
    }
    snprintf(sql, sizeof(sql),
             "INSERT INTO snapshot(id, received_ms, created_day, bytes, session, app_build_id, app_version, trigger,"
             " duration_ns, threshold_ms, weight, one_in, state, triaged_by, app, cause, class, function, module,"
             " headline, confidence, place, day, build, bucket, tenant, whole, process, machine) WITH RECURSIVE n(i) AS"
             " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT %s, received_ms + n.i, created_day, bytes,"
             " %s, app_build_id, app_version, trigger, duration_ns, s.seq, weight, one_in, state, triaged_by, app,"
             " cause, class, function, module, headline, confidence, place, day, build, bucket, tenant, whole, " HASH(
                 "n.i", "s.seq + 7") ", " HASH("n.i", "s.seq") " FROM n CROSS JOIN snapshot s WHERE s.seq <= %d",
             copies, id, session, SEEDS);
    run(sql);
    snprintf(sql, sizeof(sql),
             "%sDELETE FROM rotating; INSERT INTO rotating(seq, id) SELECT seq, session FROM snapshot;"
             "INSERT INTO said(seq, kind, word, us) SELECT s.seq, d.kind, d.word, d.us FROM snapshot s JOIN said d ON"
             " d.seq = s.threshold_ms WHERE s.seq > %d AND s.seq NOT IN (SELECT seq FROM profile);"
             "INSERT INTO profile(seq, text) SELECT seq, 'a 1' FROM snapshot WHERE seq NOT IN (SELECT seq FROM"
             " profile);",
             before, SEEDS);
    run(sql);
    snprintf(sql, sizeof(sql), "%s%s%s", before, GROWN_SUMS, after);
    run(sql);
}

/* ---- what is read ---- */

static int tell_nothing(void *context, const char *text, size_t bytes, uint32_t weight)
{
    (void)context, (void)text, (void)bytes, (void)weight;
    return 0;
}

static const struct sbx_issue_span spans[] = {
    {"", 0, NEVER, "shop"}, {"1.1.0", 0, NEVER, "shop"}, {"", DAY + 1, DAY + 2, "shop"}, {"1.0.0", DAY, DAY + 1, ""}};
enum {
    SPANS = sizeof(spans) / sizeof(spans[0])
};

static struct sbx_issue_sums sums;
static struct sbx_issue_row issues[8];
static struct sbx_snapshot_row snapshots[20];
static struct sbx_compared_issue compared[2 * SBX_COMPARED_MAX];

static void read_issues(const struct sbx_issue_span *span)
{
    size_t count;
    for (int order = SBX_ISSUES_BY_STALLS; order <= SBX_ISSUES_BY_FIRST; order++) {
        const struct sbx_issue_query query = {.span = {span->version, span->from_day, span->to_day, NULL},
                                              .app = span->app,
                                              .cause = order == 1 ? "cpu" : "",
                                              .text = order == 2 ? "click" : "",
                                              .state = -1,
                                              .order = (enum sbx_issue_order)order};
        assert_int_equal(sbx_store_find_issues(ALL, &query, issues, 8, &count), 0);
    }
    assert_int_equal(count, PLACES);
}

static void read_days(const struct sbx_issue_span *span, const uint8_t *issue)
{
    const struct sbx_issue_span days = {"", DAY, DAY + DAYS - 1, span->app};
    int64_t machines[DAYS];
    int level = 0;
    assert_int_equal(sbx_store_machines_by_day(ALL, issue, &days, machines, DAYS, &level), 0);
    assert_true(machines[0] > 0);
}

static void read_all_of(const struct sbx_issue_span *span)
{
    const uint8_t issue[SBX_ID_BYTES] = {1};
    struct sbx_machines machines[SBX_COMPARED_SIDES];
    struct sbx_version_met versions[4];
    struct sbx_app_sum apps[4];
    size_t count;
    read_issues(span);
    read_days(span, issue);
    read_days(span, NULL);
    assert_int_equal(sbx_store_sum_issue(ALL, issue, span, &sums), 0);
    assert_true(sums.machines > 0);
    assert_int_equal(sbx_store_sum_beside(ALL, "shop", span, &sums), 0);
    assert_int_equal(sbx_store_sum_all(ALL, span, &sums), 0);
    assert_int_equal(sbx_store_sum_durations(ALL, NULL, span, &sums), 0);
    assert_int_equal(sbx_store_apps(ALL, span, apps, 4, &count), 0);
    assert_int_equal(sbx_store_versions(ALL, span, versions, 4, &count), 0);
    assert_true(count > 0);
    assert_int_equal(
        sbx_store_compare_spans(ALL, (const struct sbx_issue_span[]){*span, spans[1]}, compared, &count, machines), 0);
    assert_int_equal(count, PLACES);
    assert_true(sbx_store_each_profile(ALL, issue, span, tell_nothing, NULL) >= 0);
    assert_true(sbx_store_each_profile(ALL, NULL, span, tell_nothing, NULL) >= 0);
}

static void read_all(void)
{
    const uint8_t issue[SBX_ID_BYTES] = {1}, stall[SBX_ID_BYTES] = {1, 1};
    struct sbx_missing_row missing[4];
    struct sbx_issue_after after[4];
    struct sbx_store_counts counts;
    size_t count;
    for (size_t i = 0; i < SPANS; i++)
        read_all_of(&spans[i]);
    assert_int_equal(sbx_store_issues(ALL, issues, 8, &count), 0);
    assert_int_equal(count, PLACES);
    assert_int_equal(sbx_store_issue(ALL, issue, issues), 0);
    assert_int_equal(sbx_store_snapshots(ALL, NULL, 0, snapshots, 20, &count), 0);
    assert_int_equal(count, 20);
    assert_int_equal(sbx_store_snapshots(ALL, issue, 0, snapshots, 20, &count), 0);
    assert_true(count >= 12);
    assert_int_equal(sbx_store_snapshot(ALL, stall, snapshots), 0);
    assert_int_equal(sbx_store_kin(ALL, stall, snapshots, 20, &count), 0);
    assert_int_equal(sbx_store_missing(ALL, missing, 4, &count), 0);
    assert_int_equal(sbx_store_issues_after(ALL, issue, after, 4, &count), 0);
    assert_int_equal(sbx_store_count(ALL, &counts), 0);
    assert_true(counts.snapshots >= SEEDS);
    assert_int_equal(sbx_store_count_shown(ALL, &counts), 0);
}

enum {
    STATEMENTS_MAX = 200,
    SLACK = 5000 /* steps: the fixed cost of a statement, and rows up to a limit */
};
static struct {
    char *sql;
    int64_t steps;
} before[STATEMENTS_MAX];
static size_t before_count;

static void note_steps(void *context, const char *file, const char *sql, int64_t steps)
{
    (void)context, (void)file;
    assert_true(before_count < STATEMENTS_MAX);
    before[before_count].sql = strdup(sql);
    before[before_count++].steps = steps;
}

/* A scan that a limit ends, newest first: of 200,000 stalls to find 2,000 profiles, or of as many as are shown. */
static bool is_bounded(const char *sql)
{
    return strstr(sql, " CROSS JOIN profile f WHERE f.seq = s.seq ") != NULL ||
           strstr(sql, "FROM snapshot s WHERE s.seq < ?1 AND ") != NULL;
}

static void check_steps(void *context, const char *file, const char *sql, int64_t steps)
{
    int *checked = context;
    (void)file;
    for (size_t i = 0; i < before_count; i++)
        if (strcmp(before[i].sql, sql) == 0) {
            if (steps > before[i].steps + before[i].steps / 2 + SLACK && !is_bounded(sql))
                fail_msg("%lld steps, and %lld of four times as many stalls: %s", (long long)before[i].steps,
                         (long long)steps, sql);
            ++*checked;
        }
}

/* Symptom: a comparison of two versions scanned all machines of each issue, and had no answer with 150,000 stalls. */
static void test_what_pages_read_does_not_grow_with_how_much_is_stored(void **state)
{
    int checked = 0;
    (void)state;
    if (store_is_postgres())
        skip(); /* PostgreSQL does not report its steps */
    grow(100);  /* 3,600 stalls: more than the number of profiles that any answer reads */
    statement_log_clear();
    read_all();
    statement_log_each(note_steps, NULL);
    grow(300); /* 14,400 */
    statement_log_clear();
    read_all();
    statement_log_each(check_steps, &checked);
    assert_int_equal(checked, before_count);
    for (size_t i = 0; i < before_count; i++)
        free(before[i].sql);
}

static void check_plan(void *context, const char *file, const char *sql, int64_t steps)
{
    static const char *const tables[] = {"snapshot", "payload", "rotating", "said", "profile", "met",  "met_day",
                                         "gap",      "kin",     "was_in",   "fact", "spread",  "label"};
    int *checked = context;
    (void)steps;
    if (strncmp(sql, "SELECT ", 7) != 0 || !strstr(file, "store.db"))
        return;
    ++*checked;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (statement_log_scans(file, NULL, sql, tables[i]) > 0 && !is_bounded(sql))
            fail_msg("walks over %s: %s", tables[i], sql);
    if (statement_log_plan_has(file, sql, " USING PRIMARY KEY (kind=?)"))
        fail_msg("walks over what all places met: %s", sql);
}

/* Symptom: the number of stalls was counted row by row for each first page. Whether an issue existed before, and its
 * first version, were looked up among the builds of all places, for each issue of a list. A comparison took three
 * seconds. */
static void test_no_page_walks_over_a_table_that_grows_with_stalls(void **state)
{
    (void)state;
    int checked = 0;
    if (store_is_postgres())
        skip();
    statement_log_clear();
    read_all();
    statement_log_each(check_plan, &checked);
    assert_true(checked > 30);
}

static void check_finding(void *context, const char *file, const char *sql, int64_t steps)
{
    int *checked = context;
    (void)file, (void)steps;
    if (strncmp(sql, "SELECT i.id, SUM(", 17) != 0)
        return;
    ++*checked;
    if (strstr(sql, " fact f"))
        fail_msg("reads facts: %s", sql);
}

/* Symptom: an overview of 2,000 issues and 20 builds read 40,000 facts to find ten issues. */
static void test_the_first_issues_of_all_days_are_found_without_their_facts(void **state)
{
    (void)state;
    int checked = 0;
    size_t count;
    const struct sbx_issue_query query = {
        .span = spans[0], .app = "shop", .cause = "", .text = "", .state = -1, .order = SBX_ISSUES_BY_STALLS};
    if (store_is_postgres())
        skip();
    statement_log_clear();
    assert_int_equal(sbx_store_find_issues(ALL, &query, issues, 8, &count), 0);
    assert_int_equal(count, PLACES);
    assert_int_equal(issues[0].machine_days, SEEDS / PLACES); /* they are reported all the same */
    statement_log_each(check_finding, &checked);
    assert_int_equal(checked, 1);
}

static int64_t statements_of_a_list(size_t max)
{
    size_t count;
    const struct sbx_issue_query query = {
        .span = spans[0], .app = "shop", .cause = "", .text = "", .state = -1, .order = SBX_ISSUES_BY_STALLS};
    statement_log_clear();
    assert_int_equal(sbx_store_find_issues(ALL, &query, issues, max, &count), 0);
    assert_int_equal(count, max);
    return statement_log_count();
}

/* Over a network the number of statements determines the time. Machine-days and penetration were queried separately for
 * each of fifty issues. */
static void test_a_list_asks_one_statement_of_each_issue_beside_what_it_asks_of_all(void **state)
{
    (void)state;
    if (store_is_postgres())
        skip();
    assert_int_equal(statements_of_a_list(3) - statements_of_a_list(1), 2);
}

/* The same, for each of a thousand issues and two sides. */
static void test_a_comparison_asks_of_all_issues_together(void **state)
{
    (void)state;
    struct sbx_machines machines[SBX_COMPARED_SIDES];
    size_t count;
    if (store_is_postgres())
        skip();
    const struct sbx_issue_span sides[] = {spans[1], {"1.0.0", 0, NEVER, "shop"}};
    statement_log_clear();
    assert_int_equal(sbx_store_compare_spans(ALL, sides, compared, &count, machines), 0);
    assert_int_equal(count, PLACES);
    assert_int_equal(statement_log_count(),
                     SBX_COMPARED_SIDES * 5); /* issues, rows, machines of all and of each, durations */
}

/* ---- what is said of machines ---- */

static void assert_within(int64_t number, int64_t truth, int64_t percent)
{
    if (llabs(number - truth) * 100 > truth * percent)
        fail_msg("%lld is not %lld", (long long)number, (long long)truth);
}

/* 512 rows are read, one for each machine, so the error (one sigma) is at most 4.4 %. */
static void test_machines_of_many_are_counted_within_the_error_of_their_sample(void **state)
{
    (void)state;
    const uint8_t issue[SBX_ID_BYTES] = {1};
    struct sbx_machines machines[SBX_COMPARED_SIDES];
    int64_t days[DAYS];
    size_t count;
    int level = 0;
    grow(200); /* 201 machines in each of 36 places, days and builds */
    assert_int_equal(sbx_store_sum_all(ALL, &spans[1], &sums), 0);
    assert_within(sums.machines, 201 * 18, 12);
    assert_int_equal(sbx_store_sum_all(ALL, &spans[2], &sums), 0);
    assert_within(sums.machines, 201 * 24, 12);
    assert_int_equal(sbx_store_sum_issue(ALL, issue, &spans[1], &sums), 0);
    assert_within(sums.machines, 201 * 6, 12);
    assert_int_equal(sbx_store_sum_issue(ALL, issue, &spans[0], &sums), 0);
    assert_int_equal(sums.machines, 201 * 12); /* this number is stored */
    const struct sbx_issue_span sides[] = {spans[1], {"1.0.0", 0, NEVER, "shop"}};
    assert_int_equal(sbx_store_compare_spans(ALL, sides, compared, &count, machines), 0);
    assert_int_equal(count, PLACES);
    for (int side = 0; side < SBX_COMPARED_SIDES; side++) {
        assert_true(machines[side].level > 0);
        assert_within(sbx_machines_count(&machines[side]), 201 * 18, 12);
        for (size_t i = 0; i < count; i++) {
            assert_true(compared[i].level > 0);
            assert_within(compared[i].machines[side], 201 * 6, 30);
            /* Of all machines, those that are in the same sample: a third has met each of three issues. */
            assert_within(3 * (compared[i].machines[side] >> compared[i].level),
                          sbx_machines_in(&machines[side], compared[i].level), 40);
        }
    }
    const struct sbx_issue_span week = {"", DAY, DAY + DAYS - 1, "shop"};
    assert_int_equal(sbx_store_machines_by_day(ALL, NULL, &week, days, DAYS, &level), 0);
    assert_true(level > 0);
    for (int i = 0; i < DAYS; i++)
        assert_within(days[i], 201 * 12, 20);
}

static void test_few_machines_are_counted_one_by_one(void **state)
{
    (void)state;
    const uint8_t issue[SBX_ID_BYTES] = {1};
    struct sbx_machines machines[SBX_COMPARED_SIDES];
    size_t count;
    assert_int_equal(sbx_store_sum_all(ALL, &spans[2], &sums), 0);
    assert_int_equal(sums.machines, 24);
    assert_int_equal(sbx_store_sum_issue(ALL, issue, &spans[3], &sums), 0);
    assert_int_equal(sums.machines, 4);
    assert_int_equal(sbx_store_compare_spans(ALL, spans, compared, &count, machines), 0);
    assert_int_equal(sbx_machines_count(&machines[0]), SEEDS);
    assert_int_equal(sbx_machines_count(&machines[1]), SEEDS / 2);
    for (size_t i = 0; i < count; i++)
        assert_true(compared[i].level == 0 && compared[i].machines[0] == 12 && compared[i].machines[1] == 6);
}

static void test_a_sample_has_the_same_machines_wherever_they_are_met(void **state)
{
    (void)state;
    struct sbx_machines machines = {.level = 2};
    assert_int_equal(sbx_sample_level(1000, 1000), 0);
    assert_int_equal(sbx_sample_level(1001, 1000), 1);
    assert_int_equal(sbx_sample_level(INT64_MAX, 1), SBX_SAMPLE_LEVELS - 1);
    assert_true(sbx_sample_last(0) == INT64_MAX && sbx_sample_last(1) == INT64_MAX / 2);
    for (int i = 0; i < 3; i++)
        sbx_machines_add(&machines, sbx_sample_last(i));
    assert_int_equal(machines.of_level[2], 1); /* the other two are not in a sample of level 2 */
    sbx_machines_add(&machines, 0);
    assert_int_equal(sbx_machines_in(&machines, 2), 2);
    assert_int_equal(sbx_machines_in(&machines, 3), 1);
    assert_int_equal(sbx_machines_in(&machines, 1), 4);
    assert_int_equal(sbx_machines_count(&machines), 8);
}

int main(void)
{
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sample_has_the_same_machines_wherever_they_are_met),
        STORE_TEST(test_few_machines_are_counted_one_by_one),
        STORE_TEST(test_machines_of_many_are_counted_within_the_error_of_their_sample),
        STORE_TEST(test_no_page_walks_over_a_table_that_grows_with_stalls),
        STORE_TEST(test_the_first_issues_of_all_days_are_found_without_their_facts),
        STORE_TEST(test_a_list_asks_one_statement_of_each_issue_beside_what_it_asks_of_all),
        STORE_TEST(test_a_comparison_asks_of_all_issues_together),
        STORE_TEST(test_what_pages_read_does_not_grow_with_how_much_is_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
