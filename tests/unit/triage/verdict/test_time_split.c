/* SPDX-License-Identifier: Apache-2.0 */
/* test_time_split.c - the sums of times, at boundaries, with gaps and without a CPU clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "one_scene.h"
#include "time_split.h"

#define MS(ms) ((int64_t)(ms)*1000)

static struct sbx_time_split split;

static int end(void **state)
{
    sbx_time_split_finish(&split);
    return end_scene(state);
}

static void make_split(void)
{
    const struct sbx_stall *stall = sbx_scene_stall(scene);
    assert_int_equal(sbx_time_split_make(stall, 0, sbx_interval_judged(stall), &split), 0);
    double sum =
        split.on_cpu_ns + split.paused_ns + split.runnable_ns + split.idle_ns + split.unknown_ns + split.faulting_ns;
    assert_true(sum > split.wall_ns * 0.9999 && sum < split.wall_ns * 1.0001); /* nothing is counted twice or lost */
}

static void assert_ms(double ns, double ms)
{
    if (ns / 1e6 < ms - 0.01 || ns / 1e6 > ms + 0.01) {
        fail_msg("%.3f ms, expected %.3f ms", ns / 1e6, ms);
    }
}

/* A record with a reading of the CPU clock. */
static void put(uint8_t kind, uint8_t op, int64_t begin_ms, int64_t end_ms, int64_t cpu_ms)
{
    sbx_scene_record(scene, (struct sbx_build_record){.kind = kind,
                                                      .op = op,
                                                      .begin_us = MS(begin_ms),
                                                      .message = 1,
                                                      .end_us = MS(end_ms),
                                                      .cpu_us = cpu_ms < 0 ? 0 : MS(cpu_ms)});
}

static void test_cpu_waits_and_the_rest(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_SLEEP, SBX_OP_USLEEP, -700, -400, 350); /* before it 250 ms of CPU and 50 ms of neither */
    put(SBX_RECORD_ASYNC, 0, 0, 0, 700);                   /* 350 of 400 ms */
    make_split();
    assert_true(split.cpu_measured);
    assert_ms(split.on_cpu_ns, 600);
    assert_ms(split.paused_ns, 300);
    assert_ms(split.runnable_ns, 100);
    assert_ms(split.unknown_ns, 0);
}

static void test_what_crosses_the_begin_is_shared_out(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, 0, -2000, -2000, 100);
    put(SBX_RECORD_ASYNC, 0, -500, -500, 850); /* 750 of 1500 ms: a third of it inside */
    put(SBX_RECORD_SLEEP, SBX_OP_USLEEP, -500, 0, 850);
    make_split();
    assert_ms(split.on_cpu_ns, 250);
    assert_ms(split.runnable_ns, 250);
    assert_ms(split.paused_ns, 500);
}

static void test_wait_is_clipped_to_the_interval(void **state)
{
    (void)state;
    put(SBX_RECORD_SLEEP, SBX_OP_USLEEP, -3000, -200, 100);
    put(SBX_RECORD_ASYNC, 0, 0, 0, 300);
    make_split();
    assert_ms(split.paused_ns, 800);
    assert_ms(split.on_cpu_ns, 200);
}

static void test_blocked_samples_explain_what_no_point_measured(void **state)
{
    (void)state;
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -1000, -1000, 100);
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -500, -500, 110);
    put(SBX_RECORD_BLOCKED, SBX_OP_RUNNING, 0, 0, 120);
    make_split();
    assert_ms(split.on_cpu_ns, 20);
    assert_ms(split.paused_ns, 490 + 245);
    assert_ms(split.runnable_ns, 245); /* the second half: seen blocked once and ready once */
    assert_int_equal(split.pauses[0].wait.cause, SBX_CAUSE_IO);
    assert_false(split.pauses[0].exact);
}

static void test_blocked_samples_within_a_measured_wait_add_nothing(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_BLOCKED, SBX_OP_USLEEP, -600, -600, 100);
    put(SBX_RECORD_SLEEP, SBX_OP_USLEEP, -1000, -100, 100);
    put(SBX_RECORD_ASYNC, 0, 0, 0, 200);
    make_split();
    assert_int_equal(split.pause_count, 1);
    assert_ms(split.paused_ns, 900);
    assert_ms(split.on_cpu_ns, 100);
}

static void test_without_a_cpu_clock_samples_speak_for_a_while_only(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, -1);
    put(SBX_RECORD_ASYNC, 0, -990, -990, -1);
    put(SBX_RECORD_ASYNC, 0, -200, -200, -1);
    make_split();
    assert_false(split.cpu_measured);
    assert_ms(split.on_cpu_ns, 10 + 50 + 50); /* 50 ms before the third, and after it */
    assert_ms(split.unknown_ns, 890);
    assert_ms(split.runnable_ns, 0);
}

static void test_cpu_clock_that_steps_back_is_not_believed(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 500);
    put(SBX_RECORD_ASYNC, 0, -500, -500, 10);
    put(SBX_RECORD_ASYNC, 0, 0, 0, 900);
    make_split();
    assert_ms(split.on_cpu_ns, 400);
}

static void test_more_cpu_than_time_is_clamped(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_ASYNC, 0, 0, 0, 100000);
    make_split();
    assert_ms(split.on_cpu_ns, 1000);
}

static void test_nothing_is_unknown(void **state)
{
    (void)state;
    make_split();
    assert_ms(split.unknown_ns, 1000);
}

static void test_looks_of_a_run_share_a_pause_by_their_number(void **state)
{
    (void)state;
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_BLOCKED, SBX_OP_RUNNING, -900, -900, -1);
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_BLOCKED,
                                                      .op = SBX_OP_READ,
                                                      .begin_us = MS(-800),
                                                      .end_us = MS(-500),
                                                      .message = 1,
                                                      .repeats = 3});
    put(SBX_RECORD_ASYNC, 0, 0, 0, 100); /* it did not run at all; 3 of 4 looks found it in read */
    make_split();
    assert_ms(split.paused_ns, 750);
    assert_ms(split.runnable_ns, 250);
}

static void test_run_speaks_for_all_of_itself_where_the_clock_was_not_read(void **state)
{
    (void)state;
    put(SBX_RECORD_LEAF, SBX_OP_READ, -900, -100, -1);
    make_split();
    assert_true(split.on_cpu_ns >= 800e6);
}

/* ---- the kernel's own count of the time it was ready ---- */

static void count(int64_t at_ms, uint8_t what, uint64_t value)
{
    sbx_scene_record(
        scene, (struct sbx_build_record){
                   .kind = SBX_RECORD_KERNEL, .op = what, .begin_us = MS(at_ms), .end_us = MS(at_ms), .amount = value});
}

/* A reading of the CPU clock, with that many major faults and voluntary switches since the last one. */
static void put_usage(int64_t at_ms, int64_t cpu_ms, uint32_t faults)
{
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_ASYNC,
                                                      .flags = SBX_FLAG_USAGE,
                                                      .begin_us = MS(at_ms),
                                                      .end_us = MS(at_ms),
                                                      .message = 1,
                                                      .cpu_us = MS(cpu_ms),
                                                      .usage = {0, faults, faults, 0}});
}

static void test_ready_is_what_the_kernel_counted(void **state)
{
    (void)state;
    count(-1000, SBX_KERNEL_RUN_DELAY, 0);
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_ASYNC, 0, 0, 0, 500); /* 600 ms remain */
    count(0, SBX_KERNEL_RUN_DELAY, MS(200));
    make_split();
    assert_true(split.delay_known);
    assert_ms(split.on_cpu_ns, 400);
    assert_ms(split.runnable_ns, 200);
    assert_ms(split.unknown_ns, 400); /* neither running nor ready, and no look saw where */
    assert_ms(split.faulting_ns, 0);
}

static void test_off_the_processor_with_pages_read_is_faulting(void **state)
{
    (void)state;
    count(-1000, SBX_KERNEL_RUN_DELAY, 0);
    put_usage(-1000, 100, 0);
    put_usage(0, 500, 400);
    count(0, SBX_KERNEL_RUN_DELAY, MS(200));
    make_split();
    assert_ms(split.runnable_ns, 200);
    assert_ms(split.faulting_ns, 400);
    assert_ms(split.unknown_ns, 0);
}

/* Short sleeps in thousands of calls: few looks meet a sleep, and each of them stands for sleeps that no look met. */
static void test_looks_that_met_it_asleep_share_what_no_reading_of_the_clock_encloses(void **state)
{
    (void)state;
    count(-1000, SBX_KERNEL_RUN_DELAY, 0);
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_ASYNC, 0, -990, -990, 100);
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -989, -989, -1);
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -988, -988, -1);
    put(SBX_RECORD_BLOCKED, SBX_OP_READ, -987, -987, -1);
    put(SBX_RECORD_ASYNC, 0, -960, -960, 100); /* 30 ms, which the looks share */
    put(SBX_RECORD_ASYNC, 0, 0, 0, 500);       /* 560 ms that no look saw */
    count(0, SBX_KERNEL_RUN_DELAY, 0);
    make_split();
    assert_ms(split.on_cpu_ns, 400);
    assert_ms(split.paused_ns, 600);
    assert_ms(split.unknown_ns, 0);
    double by_call[2] = {0};
    for (size_t i = 0; i < split.pause_count; i++) {
        by_call[split.pauses[i].wait.op == SBX_OP_FSYNC] += split.pauses[i].ns;
        assert_false(split.pauses[i].exact);
    }
    assert_ms(by_call[1], 400);
    assert_ms(by_call[0], 200);
}

static void test_two_looks_that_met_it_asleep_prove_nothing_of_the_rest(void **state)
{
    (void)state;
    count(-1000, SBX_KERNEL_RUN_DELAY, 0);
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -989, -989, -1);
    put(SBX_RECORD_BLOCKED, SBX_OP_FSYNC, -988, -988, -1);
    put(SBX_RECORD_ASYNC, 0, -960, -960, 100);
    put(SBX_RECORD_ASYNC, 0, 0, 0, 500);
    count(0, SBX_KERNEL_RUN_DELAY, 0);
    make_split();
    assert_ms(split.paused_ns, 40);
    assert_ms(split.unknown_ns, 560);
}

static void test_a_small_difference_of_two_clocks_is_let_be(void **state)
{
    (void)state;
    count(-1000, SBX_KERNEL_RUN_DELAY, 0);
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_ASYNC, 0, 0, 0, 500);
    count(0, SBX_KERNEL_RUN_DELAY, MS(570));
    make_split();
    assert_ms(split.runnable_ns, 600);
    assert_ms(split.unknown_ns, 0);
}

static void test_delay_beyond_what_is_left_lies_in_waits_that_ended(void **state)
{
    (void)state;
    count(-1000, SBX_KERNEL_RUN_DELAY, 0);
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_SYNC, SBX_OP_FSYNC, -900, -500, 200);
    put(SBX_RECORD_SYNC, SBX_OP_FSYNC, -500, 0, 200);
    put(SBX_RECORD_ASYNC, 0, 0, 0, 200);
    count(0, SBX_KERNEL_RUN_DELAY, MS(300));
    make_split();
    assert_ms(split.paused_ns, 900);
    assert_ms(split.delay_in_waits_ns, 300);
}

static void test_spinning_is_no_wait_that_a_processor_ends(void **state)
{
    (void)state;
    count(-1000, SBX_KERNEL_RUN_DELAY, 0);
    put(SBX_RECORD_ASYNC, 0, -1000, -1000, 100);
    put(SBX_RECORD_LOCK, SBX_OP_SPIN_LOCK, -1000, 0, 200);
    put(SBX_RECORD_ASYNC, 0, 0, 0, 200);
    count(0, SBX_KERNEL_RUN_DELAY, MS(500));
    make_split();
    assert_ms(split.paused_ns, 1000);
    assert_ms(split.delay_in_waits_ns, 0);
}

static void test_without_a_cpu_clock_the_count_is_not_used(void **state)
{
    (void)state;
    count(-1000, SBX_KERNEL_RUN_DELAY, 0);
    count(0, SBX_KERNEL_RUN_DELAY, MS(500));
    make_split();
    assert_false(split.delay_known);
    assert_ms(split.unknown_ns, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_looks_of_a_run_share_a_pause_by_their_number, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_run_speaks_for_all_of_itself_where_the_clock_was_not_read, begin_scene,
                                        end),
        cmocka_unit_test_setup_teardown(test_cpu_waits_and_the_rest, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_what_crosses_the_begin_is_shared_out, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_wait_is_clipped_to_the_interval, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_blocked_samples_explain_what_no_point_measured, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_blocked_samples_within_a_measured_wait_add_nothing, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_without_a_cpu_clock_samples_speak_for_a_while_only, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_cpu_clock_that_steps_back_is_not_believed, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_more_cpu_than_time_is_clamped, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_nothing_is_unknown, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_ready_is_what_the_kernel_counted, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_off_the_processor_with_pages_read_is_faulting, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_looks_that_met_it_asleep_share_what_no_reading_of_the_clock_encloses,
                                        begin_scene, end),
        cmocka_unit_test_setup_teardown(test_two_looks_that_met_it_asleep_prove_nothing_of_the_rest, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_a_small_difference_of_two_clocks_is_let_be, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_delay_beyond_what_is_left_lies_in_waits_that_ended, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_spinning_is_no_wait_that_a_processor_ends, begin_scene, end),
        cmocka_unit_test_setup_teardown(test_without_a_cpu_clock_the_count_is_not_used, begin_scene, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
