/* SPDX-License-Identifier: Apache-2.0 */
/* test_trigger_decision.c - every case of "fire or not" as a line of numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trigger_decision.h"

#define MS UINT64_C(1000000)

static void test_a_message_fires_exactly_when_its_limit_is_reached(void **state)
{
    (void)state;
    struct sbx_message_view view = {.now_ns = 1000 * MS, .begin_ns = 500 * MS};
    assert_true(sbx_message_is_over(&view, 500));
    assert_false(sbx_message_is_over(&view, 501));
}

static void test_a_limit_of_zero_never_fires(void **state)
{
    (void)state;
    struct sbx_message_view view = {.now_ns = UINT64_MAX, .begin_ns = 1};
    assert_false(sbx_message_is_over(&view, 0));
}

static void test_no_open_message_never_fires(void **state)
{
    (void)state;
    struct sbx_message_view view = {.now_ns = 10000 * MS, .begin_ns = 0};
    assert_false(sbx_message_is_over(&view, 1));
}

static void test_a_message_fires_once(void **state)
{
    (void)state;
    struct sbx_message_view view = {.now_ns = 10000 * MS, .begin_ns = 1 * MS, .has_fired = true};
    assert_false(sbx_message_is_over(&view, 1000));
}

static void test_a_begin_in_the_future_never_fires(void **state)
{
    (void)state;
    struct sbx_message_view view = {.now_ns = 1 * MS, .begin_ns = 2 * MS};
    assert_false(sbx_message_is_over(&view, 1));
}

static void test_time_in_which_the_watch_thread_did_not_run_either_is_not_charged(void **state)
{
    (void)state;
    struct sbx_message_view view = {.now_ns = 6000 * MS, .begin_ns = 500 * MS, .late_ns = 5000 * MS};
    assert_false(sbx_message_is_over(&view, 1000));
    assert_true(sbx_message_is_over(&view, 500));
    view.late_ns = 7000 * MS; /* more than it was open: no underflow */
    assert_false(sbx_message_is_over(&view, 1));
}

static void test_ordinary_scheduling_delay_is_no_gap(void **state)
{
    (void)state;
    struct sbx_message_view view = {.now_ns = 1100 * MS, .last_look_ns = 1000 * MS, .tick_ns = 5 * MS};
    assert_int_equal(sbx_late_ns(&view), 0);
}

static void test_a_stopped_process_shows_as_a_gap_between_looks(void **state)
{
    (void)state;
    struct sbx_message_view view = {.now_ns = 4000 * MS, .last_look_ns = 1000 * MS, .tick_ns = 5 * MS};
    assert_int_equal(sbx_late_ns(&view), 2995 * MS);
}

static void test_the_first_look_has_no_gap(void **state)
{
    (void)state;
    struct sbx_message_view view = {.now_ns = 4000 * MS, .last_look_ns = 0, .tick_ns = 5 * MS};
    assert_int_equal(sbx_late_ns(&view), 0);
}

static void test_snapshots_of_one_kind_keep_their_distance(void **state)
{
    (void)state;
    assert_true(sbx_snapshot_is_allowed(5 * MS, 0, 1000));
    assert_false(sbx_snapshot_is_allowed(1500 * MS, 1000 * MS, 1000));
    assert_true(sbx_snapshot_is_allowed(2000 * MS, 1000 * MS, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_fires_exactly_when_its_limit_is_reached),
        cmocka_unit_test(test_a_limit_of_zero_never_fires),
        cmocka_unit_test(test_no_open_message_never_fires),
        cmocka_unit_test(test_a_message_fires_once),
        cmocka_unit_test(test_a_begin_in_the_future_never_fires),
        cmocka_unit_test(test_time_in_which_the_watch_thread_did_not_run_either_is_not_charged),
        cmocka_unit_test(test_ordinary_scheduling_delay_is_no_gap),
        cmocka_unit_test(test_a_stopped_process_shows_as_a_gap_between_looks),
        cmocka_unit_test(test_the_first_look_has_no_gap),
        cmocka_unit_test(test_snapshots_of_one_kind_keep_their_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
