/* SPDX-License-Identifier: Apache-2.0 */
/* test_print_flame_svg.c - the flame graph is valid, and its widths are the interval's time. */
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
#include "sample_reports.h"

static char *picture(struct report_fixture *fixture)
{
    char *text = printed(sbx_print_flame_svg, report_fixture_report(fixture), NULL);
    assert_svg_is_sound(text);
    return text;
}

/* The width of the rectangle of the group whose tooltip begins with `name`. */
static double width_of(const char *text, const char *name)
{
    char title[128];
    snprintf(title, sizeof title, "<title>%s", name);
    const char *at = strstr(text, title);
    assert_non_null(at);
    at = strstr(at, " width=\"");
    assert_non_null(at);
    return atof(at + strlen(" width=\""));
}

static void test_width_is_time_and_the_interval_is_the_whole_width(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -150, -75, 1, -1,
                        "main;f"); /* 25 ms of it are in the interval */
    report_fixture_wait(fixture, 0, SBX_RECORD_FILE, SBX_OP_READ, -75, -25, 1, -1, "main;g");
    report_fixture_verdict(fixture)->interval_begin_ns = ms_to_ns(-100);
    char *text = picture(fixture);
    double whole = width_of(text, "the whole interval");
    assert_true(width_of(text, "main ") > whole * 0.749 - 1 && width_of(text, "main ") < whole * 0.751);
    assert_true(width_of(text, "f ") > whole * 0.249 - 1 && width_of(text, "f ") < whole * 0.251);
    assert_true(width_of(text, "read:") > whole * 0.499 - 1 && width_of(text, "read:") < whole * 0.501);
    assert_non_null(strstr(text, "read: 50.0 ms, 50.0 % of the interval"));
    assert_non_null(strstr(text, "blank: 25.0 ms of which no stack is known"));
    free(text);
    report_fixture_destroy(fixture);
}

static void test_only_the_judged_thread_is_shown(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_lock();
    char *text = picture(fixture);
    assert_non_null(strstr(text, ">pthread_mutex_lock</text>"));
    assert_null(strstr(text, "aofWrite"));
    assert_null(strstr(text, "IOThreadMain"));
    free(text);
    report_fixture_destroy(fixture);
}

static void test_deep_stacks_are_cut_and_it_says_so(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    char stack[8192] = "main";
    for (unsigned i = 0; i < 400; i++) {
        snprintf(stack + strlen(stack), sizeof stack - strlen(stack), ";deep%u", i);
    }
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -100, -1, 1, -1, stack);
    report_fixture_verdict(fixture)->interval_begin_ns = ms_to_ns(-100);
    char *text = picture(fixture);
    assert_non_null(strstr(text, "deeper frames left out"));
    assert_non_null(strstr(text, ">deep0<"));
    assert_null(strstr(text, "deep399"));
    free(text);
    report_fixture_destroy(fixture);
}

static void test_a_picture_without_records_says_how_long_was_judged(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    report_fixture_stall(fixture)->trigger.duration_ns = ms_to_ns(500);
    char *text = picture(fixture);
    assert_non_null(strstr(text, "the judged 500.0 ms"));
    free(text);
    report_fixture_destroy(fixture);
}

static void test_on_request_the_stacks_of_who_queued_it_stand_under_what_ran(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -100, -1, 1, -1, "main;loop;paint");
    report_fixture_verdict(fixture)->interval_begin_ns = ms_to_ns(-100);
    assert_false(sbx_has_async_flame(report_fixture_report(fixture)));
    struct sbx_stall_task task = {.queued_ns = ms_to_ns(-130),
                                  .begun_ns = ms_to_ns(-100),
                                  .from = -1,
                                  .stack = report_fixture_stack(fixture, "start;on_click"),
                                  .op = SBX_OP_G_IDLE_ADD,
                                  .runs = true};
    report_fixture_stall(fixture)->tasks = &task;
    report_fixture_stall(fixture)->task_count = 1;
    assert_true(sbx_has_async_flame(report_fixture_report(fixture)));
    char *text = printed(sbx_print_async_flame_svg, report_fixture_report(fixture), NULL);
    assert_svg_is_sound(text);
    const char *submitter = strstr(text, ">on_click<"), *call = strstr(text, ">[g_idle_add]<");
    const char *runner = strstr(text, ">paint<");
    assert_true(submitter != NULL && call != NULL && runner != NULL && submitter < call && call < runner);
    assert_non_null(strstr(text, "on the stacks of who queued it"));
    free(text);
    text = picture(fixture);
    assert_null(strstr(text, "on_click"));
    free(text);
    task.stack = 0; /* its queuer is not known */
    assert_false(sbx_has_async_flame(report_fixture_report(fixture)));
    report_fixture_stall(fixture)->tasks = NULL;
    report_fixture_stall(fixture)->task_count = 0;
    report_fixture_destroy(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_width_is_time_and_the_interval_is_the_whole_width),
        cmocka_unit_test(test_only_the_judged_thread_is_shown),
        cmocka_unit_test(test_deep_stacks_are_cut_and_it_says_so),
        cmocka_unit_test(test_a_picture_without_records_says_how_long_was_judged),
        cmocka_unit_test(test_on_request_the_stacks_of_who_queued_it_stand_under_what_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
