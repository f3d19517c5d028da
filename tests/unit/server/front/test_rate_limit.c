/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rate_limit.h"

static void test_so_many_at_once_and_so_many_an_hour(void **state)
{
    (void)state;
    struct sbx_rate_limit *limit = sbx_rate_limit_create(60);
    int64_t now_ms = 1000000;
    for (int i = 0; i < 60; i++)
        assert_int_equal(sbx_rate_limit_take(limit, 7, now_ms), 0);
    unsigned after_s = sbx_rate_limit_take(limit, 7, now_ms);
    assert_in_range(after_s, 59, 61);
    assert_int_equal(sbx_rate_limit_take(limit, 8, now_ms), 0); /* another client is not affected */
    assert_int_not_equal(sbx_rate_limit_take(limit, 7, now_ms + 30000), 0);
    assert_int_equal(sbx_rate_limit_take(limit, 7, now_ms + 62000), 0);
    assert_int_not_equal(sbx_rate_limit_take(limit, 7, now_ms + 62000), 0);
    for (int i = 0; i < 60; i++) /* an hour later the full amount is available again */
        assert_int_equal(sbx_rate_limit_take(limit, 7, now_ms + 3700000), 0);
    sbx_rate_limit_destroy(limit);
}

static void test_a_sender_may_have_a_rate_of_its_own(void **state)
{
    (void)state;
    struct sbx_rate_limit *limit = sbx_rate_limit_create(1);
    for (int i = 0; i < 10; i++)
        assert_int_equal(sbx_rate_limit_take_of(limit, 7, 3600, 10, 1000), 0);
    assert_int_equal(sbx_rate_limit_take_of(limit, 7, 3600, 10, 1000),
                     2); /* one a second; the answer adds a spare second */
    assert_int_equal(sbx_rate_limit_take_of(limit, 7, 3600, 10, 2100), 0);
    sbx_rate_limit_destroy(limit);
}

static void test_who_makes_up_senders_does_not_stop_the_others(void **state)
{
    (void)state;
    struct sbx_rate_limit *limit = sbx_rate_limit_create(5);
    for (uint64_t i = 1; i < 300000; i++)
        assert_int_equal(sbx_rate_limit_take(limit, i * 977, 1), 0);
    assert_int_equal(sbx_rate_limit_take(limit, 3, 2), 0);
    sbx_rate_limit_destroy(limit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sender_may_have_a_rate_of_its_own),
        cmocka_unit_test(test_so_many_at_once_and_so_many_an_hour),
        cmocka_unit_test(test_who_makes_up_senders_does_not_stop_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
