/* SPDX-License-Identifier: Apache-2.0 */
/* test_origin.c - which thread queued the work that stalled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "one_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

/* The rows of a thread come in the order of their ends, so they are stored until all are there. */
enum {
    ROWS_MAX = 512
};
static struct sbx_build_record rows[ROWS_MAX];
static size_t row_count;

static void add(struct sbx_build_record row)
{
    rows[row_count++] = row;
}

static int by_end(const void *left, const void *right)
{
    const struct sbx_build_record *a = left, *b = right;
    return (a->end_us > b->end_us) - (a->end_us < b->end_us);
}

static void put_rows(void)
{
    qsort(rows, row_count, sizeof rows[0], by_end);
    for (size_t i = 0; i < row_count; i++) {
        sbx_scene_record(scene, rows[i]);
    }
    row_count = 0;
}

static const struct sbx_report *report_of_rows(void)
{
    put_rows();
    return sbx_scene_report(scene);
}

static void compute(uint32_t thread, const char *stack)
{
    for (int ms = 0; ms <= 1000; ms += 10) {
        add((struct sbx_build_record){.thread = thread,
                                      .kind = SBX_RECORD_ASYNC,
                                      .begin_us = MS(ms - 1000),
                                      .end_us = MS(ms - 1000),
                                      .cpu_us = MS(ms) + 1,
                                      .stack = sbx_scene_stack(scene, stack)});
    }
}

/* Main computes for a second; there are three other threads. */
static int begin(void **state)
{
    (void)state;
    row_count = 0;
    scene = sbx_scene_create(4, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    compute(0, "index_photo < handle < main");
    return 0;
}

/* A task of `runner` that `from` queued with that stack, `lay_us` before it began. */
static void put_task(uint32_t runner, int64_t begin_us, int64_t end_us, int64_t lay_us, uint32_t from,
                     const char *stack, uint32_t hop)
{
    add((struct sbx_build_record){.thread = runner,
                                  .kind = SBX_RECORD_HOP,
                                  .op = SBX_OP_TASK,
                                  .begin_us = begin_us - lay_us,
                                  .end_us = begin_us,
                                  .peer = from + 1,
                                  .amount = 3,
                                  .wait = hop});
    add((struct sbx_build_record){.thread = runner,
                                  .kind = SBX_RECORD_TASK,
                                  .op = SBX_OP_TASK,
                                  .begin_us = begin_us,
                                  .end_us = end_us,
                                  .stack = sbx_scene_stack(scene, stack),
                                  .wait = hop});
}

static void test_a_slow_message_names_the_place_that_queued_it(void **state)
{
    (void)state;
    put_task(0, MS(-990), MS(0), MS(40), 2, "on_folder_opened < run", 5);
    const struct sbx_report *report = report_of_rows();
    const struct sbx_queued_by *by = &report->verdict.queued_by;
    assert_true(by->is_known);
    assert_int_equal(by->thread, 2);
    assert_string_equal(by->location.function, "on_folder_opened");
    assert_int_equal((int)by->lay_ms, 40);
    assert_string_equal(report->verdict.location.function, "index_photo");
    assert_non_null(strstr(report->verdict.headline, ", queued by on_folder_opened 40 ms before"));
    assert_non_null(strstr(sbx_scene_evidence(report, "queued_by"), "3 lay in the queue before it"));
}

static void test_the_program_that_queued_work_of_asyncio_is_named_across_the_librarys_own_calls(void **state)
{
    (void)state;
    put_task(0, MS(-990), MS(0), MS(40), 2,
             "__init__#python3.11/asyncio/events.py:48 < PyObject_Vectorcall < _PyEval_EvalFrameDefault < "
             "_call_soon#python3.11/asyncio/base_events.py:780 < on_folder_opened#shop.py:12 < main",
             5);
    for (size_t i = 0; i < row_count; i++) {
        rows[i].op = rows[i].op == SBX_OP_TASK ? SBX_OP_CALL_SOON : rows[i].op;
    }
    assert_string_equal(report_of_rows()->verdict.queued_by.location.function, "on_folder_opened");
}

static void set_op(uint8_t op)
{
    for (size_t i = 0; i < row_count; i++) {
        rows[i].op = rows[i].op == SBX_OP_TASK ? op : rows[i].op;
    }
}

static void test_the_function_that_set_a_timer_of_javascript_is_named_across_nodes_own(void **state)
{
    (void)state;
    put_task(
        0, MS(-990), MS(0), MS(40), 0,
        "uv_update_time < insert#node:internal/timers:360 < setTimeout#node:timers:163 < openCart#shop.js:12 < main",
        5);
    set_op(SBX_OP_SET_TIMEOUT);
    const struct sbx_report *report = report_of_rows();
    assert_string_equal(report->verdict.queued_by.location.function, "openCart");
    assert_non_null(strstr(sbx_scene_evidence(report, "queued_by"), "(setTimeout)"));
}

static void test_of_what_was_queued_in_a_run_the_function_that_the_loop_called_is_named(void **state)
{
    (void)state;
    put_task(0, MS(-990), MS(0), MS(3), 0,
             "checkStock#shop.js:20 < acceptOrder#shop.js:30 < listOnTimeout#node:internal/timers:573 < "
             "processTimers#node:internal/timers:514 < main",
             5);
    set_op(SBX_OP_JS_CALLBACK);
    const struct sbx_report *report = report_of_rows();
    assert_string_equal(report->verdict.queued_by.location.function, "acceptOrder");
    assert_non_null(strstr(sbx_scene_evidence(report, "queued_by"), "queued while acceptOrder ran"));
}

static void test_where_one_run_calls_many_functions_nobody_is_named_for_what_was_queued_in_it(void **state)
{
    (void)state;
    put_task(0, MS(-990), MS(0), MS(3), 0,
             "checkStock#shop.js:20 < onBytes#shop.js:30 < onStreamRead#node:internal/stream_base_commons:190 < main",
             5);
    set_op(SBX_OP_JS_CALLBACK);
    assert_false(report_of_rows()->verdict.queued_by.is_known);
}

static void test_who_started_the_one_timer_of_libuvs_that_node_has_has_not_set_what_runs(void **state)
{
    (void)state;
    put_task(
        0, MS(-990), MS(0), MS(40), 0,
        "uv_timer_start < insert#node:internal/timers:360 < setTimeout#node:timers:163 < openCart#shop.js:12 < main",
        5);
    set_op(SBX_OP_UV_TIMER_START);
    sbx_scene_runtime(scene, SBX_RUNTIME_JAVASCRIPT, SBX_RUNTIME_ATTACHED, 11, 3);
    assert_false(report_of_rows()->verdict.queued_by.is_known);
}

static void test_a_function_that_only_queues_is_passed_over(void **state)
{
    (void)state;
    put_task(0, MS(-990), MS(0), MS(40), 2,
             "stallbox::task::task(void const*) < ThreadPool::enqueue < post_task < on_folder_opened < run", 5);
    assert_string_equal(report_of_rows()->verdict.queued_by.location.function, "on_folder_opened");
}

static void test_a_task_that_was_queued_again_and_again_tells_how_often(void **state)
{
    (void)state;
    put_task(0, MS(-990), MS(0), MS(40), 2, "on_prices < run", 5);
    for (size_t i = 0; i < row_count; i++) {
        rows[i].flags |= rows[i].kind == SBX_RECORD_HOP ? SBX_FLAG_MERGED : 0;
    }
    const struct sbx_report *report = report_of_rows();
    assert_non_null(strstr(sbx_scene_evidence(report, "queued_by"), "; queued 3 more times meanwhile"));
    assert_null(strstr(sbx_scene_evidence(report, "queued_by"), "lay in the queue before it"));
}

static void test_where_all_only_queue_the_nearest_is_named(void **state)
{
    (void)state;
    put_task(0, MS(-990), MS(0), MS(40), 2, "post_task < main", 5);
    assert_string_equal(report_of_rows()->verdict.queued_by.location.function, "post_task");
}

static void test_the_innermost_of_two_tasks_counts_and_a_short_one_does_not(void **state)
{
    (void)state;
    put_task(0, MS(-995), MS(0), MS(10), 1, "start_dialog < run", 5);
    put_task(0, MS(-980), MS(-10), MS(20), 2, "on_key < run", 6);
    put_task(0, MS(-500), MS(-300), MS(1), 3, "tick < run", 7);
    const struct sbx_report *report = report_of_rows();
    assert_string_equal(report->verdict.queued_by.location.function, "on_key");
}

static void test_two_hops_are_followed(void **state)
{
    (void)state;
    put_task(0, MS(-990), MS(0), MS(40), 2, "load_folder < run", 5);
    put_task(2, MS(-1100), MS(-1000), MS(7), 3, "watch_disk < run", 6);
    const struct sbx_report *report = report_of_rows();
    bool found = false;
    for (size_t i = 0; i < report->verdict.evidence_count; i++) {
        found |= strstr(report->verdict.evidence[i].text,
                        "load_folder did that in a task of its own, queued by watch_disk") != NULL;
    }
    assert_true(found);
}

static void test_of_many_short_tasks_the_one_who_queued_most_is_named(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        put_task(0, MS(-1000 + 50 * (int)i), MS(-960 + 50 * (int)i), MS(1), 1 + i % 2,
                 i % 5 == 0 ? "on_timer < run" : "on_scroll < run", 10 + i);
    }
    const struct sbx_report *report = report_of_rows();
    assert_string_equal(report->verdict.queued_by.location.function, "on_scroll");
    assert_non_null(strstr(sbx_scene_evidence(report, "queued_by"), "16 of 20 tasks"));
}

static void test_without_a_task_nothing_is_said(void **state)
{
    (void)state;
    put_task(1, MS(-990), MS(0), MS(40), 2, "on_folder_opened < run", 5); /* of another thread */
    const struct sbx_report *report = report_of_rows();
    assert_false(report->verdict.queued_by.is_known);
    assert_null(sbx_scene_evidence(report, "queued_by"));
    assert_null(strstr(report->verdict.headline, "queued by"));
}

static void test_the_work_of_the_holder_is_followed_to_who_queued_it(void **state)
{
    (void)state;
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(4, SBX_TRIGGER_ANR, 1000000);
    row_count = 0;
    add((struct sbx_build_record){.kind = SBX_RECORD_ALLOC,
                                  .begin_us = MS(-960),
                                  .end_us = MS(-960),
                                  .cpu_us = 1,
                                  .stack = sbx_scene_stack(scene, "await_result < main")});
    sbx_scene_call(
        scene, 0,
        (struct sbx_build_call){.kind = SBX_RECORD_LOCK, .op = SBX_OP_MUTEX_LOCK, .duration_us = 950000, .peer = 2});
    compute(1, "rebuild < work < start");
    put_task(1, MS(-980), MS(0), MS(12), 3, "on_settings_changed < run", 5);
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.culprit_thread, 1);
    assert_non_null(strstr(sbx_scene_evidence(report, "queued_by"), "was queued by on_settings_changed"));
    assert_false(report->verdict.queued_by.is_known); /* it belongs to the thread that did not answer */
}

/* ---- a wait for a task (queue_wait.c) ---- */

/* Main waits for 950 ms, until thread 1 wakes it in the task that main queued just before. */
static void wait_for_own_task(int64_t begun_us)
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
                                  .peer = 2,
                                  .wait = 40});
    put_task(1, begun_us, MS(-19), begun_us - MS(-995), 0, "show_thumbnail < main", 5);
    add((struct sbx_build_record){.thread = 1,
                                  .kind = SBX_RECORD_WAKE,
                                  .op = SBX_OP_COND_SIGNAL,
                                  .begin_us = MS(-20),
                                  .end_us = MS(-20),
                                  .stack = sbx_scene_stack(scene, "decode < run"),
                                  .peer = 1,
                                  .wait = 40});
    compute(1, "decode < run");
}

static void test_a_wait_for_a_task_that_lay_behind_another_is_the_queues(void **state)
{
    (void)state;
    wait_for_own_task(MS(-60));
    put_task(1, MS(-999), MS(-61), MS(3), 2, "prefetch_album < run", 6);
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.cause, SBX_CAUSE_QUEUE);
    assert_int_equal(report->verdict.culprit_thread, 1);
    assert_string_equal(report->verdict.culprit_function, "decode");
    assert_string_equal(report->verdict.location.function, "show_thumbnail");
    assert_non_null(strstr(sbx_scene_evidence(report, "blocker"), "queued by prefetch_album"));
    assert_non_null(strstr(sbx_scene_evidence(report, "filled"), "prefetch_album"));
    assert_non_null(strstr(report->verdict.headline, "for a task that lay in its queue"));
    assert_true(report->verdict.confidence > 0.8);
}

static void test_a_queue_that_lets_go_who_waits_when_the_task_is_over_is_followed_too(void **state)
{
    (void)state;
    wait_for_own_task(MS(-60));
    put_task(1, MS(-999), MS(-61), MS(3), 2, "prefetch_album < run", 6);
    for (size_t i = 0; i < row_count; i++) {
        bool is_end = rows[i].kind == SBX_RECORD_TASK && rows[i].wait == 5;
        rows[i].end_us = is_end ? MS(-21) : rows[i].end_us; /* a millisecond before the waker released main */
    }
    assert_int_equal(report_of_rows()->verdict.cause, SBX_CAUSE_QUEUE);
}

static void test_the_task_that_waits_is_not_what_blocks_its_own(void **state)
{
    (void)state;
    wait_for_own_task(MS(-60));
    put_task(0, MS(-1000), MS(0), MS(1), 2, "on_timer < main", 7); /* longer than the one that blocks */
    put_task(1, MS(-900), MS(-61), MS(3), 2, "prefetch_album < run", 6);
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.cause, SBX_CAUSE_QUEUE);
    assert_int_equal(report->verdict.culprit_thread, 1);
}

static void test_a_wait_for_a_task_that_was_slow_itself_is_a_wait(void **state)
{
    (void)state;
    wait_for_own_task(MS(-980));
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_null(sbx_scene_evidence(report, "blocker"));
}

static void test_a_wait_for_a_task_of_somebody_else_is_a_wait(void **state)
{
    (void)state;
    wait_for_own_task(MS(-60));
    for (size_t i = 0; i < row_count; i++) {
        rows[i].peer = rows[i].kind == SBX_RECORD_HOP ? 4 : rows[i].peer;
    }
    assert_int_equal(report_of_rows()->verdict.cause, SBX_CAUSE_WAIT);
}

/* ---- pools that are known by their condition alone (handover.c) ---- */

/* `waker` wakes thread `runner` with that stack, from a wait of that kind that ended then. */
static void hand_over(uint32_t runner, uint8_t kind, int64_t end_us, uint32_t waker, uint8_t op, const char *stack,
                      uint32_t wait)
{
    add((struct sbx_build_record){.thread = runner,
                                  .kind = kind,
                                  .op = SBX_OP_COND_WAIT,
                                  .begin_us = end_us - MS(300),
                                  .end_us = end_us,
                                  .stack = sbx_scene_stack(scene, "take_item < work < start"),
                                  .wait = wait});
    add((struct sbx_build_record){.thread = waker,
                                  .kind = SBX_RECORD_WAKE,
                                  .op = op,
                                  .begin_us = end_us - MS(2),
                                  .end_us = end_us - MS(2),
                                  .stack = sbx_scene_stack(scene, stack),
                                  .peer = runner + 1,
                                  .wait = wait});
}

static void test_who_woke_a_pools_thread_from_its_wait_for_work_is_named(void **state)
{
    (void)state;
    hand_over(0, SBX_RECORD_IDLE, MS(-1400), 1, SBX_OP_COND_SIGNAL, "on_key < run", 39);
    hand_over(0, SBX_RECORD_IDLE, MS(-1000), 2, SBX_OP_COND_SIGNAL, "push_item < on_folder_opened < run", 40);
    const struct sbx_report *report = report_of_rows();
    const struct sbx_queued_by *by = &report->verdict.queued_by;
    assert_true(by->is_known);
    assert_int_equal(by->thread, 2);
    assert_string_equal(by->location.function, "on_folder_opened");
    assert_int_equal((int)by->lay_ms, 2);
    assert_non_null(strstr(sbx_scene_evidence(report, "queued_by"), "woken for it by on_folder_opened"));
}

static void test_where_only_a_runtimes_library_is_on_the_stack_what_called_its_queues_is_named(void **state)
{
    (void)state;
    hand_over(0, SBX_RECORD_IDLE, MS(-1000), 2, SBX_OP_COND_SIGNAL,
              "sqlite:Unsafe_Unpark < put#python3.11/queue.py:150 < submit#python3.11/concurrent/futures/thread.py:170 "
              "< run_in_executor#python3.11/asyncio/base_events.py:820 < _run_once#python3.11/asyncio/base_events.py:1",
              40);
    const struct sbx_report *report = report_of_rows();
    assert_string_equal(report->verdict.queued_by.location.function, "run_in_executor");
    assert_non_null(strstr(sbx_scene_evidence(report, "queued_by"), "woken for it by run_in_executor"));
}

static void test_a_task_that_is_known_says_more_than_who_woke_the_thread(void **state)
{
    (void)state;
    hand_over(0, SBX_RECORD_IDLE, MS(-1000), 2, SBX_OP_COND_SIGNAL, "on_folder_opened < run", 40);
    put_task(0, MS(-990), MS(0), MS(40), 3, "on_settings_changed < run", 5);
    assert_string_equal(report_of_rows()->verdict.queued_by.location.function, "on_settings_changed");
}

static void test_waits_that_are_not_for_this_work_name_nobody(void **state)
{
    (void)state;
    hand_over(0, SBX_RECORD_IDLE, MS(-2500), 2, SBX_OP_COND_SIGNAL, "on_folder_opened < run", 40); /* long ago */
    hand_over(0, SBX_RECORD_COND, MS(-990), 3, SBX_OP_COND_SIGNAL, "deliver < run", 41);           /* for a result */
    assert_false(report_of_rows()->verdict.queued_by.is_known);
}

static void test_a_wait_in_the_middle_of_the_work_was_not_for_it(void **state)
{
    (void)state;
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(4, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_payload(scene)->trigger->thread = 1;
    compute(1, "index_photo < handle < start");
    for (int i = 0; i < 2; i++) { /* the started thread reports that it runs, 10 ms and 40 ms into the message */
        add((struct sbx_build_record){.thread = 1,
                                      .kind = SBX_RECORD_COND,
                                      .op = SBX_OP_COND_WAIT,
                                      .begin_us = MS(i == 0 ? -995 : -970),
                                      .end_us = MS(i == 0 ? -990 : -960),
                                      .stack = sbx_scene_stack(scene, "create_thread < handle < start"),
                                      .wait = (uint32_t)(50 + i)});
        add((struct sbx_build_record){.thread = 2,
                                      .kind = SBX_RECORD_WAKE,
                                      .op = SBX_OP_COND_SIGNAL,
                                      .begin_us = MS(i == 0 ? -990 : -960),
                                      .end_us = MS(i == 0 ? -990 : -960),
                                      .stack = sbx_scene_stack(scene, "thread_entry"),
                                      .peer = 2,
                                      .wait = (uint32_t)(50 + i)});
    }
    assert_false(report_of_rows()->verdict.queued_by.is_known);
}

static void test_the_main_threads_waits_for_conditions_are_not_for_work(void **state)
{
    (void)state;
    hand_over(0, SBX_RECORD_COND, MS(-1000), 2, SBX_OP_COND_SIGNAL, "deliver < run", 40);
    assert_false(report_of_rows()->verdict.queued_by.is_known);
}

static void test_an_unlocked_mutex_hands_no_work_over(void **state)
{
    (void)state;
    hand_over(0, SBX_RECORD_IDLE, MS(-1000), 2, SBX_OP_MUTEX_UNLOCK, "on_folder_opened < run", 40);
    assert_false(report_of_rows()->verdict.queued_by.is_known);
}

static void test_the_work_of_a_pools_thread_that_is_waited_for_is_followed_to_who_woke_it(void **state)
{
    (void)state;
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(4, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    row_count = 0;
    add((struct sbx_build_record){.kind = SBX_RECORD_COND,
                                  .op = SBX_OP_COND_WAIT,
                                  .begin_us = MS(-990),
                                  .end_us = MS(-20),
                                  .cpu_us = 1,
                                  .stack = sbx_scene_stack(scene, "show_thumbnail < main"),
                                  .peer = 2,
                                  .wait = 50});
    hand_over(1, SBX_RECORD_COND, MS(-989), 0, SBX_OP_COND_SIGNAL, "push_item < show_thumbnail < main", 40);
    add((struct sbx_build_record){.thread = 1,
                                  .kind = SBX_RECORD_WAKE,
                                  .op = SBX_OP_COND_SIGNAL,
                                  .begin_us = MS(-20),
                                  .end_us = MS(-20),
                                  .stack = sbx_scene_stack(scene, "decode < work < start"),
                                  .peer = 1,
                                  .wait = 50});
    for (int ms = 20; ms <= 970; ms += 10) {
        add((struct sbx_build_record){.thread = 1,
                                      .kind = SBX_RECORD_ASYNC,
                                      .begin_us = MS(ms - 1000),
                                      .end_us = MS(ms - 1000),
                                      .cpu_us = MS(ms) + 1,
                                      .stack = sbx_scene_stack(scene, "decode < work < start")});
    }
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.cause, SBX_CAUSE_WAIT);
    assert_int_equal(report->verdict.culprit_thread, 1);
    assert_non_null(strstr(sbx_scene_evidence(report, "queued_by"), "was woken for its work by show_thumbnail"));
}

static void test_who_started_a_thread_is_evidence_and_no_task(void **state)
{
    (void)state;
    put_task(0, MS(-5000), MS(0), 0, 2, "spawn_workers < main", 5);
    for (size_t i = 0; i < row_count; i++) {
        bool is_of_task = rows[i].kind == SBX_RECORD_HOP || rows[i].kind == SBX_RECORD_TASK;
        rows[i].op = is_of_task ? SBX_OP_PTHREAD_CREATE : rows[i].op;
    }
    const struct sbx_report *report = report_of_rows();
    assert_false(report->verdict.queued_by.is_known);
    assert_non_null(strstr(sbx_scene_evidence(report, "started_by"), "was started by spawn_workers"));
}

static void test_halves_of_tasks_that_fit_to_nothing_are_left_out(void **state)
{
    (void)state;
    const struct sbx_build_record odd[] = {
        {.kind = SBX_RECORD_TASK, .begin_us = MS(-900), .end_us = MS(-1), .wait = 9},
        {.kind = SBX_RECORD_HOP, .begin_us = MS(-900), .end_us = MS(-1), .wait = 8},
        {.kind = SBX_RECORD_HOP, .begin_us = MS(-900), .end_us = MS(-1), .wait = 0},
        {.kind = SBX_RECORD_TASK, .begin_us = MS(-900), .end_us = MS(-1), .wait = 0},
        {.kind = SBX_RECORD_HOP, .flags = SBX_FLAG_OPEN, .begin_us = MS(-900), .end_us = 0, .wait = 7},
        {.kind = SBX_RECORD_HOP, .flags = SBX_FLAG_CANCELLED, .begin_us = MS(-900), .end_us = MS(-5), .wait = 6},
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        add(odd[i]);
    }
    put_rows();
    const struct sbx_stall *stall = sbx_scene_stall(scene);
    assert_int_equal(stall->task_count, 2);
    for (size_t i = 0; i < stall->task_count; i++) {
        assert_int_equal(stall->tasks[i].runner, -1);
        assert_true(stall->tasks[i].lies != stall->tasks[i].cancelled);
    }
    assert_false(report_of_rows()->verdict.queued_by.is_known);
}

/* Main waits for the completion of a request until `end_us`; 0: it still waits. */
static void wait_for_request(int64_t end_us)
{
    add((struct sbx_build_record){.thread = 0,
                                  .kind = SBX_RECORD_FILE,
                                  .op = SBX_OP_IO_URING_WAIT,
                                  .begin_us = MS(-990),
                                  .end_us = end_us,
                                  .flags = end_us == 0 ? SBX_FLAG_IN_CALL : 0,
                                  .fd_class = SBX_FD_REGULAR,
                                  .stack = sbx_scene_stack(scene, "await_block < handle < main")});
}

static void test_a_wait_for_a_request_names_who_submitted_it(void **state)
{
    (void)state;
    row_count = 0; /* main does not compute */
    wait_for_request(MS(-5));
    put_task(0, MS(-5), MS(-4), MS(985), 0, "request_block < handle < main", 7);
    rows[row_count - 2].op = rows[row_count - 1].op = SBX_OP_IO_URING_SUBMIT;
    put_task(0, MS(-2), MS(-1), MS(900), 0, "request_other < handle < main", 8); /* its completion is taken later */
    rows[row_count - 2].op = rows[row_count - 1].op = SBX_OP_IO_URING_SUBMIT;
    rows[row_count - 2].end_us = rows[row_count - 1].begin_us = MS(0) + 1000;
    rows[row_count - 1].end_us = MS(0) + 2000;
    const struct sbx_report *report = report_of_rows();
    assert_int_equal(report->verdict.cause, SBX_CAUSE_IO);
    assert_string_equal(report->verdict.queued_by.location.function, "request_block");
    assert_non_null(
        strstr(sbx_scene_evidence(report, "queued_by"), "what it waited for was submitted by request_block"));
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(test_a_slow_message_names_the_place_that_queued_it),
        SCENE(test_the_program_that_queued_work_of_asyncio_is_named_across_the_librarys_own_calls),
        SCENE(test_the_function_that_set_a_timer_of_javascript_is_named_across_nodes_own),
        SCENE(test_of_what_was_queued_in_a_run_the_function_that_the_loop_called_is_named),
        SCENE(test_where_one_run_calls_many_functions_nobody_is_named_for_what_was_queued_in_it),
        SCENE(test_who_started_the_one_timer_of_libuvs_that_node_has_has_not_set_what_runs),
        SCENE(test_a_function_that_only_queues_is_passed_over),
        SCENE(test_a_task_that_was_queued_again_and_again_tells_how_often),
        SCENE(test_where_all_only_queue_the_nearest_is_named),
        SCENE(test_the_innermost_of_two_tasks_counts_and_a_short_one_does_not),
        SCENE(test_two_hops_are_followed),
        SCENE(test_a_wait_for_a_request_names_who_submitted_it),
        SCENE(test_of_many_short_tasks_the_one_who_queued_most_is_named),
        SCENE(test_without_a_task_nothing_is_said),
        SCENE(test_the_work_of_the_holder_is_followed_to_who_queued_it),
        SCENE(test_halves_of_tasks_that_fit_to_nothing_are_left_out),
        SCENE(test_a_wait_for_a_task_that_lay_behind_another_is_the_queues),
        SCENE(test_a_wait_for_a_task_that_was_slow_itself_is_a_wait),
        SCENE(test_a_queue_that_lets_go_who_waits_when_the_task_is_over_is_followed_too),
        SCENE(test_the_task_that_waits_is_not_what_blocks_its_own),
        SCENE(test_a_wait_for_a_task_of_somebody_else_is_a_wait),
        SCENE(test_who_started_a_thread_is_evidence_and_no_task),
        SCENE(test_who_woke_a_pools_thread_from_its_wait_for_work_is_named),
        SCENE(test_where_only_a_runtimes_library_is_on_the_stack_what_called_its_queues_is_named),
        SCENE(test_a_task_that_is_known_says_more_than_who_woke_the_thread),
        SCENE(test_waits_that_are_not_for_this_work_name_nobody),
        SCENE(test_a_wait_in_the_middle_of_the_work_was_not_for_it),
        SCENE(test_the_main_threads_waits_for_conditions_are_not_for_work),
        SCENE(test_an_unlocked_mutex_hands_no_work_over),
        SCENE(test_the_work_of_a_pools_thread_that_is_waited_for_is_followed_to_who_woke_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
