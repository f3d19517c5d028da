/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_wait.c - a wait for a task that lies in a queue, the tasks before it, and how fast the queue was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "one_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

enum {
    ROWS_MAX = 512,
    POOL = 1, /* objects: ordinals + 1 */
    LOOP = 2,
    MAIN = 0,
    WORKER = 1,
    HOLDER = 2,
    STILL = 0, /* end of a task that still runs */
};

/* The rows of a thread come in the order of their ends, so they are stored until all are there. */
static struct sbx_build_record rows[ROWS_MAX];
static size_t row_count;

static void add(struct sbx_build_record row)
{
    assert_true(row_count < ROWS_MAX);
    rows[row_count++] = row;
}

static int by_end(const void *left, const void *right)
{
    const struct sbx_build_record *a = left, *b = right;
    return (a->end_us > b->end_us) - (a->end_us < b->end_us);
}

static const struct sbx_report *report_of_rows(void)
{
    qsort(rows, row_count, sizeof rows[0], by_end);
    for (size_t i = 0; i < row_count; i++) {
        sbx_scene_record(scene, rows[i]);
    }
    row_count = 0;
    return sbx_scene_report(scene);
}

/* A task that is still in its queue at the trigger. */
static void put_lying(uint8_t op, uint32_t queue, int64_t queued_us, uint32_t from, const char *stack, uint32_t hop)
{
    add((struct sbx_build_record){.thread = from,
                                  .kind = SBX_RECORD_HOP,
                                  .op = op,
                                  .flags = SBX_FLAG_OPEN,
                                  .begin_us = queued_us,
                                  .end_us = 0,
                                  .stack = sbx_scene_stack(scene, stack),
                                  .peer = from + 1,
                                  .object = queue,
                                  .amount = 3,
                                  .wait = hop});
}

/* A task that `runner` has begun. */
static void put_run(uint8_t op, uint32_t queue, uint32_t runner, int64_t begin_us, int64_t end_us, uint32_t from,
                    const char *stack, uint32_t hop)
{
    add((struct sbx_build_record){.thread = runner,
                                  .kind = SBX_RECORD_HOP,
                                  .op = op,
                                  .begin_us = begin_us - MS(1),
                                  .end_us = begin_us,
                                  .peer = from + 1,
                                  .object = queue,
                                  .wait = hop});
    add((struct sbx_build_record){.thread = runner,
                                  .kind = SBX_RECORD_TASK,
                                  .op = op,
                                  .flags = end_us == STILL ? SBX_FLAG_OPEN : 0,
                                  .begin_us = begin_us,
                                  .end_us = end_us,
                                  .object = queue,
                                  .stack = sbx_scene_stack(scene, stack),
                                  .wait = hop});
}

static void compute(uint32_t thread, const char *stack)
{
    for (int ms = 10; ms <= 1000; ms += 10) {
        add((struct sbx_build_record){.thread = thread,
                                      .kind = SBX_RECORD_ASYNC,
                                      .begin_us = MS(ms - 1000),
                                      .end_us = MS(ms - 1000),
                                      .cpu_us = MS(ms) + 1,
                                      .stack = sbx_scene_stack(scene, stack)});
    }
}

/* Main does not answer because it waits for a condition. HOLDER computes; it has woken main from such a wait before. */
static int begin(void **state)
{
    (void)state;
    row_count = 0;
    scene = sbx_scene_create(4, SBX_TRIGGER_ANR, 1000000);
    add((struct sbx_build_record){.kind = SBX_RECORD_ALLOC,
                                  .begin_us = MS(-960),
                                  .end_us = MS(-960),
                                  .cpu_us = 1,
                                  .stack = sbx_scene_stack(scene, "await_sync < main")});
    sbx_scene_call(
        scene, MAIN,
        (struct sbx_build_call){.kind = SBX_RECORD_COND, .op = SBX_OP_COND_WAIT, .duration_us = 950000, .object = 9});
    add((struct sbx_build_record){.thread = HOLDER,
                                  .kind = SBX_RECORD_WAKE,
                                  .op = SBX_OP_COND_SIGNAL,
                                  .begin_us = MS(-1200),
                                  .end_us = MS(-1200),
                                  .stack = sbx_scene_stack(scene, "synchronise < start"),
                                  .peer = MAIN + 1,
                                  .object = 9,
                                  .wait = 70});
    compute(HOLDER, "synchronise < start");
    return 0;
}

static void assert_is_a_wait_for_the_holder(const struct sbx_report *report)
{
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_int_equal(report->verdict.culprit_thread, HOLDER);
    assert_string_equal(report->verdict.culprit_function, "synchronise");
    assert_null(sbx_scene_evidence(report, "queue"));
}

/* ---- what an open wait is not for ---- */

static void test_a_timer_that_is_armed_before_a_wait_is_not_what_is_waited_for(void **state)
{
    (void)state;
    static const uint8_t timers[] = {SBX_OP_G_TIMEOUT_ADD, SBX_OP_QT_TIMER,        SBX_OP_UV_TIMER_START,
                                     SBX_OP_EVENT_ADD,     SBX_OP_G_SOURCE_ATTACH, SBX_OP_UV_FS};
    for (uint32_t i = 0; i < sizeof timers; i++) {
        put_lying(timers[i], 0, MS(-970), MAIN, "arm_autosave < main", 5 + i);
    }
    assert_is_a_wait_for_the_holder(report_of_rows());
}

static void test_an_idle_call_for_the_waiting_threads_own_loop_is_not_what_is_waited_for(void **state)
{
    (void)state;
    put_run(SBX_OP_G_IDLE_ADD, LOOP, MAIN, MS(-1100), MS(-1090), MAIN, "on_scroll < main", 4);
    put_lying(SBX_OP_G_IDLE_ADD, LOOP, MS(-970), MAIN, "redraw_later < main", 5);
    assert_is_a_wait_for_the_holder(report_of_rows());
}

static void test_a_source_that_was_attached_lies_in_the_same_queue_as_an_idle_call(void **state)
{
    (void)state;
    put_run(SBX_OP_G_SOURCE_ATTACH, LOOP, MAIN, MS(-1100), MS(-1090), MAIN, "on_scroll < main", 4);
    put_run(SBX_OP_G_IDLE_ADD, LOOP, WORKER, MS(-1100), MS(-1090), MAIN, "on_scroll < main", 3);
    put_lying(SBX_OP_G_IDLE_ADD, LOOP, MS(-970), MAIN, "redraw_later < main", 5);
    assert_is_a_wait_for_the_holder(report_of_rows());
}

static void test_a_task_in_a_queue_that_nobody_was_seen_to_run_is_not_what_is_waited_for(void **state)
{
    (void)state;
    put_run(SBX_OP_G_THREAD_POOL_PUSH, POOL, WORKER, MS(-900), STILL, 3, "prefetch < run", 4); /* in another queue */
    put_lying(SBX_OP_G_IDLE_ADD, LOOP, MS(-970), MAIN, "redraw_later < main", 5);
    const struct sbx_report *report = report_of_rows();
    assert_is_a_wait_for_the_holder(report);
}

/* ---- what it is for ---- */

static void lie_behind_another(void)
{
    put_run(SBX_OP_G_THREAD_POOL_PUSH, POOL, WORKER, MS(-975), STILL, 3, "prefetch_album < run", 4);
    put_lying(SBX_OP_G_THREAD_POOL_PUSH, POOL, MS(-965), MAIN, "show_thumbnail < main", 5);
    compute(WORKER, "decode_huge < run");
}

static void test_an_open_wait_for_a_task_that_lies_behind_another_threads_is_the_queues(void **state)
{
    (void)state;
    lie_behind_another();
    put_lying(SBX_OP_G_TIMEOUT_ADD, 0, MS(-960), MAIN, "show_spinner_later < main", 6); /* queued last: irrelevant */
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.cause, SBX_CAUSE_QUEUE);
    assert_int_equal(report->verdict.culprit_thread, WORKER);
    assert_string_equal(report->verdict.culprit_function, "decode_huge");
    assert_non_null(strstr(sbx_scene_evidence(report, "queue"), "show_thumbnail"));
    assert_non_null(strstr(sbx_scene_evidence(report, "blocker"), "queued by prefetch_album"));
}

static void test_a_thread_that_was_started_meanwhile_does_not_hide_the_task(void **state)
{
    (void)state;
    lie_behind_another();
    put_run(SBX_OP_PTHREAD_CREATE, 0, HOLDER, MS(-955), STILL, MAIN, "start_sync < main", 6);
    assert_int_equal(report_of_rows()->verdict.cause, SBX_CAUSE_QUEUE);
}

static void test_what_an_open_wait_is_for_is_said_to_be_probable_and_lowers_the_confidence(void **state)
{
    (void)state;
    lie_behind_another();
    const struct sbx_report *report = report_of_rows();
    assert_non_null(strstr(sbx_scene_evidence(report, "queue"), "probably"));
    assert_true(report->verdict.confidence > 0.5);
    assert_true(report->verdict.confidence < 0.8);
}

/* Where privacy rules hide objects, queues and tasks have no object. */
static void put_queue(uint32_t op, uint32_t object, uint64_t pending, uint64_t queued, uint64_t begun)
{
    static uint32_t ops[1], objects[1], windows[1] = {4294};
    static uint64_t pendings[1], came[1], went[1];
    static Stallbox__V1__Queues queues;
    stallbox__v1__queues__init(&queues);
    ops[0] = op;
    objects[0] = object;
    pendings[0] = pending;
    came[0] = queued;
    went[0] = begun;
    queues.n_op = queues.n_object = queues.n_pending = queues.n_queued = queues.n_begun = queues.n_window_ms = 1;
    queues.op = ops;
    queues.object = objects;
    queues.window_ms = windows;
    queues.pending = pendings;
    queues.queued = came;
    queues.begun = went;
    sbx_scene_payload(scene)->queues = &queues;
}

static void test_where_objects_are_hidden_a_queue_of_the_same_sort_is_enough(void **state)
{
    (void)state;
    lie_behind_another();
    for (size_t i = 0; i < row_count; i++) {
        rows[i].object = 0;
    }
    put_queue(SBX_OP_G_THREAD_POOL_PUSH, 0, 1, 2, 1);
    assert_int_equal(report_of_rows()->verdict.cause, SBX_CAUSE_QUEUE);
}

/* ---- waits that ended, over hops ---- */

/* Main's wait ended 20 ms before the trigger, when WORKER woke it. */
static void end_the_wait(void)
{
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(4, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    row_count = 0;
    add((struct sbx_build_record){.kind = SBX_RECORD_COND,
                                  .op = SBX_OP_COND_WAIT,
                                  .begin_us = MS(-990),
                                  .end_us = MS(-20),
                                  .cpu_us = 1,
                                  .stack = sbx_scene_stack(scene, "show_thumbnail < main"),
                                  .peer = WORKER + 1,
                                  .wait = 40});
    add((struct sbx_build_record){.thread = WORKER,
                                  .kind = SBX_RECORD_WAKE,
                                  .op = SBX_OP_COND_SIGNAL,
                                  .begin_us = MS(-20),
                                  .end_us = MS(-20),
                                  .stack = sbx_scene_stack(scene, "decode < run"),
                                  .peer = MAIN + 1,
                                  .wait = 40});
    compute(WORKER, "decode < run");
}

/* A task that `from` queued at `queued_us` and `runner` ran from `begin_us` on. */
static void put_task(uint32_t queue, uint32_t runner, int64_t queued_us, int64_t begin_us, int64_t end_us,
                     uint32_t from, const char *stack, uint32_t hop)
{
    put_run(SBX_OP_TASK, queue, runner, begin_us, end_us, from, stack, hop);
    rows[row_count - 2].begin_us = queued_us;
}

static void test_a_wait_is_followed_over_two_hops_to_the_task_that_the_thread_queued(void **state)
{
    (void)state;
    end_the_wait();
    put_task(POOL, HOLDER, MS(-988), MS(-100), MS(-90), MAIN, "show_thumbnail < main", 4); /* main's, which lay there */
    put_task(LOOP, WORKER, MS(-95), MS(-60), MS(-19), HOLDER, "read_file < run", 5);       /* queued in that task */
    put_task(POOL, HOLDER, MS(-999), MS(-995), MS(-101), 3, "prefetch_album < run", 6);    /* it lay behind this */
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.cause, SBX_CAUSE_QUEUE);
    assert_int_equal(report->verdict.culprit_thread, HOLDER);
    assert_non_null(strstr(sbx_scene_evidence(report, "queue"), "show_thumbnail"));
    assert_null(strstr(sbx_scene_evidence(report, "queue"), "probably"));
    assert_non_null(strstr(sbx_scene_evidence(report, "blocker"), "queued by prefetch_album"));
}

static void test_where_nobody_knows_what_it_lay_behind_the_thread_that_ran_it_then_is_to_blame(void **state)
{
    (void)state;
    end_the_wait();
    put_task(POOL, WORKER, MS(-988), MS(-100), MS(-19), MAIN, "show_thumbnail < main", 4);
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.cause, SBX_CAUSE_QUEUE);
    assert_int_equal(report->verdict.culprit_thread, WORKER);
    assert_string_equal(report->verdict.culprit_function, "decode");
    assert_non_null(strstr(sbx_scene_evidence(report, "blocker"), "which task that was is not known"));
}

static void test_a_wait_whose_hops_lead_to_another_threads_task_is_a_wait(void **state)
{
    (void)state;
    end_the_wait();
    put_task(POOL, HOLDER, MS(-988), MS(-100), MS(-90), 3, "on_timer < run", 4); /* not queued by main */
    put_task(LOOP, WORKER, MS(-95), MS(-60), MS(-19), HOLDER, "read_file < run", 5);
    put_task(POOL, HOLDER, MS(-999), MS(-995), MS(-101), 3, "prefetch_album < run", 6);
    assert_int_equal(report_of_rows()->verdict.cause, SBX_CAUSE_WAIT);
}

static void test_a_timer_that_is_waited_for_lies_in_no_queue(void **state)
{
    (void)state;
    end_the_wait();
    put_run(SBX_OP_G_TIMEOUT_ADD, 0, WORKER, MS(-60), MS(-19), MAIN, "show_thumbnail < main", 4);
    rows[row_count - 2].begin_us = MS(-985); /* on another thread's context, and due much later */
    assert_int_equal(report_of_rows()->verdict.cause, SBX_CAUSE_WAIT);
}

/* ---- numbers of queues ---- */

static void test_the_rate_of_a_queue_is_told_with_what_lay_in_it(void **state)
{
    (void)state;
    lie_behind_another();
    put_queue(SBX_OP_G_THREAD_POOL_PUSH, POOL, 3, 120, 80);
    const struct sbx_report *report = report_of_rows();
    assert_string_equal(sbx_scene_evidence(report, "rate"),
                        "in the last 4.3 s 120 tasks came into that queue, and 80 were begun");
}

static void test_the_rate_of_another_queue_is_not_told(void **state)
{
    (void)state;
    lie_behind_another();
    put_queue(SBX_OP_G_THREAD_POOL_PUSH, LOOP, 3, 120, 80);
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.cause, SBX_CAUSE_QUEUE);
    assert_null(sbx_scene_evidence(report, "rate"));
}

static void test_what_was_pending_is_told_with_the_oldest_of_it(void **state)
{
    (void)state;
    put_queue(SBX_OP_G_IDLE_ADD, LOOP, 40, 50, 10);
    put_lying(SBX_OP_G_IDLE_ADD, LOOP, MS(-300), 3, "on_scroll < run", 5);
    put_lying(SBX_OP_G_SOURCE_ATTACH, LOOP, MS(-700), HOLDER, "request_theme < run", 6); /* in the same queue */
    put_lying(SBX_OP_G_THREAD_POOL_PUSH, POOL, MS(-900), 3, "prefetch < run", 7);        /* in another queue */
    put_lying(SBX_OP_G_TIMEOUT_ADD, 0, MS(-950), 3, "arm_autosave < run", 8);            /* in no queue */
    const struct sbx_report *report = report_of_rows();
    const char *pending = sbx_scene_evidence(report, "pending");
    assert_non_null(pending);
    assert_non_null(strstr(pending, "40 tasks lay in one queue"));
    assert_non_null(strstr(pending, "the oldest for 700 ms, queued by request_theme"));
}

static void test_one_task_or_young_ones_are_not_told_as_pending(void **state)
{
    (void)state;
    put_queue(SBX_OP_G_IDLE_ADD, LOOP, 1, 50, 49);
    put_lying(SBX_OP_G_IDLE_ADD, LOOP, MS(-300), 3, "on_scroll < run", 5);
    assert_null(sbx_scene_evidence(report_of_rows(), "pending"));
    end_scene(state);
    (void)begin(state);
    put_queue(SBX_OP_G_IDLE_ADD, LOOP, 2, 50, 48);
    put_lying(SBX_OP_G_IDLE_ADD, LOOP, MS(-30), 3, "on_scroll < run", 5);
    assert_null(sbx_scene_evidence(report_of_rows(), "pending"));
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(test_a_timer_that_is_armed_before_a_wait_is_not_what_is_waited_for),
        SCENE(test_an_idle_call_for_the_waiting_threads_own_loop_is_not_what_is_waited_for),
        SCENE(test_a_source_that_was_attached_lies_in_the_same_queue_as_an_idle_call),
        SCENE(test_a_task_in_a_queue_that_nobody_was_seen_to_run_is_not_what_is_waited_for),
        SCENE(test_an_open_wait_for_a_task_that_lies_behind_another_threads_is_the_queues),
        SCENE(test_a_thread_that_was_started_meanwhile_does_not_hide_the_task),
        SCENE(test_what_an_open_wait_is_for_is_said_to_be_probable_and_lowers_the_confidence),
        SCENE(test_where_objects_are_hidden_a_queue_of_the_same_sort_is_enough),
        SCENE(test_a_wait_is_followed_over_two_hops_to_the_task_that_the_thread_queued),
        SCENE(test_where_nobody_knows_what_it_lay_behind_the_thread_that_ran_it_then_is_to_blame),
        SCENE(test_a_wait_whose_hops_lead_to_another_threads_task_is_a_wait),
        SCENE(test_a_timer_that_is_waited_for_lies_in_no_queue),
        SCENE(test_the_rate_of_a_queue_is_told_with_what_lay_in_it),
        SCENE(test_the_rate_of_another_queue_is_not_told),
        SCENE(test_what_was_pending_is_told_with_the_oldest_of_it),
        SCENE(test_one_task_or_young_ones_are_not_told_as_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
