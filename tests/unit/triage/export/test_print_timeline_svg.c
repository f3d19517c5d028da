/* SPDX-License-Identifier: Apache-2.0 */
/* test_print_timeline_svg.c - the picture is valid, and shows what the report says. */
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
#include "svg_writer.h"

static char *picture(struct report_fixture *fixture)
{
    char *text = printed(sbx_print_timeline_svg, report_fixture_report(fixture), NULL);
    assert_svg_is_sound(text);
    return text;
}

static void test_a_sleep_is_named_with_its_function_and_length(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_sleep();
    char *text = picture(fixture);
    assert_non_null(strstr(text, ">debugCommand \xe2\x80\xba nanosleep</text>"));
    assert_non_null(strstr(text, ">sleep, 2\xe2\x80\xaf"
                                 "000 ms</text>"));
    assert_non_null(strstr(text, "trigger: slow_message"));
    assert_non_null(strstr(text, "the judged message: 2\xe2\x80\xaf"
                                 "003 ms"));
    assert_non_null(strstr(text, "width=\"1200\""));
    free(text);
    report_fixture_destroy(fixture);
}

static void test_computing_is_one_block_though_every_sample_differs(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_script();
    char *text = picture(fixture);
    assert_non_null(strstr(text, "luaV_execute</text>"));
    assert_non_null(strstr(text, "400 observations")); /* all in the block of the script */
    assert_true(strlen(text) < 20000);
    free(text);
    report_fixture_destroy(fixture);
}

static void test_the_judged_thread_and_the_culprit_come_first_of_twelve(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_lock();
    char *text = picture(fixture);
    const char *judged = strstr(text, ">main</text>"), *culprit = strstr(text, ">bio_aof</text>");
    const char *other = strstr(text, ">io_thd_0</text>");
    assert_true(judged != NULL && culprit != NULL && other != NULL && judged < culprit && culprit < other);
    assert_int_equal(count_of(text, "io_thd_"), 10);
    assert_non_null(strstr(text, "8 quieter threads not shown"));
    free(text);
    report_fixture_destroy(fixture);
}

static void test_a_wait_says_who_ended_it_and_an_arrow_shows_it(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_lock();
    char *text = picture(fixture);
    assert_non_null(strstr(text, "ms, ended "));
    assert_non_null(strstr(text, "<title>bio_aof let main go after 1\xe2\x80\xaf"
                                 "500 ms</title>"));
    assert_non_null(strstr(text, "arrow: who ended the wait"));
    assert_non_null(strstr(text, ">culprit, thread 1</text>"));
    free(text);
    report_fixture_destroy(fixture);
    fixture = sample_sleep();
    text = picture(fixture);
    assert_null(strstr(text, "arrow:"));
    free(text);
    report_fixture_destroy(fixture);
}

static void test_a_wait_of_hours_does_not_squeeze_the_history(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_sleep();
    struct sbx_stall_thread *self = report_fixture_thread_at(fixture, 1);
    self->call_kind = SBX_RECORD_COND;
    self->call_op = SBX_OP_COND_WAIT;
    self->call_ns = ms_to_ns(36e6);
    char *text = picture(fixture);
    assert_non_null(strstr(text, ">\xe2\x88\x92"
                                 "500 ms</text>")); /* the axis still has steps of 500 ms */
    assert_non_null(strstr(text, "before the history"));
    free(text);
    report_fixture_destroy(fixture);
}

static void test_the_judged_interval_has_a_picture_of_its_own_where_it_is_a_part_of_the_history(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_lock(); /* 1,500 ms of 10 s */
    const struct sbx_report *report = report_fixture_report(fixture);
    assert_true(sbx_has_judged_timeline(report));
    char *text = printed(sbx_print_judged_timeline_svg, report, NULL);
    assert_svg_is_sound(text);
    assert_null(strstr(text, "with the history before it"));
    assert_null(strstr(text, SBX_SVG_MINUS "5\xe2\x80\xaf"
                                           "000 ms</text>"));
    assert_non_null(strstr(text, SBX_SVG_MINUS "1\xe2\x80\xaf"
                                               "000 ms</text>"));
    free(text);
    report_fixture_verdict(fixture)->interval_begin_ns = ms_to_ns(-8000);
    assert_false(sbx_has_judged_timeline(report_fixture_report(fixture)));
    report_fixture_verdict(fixture)->interval_begin_ns = 0; /* no interval is judged */
    assert_false(sbx_has_judged_timeline(report_fixture_report(fixture)));
    report_fixture_destroy(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_judged_interval_has_a_picture_of_its_own_where_it_is_a_part_of_the_history),
        cmocka_unit_test(test_a_sleep_is_named_with_its_function_and_length),
        cmocka_unit_test(test_computing_is_one_block_though_every_sample_differs),
        cmocka_unit_test(test_the_judged_thread_and_the_culprit_come_first_of_twelve),
        cmocka_unit_test(test_a_wait_says_who_ended_it_and_an_arrow_shows_it),
        cmocka_unit_test(test_a_wait_of_hours_does_not_squeeze_the_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
