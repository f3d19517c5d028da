/* SPDX-License-Identifier: Apache-2.0 */
/* test_day_budget.c - the budget of snapshots and bytes for a day, and clocks that jump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "day_budget.h"

enum {
    DAY_S = 86400
};
static const uint64_t noon_s = UINT64_C(20000) * DAY_S + 43200;
static const struct sbx_delivery_terms terms = {
    .snapshots_day = 5, .snapshots_kind_day = 2, .bytes_day = 1000, .bytes_day_metered = 300};

static void test_snapshots_are_counted_by_kind_and_day(void **state)
{
    (void)state;
    struct sbx_day_budget budget = {0};
    sbx_day_budget_turn(&budget, noon_s);
    assert_true(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_ANR));
    assert_true(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_ANR));
    assert_false(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_ANR));
    assert_true(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_MANUAL));
    assert_true(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_MANUAL));
    assert_true(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_MANUAL));
    assert_false(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_KILLED));
    assert_false(sbx_day_budget_take_snapshot(&budget, &terms, 1000));
    sbx_day_budget_turn(&budget, noon_s + DAY_S / 2 - 1);
    assert_false(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_KILLED));
    sbx_day_budget_turn(&budget, noon_s + DAY_S / 2);
    assert_true(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_KILLED));
}

static void test_bytes_are_counted_by_network(void **state)
{
    (void)state;
    struct sbx_day_budget budget = {0};
    sbx_day_budget_turn(&budget, noon_s);
    assert_true(sbx_day_budget_allows_bytes(&budget, &terms, 300, 0));
    assert_false(sbx_day_budget_allows_bytes(&budget, &terms, 301, 0));
    assert_true(sbx_day_budget_allows_bytes(&budget, &terms, 1000, SBX_UPLOAD_UNMETERED));
    assert_false(sbx_day_budget_allows_bytes(&budget, &terms, 1001, SBX_UPLOAD_UNMETERED));
    sbx_day_budget_take_bytes(&budget, 200, 0);
    assert_false(sbx_day_budget_allows_bytes(&budget, &terms, 101, 0));
    sbx_day_budget_take_bytes(&budget, 700, SBX_UPLOAD_UNMETERED);
    assert_true(sbx_day_budget_allows_bytes(&budget, &terms, 100, 0));
    assert_false(sbx_day_budget_allows_bytes(&budget, &terms, 101, SBX_UPLOAD_UNMETERED));
    assert_false(sbx_day_budget_allows_bytes(&budget, &terms, UINT64_MAX, SBX_UPLOAD_UNMETERED));
}

static void test_every_condition_must_hold(void **state)
{
    (void)state;
    struct sbx_day_budget budget = {0};
    for (uint32_t wanted = 0; wanted <= SBX_UPLOAD_CONDITIONS_ALL; wanted++) {
        for (uint32_t held = 0; held <= SBX_UPLOAD_CONDITIONS_ALL; held++) {
            struct sbx_delivery_terms conditional = terms;
            conditional.upload_conditions = wanted;
            assert_int_equal(sbx_day_budget_allows_bytes(&budget, &conditional, 1, held), (wanted & ~held) == 0);
        }
    }
}

static void test_pol_18_a_clock_that_jumps_gains_nothing(void **state)
{
    (void)state;
    struct sbx_day_budget budget = {0};
    unsigned taken = 0;
    for (int hour = 0; hour < 48; hour++) { /* every hour a day forward or a day back, for two days */
        sbx_day_budget_turn(&budget, noon_s + (uint64_t)hour * 3600 + (hour % 2 == 0 ? DAY_S : 0));
        taken += sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_MANUAL);
    }
    assert_true(taken <= 4 * terms.snapshots_day);
    sbx_day_budget_turn(&budget, UINT32_MAX); /* the year 2106, */
    sbx_day_budget_turn(&budget, noon_s);     /* and back: the rest of that day is lost, the next day is normal */
    assert_false(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_ANR));
    assert_false(sbx_day_budget_allows_bytes(&budget, &terms, 1, SBX_UPLOAD_UNMETERED));
    sbx_day_budget_turn(&budget, noon_s + DAY_S);
    assert_true(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_ANR));
    sbx_day_budget_turn(&budget, UINT64_MAX);
    sbx_day_budget_turn(&budget, 0);
    assert_false(sbx_day_budget_take_snapshot(&budget, &terms, SBX_TRIGGER_ANR));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots_are_counted_by_kind_and_day),
        cmocka_unit_test(test_bytes_are_counted_by_network),
        cmocka_unit_test(test_every_condition_must_hold),
        cmocka_unit_test(test_pol_18_a_clock_that_jumps_gains_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
