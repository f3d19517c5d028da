/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline_tasks.c - which tasks have an arrow on the timeline, and its text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters.h"
#include "printed.h"
#include "report_fixture.h"
#include "timeline_tasks.h"

enum {
    TASKS_MAX = 40
};
static struct sbx_stall_task tasks[TASKS_MAX];

/* The main thread computes for a second, and so does a worker. */
static int begin(void **state)
{
    report_fixture_begin(state);
    struct report_fixture *fixture = *state;
    report_fixture_thread(fixture, "worker", false);
    for (int at_ms = -1000; at_ms <= 0; at_ms += 10) {
        report_fixture_sample(fixture, 0, at_ms, 1, 1000 + at_ms, "main;paint");
        report_fixture_sample(fixture, 1, at_ms, 0, 1000 + at_ms, "start;decode");
    }
    report_fixture_stall(fixture)->trigger.history_ns = ms_to_ns(1000);
    report_fixture_verdict(fixture)->interval_begin_ns = ms_to_ns(-1000);
    report_fixture_verdict(fixture)->interval_end_ns = 0;
    memset(tasks, 0, sizeof tasks);
    return 0;
}

static int end(void **state)
{
    report_fixture_stall(*state)->tasks = NULL;
    report_fixture_stall(*state)->task_count = 0;
    return report_fixture_end(state);
}

static struct sbx_stall_task *add_task(struct report_fixture *fixture, int32_t from, int32_t runner, double begun_ms,
                                       double ended_ms)
{
    struct sbx_stall *stall = report_fixture_stall(fixture);
    stall->tasks = tasks;
    struct sbx_stall_task *task = &tasks[stall->task_count++];
    *task = (struct sbx_stall_task){.queued_ns = ms_to_ns(begun_ms - 40),
                                    .begun_ns = ms_to_ns(begun_ms),
                                    .ended_ns = ms_to_ns(ended_ms),
                                    .runner = runner,
                                    .from = from,
                                    .stack = report_fixture_stack(fixture, "start;on_folder_opened"),
                                    .op = SBX_OP_G_IDLE_ADD};
    return task;
}

static size_t choose(struct report_fixture *fixture, struct sbx_task_arrow arrows[SBX_TASK_ARROWS_MAX])
{
    return sbx_task_arrows_choose(report_fixture_report(fixture), ms_to_ns(-1000), arrows);
}

static void test_the_longest_come_first_and_the_rest_is_left_out(void **state)
{
    struct sbx_task_arrow arrows[SBX_TASK_ARROWS_MAX];
    for (int i = 0; i < TASKS_MAX; i++) { /* the longest is neither first nor last */
        add_task(*state, 1, 0, -900, -800 + (i * 7) % TASKS_MAX);
    }
    assert_int_equal(choose(*state, arrows), SBX_TASK_ARROWS_MAX);
    int longest = 0;
    for (int i = 0; i < TASKS_MAX; i++) {
        longest = tasks[i].ended_ns > tasks[longest].ended_ns ? i : longest;
    }
    tasks[longest].op = SBX_OP_UV_QUEUE_WORK;
    assert_int_equal(choose(*state, arrows), SBX_TASK_ARROWS_MAX);
    assert_int_equal(arrows[0].op, SBX_OP_UV_QUEUE_WORK);
    for (size_t i = 1; i < SBX_TASK_ARROWS_MAX; i++) {
        assert_int_equal(arrows[i].op, SBX_OP_G_IDLE_ADD);
    }
}

static void test_tasks_that_tell_nothing_of_the_stall_have_none(void **state)
{
    struct sbx_task_arrow arrows[SBX_TASK_ARROWS_MAX];
    add_task(*state, 0, 0, -900, -100);                                /* from the thread to itself */
    add_task(*state, 1, 0, -900, -890);                                /* short */
    add_task(*state, 1, 0, -1500, -1100);                              /* before */
    add_task(*state, 1, 0, -900, -100)->op = SBX_OP_PTHREAD_CREATE;    /* a thread's start */
    struct sbx_stall_task *lies = add_task(*state, 1, -1, -900, -100); /* still in its queue */
    lies->lies = true;
    assert_int_equal(choose(*state, arrows), 0);
    add_task(*state, 1, 0, -900, 0)->runs = true;
    assert_int_equal(choose(*state, arrows), 1);
}

static void test_the_picture_has_an_arrow_that_says_who_queued_what(void **state)
{
    add_task(*state, 1, 0, -900, -100);
    char *text = printed(sbx_print_timeline_svg, report_fixture_report(*state), NULL);
    assert_svg_is_sound(text);
    assert_non_null(strstr(text, "<title>on_folder_opened on worker queued what main began 40.0 ms later (g_idle_add)"
                                 "</title>"));
    assert_non_null(strstr(text, "blue: who queued it"));
    free(text);
    report_fixture_stall(*state)->task_count = 0;
    text = printed(sbx_print_timeline_svg, report_fixture_report(*state), NULL);
    assert_null(strstr(text, "blue"));
    free(text);
}

/* Add more threads than there are lanes, each busier than the thread in question. */
static void add_busy_threads(struct report_fixture *fixture)
{
    for (int i = 0; i < 20; i++) {
        uint32_t thread = report_fixture_thread(fixture, "busy", false);
        for (int at_ms = -1000; at_ms <= 0; at_ms += 10) {
            report_fixture_sample(fixture, thread, at_ms, 0, 1000 + at_ms, "start;spin");
        }
    }
}

static void test_a_thread_that_queued_a_long_task_has_a_lane_before_busier_ones(void **state)
{
    add_busy_threads(*state);
    int32_t quiet = (int32_t)report_fixture_thread(*state, "submitter", false); /* nothing else of it was recorded */
    add_task(*state, quiet, 0, -900, -100);
    char *text = printed(sbx_print_timeline_svg, report_fixture_report(*state), NULL);
    assert_svg_is_sound(text);
    assert_non_null(strstr(text, ">submitter</text>"));
    assert_non_null(strstr(text, "on_folder_opened on submitter queued what main began 40.0 ms later"));
    assert_null(strstr(text, ">from submitter</text>"));
    free(text);
}

static void test_an_arrow_from_a_thread_that_is_gone_is_short_and_says_so(void **state)
{
    add_task(*state, -1, 0, -500, -100);
    char *text = printed(sbx_print_timeline_svg, report_fixture_report(*state), NULL);
    assert_svg_is_sound(text);
    assert_non_null(strstr(text, ">from a thread that is gone</text>"));
    assert_non_null(strstr(text, "on_folder_opened on a thread that is gone queued what main began"));
    free(text);
}

static void test_an_arrow_has_words_where_there_are_more_threads_than_lanes(void **state)
{
    static char names[SBX_TASK_ARROWS_MAX][16];
    for (int i = 0; i < SBX_TASK_ARROWS_MAX;
         i++) { /* each between two threads of its own, except the shortest, which come from main */
        snprintf(names[i], sizeof names[i], "runner%d", i);
        int32_t runner = (int32_t)report_fixture_thread(*state, names[i], false);
        add_task(*state, i < 10 ? (int32_t)report_fixture_thread(*state, "giver", false) : 0, runner, -900, -100 - i);
    }
    char *text = printed(sbx_print_timeline_svg, report_fixture_report(*state), NULL);
    assert_svg_is_sound(text);
    assert_non_null(strstr(text, ">to runner11</text>"));
    free(text);
    struct sbx_stall *stall = report_fixture_stall(*state);
    for (size_t i = 10; i < stall->task_count; i++) { /* and the other way: to main, from threads without a lane */
        int32_t runner = tasks[i].runner;
        tasks[i].runner = tasks[i].from;
        tasks[i].from = runner;
    }
    text = printed(sbx_print_timeline_svg, report_fixture_report(*state), NULL);
    assert_svg_is_sound(text);
    assert_non_null(strstr(text, ">from runner11</text>"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_longest_come_first_and_the_rest_is_left_out, begin, end),
        cmocka_unit_test_setup_teardown(test_tasks_that_tell_nothing_of_the_stall_have_none, begin, end),
        cmocka_unit_test_setup_teardown(test_the_picture_has_an_arrow_that_says_who_queued_what, begin, end),
        cmocka_unit_test_setup_teardown(test_a_thread_that_queued_a_long_task_has_a_lane_before_busier_ones, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_an_arrow_from_a_thread_that_is_gone_is_short_and_says_so, begin, end),
        cmocka_unit_test_setup_teardown(test_an_arrow_has_words_where_there_are_more_threads_than_lanes, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
