/* SPDX-License-Identifier: Apache-2.0 */
/* test_crash_loop.c - the decision as a series of starts, each with the choice that is expected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "crash_loop.h"

static const uint8_t first[SBX_DIGEST_BYTES] = {1}, second[SBX_DIGEST_BYTES] = {2}, none[SBX_DIGEST_BYTES];
static const struct sbx_open_start us = {.pid = 100, .start_ticks = 7}, others = {.pid = 101, .start_ticks = 7};
enum {
    NOW_S = 1800000000
};

enum ending {
    CRASHES,
    SURVIVES,
    VANISHES
};

/* One start of the application: choose, arm, end. */
static enum sbx_policy_choice start(struct sbx_crash_loop *loop, const uint8_t *newest, uint64_t points,
                                    enum ending ending, uint64_t now_s)
{
    uint32_t dead = 0;
    uint64_t points_off;
    for (unsigned i = 0; i < SBX_OPEN_STARTS_MAX; i++) {
        dead |= (uint32_t)(loop->open[i].pid != 0) << i;
    }
    enum sbx_policy_choice choice = sbx_crash_loop_choose(loop, newest, 1, now_s, dead, &points_off);
    const uint8_t *applied = choice == SBX_CHOOSE_NEWEST ? newest : none;
    if (choice == SBX_CHOOSE_OFF) {
        return choice;
    }
    sbx_crash_loop_arm(loop, &us, applied, points & ~points_off);
    if (ending == CRASHES) {
        sbx_crash_loop_crash(loop, &us, now_s);
    } else if (ending == SURVIVES) {
        sbx_crash_loop_survive(loop, &us, applied, points & ~points_off, now_s);
    }
    return choice;
}

static void test_pol_16_three_crashes_bring_the_safe_document_and_six_none(void **state)
{
    (void)state;
    for (enum ending ending = CRASHES; ending <= VANISHES; ending += VANISHES) { /* reported, or dead without a word */
        struct sbx_crash_loop loop = {.app_mark = 1};
        for (int i = 1; i <= 3; i++) {
            assert_int_equal(start(&loop, first, 3, ending, NOW_S), SBX_CHOOSE_NEWEST);
        }
        for (int i = 4; i <= 6; i++) {
            assert_int_equal(start(&loop, first, 3, ending, NOW_S), SBX_CHOOSE_SAFE);
        }
        for (int i = 7; i <= 9; i++) {
            assert_int_equal(start(&loop, first, 3, ending, NOW_S), SBX_CHOOSE_OFF);
        }
        /* Another document is on trial by itself; the trial of the old one does not change. */
        assert_int_equal(start(&loop, second, 3, SURVIVES, NOW_S), SBX_CHOOSE_NEWEST);
        assert_int_equal(start(&loop, first, 3, SURVIVES, NOW_S), SBX_CHOOSE_SAFE);
        /* Another version of the application is a new trial too. */
        uint64_t points_off;
        assert_int_equal(sbx_crash_loop_choose(&loop, first, 2, NOW_S, 0, &points_off), SBX_CHOOSE_NEWEST);
    }
}

static void test_what_survives_clears_the_streak(void **state)
{
    (void)state;
    struct sbx_crash_loop loop = {.app_mark = 1};
    for (int i = 0; i < 20; i++) {
        assert_int_equal(start(&loop, first, 3, i % 3 == 2 ? SURVIVES : CRASHES, NOW_S), SBX_CHOOSE_NEWEST);
    }
    assert_int_equal(loop.state, SBX_TRIAL_SURVIVED);
    /* The application has survived, so later deaths are its own fault. Nothing is recorded for them. */
    assert_false(sbx_crash_loop_arm(&loop, &us, first, 3));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(start(&loop, first, 3, CRASHES, NOW_S), SBX_CHOOSE_NEWEST);
    }
}

static void test_a_document_is_safe_after_a_day_and_three_starts(void **state)
{
    (void)state;
    struct sbx_crash_loop loop = {.app_mark = 1};
    uint64_t points_off;
    sbx_crash_loop_choose(&loop, first, 1, NOW_S, 0, &points_off);
    assert_false(sbx_crash_loop_survive(&loop, &us, first, 3, NOW_S));
    assert_false(sbx_crash_loop_survive(&loop, &us, first, 3, NOW_S + 100));
    assert_false(sbx_crash_loop_survive(&loop, &us, first, 3, NOW_S + SBX_SAFE_AFTER_S - 1));
    assert_true(sbx_crash_loop_survive(&loop, &us, first, 3, NOW_S + SBX_SAFE_AFTER_S));
    struct sbx_crash_loop quick = {.app_mark = 1};
    sbx_crash_loop_choose(&quick, first, 1, NOW_S, 0, &points_off);
    assert_false(sbx_crash_loop_survive(&quick, &us, first, 3, NOW_S));
    assert_false(sbx_crash_loop_survive(&quick, &us, first, 3, NOW_S + 2 * SBX_SAFE_AFTER_S)); /* two starts only */
}

static void test_a_point_that_came_with_the_crashes_is_quarantined(void **state)
{
    (void)state;
    struct sbx_crash_loop loop = {.app_mark = 1};
    const uint64_t late = SBX_POINT_BIT(SBX_GROUP_UV);
    uint64_t points_off;
    assert_int_equal(start(&loop, first, 3, SURVIVES, NOW_S), SBX_CHOOSE_NEWEST);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(start(&loop, second, 3 | late, CRASHES, NOW_S), SBX_CHOOSE_NEWEST);
    }
    assert_int_equal(sbx_crash_loop_choose(&loop, second, 1, NOW_S, 0, &points_off), SBX_CHOOSE_SAFE);
    assert_int_equal(points_off, late); /* 1 and 2 were installed while it survived */
    /* A third document is tried without that point, for seven days. */
    static const uint8_t third[SBX_DIGEST_BYTES] = {3};
    assert_int_equal(sbx_crash_loop_choose(&loop, third, 1, NOW_S + 7 * 86400 - 1, 0, &points_off), SBX_CHOOSE_NEWEST);
    assert_int_equal(points_off, late);
    assert_int_equal(sbx_crash_loop_choose(&loop, third, 1, NOW_S + 7 * 86400, 0, &points_off), SBX_CHOOSE_NEWEST);
    assert_int_equal(points_off, 0);
}

/* The clock was decades ahead when a point was quarantined. The quarantine must still end. */
static void test_a_quarantine_of_a_wrong_clock_ends(void **state)
{
    (void)state;
    struct sbx_crash_loop loop = {.app_mark = 1};
    uint64_t points_off;
    uint64_t far_s = NOW_S + UINT64_C(40) * 365 * 86400;
    start(&loop, first, 3, SURVIVES, far_s);
    for (int i = 0; i < 3; i++) {
        start(&loop, second, 7, CRASHES, far_s);
    }
    sbx_crash_loop_choose(&loop, second, 1, far_s, 0, &points_off);
    assert_int_equal(points_off, 4);
    sbx_crash_loop_choose(&loop, second, 1, NOW_S, 0, &points_off);
    assert_int_equal(points_off, 0);
}

/* Many instances run at the same time, all on trial. That other instances are running does not mean that they
 * crashed. */
static void test_instances_beside_one_another_are_no_crashes(void **state)
{
    (void)state;
    struct sbx_crash_loop loop = {.app_mark = 1};
    uint64_t points_off;
    for (uint32_t i = 0; i < 40; i++) {
        struct sbx_open_start who = {.pid = 1 + i};
        assert_int_equal(sbx_crash_loop_choose(&loop, first, 1, NOW_S, 0, &points_off), SBX_CHOOSE_NEWEST);
        assert_int_equal(sbx_crash_loop_arm(&loop, &who, first, 3), i < SBX_OPEN_STARTS_MAX);
    }
    assert_int_equal(sbx_crash_loop_choose(&loop, first, 1, NOW_S, 0, &points_off), SBX_CHOOSE_NEWEST);
    assert_int_equal(loop.streak, 0);
    assert_int_equal(sbx_crash_loop_choose(&loop, first, 1, NOW_S, 7, &points_off), SBX_CHOOSE_SAFE); /* 3 died */
}

/* When a running application switches its policy, the new policy is on trial. The same pid with another start time is
 * another process. */
static void test_a_switch_is_a_trial_of_its_own(void **state)
{
    (void)state;
    struct sbx_crash_loop loop = {.app_mark = 1};
    uint64_t points_off;
    sbx_crash_loop_choose(&loop, first, 1, NOW_S, 0, &points_off);
    sbx_crash_loop_arm(&loop, &us, first, 3);
    sbx_crash_loop_choose(&loop, second, 1, NOW_S, 0, &points_off);
    sbx_crash_loop_arm(&loop, &us, second, 3);
    struct sbx_open_start later = us;
    later.start_ticks++;
    sbx_crash_loop_crash(&loop, &later, NOW_S);
    assert_int_equal(loop.streak, 0);
    sbx_crash_loop_crash(&loop, &us, NOW_S);
    assert_int_equal(loop.streak, 1);
    sbx_crash_loop_crash(&loop, &us, NOW_S); /* reported twice */
    assert_int_equal(loop.streak, 1);
    sbx_crash_loop_arm(&loop, &others, second, 3);
    sbx_crash_loop_crash(&loop, &others, NOW_S);
    assert_int_equal(loop.streak, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pol_16_three_crashes_bring_the_safe_document_and_six_none),
        cmocka_unit_test(test_what_survives_clears_the_streak),
        cmocka_unit_test(test_a_document_is_safe_after_a_day_and_three_starts),
        cmocka_unit_test(test_a_point_that_came_with_the_crashes_is_quarantined),
        cmocka_unit_test(test_a_quarantine_of_a_wrong_clock_ends),
        cmocka_unit_test(test_instances_beside_one_another_are_no_crashes),
        cmocka_unit_test(test_a_switch_is_a_trial_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
