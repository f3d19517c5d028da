/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_issues.c - issues selected by a query, their sums, and their state as set by people. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "started_server.h"
#include "store_compare.h"
#include "store_issues.h"
#include "store_place.h"

enum {
    DAY = 20001
};

static struct sbx_store *store;
#define ALL (&(struct sbx_store_view){store, 0}) /* a view that sees all applications */
static struct sbx_issue_row rows[8];
static struct sbx_issue_sums sums;

static const char *where;

static int open_store(void)
{
    char why[200] = "";
    return sbx_store_open(where, "1", &store, why, sizeof(why));
}

static int set_up(void **state)
{
    prepare_server(state);
    where = store_place_of(fixture.data_dir);
    return open_store();
}

static int tear_down(void **state)
{
    sbx_store_close(store);
    return remove_server(state);
}

struct stall {
    uint8_t name, machine, place;
    uint32_t minor, weight, day; /* version 1.minor.0; days after DAY */
    int64_t ms;
    const char *cause, *holder;
};
static uint64_t tenant; /* the tenant of the following stalls */

static void judge(const struct stall *stall)
{
    const uint8_t id[SBX_ID_BYTES] = {stall->name}, key[SBX_ID_BYTES] = {stall->place};
    char path[40];
    snprintf(path, sizeof(path), "on_click > f%u", stall->place);
    const struct sbx_said_row said[] = {{SBX_FACT_CAUSE, stall->cause, stall->ms * 1000},
                                        {SBX_FACT_HOLDER, stall->holder ? stall->holder : "", stall->ms * 500}};
    const struct sbx_verdict_row verdict = {.app = stall->place < 9 ? "shop" : "mail",
                                            .cause = stall->cause,
                                            .class_ = "off_cpu",
                                            .function = "f",
                                            .module = "m",
                                            .headline = "it slept",
                                            .key = key,
                                            .path = path,
                                            .said = said,
                                            .said_count = 2};
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
}

static void put(const struct stall *stall)
{
    struct sbx_stall payload = {.payload_id = {stall->name},
                                .session_id = {stall->name},
                                .app_build_id = {1, (uint8_t)stall->minor},
                                .app_build_id_bytes = 8,
                                .app_version = {1, stall->minor, 0},
                                .app_what = tenant,
                                .created_day = DAY + stall->day,
                                .has_rotating_id = true,
                                .rotating_id = {stall->machine},
                                .sampling = {.weight = stall->weight, .one_in = stall->weight},
                                .trigger = {.kind = SBX_TRIGGER_ANR, .duration_ns = stall->ms * 1000000}};
    enum sbx_stored stored;
    assert_int_equal(
        sbx_store_put(store, &payload, "abc", 3, (DAY + stall->day) * INT64_C(86400000) + stall->name, &stored), 0);
    judge(stall);
}

static void put_all(void)
{
    static const struct stall stalls[] = {
        {1, 1, 1, 1, 1, 0, 100, "cpu", NULL},  {2, 1, 1, 1, 8, 0, 200, "cpu", NULL},
        {3, 2, 1, 2, 1, 1, 400, "lock", "g"},  {4, 3, 2, 2, 1, 1, 900, "lock", "h"},
        {5, 3, 2, 2, 1, 2, 1000, "lock", "h"}, {6, 4, 9, 2, 2, 2, 50, "io", NULL},
    };
    for (size_t i = 0; i < sizeof(stalls) / sizeof(stalls[0]); i++)
        put(&stalls[i]);
}

static struct sbx_issue_query query_of_all(void)
{
    return (struct sbx_issue_query){
        .span = {"", 0, 1000000, NULL}, .app = "", .cause = "", .text = "", .state = -1, .order = SBX_ISSUES_BY_STALLS};
}

/* The places of the found issues, in their order. */
static void assert_found(const struct sbx_issue_query *query, const char *places)
{
    size_t count = 0;
    assert_int_equal(sbx_store_find_issues(ALL, query, rows, 8, &count), 0);
    assert_int_equal(count, strlen(places));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rows[i].id_text[1], places[i]);
}

static void test_issues_are_found_by_what_is_asked_for(void **state)
{
    (void)state;
    put_all();
    struct sbx_issue_query query = query_of_all();
    assert_found(&query, "192"); /* by estimated stalls 10, 2, 2; of equals the later first */
    assert_int_equal(rows[0].weight, 10);
    assert_int_equal(rows[0].variance, 8 * 7);
    assert_int_equal(rows[0].machine_days, 2);
    query.order = SBX_ISSUES_BY_LAST;
    assert_found(&query, "921");
    query.app = "shop";
    assert_found(&query, "21");
    query.cause = "cpu";
    assert_found(&query, "1");
    query.cause = "'; DROP TABLE place; --";
    assert_found(&query, "");
    query = query_of_all();
    query.span.version = "1.2.0";
    query.app = "shop";
    assert_found(&query, "21"); /* place 1 has one stall of that version */
    assert_int_equal(rows[1].weight, 1);
    query.span = (struct sbx_issue_span){"", DAY + 2, DAY + 2, NULL};
    assert_found(&query, "2");
    assert_int_equal(rows[0].hits, 1);
    query = query_of_all();
    query.text = "F9";
    assert_found(&query, "9");
    query.text = "";
    query.skip = 2;
    assert_found(&query, "2");
}

static void sum(uint8_t place, const char *version)
{
    const uint8_t id[SBX_ID_BYTES] = {place};
    const struct sbx_issue_span span = {version, 0, 1000000, NULL};
    assert_int_equal(sbx_store_sum_issue(ALL, id, &span, &sums), 0);
}

static bool is_about(int64_t ns, int64_t ms)
{
    return llabs(ns - ms * 1000000) <= ms * 10000;
}

/* The durations and days of each issue in a list must equal those of a query for that issue alone. */
static void assert_list_is_right(const struct sbx_issue_query *query, size_t expected)
{
    static struct sbx_issue_sums of_list[8];
    size_t count = 0;
    assert_int_equal(sbx_store_find_issues(ALL, query, rows, 8, &count), 0);
    assert_int_equal(count, expected);
    assert_int_equal(sbx_store_sum_durations_of(ALL, rows, count, &query->span, of_list), 0);
    for (size_t i = 0; i < count; i++) {
        uint8_t id[SBX_ID_BYTES];
        assert_true(sbx_id_parse(rows[i].id_text, strlen(rows[i].id_text), id));
        assert_int_equal(sbx_store_sum_durations(ALL, id, &query->span, &sums), 0);
        assert_true(sums.p50_ns > 0 && sums.day_count > 0);
        assert_int_equal(of_list[i].p50_ns, sums.p50_ns);
        assert_int_equal(of_list[i].p90_ns, sums.p90_ns);
        assert_int_equal(of_list[i].p99_ns, sums.p99_ns);
        assert_int_equal(of_list[i].day_count, sums.day_count);
        assert_memory_equal(of_list[i].days, sums.days, sums.day_count * sizeof(sums.days[0]));
    }
}

static void test_the_durations_of_a_list_are_those_of_each_of_its_issues(void **state)
{
    (void)state;
    const uint8_t first[SBX_ID_BYTES] = {1}, second[SBX_ID_BYTES] = {2};
    put_all();
    struct sbx_issue_query query = query_of_all();
    assert_list_is_right(&query, 3);
    query.span.version = "1.2.0";
    assert_list_is_right(&query, 3);
    query.span = (struct sbx_issue_span){"", DAY + 1, DAY + 1, NULL};
    assert_list_is_right(&query, 2);
    assert_int_equal(sbx_store_merge_issues(ALL, second, first), 0); /* an issue with two places */
    query = query_of_all();
    assert_list_is_right(&query, 2);
    size_t count;
    assert_int_equal(sbx_store_find_issues(ALL, &query, rows, 8, &count), 0);
    sbx_store_set_min_machines(store, 2);
    static struct sbx_issue_sums withheld[8];
    assert_int_equal(sbx_store_sum_durations_of(ALL, rows, count, &query.span, withheld), 0);
    for (size_t i = 0; i < count; i++)
        assert_true(withheld[i].is_withheld && withheld[i].p50_ns == 0 && withheld[i].day_count == 0);
    assert_int_equal(sbx_store_sum_durations_of(ALL, rows, 0, &query.span, withheld), 0);
}

static void test_the_sums_of_an_issue_are_by_day_version_and_word(void **state)
{
    (void)state;
    put_all();
    sum(1, "");
    assert_int_equal(sums.hits, 3);
    assert_int_equal(sums.weight, 10);
    assert_int_equal(sums.machines, 2);
    assert_true(is_about(sums.p50_ns, 200)); /* eight of ten stalls, estimated */
    assert_true(is_about(sums.p99_ns, 400) || is_about(sums.p99_ns, 200));
    assert_int_equal(sums.day_count, 2);
    assert_int_equal(sums.days[0].day, DAY);
    assert_int_equal(sums.days[0].weight, 9);
    assert_int_equal(sums.days[0].machines, 1);
    assert_int_equal(sums.version_count, 2);
    assert_string_equal(sums.versions[0].version, "1.2.0"); /* the latest version first */
    assert_true(is_about(sums.versions[0].p50_ns, 400));
    assert_int_equal(sums.versions[1].weight, 9);
    assert_int_equal(sums.label_count[SBX_FACT_CAUSE], 2);
    assert_string_equal(sums.labels[SBX_FACT_CAUSE][0].word, "cpu");
    assert_int_equal(sums.labels[SBX_FACT_CAUSE][0].us, 100000 + 8 * 200000);
    assert_int_equal(sums.label_us[SBX_FACT_CAUSE], 100000 + 8 * 200000 + 400000);
    assert_string_equal(sums.labels[SBX_FACT_HOLDER][0].word, "g");
    sum(1, "1.2.0");
    assert_int_equal(sums.hits, 1);
    assert_int_equal(sums.label_count[SBX_FACT_CAUSE], 1);
}

/* A stall and what it reports about its machine. */
static void put_on(uint8_t name, uint8_t of_place, uint32_t minor, uint32_t weight, const char *os, const char *scene)
{
    const uint8_t id[SBX_ID_BYTES] = {name}, key[SBX_ID_BYTES] = {of_place};
    const struct sbx_said_row said[] = {
        {SBX_FACT_CAUSE, "cpu", 1000}, {SBX_FACT_OS, os, 0}, {SBX_FACT_SCENE, scene, 0}};
    const struct sbx_verdict_row verdict = {.app = of_place < 9 ? "shop" : "mail",
                                            .cause = "cpu",
                                            .class_ = "on_cpu",
                                            .function = "f",
                                            .module = "m",
                                            .headline = "it computed",
                                            .key = key,
                                            .said = said,
                                            .said_count = 3};
    put(&(struct stall){name, name, of_place, minor, weight, 0, 100, "cpu", NULL});
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
}

static const struct sbx_label_sum *label_of(enum sbx_fact_kind kind, const char *word)
{
    for (size_t i = 0; i < sums.label_count[kind]; i++)
        if (strcmp(sums.labels[kind][i].word, word) == 0)
            return &sums.labels[kind][i];
    fail_msg("no %s", word);
    return NULL;
}

/* That three of four stalls of an issue are on one system means little if three of four stalls of the whole application
 * are on it. */
static void test_where_an_issue_happens_stands_beside_where_its_application_stalls(void **state)
{
    (void)state;
    put_on(1, 1, 1, 3, "Debian 12", "inbox");
    put_on(2, 1, 1, 1, "Fedora 41", "");
    put_on(3, 2, 1, 1, "Debian 12", "compose");
    put_on(4, 2, 2, 15, "Debian 12", "compose");
    put_on(5, 9, 1, 100, "Fedora 41", "inbox"); /* of another application */
    sum(1, "");
    struct sbx_issue_span span = {"", 0, 1000000, NULL};
    assert_int_equal(sums.label_all[SBX_FACT_OS], 0); /* not requested yet */
    assert_int_equal(sbx_store_sum_beside(ALL, "shop", &span, &sums), 0);
    assert_int_equal(label_of(SBX_FACT_OS, "Debian 12")->weight, 3);
    assert_int_equal(label_of(SBX_FACT_OS, "Debian 12")->all_weight, 19);
    assert_int_equal(label_of(SBX_FACT_OS, "Fedora 41")->all_weight, 1);
    assert_int_equal(sums.label_all[SBX_FACT_OS], 20);
    assert_int_equal(label_of(SBX_FACT_SCENE, "inbox")->all_weight, 3);
    assert_int_equal(sums.label_all[SBX_FACT_SCENE], 19); /* those that named a scene */
    assert_int_equal(sums.label_all[SBX_FACT_CAUSE], 0);
    sum(1, "1.1.0");
    span.version = "1.1.0";
    assert_int_equal(sbx_store_sum_beside(ALL, "shop", &span, &sums), 0);
    assert_int_equal(sums.label_all[SBX_FACT_OS], 5);
    sbx_store_set_min_machines(store, 3);
    sum(1, "");
    assert_int_equal(sbx_store_sum_beside(ALL, "shop", &span, &sums), 0);
    assert_int_equal(sums.label_all[SBX_FACT_OS], 0); /* withheld */
    sbx_store_set_min_machines(store, 1);
}

static void test_the_sums_of_an_application_are_those_of_its_issues(void **state)
{
    (void)state;
    put_all();
    struct sbx_issue_span span = {"", 0, 1000000, "shop"};
    assert_int_equal(sbx_store_sum_all(ALL, &span, &sums), 0);
    assert_int_equal(sums.hits, 5);
    assert_int_equal(sums.weight, 12);
    assert_int_equal(sums.machines, 3);
    assert_string_equal(sums.labels[SBX_FACT_CAUSE][0].word, "lock"); /* 2.3 s of 4.0 */
    assert_int_equal(sums.labels[SBX_FACT_CAUSE][0].us, 400000 + 900000 + 1000000);
    span.app = NULL;
    span.version = "1.2.0";
    assert_int_equal(sbx_store_sum_all(ALL, &span, &sums), 0);
    assert_int_equal(sums.hits, 4);
    assert_int_equal(sums.place_count, 0);
}

static void test_breakdowns_are_withheld_where_few_machines_may_not_be_shown(void **state)
{
    (void)state;
    put_all();
    sbx_store_set_min_machines(store, 2);
    struct sbx_issue_query query = query_of_all();
    assert_found(&query, "1"); /* the others have only one machine */
    sum(1, "");
    assert_true(sums.is_withheld);
    assert_int_equal(sums.version_count + sums.day_count + sums.label_count[SBX_FACT_CAUSE], 0);
    assert_int_equal(sums.p90_ns + sums.hits + sums.machines + (int64_t)sums.place_count, 0);
}

/* Values that are withheld can neither be found as a difference of two answers, nor by a filter. */
static void test_differences_of_filters_do_not_undo_what_is_withheld(void **state)
{
    (void)state;
    struct sbx_store_counts counts, of_all;
    put_all(); /* place 1: three stalls of two machines, two for cpu and one for lock; the others have one machine each */
    sbx_store_set_min_machines(store, 2);
    struct sbx_issue_query query = query_of_all();
    static const char *const causes[] = {"", "cpu", "lock", "io"};
    static const int64_t found[] = {1, 0, 1, 0}; /* the newest is a lock, which its row shows anyway */
    for (size_t i = 0; i < 4; i++) {
        size_t count = 0;
        query.cause = causes[i];
        assert_int_equal(sbx_store_find_issues(ALL, &query, rows, 8, &count), 0);
        assert_int_equal(count, found[i]);
        if (count > 0)
            assert_int_equal(rows[0].hits, 3); /* the same for every query */
    }
    assert_int_equal(sbx_store_count_shown(ALL, &counts), 0);
    assert_int_equal(counts.issues, 1);
    assert_int_equal(counts.snapshots, 3); /* the sum of the list's rows, so that a subtraction shows nothing */
    assert_int_equal(sbx_store_count(ALL, &of_all), 0);
    assert_int_equal(of_all.snapshots, 6);
}

static void say(uint8_t place, enum sbx_issue_state issue_state, const char *until)
{
    const uint8_t id[SBX_ID_BYTES] = {place};
    const struct sbx_issue_words words = {issue_state, until, "anna", "known"};
    assert_int_equal(sbx_store_say_of_issue(ALL, id, &words, (DAY + 10) * INT64_C(86400000)), 0);
}

static int state_of(uint8_t place)
{
    const uint8_t id[SBX_ID_BYTES] = {place};
    struct sbx_issue_row row;
    assert_int_equal(sbx_store_issue(ALL, id, &row), 0);
    assert_string_equal(row.owner, "anna");
    return row.state;
}

static void test_a_resolved_issue_is_reopened_by_the_version_it_was_to_be_gone_in(void **state)
{
    (void)state;
    put_all();
    say(1, SBX_ISSUE_RESOLVED, "1.3");
    judge(&(struct stall){.name = 3, .place = 1, .cause = "cpu"}); /* a second triage is not a new stall */
    assert_int_equal(state_of(1), SBX_ISSUE_RESOLVED);
    put(&(struct stall){20, 7, 1, 2, 1, 11, 100, "cpu", NULL});
    assert_int_equal(state_of(1), SBX_ISSUE_RESOLVED);
    put(&(struct stall){21, 7, 1, 10, 1, 11, 100, "cpu", NULL}); /* 1.10 is later than 1.3 */
    assert_int_equal(state_of(1), SBX_ISSUE_REOPENED);
}

static void test_an_issue_is_muted_until_a_version_comes(void **state)
{
    (void)state;
    put_all();
    say(1, SBX_ISSUE_MUTED, "1.10");
    say(2, SBX_ISSUE_MUTED, "");
    put(&(struct stall){20, 7, 1, 9, 1, 11, 100, "cpu", NULL});
    put(&(struct stall){21, 7, 2, 99, 1, 11, 100, "cpu", NULL});
    assert_int_equal(state_of(1), SBX_ISSUE_MUTED);
    assert_int_equal(state_of(2), SBX_ISSUE_MUTED); /* permanently */
    put(&(struct stall){22, 7, 1, 10, 1, 11, 100, "cpu", NULL});
    assert_int_equal(state_of(1), SBX_ISSUE_OPEN);
}

static void test_issues_are_merged_and_split_and_nothing_is_counted_anew(void **state)
{
    (void)state;
    const uint8_t one[SBX_ID_BYTES] = {1}, two[SBX_ID_BYTES] = {2};
    uint8_t now[SBX_ID_BYTES];
    put_all();
    struct sbx_issue_query query = query_of_all();
    assert_int_equal(sbx_store_merge_issues(ALL, two, one), 0);
    assert_int_equal(sbx_store_merge_issues(ALL, two, one), -ENOENT);
    assert_int_equal(sbx_store_merge_issues(ALL, one, one), -EINVAL);
    assert_found(&query, "19");
    assert_int_equal(rows[0].hits, 5);
    assert_int_equal(rows[0].machines, 3);
    assert_int_equal(sbx_store_find_address(ALL, two, now), 0);
    assert_memory_equal(now, one, sizeof(one));
    put(&(struct stall){20, 7, 2, 2, 1, 3, 100, "cpu", NULL}); /* and so do later ones */
    sum(1, "");
    assert_int_equal(sums.hits, 6);
    assert_int_equal(sums.place_count, 2);
    sbx_store_close(store);
    assert_int_equal(open_store(), 0);
    assert_found(&query, "19");
    assert_int_equal(sbx_store_split_issue(ALL, one), -EINVAL);
    assert_int_equal(sbx_store_split_issue(ALL, two), 0);
    assert_found(&query, "129");
    assert_int_equal(rows[1].hits, 3);
    assert_int_equal(sbx_store_find_address(ALL, two, now), -ENOENT);
}

/* The state that a person set stays with the stalls when they move to another place because names arrived. */
static void test_what_people_say_survives_triage_anew_and_ageing(void **state)
{
    (void)state;
    put_all();
    say(1, SBX_ISSUE_MUTED, "");
    for (uint8_t name = 1; name <= 3; name++)
        judge(&(struct stall){.name = name, .place = 5, .cause = "cpu"});
    struct sbx_issue_query query = query_of_all();
    assert_found(&query, "192");
    assert_int_equal(rows[0].hits, 3);
    assert_string_equal(rows[0].path, "on_click > f5");
    assert_int_equal(state_of(1), SBX_ISSUE_MUTED);
    while (sbx_store_age(store, SBX_AGED_SNAPSHOT, INT64_MAX, 1, NULL, NULL) > 0) {
    }
    assert_found(&query, "");
    put(&(struct stall){20, 7, 5, 2, 1, 3, 100, "cpu", NULL});
    assert_found(&query, "1");
    assert_int_equal(state_of(1), SBX_ISSUE_MUTED);
}

static void test_applications_are_summed_and_issues_know_their_first_version(void **state)
{
    (void)state;
    struct sbx_app_sum apps[4];
    size_t count = 0;
    put_all();
    assert_int_equal(sbx_store_apps(ALL, &(struct sbx_issue_span){"", 0, 1000000, NULL}, apps, 4, &count), 0);
    assert_int_equal(count, 2);
    assert_string_equal(apps[0].app, "shop");
    assert_int_equal(apps[0].hits, 5);
    assert_int_equal(apps[0].weight, 12);
    assert_int_equal(apps[0].machine_days, 4); /* machine 1 on day 0, 2 and 3 on day 1, 3 on day 2 */
    assert_int_equal(apps[0].issues, 2);
    assert_int_equal(apps[0].versions, 2);
    assert_string_equal(apps[0].newest, "1.2.0");
    assert_string_equal(apps[1].app, "mail");
    assert_int_equal(sbx_store_apps(ALL, &(struct sbx_issue_span){"", DAY, DAY, NULL}, apps, 4, &count), 0);
    assert_int_equal(count, 1);
    assert_string_equal(apps[0].newest, "1.1.0");
    assert_int_equal(sbx_store_issue(ALL, (const uint8_t[SBX_ID_BYTES]){1}, rows), 0);
    assert_string_equal(rows[0].first_version, "1.1.0");
    assert_int_equal(sbx_store_issue(ALL, (const uint8_t[SBX_ID_BYTES]){2}, rows), 0);
    assert_string_equal(rows[0].first_version, "1.2.0");
    put(&(struct stall){7, 5, 2, 0, 1, 3, 100, "lock", "h"}); /* of an older version, but later */
    assert_int_equal(sbx_store_issue(ALL, (const uint8_t[SBX_ID_BYTES]){2}, rows), 0);
    assert_string_equal(rows[0].first_version, "1.0.0");
    sbx_store_set_min_machines(store, 2);
    assert_int_equal(sbx_store_issue(ALL, (const uint8_t[SBX_ID_BYTES]){2}, rows), 0);
    assert_string_equal(rows[0].first_version, "");
    assert_int_equal(sbx_store_apps(ALL, &(struct sbx_issue_span){"", 0, 1000000, NULL}, apps, 4, &count), 0);
    assert_int_equal(count, 0);
}

/* A worker that a hostile payload has taken over may return any verdict. */
static void test_a_place_is_of_one_application_whatever_a_verdict_says(void **state)
{
    (void)state;
    static const struct stall stalls[] = {{1, 1, 1, 1, 1, 0, 100, "cpu", NULL},
                                          {2, 2, 1, 1, 1, 0, 200, "cpu", NULL},
                                          {3, 3, 1, 1, 1, 0, 400, "cpu", NULL},
                                          {4, 4, 1, 1, 1, 0, 400, "cpu", NULL}};
    static const uint64_t tenants[] = {11, 22, 22, 0};
    const struct sbx_store_view one = {store, 11}, two = {store, 22}, third = {store, 33};
    const struct sbx_issue_query query = query_of_all();
    uint8_t id[SBX_ID_BYTES];
    size_t count;
    for (size_t i = 0; i < 4; i++) {
        tenant = tenants[i];
        put(&stalls[i]);
    }
    tenant = 0;
    assert_int_equal(sbx_store_find_issues(ALL, &query, rows, 8, &count), 0);
    assert_int_equal(count, 3);
    assert_int_equal(sbx_store_find_issues(&one, &query, rows, 8, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].hits, 1);
    assert_true(sbx_id_parse(rows[0].id_text, 32, id));
    assert_int_equal(sbx_store_issue(&two, id, &rows[1]), -ENOENT);
    assert_int_equal(sbx_store_find_issues(&two, &query, rows, 8, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].hits, 2);
    assert_int_equal(sbx_store_sum_all(&third, &query.span, &sums), 0);
    assert_int_equal(sums.hits, 0);
    assert_int_equal(sbx_store_sum_issue(&two, id, &query.span, &sums), 0);
    assert_int_equal(sums.hits, 0);
}

struct told {
    size_t count;
    uint32_t weight;
    char texts[80];
    int result;
};

static int tell(void *context, const char *text, size_t bytes, uint32_t weight)
{
    struct told *told = context;
    told->count++;
    told->weight += weight;
    strncat(told->texts, text, bytes);
    return told->result;
}

static void assert_profiles(const uint8_t *issue, struct sbx_issue_span span, const char *texts, uint32_t weight)
{
    struct told told = {0};
    assert_int_equal(sbx_store_each_profile(ALL, issue, &span, tell, &told), 0);
    assert_string_equal(told.texts, texts);
    assert_int_equal(told.weight, weight);
}

static void say_profile(uint8_t name, uint8_t place, const char *profile)
{
    const uint8_t id[SBX_ID_BYTES] = {name}, key[SBX_ID_BYTES] = {place};
    const struct sbx_verdict_row verdict = {.app = place < 9 ? "shop" : "mail",
                                            .cause = "cpu",
                                            .class_ = "on_cpu",
                                            .function = "f",
                                            .module = "m",
                                            .headline = "it slept",
                                            .key = key,
                                            .profile = profile};
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
}

static void test_profiles_are_those_of_the_span_newest_first_and_go_with_their_stalls(void **state)
{
    (void)state;
    const struct sbx_issue_span all = {"", 0, 1000000, ""};
    const uint8_t first[SBX_ID_BYTES] = {1}, second[SBX_ID_BYTES] = {2}, machine[SBX_ROTATING_ID_BYTES] = {3};
    put_all();
    say_profile(1, 1, "a");
    say_profile(2, 1, "b");
    say_profile(3, 1, "c");
    say_profile(5, 2, "e");
    say_profile(6, 9, "m");
    assert_profiles(first, all, "cba", 10);
    assert_profiles(second, all, "e", 1);
    assert_profiles(NULL, all, "mecba", 13);
    assert_profiles(NULL, (struct sbx_issue_span){"", 0, 1000000, "shop"}, "ecba", 11);
    assert_profiles(NULL, (struct sbx_issue_span){"1.1.0", 0, 1000000, "shop"}, "ba", 9);
    assert_profiles(first, (struct sbx_issue_span){"", DAY + 1, DAY + 1, ""}, "c", 1);
    struct told told = {.result = 7}; /* the visitor stops when it has enough */
    assert_int_equal(sbx_store_each_profile(ALL, NULL, &all, tell, &told), 7);
    assert_int_equal(told.count, 1);
    const struct sbx_store_view other = {store, 33}; /* a view of another application */
    told = (struct told){0};
    assert_int_equal(sbx_store_each_profile(&other, NULL, &all, tell, &told), 0);
    assert_int_equal(sbx_store_each_profile(&other, first, &all, tell, &told), 0);
    assert_int_equal(told.count, 0);
    say_profile(3, 2, "C"); /* triaged again: it moves to another place and has another profile */
    say_profile(2, 1, NULL);
    assert_profiles(first, all, "a", 1);
    assert_profiles(second, all, "eC", 2);
    assert_int_equal(sbx_store_erase(store, machine, 1, NULL, NULL), 2); /* stalls 4 and 5 */
    assert_profiles(NULL, all, "mCa", 4);
    sbx_store_set_min_machines(store, 2);
    assert_profiles(NULL, all, "", 0);
}

static const struct sbx_compared_issue *compared_of(const struct sbx_compared_issue *all, size_t count, uint8_t place)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].id[0] == place)
            return &all[i];
    fail_msg("no issue %u", place);
    return NULL;
}

static void test_issues_of_two_versions_stand_side_by_side(void **state)
{
    (void)state;
    static struct sbx_compared_issue met[2 * SBX_COMPARED_MAX];
    const struct sbx_issue_span versions[] = {{"1.2.0", 0, 1000000, "shop"}, {"1.1.0", 0, 1000000, "shop"}};
    const struct sbx_store_view other = {store, 33};
    struct sbx_version_met rows_of_versions[4];
    struct sbx_machines machines[2];
    int64_t days[4];
    size_t count;
    int level = 0;
    put_all();
    put(&(struct stall){7, 5, 1, 2, 1, 1, 800, "lock", "g"});
    assert_int_equal(sbx_store_compare_spans(ALL, versions, met, &count, machines), 0);
    assert_int_equal(count, 2);
    assert_int_equal(sbx_machines_count(&machines[0]), 3); /* machines 2, 3 and 5 */
    assert_int_equal(sbx_machines_count(&machines[1]), 1);
    const struct sbx_compared_issue *one = compared_of(met, count, 1), *two = compared_of(met, count, 2);
    assert_true(one->machines[0] == 2 && one->machines[1] == 1 && one->hits[0] == 2 && one->hits[1] == 2);
    assert_true(one->was_before && one->weight[1] == 9);
    assert_true(one->size[1] > 1 && one->size[1] < 2); /* one of them stands for eight */
    assert_true(one->p90_ns[0] == 0);                  /* durations of three machines are not read */
    assert_true(two->machines[0] == 1 && two->machines[1] == 0 && !two->was_before);
    put(&(struct stall){8, 6, 1, 1, 1, 0, 100, "cpu", NULL});
    put(&(struct stall){9, 7, 1, 1, 1, 0, 120, "cpu", NULL});
    assert_int_equal(sbx_store_compare_spans(ALL, versions, met, &count, machines), 0);
    one = compared_of(met, count, 1);
    assert_true(one->machines[1] == 3 && one->p90_ns[0] > one->p90_ns[1] && one->p90_ns[1] > 0);
    assert_true(one->slow[1][0] > 0 && one->slow[1][1] == 0);
    const struct sbx_issue_span spans[] = {{"", DAY + 2, DAY + 2, "shop"}, {"", 0, DAY + 1, "shop"}};
    assert_int_equal(sbx_store_compare_spans(ALL, spans, met, &count, machines), 0);
    assert_true(compared_of(met, count, 2)->was_before && compared_of(met, count, 1)->machines[0] == 0);
    assert_int_equal(sbx_store_compare_spans(&other, spans, met, &count, machines), 0);
    assert_true(count == 0 && sbx_machines_count(&machines[0]) == 0);
    assert_int_equal(sbx_store_versions(ALL, &versions[0], rows_of_versions, 4, &count), 0);
    assert_int_equal(count, 1);
    const struct sbx_issue_span all = {"", DAY, DAY + 3, "shop"};
    assert_int_equal(sbx_store_versions(ALL, &all, rows_of_versions, 4, &count), 0);
    assert_int_equal(count, 2);
    assert_string_equal(rows_of_versions[0].version, "1.2.0");
    assert_int_equal(sbx_store_machines_by_day(ALL, NULL, &all, days, 4, &level), 0);
    assert_true(level == 0 && days[0] == 3 && days[1] == 3 && days[2] == 1 && days[3] == 0);
    assert_int_equal(sbx_store_machines_by_day(ALL, one->id, &all, days, 4, &level), 0);
    sbx_store_set_min_machines(store, 2);
    assert_int_equal(sbx_store_compare_spans(ALL, spans, met, &count, machines), 0);
    assert_int_equal(count, 0);
}

int main(void)
{
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_issues_are_found_by_what_is_asked_for),
        STORE_TEST(test_the_durations_of_a_list_are_those_of_each_of_its_issues),
        STORE_TEST(test_the_sums_of_an_issue_are_by_day_version_and_word),
        STORE_TEST(test_where_an_issue_happens_stands_beside_where_its_application_stalls),
        STORE_TEST(test_the_sums_of_an_application_are_those_of_its_issues),
        STORE_TEST(test_applications_are_summed_and_issues_know_their_first_version),
        STORE_TEST(test_profiles_are_those_of_the_span_newest_first_and_go_with_their_stalls),
        STORE_TEST(test_issues_of_two_versions_stand_side_by_side),
        STORE_TEST(test_breakdowns_are_withheld_where_few_machines_may_not_be_shown),
        STORE_TEST(test_a_resolved_issue_is_reopened_by_the_version_it_was_to_be_gone_in),
        STORE_TEST(test_an_issue_is_muted_until_a_version_comes),
        STORE_TEST(test_issues_are_merged_and_split_and_nothing_is_counted_anew),
        STORE_TEST(test_what_people_say_survives_triage_anew_and_ageing),
        STORE_TEST(test_a_place_is_of_one_application_whatever_a_verdict_says),
        STORE_TEST(test_differences_of_filters_do_not_undo_what_is_withheld),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
