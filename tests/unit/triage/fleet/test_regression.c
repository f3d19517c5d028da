/* SPDX-License-Identifier: Apache-2.0 */
/* test_regression.c - real changes are reported, and false reports are rare. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "regression.h"

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 + 1e-6 * fabs(wanted))) {
        fail_msg("%.12g for %.12g", value, wanted);
    }
}

/* Compared with R's fisher.test(matrix(c(3, 1, 1, 3), 2), alternative = "greater"), and with the definition. */
static void test_chances_are_those_of_fishers_test(void **state)
{
    (void)state;
    assert_near(sbx_chance_of_more((struct sbx_rate){3, 4}, (struct sbx_rate){1, 4}), 17.0 / 70);
    assert_near(sbx_chance_of_less((struct sbx_rate){3, 4}, (struct sbx_rate){1, 4}), 69.0 / 70);
    assert_near(sbx_chance_of_more((struct sbx_rate){5, 10}, (struct sbx_rate){0, 10}), 252.0 / 15504);
    assert_near(sbx_chance_of_more((struct sbx_rate){0, 10}, (struct sbx_rate){5, 10}), 1);
    assert_near(sbx_chance_of_less((struct sbx_rate){0, 10}, (struct sbx_rate){5, 10}), 252.0 / 15504);
    assert_near(sbx_chance_of_more((struct sbx_rate){4, 4}, (struct sbx_rate){4, 4}), 1);
}

static void test_chances_of_large_numbers_are_numbers(void **state)
{
    (void)state;
    double same = sbx_chance_of_more((struct sbx_rate){50000, 1000000}, (struct sbx_rate){50000, 1000000});
    double less = sbx_chance_of_more((struct sbx_rate){10, 1000000}, (struct sbx_rate){99990, 1000000});
    double more = sbx_chance_of_more((struct sbx_rate){50800, 1000000}, (struct sbx_rate){50000, 1000000});
    assert_true(same > 0.49 && same < 0.52);
    assert_near(less, 1);
    assert_true(more > 0.003 && more < 0.007); /* 2.58 standard deviations */
    assert_near(sbx_chance_of_more((struct sbx_rate){1, 0}, (struct sbx_rate){1, 2}), 1);
    assert_near(sbx_chance_of_more((struct sbx_rate){-1, 5}, (struct sbx_rate){1, 2}), 1);
}

static void test_a_ratio_has_an_interval_around_it(void **state)
{
    (void)state;
    struct sbx_rate_ratio ratio = sbx_rate_compare((struct sbx_rate){30, 100}, (struct sbx_rate){10, 100});
    assert_true(ratio.low > 1.4 && ratio.low < ratio.ratio && ratio.ratio > 2.8 && ratio.ratio < 3.1 && ratio.high < 6);
    ratio = sbx_rate_compare((struct sbx_rate){0, 100}, (struct sbx_rate){0, 100});
    assert_true(ratio.low < 1 && ratio.high > 1 && isfinite(ratio.high));
    ratio = sbx_rate_compare((struct sbx_rate){0, 0}, (struct sbx_rate){5, 100});
    assert_true(ratio.ratio == 1 && ratio.low == 0);
}

static void test_what_one_side_never_met_has_a_bound_and_no_ratio(void **state)
{
    (void)state;
    struct sbx_rate_ratio is_new = sbx_rate_compare((struct sbx_rate){27, 100}, (struct sbx_rate){0, 100});
    assert_true(isinf(is_new.ratio) && isinf(is_new.high) && is_new.low > 1 && isfinite(is_new.low));
    struct sbx_rate_ratio is_gone = sbx_rate_compare((struct sbx_rate){0, 100}, (struct sbx_rate){27, 100});
    assert_true(is_gone.ratio == 0 && is_gone.low == 0 && is_gone.high > 0 && is_gone.high < 1);
}

static void test_issues_are_new_worse_better_gone_or_slower(void **state)
{
    (void)state;
    struct sbx_change_row rows[] = {
        {.here = {40, 1000}, .base = {0, 1000}},
        {.here = {40, 1000}, .base = {0, 1000}, .was_before = true},
        {.here = {90, 1000}, .base = {30, 1000}, .was_before = true},
        {.here = {31, 1000}, .base = {30, 1000}, .was_before = true},
        {.here = {30, 1000}, .base = {90, 1000}, .was_before = true},
        {.here = {0, 1000}, .base = {40, 1000}, .was_before = true},
        {.here = {60, 1000}, .base = {60, 1000}, .slow_here = {{40, 60}}, .slow_base = {{6, 60}}, .was_before = true},
        {.here = {4, 1000}, .base = {0, 1000}},         /* too few for any conclusion */
        {.here = {560, 9000}, .base = {50000, 900000}}, /* significant, but small */
    };
    static const enum sbx_change wanted[] = {SBX_CHANGE_NEW,    SBX_CHANGE_REGRESSED, SBX_CHANGE_REGRESSED,
                                             SBX_CHANGE_NONE,   SBX_CHANGE_IMPROVED,  SBX_CHANGE_GONE,
                                             SBX_CHANGE_SLOWER, SBX_CHANGE_NONE,      SBX_CHANGE_NONE};
    sbx_changes_judge(rows, sizeof rows / sizeof rows[0], SBX_CHANGE_ALARMS);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(sbx_change_name(rows[i].change), sbx_change_name(wanted[i]));
        assert_true(rows[i].chance >= 0 && rows[i].chance <= 1);
        assert_true(rows[i].change == SBX_CHANGE_NONE || rows[i].chance <= 0.01);
    }
    assert_true(rows[2].ratio.low > 1.5 && rows[2].ratio.ratio < 3.2);
    sbx_changes_judge(rows, 0, SBX_CHANGE_ALARMS);
}

/* A difference that is reported when it is the only one is not reported when it is the best of two hundred. */
static void test_many_issues_make_no_alarm_by_their_number(void **state)
{
    (void)state;
    static struct sbx_change_row rows[200];
    struct sbx_change_row alone = {.here = {25, 1000}, .base = {8, 1000}, .was_before = true};
    sbx_changes_judge(&alone, 1, SBX_CHANGE_ALARMS);
    assert_int_equal(alone.change, SBX_CHANGE_REGRESSED);
    for (size_t i = 0; i < 200; i++) {
        rows[i] = (struct sbx_change_row){.here = {15, 1000}, .base = {15, 1000}, .was_before = true};
    }
    rows[77] = (struct sbx_change_row){.here = {25, 1000}, .base = {8, 1000}, .was_before = true};
    sbx_changes_judge(rows, 200, SBX_CHANGE_ALARMS);
    assert_int_equal(rows[77].change, SBX_CHANGE_NONE);
}

static void test_a_surge_is_more_than_what_days_differ_by(void **state)
{
    (void)state;
    static const struct sbx_rate even[] = {{20, 1000}, {22, 1000}, {19, 1000}, {21, 1000},
                                           {20, 1000}, {18, 1000}, {20, 1000}};
    static const struct sbx_rate uneven[] = {{5, 1000}, {60, 1000}, {9, 1000}, {45, 1000},
                                             {3, 1000}, {70, 1000}, {20, 1000}};
    assert_true(sbx_chance_of_surge((struct sbx_rate){60, 1000}, even, 7) < 1e-4);
    assert_true(sbx_chance_of_surge((struct sbx_rate){60, 1000}, uneven, 7) > 0.1);
    assert_true(sbx_chance_of_surge((struct sbx_rate){20, 1000}, even, 7) > 0.3);
    assert_near(sbx_chance_of_surge((struct sbx_rate){60, 1000}, even, 2), 1);
    assert_near(sbx_chance_of_surge((struct sbx_rate){60, 0}, even, 7), 1);
}

/* ---- what is simulated, with numbers that are the same each time (bench_regressions has more of them) ---- */

static uint64_t random_state = 88172645463325252ull;

static double random_share(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static void test_of_comparisons_that_do_not_differ_one_in_a_hundred_has_an_alarm_at_most(void **state)
{
    (void)state;
    enum {
        COMPARISONS = 2000,
        ISSUES = 12,
        MACHINES = 300
    };
    struct sbx_change_row rows[ISSUES];
    int alarms = 0;
    for (int i = 0; i < COMPARISONS; i++) {
        for (int issue = 0; issue < ISSUES; issue++) {
            double rate = 0.2 / (issue + 1);
            rows[issue] = (struct sbx_change_row){.here = {0, MACHINES}, .base = {0, MACHINES}, .was_before = true};
            for (int machine = 0; machine < MACHINES; machine++) {
                rows[issue].here.hit += random_share() < rate;
                rows[issue].base.hit += random_share() < rate;
            }
        }
        sbx_changes_judge(rows, ISSUES, SBX_CHANGE_ALARMS);
        bool has_alarm = false;
        for (int issue = 0; issue < ISSUES; issue++) {
            has_alarm |= rows[issue].change != SBX_CHANGE_NONE;
        }
        alarms += has_alarm;
    }
    assert_true(alarms <= COMPARISONS / 100);
}

/* The same number of machine-days on each of that many days. */
static struct sbx_told told_of(int64_t days, int64_t hit, int64_t active)
{
    double a_day = (double)hit / (double)days;
    return (struct sbx_told){.hit = hit,
                             .active = active,
                             .days = days,
                             .squares = a_day * a_day / ((double)active / (double)days) * (double)days,
                             .together = 1};
}

static void test_a_share_that_differs_as_much_from_day_to_day_is_no_change(void **state)
{
    (void)state;
    struct sbx_change_row row = {.here = {200, 1000}, .base = {100, 1000}, .was_before = true};
    row.stalling_here = told_of(5, 200, 1000);
    row.stalling_base = told_of(5, 100, 1000);
    sbx_changes_judge(&row, 1, SBX_CHANGE_ALARMS);
    assert_int_equal(row.change, SBX_CHANGE_REGRESSED);
    assert_int_equal(row.measure, SBX_OF_STALLING);
    row.stalling_here.squares = 180.0 * 180 / 200 + 4 * 5.0 * 5 / 200; /* nearly all of it on one day of five */
    sbx_changes_judge(&row, 1, SBX_CHANGE_ALARMS);
    assert_int_equal(row.change, SBX_CHANGE_NONE);
    row.stalling_base.days = row.stalling_here.days = 2; /* too few days to know how much days differ */
    sbx_changes_judge(&row, 1, SBX_CHANGE_ALARMS);
    assert_int_equal(row.change, SBX_CHANGE_REGRESSED);
}

/* Each issue affects the same share of the machines that stall. Only the number of stalling machines, which has
 * doubled, shows the change. */
static void test_everything_twice_as_frequent_is_told_by_machine_days_and_by_nothing_else(void **state)
{
    (void)state;
    enum {
        ISSUES = 10
    };
    struct sbx_change_row rows[ISSUES + 1];
    for (int with_days = 0; with_days < 2; with_days++) {
        int told = 0;
        for (int i = 0; i <= ISSUES; i++) {
            int64_t met = i < ISSUES ? 60 : 600;
            rows[i] = (struct sbx_change_row){.was_before = true};
            if (i < ISSUES) {
                rows[i].here = (struct sbx_rate){120, 1200};
                rows[i].base = (struct sbx_rate){60, 600};
            }
            if (with_days) {
                rows[i].told_here = told_of(7, 2 * met, 10000);
                rows[i].told_base = told_of(7, met, 10000);
            }
        }
        sbx_changes_judge(rows, ISSUES + 1, SBX_CHANGE_ALARMS);
        for (int i = 0; i <= ISSUES; i++) {
            told += rows[i].change == SBX_CHANGE_REGRESSED && rows[i].measure == SBX_OF_ACTIVE;
            assert_true(with_days || rows[i].change == SBX_CHANGE_NONE);
        }
        assert_int_equal(told, with_days ? ISSUES + 1 : 0);
    }
    assert_true(rows[ISSUES].ratio.ratio > 1.9 && rows[ISSUES].ratio.ratio < 2.1);
}

static void test_machine_days_are_worse_only_by_more_than_days_and_machines_differ(void **state)
{
    (void)state;
    struct sbx_told here = told_of(7, 200, 10000), base = told_of(7, 100, 10000);
    double alone = sbx_chance_of_worse(&here, &base);
    assert_true(alone < 1e-3);
    assert_true(sbx_chance_of_worse(&base, &here) > 0.9);
    here.together = 8; /* each of its machines has it on eight days */
    base.together = 8;
    assert_true(sbx_chance_of_worse(&here, &base) > 0.01);
    here.together = base.together = 1;
    base.squares *= 4; /* all of it on one or two of the days */
    assert_true(sbx_chance_of_worse(&here, &base) > 0.01);
    struct sbx_told few = told_of(1, 200, 10000), less = told_of(3, 100, 10000);
    assert_near(sbx_chance_of_worse(&few, &less), 1); /* four days do not show how much days differ */
    less = told_of(4, 100, 10000);
    assert_true(sbx_chance_of_worse(&few, &less) < 0.05);
    few.hit = few.active + 1;
    assert_near(sbx_chance_of_worse(&few, &less), 1);
}

/* A version that has been in use for long has stalls that were not sent, because a machine sends the first three of a
 * place. */
static void test_stalls_that_were_not_sent_count_for_the_other_side(void **state)
{
    (void)state;
    struct sbx_told here = told_of(7, 200, 10000), base = told_of(7, 100, 10000);
    base.hidden = 50;
    assert_true(sbx_chance_of_worse(&here, &base) < 0.05);
    base.hidden = 100;
    assert_true(sbx_chance_of_worse(&here, &base) > 0.3);
    base.hidden = INT64_MAX;
    assert_true(sbx_chance_of_worse(&here, &base) > 0.3);
}

static void test_what_no_day_of_the_old_version_met_is_new_after_three_days(void **state)
{
    (void)state;
    struct sbx_change_row row = {.told_here = told_of(3, 27, 800), .told_base = told_of(7, 0, 1700)};
    sbx_changes_judge(&row, 1, SBX_CHANGE_ALARMS);
    assert_int_equal(row.change, SBX_CHANGE_NEW);
    assert_true(row.chance < 1e-4);
    struct sbx_change_row gone = {.told_here = told_of(3, 0, 800), .told_base = told_of(7, 60, 1700)};
    sbx_changes_judge(&gone, 1, SBX_CHANGE_ALARMS);
    assert_int_equal(gone.change, SBX_CHANGE_GONE);
    assert_near(sbx_chance_of_worse(&row.told_base, &row.told_here), 1);
    struct sbx_told none = told_of(3, 0, 800), neither = told_of(7, 0, 1700);
    assert_true(sbx_chance_of_worse(&none, &neither) >= 0.5);
}

static void test_a_day_of_which_few_machines_told_is_no_surge(void **state)
{
    (void)state;
    static const struct sbx_told_day week[] = {{20, 1000, 0}, {22, 1000, 0}, {19, 1000, 0}, {21, 1000, 0},
                                               {20, 1000, 0}, {18, 1000, 0}, {20, 1000, 0}};
    assert_true(sbx_chance_of_told_surge((struct sbx_told_day){60, 1000, 0}, week, 7) < 1e-4);
    assert_true(sbx_chance_of_told_surge((struct sbx_told_day){20, 300, 0}, week, 7) > 0.3);
    assert_near(sbx_chance_of_told_surge((struct sbx_told_day){60, 59, 0}, week, 7), 1);
    struct sbx_told_day hidden[7];
    for (int i = 0; i < 7; i++)
        hidden[i] = (struct sbx_told_day){week[i].hit, 1000, 60}; /* none of them was sent */
    assert_true(sbx_chance_of_told_surge((struct sbx_told_day){60, 1000, 0}, hidden, 7) > 0.3);
}

static void test_looks_are_fewer_and_fewer_and_share_one_chance(void **state)
{
    (void)state;
    double sum = 0;
    assert_int_equal(sbx_change_look(0), 0);
    assert_int_equal(sbx_change_look(19), 0);
    assert_int_equal(sbx_change_look(20), 1);
    assert_int_equal(sbx_change_look(39), 1);
    assert_int_equal(sbx_change_look(40), 2);
    assert_int_equal(sbx_change_look(INT64_MAX / 2), 58);
    for (int look = 1; look <= 60; look++) {
        sum += sbx_change_alarms_of_look(look);
    }
    assert_true(sum <= SBX_CHANGE_ALARMS);
    assert_true(sbx_change_alarms_of_look(0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chances_are_those_of_fishers_test),
        cmocka_unit_test(test_chances_of_large_numbers_are_numbers),
        cmocka_unit_test(test_a_ratio_has_an_interval_around_it),
        cmocka_unit_test(test_what_one_side_never_met_has_a_bound_and_no_ratio),
        cmocka_unit_test(test_issues_are_new_worse_better_gone_or_slower),
        cmocka_unit_test(test_many_issues_make_no_alarm_by_their_number),
        cmocka_unit_test(test_a_surge_is_more_than_what_days_differ_by),
        cmocka_unit_test(test_of_comparisons_that_do_not_differ_one_in_a_hundred_has_an_alarm_at_most),
        cmocka_unit_test(test_a_share_that_differs_as_much_from_day_to_day_is_no_change),
        cmocka_unit_test(test_everything_twice_as_frequent_is_told_by_machine_days_and_by_nothing_else),
        cmocka_unit_test(test_machine_days_are_worse_only_by_more_than_days_and_machines_differ),
        cmocka_unit_test(test_stalls_that_were_not_sent_count_for_the_other_side),
        cmocka_unit_test(test_what_no_day_of_the_old_version_met_is_new_after_three_days),
        cmocka_unit_test(test_a_day_of_which_few_machines_told_is_no_surge),
        cmocka_unit_test(test_looks_are_fewer_and_fewer_and_share_one_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
