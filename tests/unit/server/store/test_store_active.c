/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_active.c - reported machine-days, and the share of them that had a stall. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "started_server.h"
#include "store_active.h"
#include "store_place.h"
#include "store_told.h"

enum {
    APP = 1234,
    DAY = 20000
};
static struct sbx_store *store;

static int set_up(void **state)
{
    char why[200] = "";
    prepare_server(state);
    return sbx_store_open(store_place_of(fixture.data_dir), "1", &store, why, sizeof(why));
}

static int tear_down(void **state)
{
    sbx_store_close(store);
    return remove_server(state);
}

static void tell(uint64_t app, const char *version, int64_t day, int64_t machines)
{
    struct sbx_active_row row = {.app = app, .day = day, .machines = machines};
    snprintf(row.version, sizeof(row.version), "%s", version);
    assert_int_equal(sbx_store_add_active(store, &row, 1), 0);
}

static uint32_t one_in = 1; /* for the stalls that follow */

/* A stall of APP, version 1.MINOR.0, on a day; `key`: the key of its issue. */
static void stall(uint8_t name, uint8_t machine, uint32_t minor, uint32_t day, uint8_t key)
{
    struct sbx_stall stall = {.payload_id = {name},
                              .session_id = {name},
                              .app_build_id = {1, (uint8_t)minor},
                              .app_build_id_bytes = 8,
                              .app_version = {1, minor, 0},
                              .app_what = APP,
                              .created_day = day,
                              .has_rotating_id = true,
                              .rotating_id = {machine},
                              .sampling = {.weight = one_in, .one_in = one_in},
                              .trigger = {.kind = SBX_TRIGGER_ANR, .duration_ns = 1000000000}};
    const uint8_t id[SBX_ID_BYTES] = {name}, place[SBX_ID_BYTES] = {key};
    const struct sbx_verdict_row verdict = {.app = "editor",
                                            .cause = "io",
                                            .class_ = "off_cpu",
                                            .function = "f",
                                            .module = "m",
                                            .headline = "it waited",
                                            .key = place};
    enum sbx_stored stored;
    assert_int_equal(sbx_store_put(store, &stall, "abc", 3, (day + 1) * INT64_C(86400000), &stored), 0);
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
}

static struct sbx_penetration of_all(const char *version, int64_t from_day, int64_t to_day, uint64_t app)
{
    const struct sbx_issue_span span = {version, from_day, to_day, NULL};
    const struct sbx_store_view view = {store, app};
    struct sbx_issue_sums *sums = calloc(1, sizeof(*sums));
    assert_non_null(sums);
    assert_int_equal(sbx_store_sum_all(&view, &span, sums), 0);
    struct sbx_penetration penetration = sums->penetration;
    free(sums);
    return penetration;
}

static void assert_share(struct sbx_penetration penetration, int64_t hit, int64_t active)
{
    assert_int_equal(penetration.hit, hit);
    assert_int_equal(penetration.active, active);
}

static void put_a_week(void)
{
    tell(APP, "1.1.0", DAY, 10);
    tell(APP, "1.1.0", DAY, 30); /* added to the first */
    tell(APP, "1.2.0", DAY + 1, 5);
    tell(APP + 1, "1.1.0", DAY, 1000); /* for another application */
    stall(1, 1, 1, DAY, 1);
    stall(2, 1, 1, DAY, 1); /* the same machine on the same day */
    stall(3, 2, 1, DAY, 2);
    stall(4, 3, 2, DAY + 1, 1);
    stall(5, 4, 2, DAY + 2, 1); /* no machine-days are known for that day, so it counts in no share */
}

static void test_machine_days_with_a_stall_are_a_share_of_those_that_were_told(void **state)
{
    (void)state;
    put_a_week();
    assert_share(of_all("", 0, SBX_LAST_DAY, 0), 3, 45);
    assert_share(of_all("1.1.0", 0, SBX_LAST_DAY, 0), 2, 40);
    assert_share(of_all("1.2.0", 0, SBX_LAST_DAY, 0), 1, 5);
    assert_share(of_all("", DAY + 1, DAY + 1, 0), 1, 5);
    assert_share(of_all("", DAY + 2, DAY + 2, 0), 0, 0);
    assert_share(of_all("", 0, SBX_LAST_DAY, APP), 3, 45);
    assert_share(of_all("", 0, SBX_LAST_DAY, APP + 1), 0, 0); /* it has no stall: nobody learns whose numbers exist */
}

static void test_lists_of_issues_versions_and_applications_have_it(void **state)
{
    (void)state;
    put_a_week();
    const struct sbx_store_view view = {store, 0};
    const struct sbx_issue_query query = {
        .span = {"", 0, SBX_LAST_DAY, NULL}, .app = "", .cause = "", .text = "", .state = -1};
    struct sbx_issue_row rows[4];
    size_t count = 0;
    assert_int_equal(sbx_store_find_issues(&view, &query, rows, 4, &count), 0);
    assert_int_equal(count, 2);
    assert_share(rows[0].penetration, 2, 45);
    assert_share(rows[1].penetration, 1, 45);
    struct sbx_app_sum apps[4];
    assert_int_equal(sbx_store_apps(&view, &query.span, apps, 4, &count), 0);
    assert_int_equal(count, 1);
    assert_share(apps[0].penetration, 3, 45);
    struct sbx_issue_sums *sums = calloc(1, sizeof(*sums));
    assert_non_null(sums);
    assert_int_equal(sbx_store_sum_all(&view, &query.span, sums), 0);
    assert_int_equal(sums->version_count, 2);
    assert_share(sums->versions[0].penetration, 1, 5);
    assert_share(sums->versions[1].penetration, 2, 40);
    free(sums);
}

static void test_age_takes_both_sides_away(void **state)
{
    (void)state;
    put_a_week();
    assert_int_equal(sbx_store_forget_active(store, DAY + 1), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sbx_store_age(store, SBX_AGED_SNAPSHOT, (DAY + 2) * INT64_C(86400000), 1, NULL, NULL), 1);
    assert_int_equal(sbx_store_age(store, SBX_AGED_SNAPSHOT, (DAY + 2) * INT64_C(86400000), 1, NULL, NULL), 0);
    assert_share(of_all("", 0, SBX_LAST_DAY, 0), 1, 5);
    assert_int_equal(sbx_store_forget_active(store, DAY + 2), 0);
    assert_share(of_all("", 0, SBX_LAST_DAY, 0), 0, 0);
}

static void test_few_machines_are_withheld_with_all_other_sums(void **state)
{
    (void)state;
    put_a_week();
    sbx_store_set_min_machines(store, 2);
    assert_share(of_all("", 0, SBX_LAST_DAY, 0), 0, 0);
    const struct sbx_store_view view = {store, 0};
    const struct sbx_issue_query query = {
        .span = {"", 0, SBX_LAST_DAY, NULL}, .app = "", .cause = "", .text = "", .state = -1};
    struct sbx_issue_row rows[4];
    size_t count = 0;
    assert_int_equal(sbx_store_find_issues(&view, &query, rows, 4, &count), 0);
    for (size_t i = 0; i < count; i++)
        assert_share(rows[i].penetration, 0, 0);
}

static void test_a_day_has_room_for_so_many_versions_and_those_go_on_counting(void **state)
{
    (void)state;
    struct sbx_active_row *rows = calloc(SBX_ACTIVE_ROWS_OF_DAY + 2, sizeof(*rows));
    assert_non_null(rows);
    for (int i = 0; i < SBX_ACTIVE_ROWS_OF_DAY + 2; i++)
        rows[i] = (struct sbx_active_row){.app = (uint64_t)(i + 1), .day = DAY, .machines = 1};
    assert_int_equal(sbx_store_add_active(store, rows, SBX_ACTIVE_ROWS_OF_DAY + 2), 2);
    assert_int_equal(sbx_store_add_active(store, rows, 1), 0);
    assert_int_equal(store_number(fixture.data_dir, "SELECT SUM(machines) FROM active"), SBX_ACTIVE_ROWS_OF_DAY + 1);
    free(rows);
}

static void test_a_share_is_not_told_where_more_machines_had_a_stall_than_were_told(void **state)
{
    (void)state;
    assert_true(isnan(sbx_penetration_share(&(struct sbx_penetration){0, 0})));
    assert_true(isnan(sbx_penetration_share(&(struct sbx_penetration){6, 5})));
    assert_true(sbx_penetration_share(&(struct sbx_penetration){1, 4}) == 0.25);
    assert_true(sbx_penetration_share(&(struct sbx_penetration){0, 4}) == 0);
}

/* The known machine-days of the only issue, for version 1.1.0 and version 1.2.0. */
static void read_told(int64_t today, struct sbx_told told[SBX_COMPARED_SIDES],
                      struct sbx_told whole[SBX_COMPARED_SIDES])
{
    static struct sbx_compared_issue rows[2 * SBX_COMPARED_MAX];
    struct sbx_told each[4][SBX_COMPARED_SIDES];
    const struct sbx_store_view view = {store, 0};
    const struct sbx_issue_span spans[] = {{"1.2.0", 0, SBX_LAST_DAY, "editor"}, {"1.1.0", 0, SBX_LAST_DAY, "editor"}};
    struct sbx_machines machines[SBX_COMPARED_SIDES];
    size_t count;
    assert_int_equal(sbx_store_compare_spans(&view, spans, rows, &count, machines), 0);
    assert_int_equal(count, 1);
    assert_int_equal(sbx_store_told(&view, spans, today, rows, count, each, whole), 0);
    memcpy(told, each[0], sizeof(each[0]));
}

static void test_of_a_version_days_count_that_are_over_and_whole_and_not_of_few_machines(void **state)
{
    (void)state;
    struct sbx_told told[SBX_COMPARED_SIDES], whole[SBX_COMPARED_SIDES];
    for (int day = 0; day < 5; day++)
        stall((uint8_t)(day + 1), 1, 2, (uint32_t)(DAY + day), 1); /* one machine on each day */
    stall(7, 2, 2, DAY + 2, 1);
    stall(8, 3, 1, DAY + 2, 1);
    tell(APP, "1.2.0", DAY, 100);    /* reports began in the middle of this day */
    tell(APP, "1.2.0", DAY + 1, 19); /* too few */
    tell(APP, "1.2.0", DAY + 2, 100);
    tell(APP, "1.2.0", DAY + 3, 50);
    tell(APP, "1.2.0", DAY + 4, 100); /* the day is not over */
    tell(APP + 1, "1.2.0", DAY + 3, 1000);
    read_told(DAY + 4, told, whole);
    assert_int_equal(told[SBX_COMPARED_HERE].days, 2);
    assert_int_equal(told[SBX_COMPARED_HERE].hit, 3);
    assert_int_equal(told[SBX_COMPARED_HERE].active, 150);
    assert_true(fabs(told[SBX_COMPARED_HERE].squares - (4.0 / 100 + 1.0 / 50)) < 1e-9);
    assert_int_equal(whole[SBX_COMPARED_HERE].hit, 3);
    assert_int_equal(whole[SBX_COMPARED_BASE].days, 0); /* nobody reported any for 1.1.0 */
    read_told(DAY + 5, told, whole);
    assert_int_equal(told[SBX_COMPARED_HERE].days, 3);
    sbx_store_set_min_machines(store, 2);
    assert_int_equal(sbx_store_told(&(struct sbx_store_view){store, 0}, (struct sbx_issue_span[2]){{"", 0, 1, NULL}},
                                    DAY, NULL, 0, NULL, whole),
                     0);
    assert_int_equal(whole[SBX_COMPARED_HERE].days, 0);
}

static void test_how_much_the_days_of_a_machine_are_alike_and_how_many_stalls_were_not_sent_is_known(void **state)
{
    (void)state;
    struct sbx_told told[SBX_COMPARED_SIDES], whole[SBX_COMPARED_SIDES];
    for (int day = 0; day < 5; day++) {
        stall((uint8_t)(day + 1), 1, 2, (uint32_t)(DAY + day), 1);
        tell(APP, "1.2.0", DAY + day, 100);
    }
    one_in = 8;
    stall(7, 2, 2, DAY + 2, 1);
    one_in = 1;
    read_told(DAY + 5, told, whole);
    assert_int_equal(told[SBX_COMPARED_HERE].hit, 5);
    assert_int_equal(told[SBX_COMPARED_HERE].hidden, 7);
    assert_true(fabs(told[SBX_COMPARED_HERE].together - (4.0 * 4 + 1) / 5) <
                1e-9); /* four days of one machine, one of another */
    assert_true(fabs(whole[SBX_COMPARED_HERE].together - (4.0 * 4 + 1) / 5) < 1e-9);
}

static void test_of_a_version_that_is_out_for_long_the_latest_four_weeks_count(void **state)
{
    (void)state;
    struct sbx_told told[SBX_COMPARED_SIDES], whole[SBX_COMPARED_SIDES];
    for (int day = 0; day < 40; day++)
        tell(APP, "1.2.0", DAY + day, 100 + day);
    stall(1, 1, 2, DAY + 5, 1);
    stall(2, 2, 2, DAY + 12, 1);
    read_told(DAY + 40, told, whole);
    assert_int_equal(told[SBX_COMPARED_HERE].days, 28);
    assert_int_equal(told[SBX_COMPARED_HERE].active, 28 * 100 + (12 + 39) * 14);
    assert_int_equal(told[SBX_COMPARED_HERE].hit, 1);
    assert_int_equal(whole[SBX_COMPARED_HERE].hit, 1);
}

static void test_where_a_part_of_the_fleet_tells_no_days_none_counts(void **state)
{
    (void)state;
    struct sbx_told told[SBX_COMPARED_SIDES], whole[SBX_COMPARED_SIDES];
    struct sbx_told_day days[4];
    const struct sbx_store_view view = {store, 0};
    const struct sbx_issue_span span = {"", DAY, DAY + 3, "editor"};
    for (int machine = 0; machine < 21; machine++)
        stall((uint8_t)(machine + 1), (uint8_t)(machine + 1), 2, DAY + 1, 1);
    for (int day = 0; day < 3; day++)
        tell(APP, "1.2.0", DAY + day, 20);
    read_told(DAY + 5, told, whole);
    assert_int_equal(told[SBX_COMPARED_HERE].days + whole[SBX_COMPARED_HERE].days, 0);
    assert_int_equal(sbx_store_told_by_day(&view, NULL, &span, DAY + 5, days, 4), 0);
    assert_int_equal(days[0].active, 0);
    assert_int_equal(days[1].active, 20);
    assert_int_equal(days[1].hit, 21); /* the caller notices it */
    assert_int_equal(days[2].active, 20);
    assert_int_equal(days[3].active, 0);
    tell(APP, "1.2.0", DAY + 1, 1);
    read_told(DAY + 5, told, whole);
    assert_int_equal(told[SBX_COMPARED_HERE].days, 2);
}

static void test_where_nobody_tells_days_an_issues_are_beside_those_with_any_stall(void **state)
{
    (void)state;
    static struct sbx_compared_issue rows[2 * SBX_COMPARED_MAX];
    struct sbx_told days[4][SBX_COMPARED_SIDES];
    const struct sbx_store_view view = {store, 0};
    const struct sbx_issue_span spans[] = {{"1.2.0", 0, SBX_LAST_DAY, "editor"}, {"1.1.0", 0, SBX_LAST_DAY, "editor"}};
    struct sbx_machines machines[SBX_COMPARED_SIDES];
    size_t count;
    for (int machine = 0; machine < 25; machine++) {
        stall((uint8_t)(machine + 1), (uint8_t)(machine + 1), 2, DAY, machine < 15 ? 1 : 2);
        stall((uint8_t)(machine + 31), (uint8_t)(machine + 1), 2, DAY + 1, machine < 5 ? 1 : 2);
    }
    for (int machine = 0; machine < 19; machine++)
        stall((uint8_t)(machine + 61), (uint8_t)(machine + 1), 2, DAY + 2, 1); /* too few */
    stall(91, 1, 1, DAY, 1);
    stall(92, 1, 2, DAY + 1, 1); /* the first machine again, on the same day */
    assert_int_equal(sbx_store_compare_spans(&view, spans, rows, &count, machines), 0);
    assert_int_equal(count, 2);
    assert_int_equal(sbx_store_stalling(&view, spans, DAY + 5, rows, count, days), 0);
    const struct sbx_told *first = days[0], *second = days[1];
    if (rows[0].hits[SBX_COMPARED_HERE] < rows[1].hits[SBX_COMPARED_HERE]) {
        first = days[1];
        second = days[0];
    }
    assert_int_equal(first[SBX_COMPARED_HERE].days, 2);
    assert_int_equal(first[SBX_COMPARED_HERE].active, 50);
    assert_int_equal(first[SBX_COMPARED_HERE].hit, 15 + 5);
    assert_int_equal(second[SBX_COMPARED_HERE].hit, 10 + 20);
    assert_true(fabs(first[SBX_COMPARED_HERE].squares - (15.0 * 15 + 5 * 5) / 25) < 1e-9);
    assert_int_equal(first[SBX_COMPARED_BASE].days, 0); /* one machine is too few */
    assert_int_equal(sbx_store_stalling(&view, spans, DAY + 1, rows, count, days), 0);
    assert_int_equal(days[0][SBX_COMPARED_HERE].days, 1); /* the second day is not over */
    sbx_store_set_min_machines(store, 2);
    assert_int_equal(sbx_store_stalling(&view, spans, DAY + 5, rows, count, days), 0);
    assert_int_equal(days[0][SBX_COMPARED_HERE].days, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_machine_days_with_a_stall_are_a_share_of_those_that_were_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_lists_of_issues_versions_and_applications_have_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_age_takes_both_sides_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_machines_are_withheld_with_all_other_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_day_has_room_for_so_many_versions_and_those_go_on_counting, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_of_a_version_days_count_that_are_over_and_whole_and_not_of_few_machines,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_how_much_the_days_of_a_machine_are_alike_and_how_many_stalls_were_not_sent_is_known, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(test_of_a_version_that_is_out_for_long_the_latest_four_weeks_count, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_where_nobody_tells_days_an_issues_are_beside_those_with_any_stall, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_where_a_part_of_the_fleet_tells_no_days_none_counts, set_up, tear_down),
        cmocka_unit_test(test_a_share_is_not_told_where_more_machines_had_a_stall_than_were_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
