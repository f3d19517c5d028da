/* SPDX-License-Identifier: Apache-2.0 */
/* test_print_folded.c - lines that flame graph tools read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "exporters.h"
#include "printed.h"
#include "random_report.h"
#include "sample_reports.h"

static void test_lines_are_threads_stacks_and_microseconds_in_order(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    report_fixture_thread(fixture, "bio#", false);
    report_fixture_thread(fixture, "bio#", false);
    report_fixture_sample(fixture, 0, -22, 1, -1, "main;g");
    report_fixture_sample(fixture, 0, -21.5, 1, -1, "main;f");
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -10, 1, -1, "main;f");
    report_fixture_idle(fixture, 0, -10, 0);
    report_fixture_wait(fixture, 1, SBX_RECORD_COND, SBX_OP_COND_WAIT, -20, -15, 0, -1, "worker");
    report_fixture_wait(fixture, 2, SBX_RECORD_COND, SBX_OP_COND_WAIT, -20, -13, 0, -1, "worker");
    char *text = printed(sbx_print_folded, report_fixture_report(fixture), NULL);
    assert_string_equal(text, "bio#;worker;pthread_cond_wait 12000\n"
                              "main;main;f 1500\n"
                              "main;main;f;nanosleep 10000\n"
                              "main;main;g 500\n");
    free(text);
    report_fixture_destroy(fixture);
}

static void test_semicolons_and_line_ends_in_names_are_replaced(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "a;b\nc", false);
    report_fixture_stall(fixture)->trigger.history_ns = ms_to_ns(20);
    report_fixture_wait(fixture, 0, SBX_RECORD_FILE, SBX_OP_READ, -20, -10, 0, -1, "f(int, x)\nT");
    char *text = printed(sbx_print_folded, report_fixture_report(fixture), NULL);
    assert_string_equal(text, "a,b?c;f(int, x)?T;read 10000\n");
    free(text);
    report_fixture_destroy(fixture);
}

static void test_what_was_before_the_history_is_not_counted(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    report_fixture_stall(fixture)->trigger.history_ns = ms_to_ns(100);
    report_fixture_wait(fixture, 0, SBX_RECORD_COND, SBX_OP_COND_WAIT, -3600000, -40, 0, -1, "f");
    char *text = printed(sbx_print_folded, report_fixture_report(fixture), NULL);
    assert_string_equal(text, "main;f;pthread_cond_wait 60000\n");
    free(text);
    report_fixture_destroy(fixture);
}

static void test_a_stall_without_records_prints_nothing(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    size_t count;
    char *text = printed(sbx_print_folded, report_fixture_report(fixture), &count);
    assert_int_equal(count, 0);
    free(text);
    report_fixture_destroy(fixture);
}

static void test_lines_are_sorted_and_distinct_whatever_the_records_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 200);
        char *text = printed(sbx_print_folded, report_fixture_report(fixture), NULL), *rest = text, last[4096] = "";
        for (char *line = strsep(&rest, "\n"); line != NULL && *line != '\0'; line = strsep(&rest, "\n")) {
            char *space = strrchr(line, ' ');
            assert_non_null(space);
            assert_true(strtoll(space + 1, NULL, 10) > 0);
            *space = '\0';
            assert_true(strcmp(last, line) < 0);
            strncpy(last, line, sizeof last - 1);
        }
        free(text);
        report_fixture_destroy(fixture);
    }
}

static void test_run_weighs_what_it_lasted_and_a_cut_stack_says_so(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    report_fixture_stall(fixture)->trigger.history_ns = ms_to_ns(100);
    report_fixture_sample(fixture, 0, -60, 1, -1, "main;[cut];f");
    struct sbx_stall_record run = {.kind = SBX_RECORD_LEAF,
                                   .begin_ns = ms_to_ns(-60),
                                   .end_ns = ms_to_ns(-20),
                                   .message = 1,
                                   .cpu_ns = -1,
                                   .peer = -1,
                                   .repeats = 2, /* far apart, but nothing else was seen in between */
                                   .stack = report_fixture_stack(fixture, "main;[cut];f")};
    report_fixture_record(fixture, run);
    report_fixture_wait(fixture, 0, SBX_RECORD_WAIT, SBX_OP_SEM_WAIT, -20, 0, 1, -1, "main");
    char *text = printed(sbx_print_folded, report_fixture_report(fixture), NULL);
    assert_string_equal(text, "main;main;[... frames left out];f 40000\nmain;main;sem_wait 20000\n");
    free(text);
    report_fixture_destroy(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_weighs_what_it_lasted_and_a_cut_stack_says_so),
        cmocka_unit_test(test_lines_are_threads_stacks_and_microseconds_in_order),
        cmocka_unit_test(test_semicolons_and_line_ends_in_names_are_replaced),
        cmocka_unit_test(test_what_was_before_the_history_is_not_counted),
        cmocka_unit_test(test_a_stall_without_records_prints_nothing),
        cmocka_unit_test(test_lines_are_sorted_and_distinct_whatever_the_records_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
