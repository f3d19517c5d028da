/* SPDX-License-Identifier: Apache-2.0 */
/* test_stall_profile.c - where the time of one stall went, in a few lines that can be added to those of other
 * stalls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "merged_profile.h"
#include "printed.h"
#include "random_report.h"
#include "report_fixture.h"

static void judge(struct report_fixture *fixture, double begin_ms)
{
    report_fixture_verdict(fixture)->interval_begin_ns = ms_to_ns(begin_ms);
    report_fixture_verdict(fixture)->interval_end_ns = 0;
}

static void test_a_stall_is_its_stacks_with_their_own_times_by_state(void **state)
{
    struct report_fixture *fixture = *state;
    judge(fixture, -20);
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -12, 1, -1, "main;f");
    report_fixture_wait(fixture, 0, SBX_RECORD_SYNC, SBX_OP_FSYNC, -12, -2, 1, -1, "main;f;g.constprop.0");
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -2, 0, 1, -1, "main;f");
    char *text = printed(sbx_print_stall_profile, report_fixture_report(fixture), NULL);
    assert_string_equal(text, "0 - \n1 - main\n2 - f\n3 5:10000 nanosleep\n3 - g\n4 6:10000 fsync\n");
    free(text);
}

static void test_what_has_little_of_the_time_is_its_callers(void **state)
{
    struct report_fixture *fixture = *state;
    judge(fixture, -1000);
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -1000, -2, 1, -1, "main;f");
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -2, 0, 1, -1, "main;seldom");
    char *text = printed(sbx_print_stall_profile, report_fixture_report(fixture), NULL);
    assert_string_equal(text, "0 - \n1 5:2000 main\n2 - f\n3 5:998000 nanosleep\n");
    free(text);
}

static void test_a_function_that_calls_itself_is_one_step(void **state)
{
    struct report_fixture *fixture = *state;
    judge(fixture, -20);
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -20, -10, 1, -1, "main;walk@1;walk@2;walk@3");
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -10, 0, 1, -1, "main;walk@1;walk@2");
    char *text = printed(sbx_print_stall_profile, report_fixture_report(fixture), NULL);
    assert_string_equal(text, "0 - \n1 - main\n2 - walk\n3 5:20000 nanosleep\n");
    free(text);
}

static void test_only_the_judged_interval_counts_and_idle_time_does_not(void **state)
{
    struct report_fixture *fixture = *state;
    judge(fixture, -10);
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -500, -100, 1, -1, "main;before");
    report_fixture_idle(fixture, 0, -100, -4);
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -4, 0, 2, -1, "main;f");
    char *text = printed(sbx_print_stall_profile, report_fixture_report(fixture), NULL);
    assert_string_equal(text, "0 - \n1 - main\n2 - f\n3 5:4000 nanosleep\n");
    free(text);
}

static void test_a_stall_of_no_known_time_has_no_lines(void **state)
{
    struct report_fixture *fixture = *state;
    size_t count;
    free(printed(sbx_print_stall_profile, report_fixture_report(fixture), &count));
    assert_int_equal(count, 0);
    judge(fixture, -10);
    free(printed(sbx_print_stall_profile, report_fixture_report(fixture), &count));
    assert_int_equal(count, 0);
}

static void test_hundreds_of_stacks_stay_within_bounds_and_lose_no_time(void **state)
{
    struct report_fixture *fixture = *state;
    char stack[200];
    judge(fixture, -5000);
    for (int i = 0; i < 500; i++) {
        snprintf(stack, sizeof stack, "main;loop;handler%d;middle%d;leaf%d", i % 40, i % 97, i);
        report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -5000 + 10 * i, -4990 + 10 * i, 1, -1,
                            stack);
    }
    size_t count;
    char *text = printed(sbx_print_stall_profile, report_fixture_report(fixture), &count);
    assert_true(count < SBX_STALL_PROFILE_BYTES && count_of(text, "\n") <= SBX_STALL_PROFILE_STEPS);
    struct sbx_merged_profile profile;
    assert_int_equal(sbx_merged_profile_init(&profile), 0);
    assert_int_equal(sbx_merged_profile_add(&profile, text, count, 1, SBX_MERGED_HERE), 0);
    sbx_merged_profile_settle(&profile);
    assert_true(profile.nodes[0].total_us[SBX_MERGED_HERE] == 5000000);
    sbx_merged_profile_finish(&profile);
    free(text);
}

static void test_whatever_the_records_say_the_text_can_be_read(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 300);
        size_t count;
        report_fixture_verdict(fixture)->interval_begin_ns = ms_to_ns(-10000);
        report_fixture_verdict(fixture)->interval_end_ns = 0;
        char *text = printed(sbx_print_stall_profile, report_fixture_report(fixture), &count);
        struct sbx_merged_profile profile;
        assert_int_equal(sbx_merged_profile_init(&profile), 0);
        assert_true(count == 0 || sbx_merged_profile_add(&profile, text, count, 1, SBX_MERGED_HERE) == 0);
        sbx_merged_profile_finish(&profile);
        free(text);
        report_fixture_destroy(fixture);
    }
}

int main(void)
{
#define OF_MAIN(name) cmocka_unit_test_setup_teardown(name, report_fixture_begin, report_fixture_end)
    const struct CMUnitTest tests[] = {
        OF_MAIN(test_a_stall_is_its_stacks_with_their_own_times_by_state),
        OF_MAIN(test_what_has_little_of_the_time_is_its_callers),
        OF_MAIN(test_a_function_that_calls_itself_is_one_step),
        OF_MAIN(test_only_the_judged_interval_counts_and_idle_time_does_not),
        OF_MAIN(test_a_stall_of_no_known_time_has_no_lines),
        OF_MAIN(test_hundreds_of_stacks_stay_within_bounds_and_lose_no_time),
        cmocka_unit_test(test_whatever_the_records_say_the_text_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
