/* SPDX-License-Identifier: Apache-2.0 */
/* test_history.c - steps, the measured time between them, and which stack is the one at the trigger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "history.h"
#include "stall_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

static void put(struct sbx_stall_scene *scene, uint8_t kind, int64_t begin_ms, int64_t end_ms, int64_t number)
{
    sbx_scene_record(scene, (struct sbx_build_record){.kind = kind,
                                                      .begin_us = MS(begin_ms),
                                                      .end_us = MS(end_ms),
                                                      .message = 1,
                                                      .cpu_us = 1000 * number,
                                                      .alloc_count = 10 * number,
                                                      .alloc_bytes = 500 * number});
}

static void test_steps_tell_what_was_measured_since_the_one_before(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    struct sbx_history_step steps[8];
    put(scene, SBX_RECORD_ASYNC, -1200, -1200, 1); /* before the interval */
    put(scene, SBX_RECORD_ASYNC, -900, -900, 3);
    put(scene, SBX_RECORD_ASYNC, -500, -500, 9);
    assert_int_equal(sbx_history_steps(sbx_scene_report(scene), steps, 8), 2);
    assert_int_equal(steps[0].record->end_ns, INT64_C(-900000000));
    assert_true(steps[0].cpu_ms > 1.99 && steps[0].cpu_ms < 2.01);
    assert_int_equal(steps[0].alloc_count, 20);
    assert_int_equal(steps[1].alloc_count, 60);
    assert_int_equal(steps[1].alloc_bytes, 3000);
    sbx_scene_destroy(scene);
}

static void test_what_was_recorded_after_the_trigger_is_no_history(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    struct sbx_history_step steps[8];
    put(scene, SBX_RECORD_ASYNC, -500, -500, 1);
    put(scene, SBX_RECORD_MESSAGE, -1000, 0, 2);
    put(scene, SBX_RECORD_IDLE, 0, 5, 3);
    put(scene, SBX_RECORD_ASYNC, 6, 6, 4);
    assert_int_equal(sbx_history_steps(sbx_scene_report(scene), steps, 8), 2);
    assert_int_equal(steps[1].record->kind, SBX_RECORD_MESSAGE);
    sbx_scene_destroy(scene);
}

static void test_stack_taken_because_of_the_trigger_ends_the_history_of_a_stall_that_goes_on(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
    struct sbx_history_step steps[8];
    sbx_scene_payload(scene)->trigger->in_progress = true;
    put(scene, SBX_RECORD_ASYNC, -500, -500, 1);
    sbx_scene_record(scene,
                     (struct sbx_build_record){
                         .kind = SBX_RECORD_BLOCKED, .flags = SBX_FLAG_AT_TRIGGER, .begin_us = 300, .end_us = 300});
    put(scene, SBX_RECORD_ASYNC, 6, 6, 4);
    assert_int_equal(sbx_history_steps(sbx_scene_report(scene), steps, 8), 2);
    assert_int_equal(steps[1].record->kind, SBX_RECORD_BLOCKED);
    sbx_scene_destroy(scene);
}

static void test_too_many_steps_are_thinned_evenly_and_lose_no_sum(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    struct sbx_history_step steps[100];
    put(scene, SBX_RECORD_ASYNC, -1001, -1001, 1);
    for (int64_t i = 0; i < 1000; i++) {
        put(scene, i == 500 ? SBX_RECORD_SLEEP : SBX_RECORD_ASYNC, i == 500 ? -530 : -1000 + i, -1000 + i, 2 + i);
    }
    size_t count = sbx_history_steps(sbx_scene_report(scene), steps, 100);
    assert_in_range(count, 70, 100);
    int64_t allocations = 0, widest_ns = 0;
    size_t sleeps = 0;
    for (size_t i = 0; i < count; i++) {
        allocations += steps[i].alloc_count;
        sleeps += steps[i].record->kind == SBX_RECORD_SLEEP;
        int64_t gap_ns = i == 0 ? 0 : steps[i].record->end_ns - steps[i - 1].record->end_ns;
        widest_ns = gap_ns > widest_ns ? gap_ns : widest_ns;
    }
    assert_int_equal(sleeps, 1); /* the long wait is not folded */
    assert_true(widest_ns <= 15000000);
    assert_true(allocations > 9800 && allocations <= 10000);
    sbx_scene_destroy(scene);
}

static void test_stack_at_the_trigger_is_the_flagged_then_the_calls_then_the_newest(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(4, SBX_TRIGGER_ANR, 1000000);
    uint32_t flagged = sbx_scene_stack(scene, "flagged < main"), newest = sbx_scene_stack(scene, "newest < main");
    sbx_scene_record(scene, (struct sbx_build_record){.thread = 0,
                                                      .stack = flagged,
                                                      .flags = SBX_FLAG_AT_TRIGGER,
                                                      .kind = SBX_RECORD_ASYNC,
                                                      .begin_us = -2,
                                                      .end_us = -2});
    for (uint32_t thread = 0; thread < 3; thread++) {
        sbx_scene_record(
            scene, (struct sbx_build_record){
                       .thread = thread, .stack = newest, .kind = SBX_RECORD_ASYNC, .begin_us = -1, .end_us = -1});
        sbx_scene_record(scene,
                         (struct sbx_build_record){.thread = thread, .kind = SBX_RECORD_MESSAGE, .begin_us = -5});
    }
    sbx_scene_call(scene, 1, (struct sbx_build_call){.kind = SBX_RECORD_SLEEP, .duration_us = 100});
    const struct sbx_stall *stall = sbx_scene_stall(scene);
    assert_int_equal(sbx_history_trigger_stack(stall, 0), flagged);
    assert_int_equal(sbx_history_trigger_stack(stall, 1), stall->threads[1].last_stack);
    assert_int_equal(sbx_history_trigger_stack(stall, 2), newest);
    assert_int_equal(sbx_history_trigger_stack(stall, 3), 0);

    /* For a stall that is over, the judged thread shows where its time went. The other threads are unchanged. */
    struct sbx_stall over = *stall;
    struct sbx_report report = {.stall = &over, .verdict.stack = newest};
    over.trigger.thread = 0;
    over.trigger.duration_ns = 1000000;
    over.trigger.in_progress = false;
    assert_int_equal(sbx_history_thread_stack(&report, 0), newest);
    assert_int_equal(sbx_history_thread_stack(&report, 1), stall->threads[1].last_stack);
    over.trigger.in_progress = true;
    assert_int_equal(sbx_history_thread_stack(&report, 0), flagged);
    sbx_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_tell_what_was_measured_since_the_one_before),
        cmocka_unit_test(test_what_was_recorded_after_the_trigger_is_no_history),
        cmocka_unit_test(test_stack_taken_because_of_the_trigger_ends_the_history_of_a_stall_that_goes_on),
        cmocka_unit_test(test_too_many_steps_are_thinned_evenly_and_lose_no_sum),
        cmocka_unit_test(test_stack_at_the_trigger_is_the_flagged_then_the_calls_then_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
