/* SPDX-License-Identifier: Apache-2.0 */
/* test_trigger_decision.c - every case of "fire or not" as a line of numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trigger_decision.h"

#define MS              UINT64_C(1000000)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* Milliseconds: begin, now, late; whether it has fired; the limit; whether it fires. */
static const struct {
    const char *what;
    uint64_t begin, now, late;
    bool has_fired;
    uint32_t limit;
    bool fires;
} open_cases[] = {
    {"its limit is reached", 500, 1000, 0, false, 500, true},
    {"its limit is not reached", 500, 1000, 0, false, 501, false},
    {"a limit of 0 is none", 1, 100000, 0, false, 0, false},
    {"nothing is open", 0, 10000, 0, false, 1, false},
    {"it has fired", 1, 10000, 0, true, 1000, false},
    {"it begins in the future", 2, 1, 0, false, 1, false},
    {"the process could not run", 500, 6000, 5000, false, 1000, false},
    {"the process could run for as long as the limit", 500, 6000, 5000, false, 500, true},
    {"more was missed than it was open", 500, 6000, 7000, false, 1, false},
    {"a day is a limit as well", 1, 86400001, 0, false, 86400000, true},
};

static void test_what_is_open_fires_when_its_limit_is_reached(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(open_cases); i++) {
        struct sbx_open_view view = {.now_ns = open_cases[i].now * MS,
                                     .begin_ns = open_cases[i].begin * MS,
                                     .late_ns = open_cases[i].late * MS,
                                     .has_fired = open_cases[i].has_fired};
        if (sbx_is_over(&view, open_cases[i].limit) != open_cases[i].fires) {
            fail_msg("%s", open_cases[i].what);
        }
    }
}

static void test_it_fires_at_the_time_that_was_foretold(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(open_cases); i++) {
        struct sbx_open_view view = {.begin_ns = open_cases[i].begin * MS,
                                     .late_ns = open_cases[i].late * MS,
                                     .has_fired = open_cases[i].has_fired};
        uint64_t at_ns = sbx_is_over_at_ns(&view, open_cases[i].limit);
        if (at_ns == UINT64_MAX) {
            view.now_ns = UINT64_MAX / 2;
            assert_false(sbx_is_over(&view, open_cases[i].limit));
            continue;
        }
        view.now_ns = at_ns;
        assert_true(sbx_is_over(&view, open_cases[i].limit));
        view.now_ns = at_ns - 1;
        assert_false(sbx_is_over(&view, open_cases[i].limit));
    }
}

static void test_a_time_that_cannot_be_counted_is_never(void **state)
{
    (void)state;
    struct sbx_open_view view = {.begin_ns = UINT64_MAX - 10};
    assert_true(sbx_is_over_at_ns(&view, 1000) == UINT64_MAX);
}

static void test_a_burst_fires_unless_the_process_was_stopped(void **state)
{
    (void)state;
    struct sbx_open_view view = {.now_ns = 1000 * MS, .begin_ns = 500 * MS};
    assert_true(sbx_burst_fires(&view, 9));
    assert_false(sbx_burst_fires(&view, 0));
    view.late_ns = 1;
    assert_false(sbx_burst_fires(&view, 9));
    view.late_ns = 0;
    view.has_fired = true;
    assert_false(sbx_burst_fires(&view, 9));
}

/* CLOCK_MONOTONIC, the clock of all times here, does not advance while a machine is suspended. CLOCK_BOOTTIME advances,
 * but the recorder does not read it. A look that was due during the suspension sees no gap or a small one. */
static void test_a_suspended_machine_shows_as_no_time_at_all(void **state)
{
    (void)state;
    struct sbx_gaps gaps = {.count = 0};
    assert_int_equal(sbx_gaps_look(&gaps, 1000 * MS, 1005 * MS, 1009 * MS, false), 0);
    const struct sbx_open_view view = {.now_ns = 1009 * MS, .begin_ns = 900 * MS};
    assert_false(sbx_is_over(&view, 1000)); /* open for an hour of wall clock time, but 109 ms of CLOCK_MONOTONIC */
}

static void test_snapshots_of_one_kind_keep_their_distance(void **state)
{
    (void)state;
    assert_true(sbx_snapshot_is_allowed(5 * MS, 0, 1000));
    assert_false(sbx_snapshot_is_allowed(1500 * MS, 1000 * MS, 1000));
    assert_true(sbx_snapshot_is_allowed(2000 * MS, 1000 * MS, 1000));
}

/* Milliseconds: the look before, when this look was due, when it happened; whether the thread slept before it; by how
 * much it is late, and from where on time is missing. */
static const struct {
    const char *what;
    uint64_t last, due, now;
    bool has_slept;
    uint64_t late, missing_from;
} look_cases[] = {
    {"the first look", 0, 0, 4000, false, 0, 0},
    {"a look in time", 1000, 1005, 1005, false, 0, 0},
    {"a look before its time, somebody rang", 1000, 1005, 1001, false, 0, 0},
    {"an ordinary delay", 1000, 1005, 1100, false, 0, 0},
    {"the longest ordinary delay", 1000, 1005, 1204, false, 0, 0},
    {"the shortest gap", 1000, 1005, 1205, false, 200, 1005},
    {"a stopped process", 1000, 1005, 4000, false, 2995, 1005},
    {"a sleep that ended in time", 1000, 61000, 61100, true, 0, 0},
    {"a stop at some time of a sleep", 1000, 61000, 65000, true, 4000, 1000},
};

static void test_gaps_are_looks_that_came_much_too_late(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(look_cases); i++) {
        struct sbx_gaps gaps = {.count = 0};
        uint64_t now_ns = look_cases[i].now * MS;
        uint64_t late_ns =
            sbx_gaps_look(&gaps, look_cases[i].last * MS, look_cases[i].due * MS, now_ns, look_cases[i].has_slept);
        uint64_t missing_ns = look_cases[i].late != 0 ? now_ns - look_cases[i].missing_from * MS : 0;
        if (late_ns != look_cases[i].late * MS || sbx_gaps_between(&gaps, 0, UINT64_MAX) != missing_ns) {
            fail_msg("%s", look_cases[i].what);
        }
    }
}

/* Work that began at `began` and ended at `now`. Of that time the snapshot took `busy`, and the application ran for
 * `ran`. */
static const struct {
    uint64_t began, now, busy, ran, missing;
} work_cases[] = {
    {1000, 1001, 0, 0, 0},                                    /* the usual case */
    {1000, 1199, 0, 0, 0},                                    /* a busy machine */
    {1000, 6000, 0, 20, 5000},                                /* the process was stopped in the middle */
    {1000, 6000, 0, 2499, 5000},                              /* starved; the application hardly ran */
    {1000, 6000, 0, 2500, 0},                                 /* the application ran */
    {1000, 6000, 5000, 0, 0},                                 /* a slow disk explains the time */
    {1000, 6000, 4900, 0, 0},    {1000, 6000, 4000, 0, 1000}, /* a slow disk and a stop as well */
    {0, 6000, 0, 0, 0},                                       /* there was no work */
};

static void test_a_stop_in_the_middle_of_a_look_is_a_gap_unless_the_application_ran(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof work_cases / sizeof work_cases[0]; i++) {
        struct sbx_gaps gaps = {.count = 0};
        sbx_gaps_work(&gaps, work_cases[i].began * MS, work_cases[i].now * MS, work_cases[i].busy * MS,
                      work_cases[i].ran * MS);
        if (sbx_gaps_between(&gaps, 0, UINT64_MAX) != work_cases[i].missing * MS) {
            fail_msg("case %zu: %llu ms", i, (unsigned long long)(sbx_gaps_between(&gaps, 0, UINT64_MAX) / MS));
        }
    }
}

static void test_only_gaps_in_its_own_time_excuse_a_thing(void **state)
{
    (void)state;
    struct sbx_gaps gaps = {.count = 0};
    sbx_gaps_look(&gaps, 1000 * MS, 1000 * MS, 2000 * MS, false);
    sbx_gaps_look(&gaps, 5000 * MS, 5000 * MS, 5500 * MS, false);
    assert_true(sbx_gaps_between(&gaps, 0, 10000 * MS) == 1500 * MS);
    assert_true(sbx_gaps_between(&gaps, 2000 * MS, 5000 * MS) == 0);
    assert_true(sbx_gaps_between(&gaps, 1500 * MS, 5100 * MS) == 600 * MS);
    assert_true(sbx_gaps_between(&gaps, 6000 * MS, 9000 * MS) == 0);
    assert_true(sbx_gaps_between(&gaps, 9000 * MS, 1000 * MS) == 0);
}

static void test_the_oldest_gaps_are_forgotten(void **state)
{
    (void)state;
    struct sbx_gaps gaps = {.count = 0};
    for (uint64_t i = 1; i <= SBX_GAPS_KEPT + 10; i++) {
        sbx_gaps_look(&gaps, i * 1000 * MS, i * 1000 * MS, (i * 1000 + 300) * MS, false);
    }
    assert_true(sbx_gaps_between(&gaps, 0, UINT64_MAX) == SBX_GAPS_KEPT * 300 * MS);
    assert_true(sbx_gaps_between(&gaps, 0, 11000 * MS) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_open_fires_when_its_limit_is_reached),
        cmocka_unit_test(test_it_fires_at_the_time_that_was_foretold),
        cmocka_unit_test(test_a_time_that_cannot_be_counted_is_never),
        cmocka_unit_test(test_a_burst_fires_unless_the_process_was_stopped),
        cmocka_unit_test(test_a_suspended_machine_shows_as_no_time_at_all),
        cmocka_unit_test(test_snapshots_of_one_kind_keep_their_distance),
        cmocka_unit_test(test_gaps_are_looks_that_came_much_too_late),
        cmocka_unit_test(test_a_stop_in_the_middle_of_a_look_is_a_gap_unless_the_application_ran),
        cmocka_unit_test(test_only_gaps_in_its_own_time_excuse_a_thing),
        cmocka_unit_test(test_the_oldest_gaps_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
