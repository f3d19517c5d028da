/* SPDX-License-Identifier: Apache-2.0 */
/* test_freshness.c - the age of a policy, when the wall clock may show any time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "freshness.h"

enum {
    DAY_S = 86400
};
static const uint64_t now_s = 1800000000;

static void test_thirty_days_of_either_kind_make_it_stale(void **state)
{
    (void)state;
    struct sbx_freshness freshness = {0};
    struct sbx_policy_moment moment = {.wall_s = now_s, .build_s = now_s - DAY_S};
    uint8_t boot[16] = {1}, next_boot[16] = {2};
    sbx_freshness_advance(&freshness, boot, 1000);
    sbx_freshness_renew(&freshness, now_s);
    sbx_freshness_advance(&freshness, boot, 1000 + 20 * DAY_S);
    assert_false(sbx_freshness_is_stale(&freshness, &moment));
    sbx_freshness_advance(&freshness, next_boot, 10 * DAY_S);
    assert_int_equal(freshness.uptime_s, 30 * DAY_S);
    assert_false(sbx_freshness_is_stale(&freshness, &moment));
    sbx_freshness_advance(&freshness, next_boot, 10 * DAY_S + 1); /* the wall clock stood still all the time */
    assert_true(sbx_freshness_is_stale(&freshness, &moment));
    sbx_freshness_renew(&freshness, now_s);
    assert_false(sbx_freshness_is_stale(&freshness, &moment));
    moment.wall_s = now_s + 30 * DAY_S;
    assert_false(sbx_freshness_is_stale(&freshness, &moment));
    moment.wall_s++;
    assert_true(sbx_freshness_is_stale(&freshness, &moment));
}

static void test_several_who_count_count_once(void **state)
{
    (void)state;
    struct sbx_freshness freshness = {0};
    uint8_t boot[16] = {1};
    for (uint64_t second = 1; second <= 100; second++) {
        for (int process = 0; process < 3; process++) {
            sbx_freshness_advance(&freshness, boot, second);
        }
    }
    sbx_freshness_advance(&freshness, boot, 50); /* one of the clocks is slow */
    assert_int_equal(freshness.uptime_s, 100);
}

static void test_pol_18_a_clock_out_of_its_mind_is_not_asked(void **state)
{
    (void)state;
    struct sbx_freshness freshness = {.confirmed_wall_s = now_s};
    struct sbx_policy_moment moment = {.wall_s = UINT32_MAX, .build_s = now_s};
    assert_false(sbx_freshness_is_stale(&freshness, &moment));
    moment.wall_s = 0;
    assert_false(sbx_freshness_is_stale(&freshness, &moment));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thirty_days_of_either_kind_make_it_stale),
        cmocka_unit_test(test_several_who_count_count_once),
        cmocka_unit_test(test_pol_18_a_clock_out_of_its_mind_is_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
