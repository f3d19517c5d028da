/* SPDX-License-Identifier: Apache-2.0 */
/* test_cost_words.c - the cost of recording in words that a reader can judge: a share, or a time with a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cost_words.h"

static char words[SBX_COST_WORDS_BYTES];

static uint32_t budget_ppm = 5000;

static const char *words_of(uint32_t cost_ppm, uint32_t window_ppm, uint32_t cost_ms, bool in_progress)
{
    static struct sbx_stall stall;
    memset(&stall, 0, sizeof stall);
    stall.overhead.budget_ppm = budget_ppm;
    stall.overhead.cost_ppm = cost_ppm;
    stall.overhead.window_ppm = window_ppm;
    stall.overhead.cost_ms = cost_ms;
    stall.trigger.in_progress = in_progress;
    sbx_cost_words(&stall, words);
    return words;
}

static void test_what_holds_the_budget_is_a_share_of_it(void **state)
{
    (void)state;
    assert_string_equal(words_of(3100, 3000, 20, false), "0.31 % of the application's CPU time, of a budget of 0.5 %");
    assert_string_equal(words_of(5000, 0, 0, false), "0.50 % of the application's CPU time, of a budget of 0.5 %");
}

static void test_a_budget_between_two_thousandths_has_two_decimals(void **state)
{
    (void)state;
    budget_ppm = 2500;
    assert_string_equal(words_of(2500, 0, 0, false), "0.25 % of the application's CPU time, of a budget of 0.25 %");
    assert_non_null(strstr(words_of(2600, 9000, 0, false), "more than the budget of 0.25 %: "));
    budget_ppm = 5000;
}

/* Symptom: "Recording cost 19.23 % of the application's CPU time, of a budget of 0.5 %", for a program that had just
 * begun. */
static void test_of_a_program_that_has_hardly_run_the_time_is_told_and_no_share(void **state)
{
    (void)state;
    const char *text = words_of(192300, 0, 5, false);
    assert_ptr_equal(strstr(text, "at most 5 ms of CPU time in all; the application has hardly run itself"), text);
    assert_non_null(strstr(text, "some 26 ms"));
    assert_null(strstr(text, "19.2"));
    assert_non_null(strstr(words_of(2000000, 0, 5, false), "less than 10 ms"));
    assert_non_null(strstr(words_of(1000000000, 0, 1000, false), "less than 10 ms"));
}

static void test_what_is_over_the_budget_comes_with_a_reason(void **state)
{
    (void)state;
    assert_string_equal(words_of(8000, 9000, 0, true),
                        "0.80 % of the application's CPU time, more than the budget of 0.5 %: a stall is recorded more "
                        "closely while it lasts");
    assert_non_null(strstr(words_of(8000, 100, 0, true), "before the last second"));
    assert_non_null(strstr(words_of(8000, 9000, 0, false), "less is being recorded until it is held again"));
    assert_non_null(strstr(words_of(900000, 9000, 0, true), "hardly runs"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_holds_the_budget_is_a_share_of_it),
        cmocka_unit_test(test_a_budget_between_two_thousandths_has_two_decimals),
        cmocka_unit_test(test_of_a_program_that_has_hardly_run_the_time_is_told_and_no_share),
        cmocka_unit_test(test_what_is_over_the_budget_comes_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
