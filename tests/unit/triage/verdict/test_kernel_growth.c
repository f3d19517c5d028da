/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernel_growth.c - what two readings of a counter say about the time between them, and about the time around
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kernel_growth.h"
#include "one_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

static int begin(void **state)
{
    (void)state;
    scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    return 0;
}

static void count(uint32_t thread, int64_t at_ms, uint8_t what, uint64_t value)
{
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_KERNEL,
                                                      .op = what,
                                                      .thread = thread,
                                                      .begin_us = MS(at_ms),
                                                      .end_us = MS(at_ms),
                                                      .amount = value});
}

static struct sbx_kernel_growth growth(uint32_t thread, uint32_t what)
{
    const struct sbx_stall *stall = sbx_scene_stall(scene);
    return sbx_kernel_growth_of(stall, thread, what, sbx_interval_judged(stall));
}

static void test_readings_at_both_ends_are_subtracted(void **state)
{
    (void)state;
    count(0, -1000, SBX_KERNEL_RUN_DELAY, 300);
    count(0, 0, SBX_KERNEL_RUN_DELAY, 1000);
    struct sbx_kernel_growth it = growth(0, SBX_KERNEL_RUN_DELAY);
    assert_true(it.is_known);
    assert_true(it.value == 700);
}

static void test_a_reading_before_the_interval_counts_by_length(void **state)
{
    (void)state;
    count(0, -3000, SBX_KERNEL_MEMORY_SOME, 0);
    count(0, 0, SBX_KERNEL_MEMORY_SOME, 3000);
    assert_true(growth(0, SBX_KERNEL_MEMORY_SOME).value == 1000);
    assert_true(growth(0, SBX_KERNEL_MEMORY_SOME).span_ns == INT64_C(3000000000));
}

static void test_readings_of_a_small_part_say_nothing(void **state)
{
    (void)state;
    count(0, -300, SBX_KERNEL_RUN_DELAY, 0);
    count(0, 0, SBX_KERNEL_RUN_DELAY, 1000);
    assert_false(growth(0, SBX_KERNEL_RUN_DELAY).is_known);
}

static void test_one_reading_says_nothing_about_growth(void **state)
{
    (void)state;
    count(0, 0, SBX_KERNEL_RUN_DELAY, 1000);
    assert_false(growth(0, SBX_KERNEL_RUN_DELAY).is_known);
    assert_false(growth(0, SBX_KERNEL_IO_SOME).is_known);
}

static void test_threads_and_counts_are_kept_apart(void **state)
{
    (void)state;
    count(0, -1000, SBX_KERNEL_RUN_DELAY, 0);
    count(0, -1000, SBX_KERNEL_IO_SOME, 0);
    count(0, 0, SBX_KERNEL_RUN_DELAY, 10);
    count(0, 0, SBX_KERNEL_IO_SOME, 20);
    count(1, -1000, SBX_KERNEL_RUN_DELAY, 0);
    count(1, 0, SBX_KERNEL_RUN_DELAY, 30);
    assert_true(growth(0, SBX_KERNEL_RUN_DELAY).value == 10);
    assert_true(growth(0, SBX_KERNEL_IO_SOME).value == 20);
    assert_true(growth(1, SBX_KERNEL_RUN_DELAY).value == 30);
}

static void test_counts_are_not_among_the_records_of_a_thread(void **state)
{
    (void)state;
    count(0, -500, SBX_KERNEL_RUN_DELAY, 10);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "work < main", MS(-400), MS(-100), MS(100), 1000);
    count(0, 0, SBX_KERNEL_RUN_DELAY, 20);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "work < main", MS(-400), MS(-100), MS(100), 1000);
    const struct sbx_stall *stall = sbx_scene_stall(scene);
    assert_int_equal(stall->count_count, 2);
    assert_int_equal(stall->record_count, 6);
    assert_int_equal(stall->threads[0].record_count, 3);
    assert_int_equal(stall->threads[1].record_begin, 3);
    for (size_t i = 0; i < stall->record_count; i++) {
        assert_int_equal(stall->records[i].kind, SBX_RECORD_ASYNC);
        assert_int_equal(stall->records[i].thread, i / 3);
    }
}

static void test_a_value_of_now_is_the_newest_one(void **state)
{
    (void)state;
    uint64_t kib = 0;
    count(0, -800, SBX_KERNEL_SWAPPED_KIB, 5000);
    count(0, -10, SBX_KERNEL_SWAPPED_KIB, 70);
    const struct sbx_stall *stall = sbx_scene_stall(scene);
    assert_true(sbx_kernel_value_at(stall, 0, SBX_KERNEL_SWAPPED_KIB, 0, &kib));
    assert_int_equal(kib, 70);
    assert_false(sbx_kernel_value_at(stall, 1, SBX_KERNEL_SWAPPED_KIB, 0, &kib));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_readings_at_both_ends_are_subtracted, begin, end_scene),
        cmocka_unit_test_setup_teardown(test_a_reading_before_the_interval_counts_by_length, begin, end_scene),
        cmocka_unit_test_setup_teardown(test_readings_of_a_small_part_say_nothing, begin, end_scene),
        cmocka_unit_test_setup_teardown(test_one_reading_says_nothing_about_growth, begin, end_scene),
        cmocka_unit_test_setup_teardown(test_threads_and_counts_are_kept_apart, begin, end_scene),
        cmocka_unit_test_setup_teardown(test_counts_are_not_among_the_records_of_a_thread, begin, end_scene),
        cmocka_unit_test_setup_teardown(test_a_value_of_now_is_the_newest_one, begin, end_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
