/* SPDX-License-Identifier: Apache-2.0 */
/* test_change_watch.c - a change is found once, in the version that has it, and reported once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "change_watch.h"
#include "regression.h"
#include "started_server.h"
#include "store_active.h"
#include "store_issues.h"

enum {
    TODAY = 20500
};
enum {
    APP = 77
};
#define NOW_MS (TODAY * INT64_C(86400000) + 3600000)

static struct sbx_store *store;
static struct sbx_change_log *change_log;
static const char *store_place;      /* of the store and the change log */
static uint32_t stall_count, builds; /* builds: of each version */

static int set_up(void **state)
{
    char why[200] = "";
    prepare_server(state);
    stall_count = 0;
    builds = 1;
    store_place = fixture.options.database ? fixture.options.database : fixture.data_dir;
    return sbx_store_open(store_place, "1", &store, why, sizeof(why)) +
           sbx_change_log_open(store_place, &change_log, why, sizeof(why));
}

static int tear_down(void **state)
{
    sbx_change_log_close(change_log);
    sbx_store_close(store);
    return remove_server(state);
}

/* Put stalls of that many machines, beginning with the machine of number `first`. */
static void put(uint8_t place, uint32_t minor, uint32_t day, int first, int machines)
{
    for (int i = 0; i < machines; i++) {
        const uint32_t number = ++stall_count, machine = (uint32_t)(first + i + 1);
        struct sbx_stall payload = {.app_build_id = {1, (uint8_t)minor, (uint8_t)(number % builds)},
                                    .app_build_id_bytes = 8,
                                    .app_version = {1, minor, 0},
                                    .created_day = day,
                                    .app_what = APP,
                                    .has_rotating_id = true,
                                    .sampling = {.weight = 1, .one_in = 1},
                                    .trigger = {.kind = SBX_TRIGGER_ANR, .duration_ns = 100000000}};
        memcpy(payload.payload_id, &number, sizeof(number));
        memcpy(payload.session_id, &number, sizeof(number));
        memcpy(payload.rotating_id, &machine, sizeof(machine));
        enum sbx_stored stored;
        assert_int_equal(sbx_store_put(store, &payload, "abc", 3, day * INT64_C(86400000), &stored), 0);
        const uint8_t key[SBX_ID_BYTES] = {place};
        char function[20];
        snprintf(function, sizeof(function), "<f%u>", place);
        const struct sbx_verdict_row verdict = {.app = "shop",
                                                .cause = "cpu",
                                                .class_ = "on_cpu",
                                                .function = function,
                                                .module = "m",
                                                .headline = "it computed",
                                                .key = key};
        assert_int_equal(sbx_store_put_verdict(store, payload.payload_id, &verdict), 0);
    }
}

/* Report machine-days of a version for each of the days. */
static void tell(const char *version, int64_t first, int64_t last, int64_t machines)
{
    for (int64_t day = first; day <= last; day++) {
        struct sbx_active_row row = {.app = APP, .day = day, .machines = machines};
        snprintf(row.version, sizeof(row.version), "%s", version);
        assert_int_equal(sbx_store_add_active(store, &row, 1), 0);
    }
}

static size_t list(struct sbx_change_event events[8])
{
    size_t count;
    assert_int_equal(sbx_change_log_list(change_log, 0, events, 8, &count), 0);
    return count;
}

static const struct sbx_change_rules all = {.kinds = 0};

static void test_words_for_changes_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    assert_int_equal(sbx_change_rules_kinds("new"), 1 << SBX_CHANGE_NEW);
    assert_int_equal(sbx_change_rules_kinds("gone,regressed"), 1 << SBX_CHANGE_GONE | 1 << SBX_CHANGE_REGRESSED);
    static const char *const wrong[] = {"", ",", "new,", ",new", "newer", "ne", "none", "new, gone", "New"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(sbx_change_rules_kinds(wrong[i]), 0);
}

static void test_a_rule_chooses_kinds_and_applications(void **state)
{
    (void)state;
    const char *const apps[] = {"mail", "shop"};
    const struct sbx_change_event event = {.kind = SBX_CHANGE_REGRESSED, .app = "shop"};
    struct sbx_change_rules rules = all;
    assert_true(sbx_change_rules_take(&rules, &event));
    rules.kinds = sbx_change_rules_kinds("new,gone");
    assert_false(sbx_change_rules_take(&rules, &event));
    rules.kinds = sbx_change_rules_kinds("new,regressed");
    assert_true(sbx_change_rules_take(&rules, &event));
    rules.apps = apps;
    rules.app_count = 1;
    assert_false(sbx_change_rules_take(&rules, &event));
    rules.app_count = 2;
    assert_true(sbx_change_rules_take(&rules, &event));
}

/* The change is recorded all the same, so the feed and the list have it. */
static void test_the_webhook_is_not_told_of_what_nobody_chose(void **state)
{
    (void)state;
    struct sbx_change_event events[8];
    const struct sbx_change_rules rules = {.kinds = sbx_change_rules_kinds("gone")};
    put(1, 1, TODAY - 3, 0, 60);
    put(1, 2, TODAY - 2, 100, 60);
    put(2, 2, TODAY - 2, 100, 30);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &rules), 1);
    assert_int_equal(list(events), 1);
    struct sbx_change_event event;
    assert_int_equal(sbx_change_log_next(change_log, INT64_MAX, &event), 0);
}

static void test_a_new_issue_of_the_latest_version_is_told_once(void **state)
{
    (void)state;
    struct sbx_change_event events[8];
    put(1, 1, TODAY - 3, 0, 60);
    put(1, 2, TODAY - 3, 100, 60);
    put(2, 2, TODAY - 3, 100, 30);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 1);
    assert_int_equal(list(events), 1);
    assert_int_equal(events[0].kind, SBX_CHANGE_NEW);
    assert_string_equal(events[0].app, "shop");
    assert_string_equal(events[0].version, "1.2.0");
    assert_string_equal(events[0].base, "1.1.0");
    assert_int_equal(events[0].issue[0], 2);
    assert_string_equal(events[0].text, "shop 1.2.0: new: <f2>, met by 30 of 60 machines (1.1.0: 0 of 60)");
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS + 3600000, &all), 0); /* nor is it evaluated */
    put(1, 2, TODAY - 2, 200, 200);                                                        /* enough for another one */
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS + 7200000, &all), 0);
    struct sbx_change_event event;
    assert_int_equal(sbx_change_log_next(change_log, NOW_MS, &event), 1);
    assert_int_equal(sbx_change_log_not_told(change_log, event.num, NOW_MS + 60000), 0);
    assert_int_equal(sbx_change_log_next(change_log, NOW_MS, &event), 0);
    assert_int_equal(sbx_change_log_next(change_log, NOW_MS + 60000, &event), 1);
    assert_int_equal(event.tries, 1);
    assert_int_equal(sbx_change_log_told(change_log, event.num), 0);
    assert_int_equal(sbx_change_log_next(change_log, INT64_MAX, &event), 0);
}

/* Machines that a sampled machine stands for are no evidence. If a quarter of 200 machines is read, 100 of 200 counts
 * as 25 of 50. */
static void test_a_version_is_judged_by_the_machines_that_were_read(void **state)
{
    (void)state;
    struct sbx_change_event events[8];
    sbx_store_set_sample_rows(store, 640); /* 40 for an issue */
    builds = 2;
    put(1, 1, TODAY - 3, 0, 200);
    put(1, 2, TODAY - 3, 300, 200);
    put(2, 2, TODAY - 3, 300, 100);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 1);
    assert_int_equal(list(events), 1);
    assert_int_equal(events[0].kind, SBX_CHANGE_NEW);
    assert_int_equal(events[0].issue[0], 2);
    double of_all = sbx_chance_of_more((struct sbx_rate){100, 200}, (struct sbx_rate){0, 200});
    double of_read = sbx_chance_of_more((struct sbx_rate){40, 50}, (struct sbx_rate){0, 50});
    assert_true(of_all < 1e-30);
    assert_true(events[0].chance > of_read && events[0].chance < 1e-3);
    int machines = 0;
    assert_int_equal(sscanf(events[0].text, "shop 1.2.0: new: <f2>, met by %d of 200 machines", &machines), 1);
    assert_in_range(machines, 50, 160); /* the page shows the number that they stand for */
    assert_int_equal(machines % 4, 0);
}

static void test_what_does_not_differ_or_is_of_few_machines_is_not_told(void **state)
{
    (void)state;
    put(1, 1, TODAY - 3, 0, 60);
    put(1, 2, TODAY - 3, 100, 10);
    put(2, 2, TODAY - 3, 100, 9); /* it looks bad, but there are fewer than twenty machine-days */
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 0);
    put(1, 2, TODAY - 3, 200, 300);
    put(2, 1, TODAY - 3, 0, 8);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 0);
}

/* Nearly all of it is on one day of four. Of the three days with machine-days the first does not count, because reports
 * began on it. Two days of each version are too few for a judgment. */
static void test_a_share_of_one_bad_day_is_no_change_also_where_few_machine_days_are_told(void **state)
{
    (void)state;
    for (int day = 5; day >= 2; day--) {
        put(1, 1, (uint32_t)(TODAY - day), 1000 * day, 40);
        put(1, 2, (uint32_t)(TODAY - day), 1000 * day + 200, 40);
    }
    put(2, 1, TODAY - 3, 9000, 5);
    put(2, 2, TODAY - 3, 9100, 60);
    tell("1.1.0", TODAY - 4, TODAY - 2, 1000);
    tell("1.2.0", TODAY - 4, TODAY - 2, 1000);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 0);
}

static void test_somebodys_own_build_is_not_the_latest_version(void **state)
{
    (void)state;
    struct sbx_change_event events[8];
    put(1, 1, TODAY - 3, 0, 60);
    put(1, 2, TODAY - 3, 100, 60);
    put(2, 2, TODAY - 3, 100, 30);
    put(1, 9, TODAY - 3, 500, 3);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 1);
    assert_int_equal(list(events), 1);
    assert_string_equal(events[0].version, "1.2.0");
}

static void test_a_day_above_its_week_is_a_surge(void **state)
{
    (void)state;
    struct sbx_change_event events[8];
    for (int day = 1; day <= 8; day++) {
        put(1, 1, (uint32_t)(TODAY - day), 1000 * day, 100);
        put(2, 1, (uint32_t)(TODAY - day), 1000 * day, day == 1 ? 60 : 9 + day % 3);
    }
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, NULL), 1);
    assert_int_equal(list(events), 1);
    assert_int_equal(events[0].kind, SBX_CHANGE_SURGING);
    assert_int_equal(events[0].issue[0], 2);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS + 1, NULL), 0);
    struct sbx_change_event event;
    assert_int_equal(sbx_change_log_next(change_log, INT64_MAX, &event),
                     0); /* without a webhook nothing is to be sent */
    struct sbx_change_counts counts;
    assert_int_equal(sbx_change_log_count(change_log, &counts), 0);
    assert_int_equal(counts.by_kind[SBX_CHANGE_SURGING], 1);
    assert_int_equal(sbx_change_log_forget(change_log, NOW_MS + 1), 0);
    assert_int_equal(list(events), 0);
}

/* Two issues, both twice as frequent. Of the machines that stall, the same share has each of them. */
static void test_everything_twice_as_frequent_is_told_where_machines_tell_their_days(void **state)
{
    (void)state;
    struct sbx_change_event events[8];
    for (int day = 5; day >= 2; day--) {
        put(1, 1, (uint32_t)(TODAY - day), 1000 * day, 15);
        put(2, 1, (uint32_t)(TODAY - day), 1000 * day + 100, 15);
        put(1, 2, (uint32_t)(TODAY - day), 1000 * day + 200, 45);
        put(2, 2, (uint32_t)(TODAY - day), 1000 * day + 300, 45);
    }
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 0);
    tell("1.1.0", TODAY - 6, TODAY - 2, 1000);
    tell("1.2.0", TODAY - 6, TODAY - 2, 1000);
    for (int day = 5; day >= 2; day--) { /* enough for another evaluation */
        put(1, 2, (uint32_t)(TODAY - day), 1000 * day + 400, 40);
        put(2, 2, (uint32_t)(TODAY - day), 1000 * day + 500, 40);
    }
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 3);
    assert_int_equal(list(events), 3);
    bool is_whole = false;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(events[i].kind, SBX_CHANGE_REGRESSED);
        is_whole |= sbx_change_event_is_whole(&events[i]);
        if (sbx_change_event_is_whole(&events[i])) {
            assert_string_equal(events[i].text,
                                "shop 1.2.0: regressed: all stalls together, on 680 of 4000 machine-days"
                                " (1.1.0: 120 of 4000)");
            char *json = sbx_change_event_json(&events[i]);
            assert_non_null(strstr(json, "\"issue\":null,\"path\":\"/compare?app=shop&version=1.2.0&base=1.1.0\""));
            free(json);
        }
    }
    assert_true(is_whole);
}

/* More machines stall than report their days. Fewer of the reporting machines have each issue, which looks like a
 * smaller share. */
static void test_nothing_is_said_of_machine_days_where_a_part_of_the_fleet_tells_none(void **state)
{
    (void)state;
    for (int day = 5; day >= 2; day--) {
        put(1, 1, (uint32_t)(TODAY - day), 1000 * day, 15);
        put(2, 1, (uint32_t)(TODAY - day), 1000 * day + 100, 15);
        put(1, 2, (uint32_t)(TODAY - day), 1000 * day + 200, 60);
        put(2, 2, (uint32_t)(TODAY - day), 1000 * day + 300, 60);
    }
    tell("1.1.0", TODAY - 6, TODAY - 2, 1000);
    tell("1.2.0", TODAY - 6, TODAY - 2, 100);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 0);
}

static void test_a_day_of_more_machine_days_than_its_week_is_a_surge_of_all(void **state)
{
    (void)state;
    struct sbx_change_event events[8];
    for (int day = 1; day <= 8; day++)
        put(1, 1, (uint32_t)(TODAY - day), 1000 * day, day == 1 ? 90 : 19 + day % 3);
    tell("1.1.0", TODAY - 9, TODAY - 1, 1000);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, NULL), 2);
    assert_int_equal(list(events), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(events[i].kind, SBX_CHANGE_SURGING);
        assert_non_null(strstr(events[i].text, "on 90 of 1000 machine-days (20.1 a day in the week before)"));
    }
    assert_true(sbx_change_event_is_whole(&events[0]) != sbx_change_event_is_whole(&events[1]));
}

static void test_nothing_is_looked_for_where_few_machines_may_not_be_shown(void **state)
{
    (void)state;
    put(1, 1, TODAY - 3, 0, 60);
    put(2, 2, TODAY - 3, 100, 60);
    sbx_store_set_min_machines(store, 2);
    assert_int_equal(sbx_change_watch_look(store, change_log, NOW_MS, &all), 0);
}

static void test_of_two_servers_one_tells_an_event_and_the_other_when_that_does_not_end(void **state)
{
    (void)state;
    char why[200] = "";
    struct sbx_change_log *other;
    struct sbx_change_event event = {.kind = SBX_CHANGE_NEW, .app = "shop", .version = "1.2.0", .text = "it is new"},
                            got;
    assert_int_equal(sbx_change_log_open(store_place, &other, why, sizeof(why)), 0);
    assert_int_equal(sbx_change_log_add(change_log, &event, true), 1);
    assert_int_equal(sbx_change_log_add(other, &event, true), 0);
    assert_int_equal(sbx_change_log_next(change_log, NOW_MS, &got), 1);
    assert_string_equal(got.text, "it is new");
    assert_int_equal(sbx_change_log_next(other, NOW_MS, &got), 0);
    /* The server that had taken it was killed. */
    assert_int_equal(sbx_change_log_next(other, NOW_MS + SBX_CHANGE_TELL_MS, &got), 1);
    assert_int_equal(sbx_change_log_told(other, got.num), 0);
    assert_int_equal(sbx_change_log_next(change_log, NOW_MS + 10 * SBX_CHANGE_TELL_MS, &got), 0);
    sbx_change_log_close(other);
}

static void test_an_event_is_json(void **state)
{
    (void)state;
    const struct sbx_change_event event = {.num = 7,
                                           .at_ms = 5,
                                           .kind = SBX_CHANGE_REGRESSED,
                                           .app = "a\"b",
                                           .version = "2",
                                           .base = "1",
                                           .issue = {0xab},
                                           .text = "a b",
                                           .chance = 0.001};
    char *json = sbx_change_event_json(&event);
    assert_string_equal(json,
                        "{\"id\":7,\"at_ms\":5,\"change\":\"regressed\",\"app\":\"a\\\"b\",\"version\":\"2\",\"base\":"
                        "\"1\",\"issue\":\"ab000000000000000000000000000000\",\"path\":\"/issues/"
                        "ab000000000000000000000000000000\",\"text\":\"a b\",\"chance\":0.001}");
    free(json);
    json = sbx_change_event_otlp(&event);
    assert_string_equal(
        json,
        "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":"
        "\"stallbox\"}}]},\"scopeLogs\":[{\"scope\":{\"name\":\"stallbox.changes\"},\"logRecords\":[{\"timeUnixNano\":"
        "\"5000000\",\"severityNumber\":13,\"severityText\":\"WARN\",\"body\":{\"stringValue\":\"a "
        "b\"},\"attributes\":["
        "{\"key\":\"event.name\",\"value\":{\"stringValue\":\"stallbox.change\"}},{\"key\":\"stallbox.change\","
        "\"value\":{"
        "\"stringValue\":\"regressed\"}},{\"key\":\"stallbox.app\",\"value\":{\"stringValue\":\"a\\\"b\"}},{\"key\":"
        "\"stallbox.version\",\"value\":{\"stringValue\":\"2\"}},{\"key\":\"stallbox.base\",\"value\":{\"stringValue\":"
        "\"1\"}},"
        "{\"key\":\"stallbox.issue\",\"value\":{\"stringValue\":\"ab000000000000000000000000000000\"}},{\"key\":"
        "\"stallbox.chance\",\"value\":{\"stringValue\":\"0.001\"}}]}]}]}]}");
    free(json);
}

int main(void)
{
#define WITH_STORE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_for_changes_are_read_whole_or_not_at_all),
        cmocka_unit_test(test_a_rule_chooses_kinds_and_applications),
        WITH_STORE(test_the_webhook_is_not_told_of_what_nobody_chose),
        WITH_STORE(test_a_version_is_judged_by_the_machines_that_were_read),
        WITH_STORE(test_a_new_issue_of_the_latest_version_is_told_once),
        WITH_STORE(test_what_does_not_differ_or_is_of_few_machines_is_not_told),
        WITH_STORE(test_a_share_of_one_bad_day_is_no_change_also_where_few_machine_days_are_told),
        WITH_STORE(test_somebodys_own_build_is_not_the_latest_version),
        WITH_STORE(test_a_day_above_its_week_is_a_surge),
        WITH_STORE(test_everything_twice_as_frequent_is_told_where_machines_tell_their_days),
        WITH_STORE(test_nothing_is_said_of_machine_days_where_a_part_of_the_fleet_tells_none),
        WITH_STORE(test_a_day_of_more_machine_days_than_its_week_is_a_surge_of_all),
        WITH_STORE(test_nothing_is_looked_for_where_few_machines_may_not_be_shown),
        WITH_STORE(test_of_two_servers_one_tells_an_event_and_the_other_when_that_does_not_end),
        cmocka_unit_test(test_an_event_is_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
