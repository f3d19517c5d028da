/* SPDX-License-Identifier: Apache-2.0 */
/* test_print_timeline_json.c - the data from which the timeline of a page is drawn. */
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
#include "random_report.h"
#include "report_fixture.h"
#include "sample_reports.h"

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("no %s in %s", part, text);
    }
}

static void test_stretches_of_one_stack_are_one_piece_and_calls_are_told_once(void **state)
{
    struct report_fixture *fixture = *state;
    for (int at_ms = -20; at_ms <= 0; at_ms += 5) {
        report_fixture_sample(fixture, 0, at_ms, 1, 100 + at_ms, at_ms < -10 ? "main;paint;draw" : "main;load;draw");
    }
    report_fixture_stall(fixture)->trigger.history_ns = ms_to_ns(20);
    report_fixture_verdict(fixture)->interval_begin_ns = ms_to_ns(-15);
    char *text = printed(sbx_print_timeline_json, report_fixture_report(fixture), NULL);
    assert_has(text, "\"judged_ms\":[-15.000,0.000]");
    assert_has(text, "{\"thread\":0,\"name\":\"main\",\"judged\":true,\"culprit\":false");
    assert_int_equal(count_of(text, "\"function\":\"draw\""), 1);
    assert_int_equal(count_of(text, "\"function\":\"main\""), 1);
    assert_has(text, "\"nodes\":[[0,0],[0,"); /* main has no caller */
    assert_has(text, "\"cut\":false}\n");
    assert_true(count_of(text, "],[") < 12); /* and not one for each sample and frame */
    free(text);
}

static void test_names_that_would_end_the_text_are_part_of_it(void **state)
{
    struct report_fixture *fixture = *state;
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -10, 1, -1, "main;a\"b\\c\x01");
    report_fixture_stall(fixture)->trigger.history_ns = ms_to_ns(20);
    char *text = printed(sbx_print_timeline_json, report_fixture_report(fixture), NULL);
    assert_has(text, "{\"function\":\"a\\\"b\\\\c?\"");
    free(text);
}

static void test_arrows_are_those_of_the_picture(void **state)
{
    (void)state;
    struct report_fixture *fixture = sample_lock();
    char *text = printed(sbx_print_timeline_json, report_fixture_report(fixture), NULL);
    assert_has(text, "\"woke\":true,\"text\":\"");
    assert_has(text, " let main go after ");
    free(text);
    report_fixture_destroy(fixture);
}

/* Check that brackets and quotes match, whatever was recorded. */
static void assert_is_json(const char *text)
{
    char open[64];
    size_t depth = 0;
    bool is_text = false;
    for (const char *at = text; *at != '\0'; at++) {
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
        if (is_text) {
            at += *at == '\\';
            is_text = *at != '"' || at[-1] == '\\';
        } else if (*at == '"') {
            is_text = true;
        } else if (*at == '[' || *at == '{') {
            assert_true(depth < sizeof open);
            open[depth++] = *at == '[' ? ']' : '}';
        } else if (*at == ']' || *at == '}') {
            assert_true(depth > 0 && open[depth - 1] == *at);
            depth--;
        }
    }
    assert_int_equal(depth, 0);
    assert_false(is_text);
    assert_null(strstr(text, ",]"));
    assert_null(strstr(text, "[,"));
    assert_null(strstr(text, ",,"));
}

static void test_it_is_json_whatever_the_records_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 100);
        char *text = printed(sbx_print_timeline_json, report_fixture_report(fixture), NULL);
        assert_is_json(text);
        free(text);
        report_fixture_destroy(fixture);
    }
    struct report_fixture *fixture = report_fixture_create(); /* without any thread */
    char *text = printed(sbx_print_timeline_json, report_fixture_report(fixture), NULL);
    assert_is_json(text);
    free(text);
    report_fixture_destroy(fixture);
}

static void test_what_is_over_the_bound_is_left_out_and_it_says_so(void **state)
{
    struct report_fixture *fixture = *state;
    report_fixture_thread(fixture, "worker", false);
    for (int i = 0; i < 24000; i++) {
        report_fixture_wait(fixture, 1, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -24000 + i, -23999.5 + i, 0, -1,
                            i % 2 == 0 ? "start;a" : "start;b");
    }
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -10, 1, -1, "main;judged_call");
    report_fixture_stall(fixture)->trigger.history_ns = ms_to_ns(24000);
    char *text = printed(sbx_print_timeline_json, report_fixture_report(fixture), NULL);
    assert_has(text, "\"cut\":true}\n");
    assert_has(text, "\"function\":\"judged_call\""); /* all of the judged thread */
    assert_true(strlen(text) < 2000000);
    free(text);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, report_fixture_begin, report_fixture_end)
    const struct CMUnitTest tests[] = {
        CASE(test_stretches_of_one_stack_are_one_piece_and_calls_are_told_once),
        CASE(test_names_that_would_end_the_text_are_part_of_it),
        cmocka_unit_test(test_arrows_are_those_of_the_picture),
        cmocka_unit_test(test_it_is_json_whatever_the_records_say),
        CASE(test_what_is_over_the_bound_is_left_out_and_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
