/* SPDX-License-Identifier: Apache-2.0 */
/* test_queued_stacks.c - the stack that queued a task is put below the stack that ran it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters.h"
#include "printed.h"
#include "queued_stacks.h"
#include "report_fixture.h"

/* Tasks that thread 0 ran, by their begin; times in milliseconds. `end_ms` 1: still running. */
static struct sbx_stall_task task_of(struct report_fixture *fixture, double begin_ms, double end_ms, uint8_t op,
                                     const char *stack)
{
    bool runs = end_ms > 0;
    return (struct sbx_stall_task){.queued_ns = ms_to_ns(begin_ms - 1),
                                   .begun_ns = ms_to_ns(begin_ms),
                                   .ended_ns = runs ? 0 : ms_to_ns(end_ms),
                                   .runner = 0,
                                   .from = 1,
                                   .stack = stack != NULL ? report_fixture_stack(fixture, stack) : 0,
                                   .op = op,
                                   .runs = runs};
}

static void expect_lines(struct report_fixture *fixture, struct sbx_stall_task *tasks, size_t count, const char *lines)
{
    report_fixture_stall(fixture)->tasks = tasks;
    report_fixture_stall(fixture)->task_count = count;
    report_fixture_stall(fixture)->trigger.history_ns = ms_to_ns(20);
    char *text = printed(sbx_print_async_folded, report_fixture_report(fixture), NULL);
    assert_string_equal(text, lines);
    free(text);
    report_fixture_stall(fixture)->tasks = NULL;
    report_fixture_stall(fixture)->task_count = 0;
}

static void test_a_wait_in_which_tasks_begin_and_end_is_cut_there(void **state)
{
    struct report_fixture *fixture = *state;
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -10, 1, -1, "main;loop;run");
    report_fixture_idle(fixture, 0, -10, 0);
    struct sbx_stall_task tasks[] = {
        task_of(fixture, -18, -15, SBX_OP_G_IDLE_ADD, "start;on_click"),
        task_of(fixture, -15, -12, SBX_OP_UV_QUEUE_WORK, "start;on_folder"),
    };
    expect_lines(fixture, tasks, 2,
                 "main;main;loop;run;nanosleep 4000\n"
                 "main;start;on_click;[g_idle_add];main;loop;run;nanosleep 3000\n"
                 "main;start;on_folder;[uv_queue_work];main;loop;run;nanosleep 3000\n");
}

static void test_of_tasks_inside_one_another_the_innermost_counts_and_one_that_runs_has_no_end(void **state)
{
    struct report_fixture *fixture = *state;
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -10, 1, -1, "main;run");
    report_fixture_idle(fixture, 0, -10, 0);
    struct sbx_stall_task tasks[] = {
        task_of(fixture, -30, 1, SBX_OP_TASK, "outer"),
        task_of(fixture, -16, -14, SBX_OP_TASK, "inner"),
    };
    expect_lines(fixture, tasks, 2,
                 "main;inner;[task];main;run;nanosleep 2000\n"
                 "main;outer;[task];main;run;nanosleep 8000\n");
}

static void test_what_ran_in_no_task_of_this_thread_stays_as_it_is(void **state)
{
    struct report_fixture *fixture = *state;
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -10, 1, -1, "main;run");
    report_fixture_idle(fixture, 0, -10, 0);
    struct sbx_stall_task tasks[] = {
        task_of(fixture, -20, -10, SBX_OP_TASK, NULL), /* its queuer is not known */
        task_of(fixture, -20, -10, SBX_OP_TASK, "others"),
    };
    tasks[1].runner = 1;
    expect_lines(fixture, tasks, 2, "main;main;run;nanosleep 10000\n");
    expect_lines(fixture, NULL, 0, "main;main;run;nanosleep 10000\n");
}

static void test_a_task_that_a_task_queued_stands_on_both_submitters_and_so_on_to_a_bound(void **state)
{
    struct report_fixture *fixture = *state;
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -10, 1, -1, "main;paint");
    report_fixture_idle(fixture, 0, -10, 0);
    struct sbx_stall_task tasks[] = {
        task_of(fixture, -20, -10, SBX_OP_G_IDLE_ADD, "pool;decode"), /* queued at -21 by thread 1, in the next task */
        task_of(fixture, -40, -15, SBX_OP_G_THREAD_POOL_PUSH, "main;on_folder_opened"),
        task_of(fixture, -35, -34, SBX_OP_TASK, "others"), /* it is over when the first is queued */
    };
    tasks[1].runner = tasks[2].runner = 1;
    tasks[1].from = -1; /* a thread that has ended: its stack is known, but not what it ran */
    expect_lines(fixture, tasks, 3,
                 "main;main;on_folder_opened;[g_thread_pool_push];pool;decode;[g_idle_add];main;paint;nanosleep "
                 "10000\n");

    tasks[1].op = SBX_OP_G_TIMEOUT_ADD; /* a timer's creator says nothing about its runs */
    expect_lines(fixture, tasks, 3, "main;pool;decode;[g_idle_add];main;paint;nanosleep 10000\n");

    struct sbx_stall_task hops[] = {
        task_of(fixture, -20, -10, SBX_OP_TASK, "a"), task_of(fixture, -60, -59, SBX_OP_TASK, "f"),
        task_of(fixture, -50, -49, SBX_OP_TASK, "e"), task_of(fixture, -40, -39, SBX_OP_TASK, "d"),
        task_of(fixture, -30, -29, SBX_OP_TASK, "c"), task_of(fixture, -25, -24, SBX_OP_TASK, "b"),
    };
    for (size_t i = 1; i < 6; i++) {
        hops[i].runner = 1;
        hops[i].queued_ns = i == 1 ? ms_to_ns(-70) : hops[i - 1].begun_ns + ms_to_ns(0.5);
    }
    hops[0].queued_ns = ms_to_ns(-24.5);
    expect_lines(fixture, hops, 6, "main;d;[task];c;[task];b;[task];a;[task];main;paint;nanosleep 10000\n");
}

struct seen {
    unsigned pieces, evidence;
    uint64_t looks;
    size_t longest;
};

static int count_piece(void *context, const struct sbx_piece *piece)
{
    struct seen *seen = context;
    seen->pieces++;
    seen->evidence += piece->is_evidence;
    seen->looks += piece->looks;
    seen->longest = piece->path_count > seen->longest ? piece->path_count : seen->longest;
    return 0;
}

static void test_what_was_observed_once_is_counted_once_and_paths_keep_to_their_bound(void **state)
{
    struct report_fixture *fixture = *state;
    char deep[8 * SBX_CALL_PATH_MAX] = "a";
    for (int i = 0; i < SBX_CALL_PATH_MAX - 20; i++) {
        snprintf(deep + strlen(deep), 8, ";f%d", i % 100);
    }
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -10, 1, -1, deep);
    struct sbx_stall_task tasks[] = {task_of(fixture, -18, -15, SBX_OP_TASK, deep)};
    struct sbx_stall *stall = report_fixture_stall(fixture);
    stall->tasks = tasks;
    stall->task_count = 1;
    const struct sbx_report *report = report_fixture_report(fixture);
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    struct sbx_thread_spans spans;
    struct seen whole = {0}, cut = {0};
    assert_non_null(paths);
    assert_int_equal(sbx_thread_spans_init(&spans, stall, 0), 0);
    assert_int_equal(sbx_span_pieces_visit(&spans, paths, count_piece, &whole), 0);
    assert_int_equal(sbx_queued_pieces_visit(report, 0, &spans, paths, count_piece, &cut), 0);
    assert_int_equal(cut.pieces, whole.pieces + 2);
    assert_int_equal(cut.evidence, whole.evidence);
    assert_int_equal(cut.looks, whole.looks);
    assert_int_equal(cut.longest, SBX_CALL_PATH_MAX);
    sbx_thread_spans_finish(&spans);
    sbx_call_paths_destroy(paths);
    stall->tasks = NULL;
    stall->task_count = 0;
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, report_fixture_begin, report_fixture_end)
    const struct CMUnitTest tests[] = {
        CASE(test_a_wait_in_which_tasks_begin_and_end_is_cut_there),
        CASE(test_of_tasks_inside_one_another_the_innermost_counts_and_one_that_runs_has_no_end),
        CASE(test_what_ran_in_no_task_of_this_thread_stays_as_it_is),
        CASE(test_a_task_that_a_task_queued_stands_on_both_submitters_and_so_on_to_a_bound),
        CASE(test_what_was_observed_once_is_counted_once_and_paths_keep_to_their_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
