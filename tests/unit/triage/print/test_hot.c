/* SPDX-License-Identifier: Apache-2.0 */
/* test_hot.c - durations with bounds: exact where measured, a range where sampled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "hot.h"
#include "stall_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

static struct sbx_stall_scene *scene;
static struct sbx_hot hot[8];

static int begin(void **state)
{
    (void)state;
    scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sbx_scene_destroy(scene);
    return 0;
}

static void put(uint8_t kind, int64_t begin_ms, int64_t end_ms, uint64_t message, const char *stack)
{
    sbx_scene_record(scene, (struct sbx_build_record){.kind = kind,
                                                      .begin_us = MS(begin_ms),
                                                      .end_us = MS(end_ms),
                                                      .message = message,
                                                      .stack = stack == NULL ? 0 : sbx_scene_stack(scene, stack)});
}

static void assert_hot(const char *function, double ms_min, double ms_max)
{
    size_t count = sbx_report_hot(sbx_scene_report(scene), 0, hot, 8);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(hot[i].function, function) == 0) {
            if (hot[i].ms_min < ms_min - 0.01 || hot[i].ms_min > ms_min + 0.01 || hot[i].ms_max < ms_max - 0.01 ||
                hot[i].ms_max > ms_max + 0.01) {
                fail_msg("%s: [%.2f, %.2f], expected [%.2f, %.2f]", function, hot[i].ms_min, hot[i].ms_max, ms_min,
                         ms_max);
            }
            return;
        }
    }
    fail_msg("%s is not among them", function);
}

static void test_measured_wait_is_exact(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, -900, -900, 1, "other < main");
    put(SBX_RECORD_SLEEP, -800, -300, 1, "nap < main");
    put(SBX_RECORD_ASYNC, -200, -200, 1, "other < main");
    assert_hot("nap", 500, 500);
}

static void test_lone_sample_lies_between_its_neighbours(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, -600, -600, 1, "a < main");
    put(SBX_RECORD_ASYNC, -500, -500, 1, "b < main");
    put(SBX_RECORD_ASYNC, -450, -450, 1, "c < main");
    assert_hot("b", 0, 150);
}

static void test_samples_in_a_row_last_at_least_from_first_to_last(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, -900, -900, 1, "a < main");
    put(SBX_RECORD_ASYNC, -800, -800, 1, "x < b < main");
    put(SBX_RECORD_ALLOC, -700, -700, 1, "x < b < main");
    put(SBX_RECORD_ASYNC, -600, -600, 1, "x < b < main");
    put(SBX_RECORD_ASYNC, -550, -550, 1, "a < main");
    assert_hot("x", 200, 350);
}

static void test_interval_and_messages_cut(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, -1500, -1500, 1, "a < main"); /* before the interval */
    put(SBX_RECORD_ASYNC, -900, -900, 1, "b < main");
    put(SBX_RECORD_MESSAGE, -1600, -800, 1, NULL);
    put(SBX_RECORD_ASYNC, -700, -700, 2, "b < main");
    assert_hot("b", 0, 200 + 800); /* [-1000, -800] and [-800, 0], each by one sample */
}

static void test_wait_between_splits_a_stay(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, -900, -900, 1, "b < main");
    put(SBX_RECORD_FILE, -850, -750, 1, "io < main");
    put(SBX_RECORD_ASYNC, -700, -700, 1, "b < main");
    assert_hot("b", 0, 150 + 750);
    assert_hot("io", 100, 100);
}

static void test_waiting_for_work_is_nobodys_time(void **state)
{
    (void)state;
    put(SBX_RECORD_IDLE, -900, -100, 1, "loop < main");
    assert_int_equal(sbx_report_hot(sbx_scene_report(scene), 0, hot, 8), 0);
}

static void test_most_time_comes_first_and_max_is_kept(void **state)
{
    (void)state;
    put(SBX_RECORD_SLEEP, -900, -890, 1, "short < main");
    put(SBX_RECORD_SLEEP, -800, -300, 1, "long < main");
    put(SBX_RECORD_SLEEP, -200, -150, 1, "middle < main");
    assert_int_equal(sbx_report_hot(sbx_scene_report(scene), 0, hot, 2), 2);
    assert_string_equal(hot[0].function, "long");
    assert_string_equal(hot[1].function, "middle");
    assert_int_equal(sbx_report_hot(sbx_scene_report(scene), 99, hot, 2), 0);
}

static void test_run_lasted_at_least_from_its_first_look_to_its_last(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, -600, -600, 1, "a < main");
    put(SBX_RECORD_LEAF, -500, -500, 1, "b < main");
    put(SBX_RECORD_LEAF, -500, -440, 1, "b < main"); /* the looks of the run after the first */
    put(SBX_RECORD_ASYNC, -430, -430, 1, "c < main");
    assert_hot("b", 60, 170);
}

/* A payload comes from outside, so it may contain what no thread can do. */
static void test_what_overlaps_counts_once(void **state)
{
    (void)state;
    put(SBX_RECORD_LEAF, -1000, -400, 1, "b < main");
    put(SBX_RECORD_LEAF, -500, -100, 1, "a < main");
    put(SBX_RECORD_LEAF, -200, 0, 1, "b < main");
    assert_hot("b", 600 + 100, 600 + 100);
    assert_hot("a", 300, 300);
}

static void test_frames_cut_like_messages(void **state)
{
    (void)state;
    put(SBX_RECORD_LEAF, -500, -500, 1, "b < main");
    put(SBX_RECORD_FRAME, -550, -480, 1, NULL);
    put(SBX_RECORD_LEAF, -460, -460, 1, "b < main");
    assert_hot("b", 0, 70 + 480);
}

static void test_samples_at_calls_yield_to_looks_by_the_clock(void **state)
{
    (void)state;
    for (int64_t at = -600; at < 0; at += 100) {
        put(SBX_RECORD_ASYNC, at, at, 1, "compute < main");
        put(SBX_RECORD_LEAF, at + 20, at + 20, 1, "read_clock < compute < main");
        put(SBX_RECORD_LEAF, at + 40, at + 40, 1, "read_clock < compute < main");
    }
    assert_hot("compute", 540, 1000); /* from the first to the last look, although clock readings lie between them */
    assert_int_equal(sbx_report_hot(sbx_scene_report(scene), 0, hot, 8), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_run_lasted_at_least_from_its_first_look_to_its_last, begin, end),
        cmocka_unit_test_setup_teardown(test_frames_cut_like_messages, begin, end),
        cmocka_unit_test_setup_teardown(test_what_overlaps_counts_once, begin, end),
        cmocka_unit_test_setup_teardown(test_samples_at_calls_yield_to_looks_by_the_clock, begin, end),
        cmocka_unit_test_setup_teardown(test_measured_wait_is_exact, begin, end),
        cmocka_unit_test_setup_teardown(test_lone_sample_lies_between_its_neighbours, begin, end),
        cmocka_unit_test_setup_teardown(test_samples_in_a_row_last_at_least_from_first_to_last, begin, end),
        cmocka_unit_test_setup_teardown(test_interval_and_messages_cut, begin, end),
        cmocka_unit_test_setup_teardown(test_wait_between_splits_a_stay, begin, end),
        cmocka_unit_test_setup_teardown(test_waiting_for_work_is_nobodys_time, begin, end),
        cmocka_unit_test_setup_teardown(test_most_time_comes_first_and_max_is_kept, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
