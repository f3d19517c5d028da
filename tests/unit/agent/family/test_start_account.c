/* SPDX-License-Identifier: Apache-2.0 */
/* test_start_account.c - how many starts of children are lent, how they are paid back, and how long a child is put
 * off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "start_account.h"

#define SECOND UINT64_C(1000000000)

enum {
    BUDGET = 50, /* half a per cent */
    ONE_PROCESSOR = 1000
};

static uint64_t charge(uint64_t account, unsigned starts)
{
    for (unsigned i = 0; i < starts; i++) {
        account = sbx_start_account_charge(account, SBX_STARTS_AHEAD);
    }
    return account;
}

static uint32_t put_off_ms(uint64_t account)
{
    return sbx_start_put_off_ms(account, SBX_STARTS_AHEAD);
}

static uint64_t begun(void)
{
    return sbx_start_account_at(0, 1000 * SECOND, BUDGET, ONE_PROCESSOR);
}

static void test_all_workers_of_a_family_begin_at_once(void **state)
{
    (void)state;
    assert_int_equal(put_off_ms(charge(begun(), SBX_STARTS_AHEAD - 1)), 0);
    assert_int_equal(put_off_ms(charge(begun(), SBX_STARTS_AHEAD)), SBX_PUT_OFF_MS);
}

static void test_the_more_is_owed_the_longer_a_child_is_put_off_and_never_for_more_than_a_second(void **state)
{
    uint32_t before_ms = 0;
    (void)state;
    for (unsigned starts = SBX_STARTS_AHEAD; starts < 10 * SBX_STARTS_AHEAD; starts++) {
        uint32_t ms = put_off_ms(charge(begun(), starts));
        assert_true(ms >= before_ms && ms <= SBX_PUT_OFF_MOST_MS);
        before_ms = ms;
    }
    assert_int_equal(before_ms, SBX_PUT_OFF_MOST_MS);
}

static void test_the_familys_work_pays_for_starts_at_the_rate_of_the_budget(void **state)
{
    uint64_t account = charge(begun(), SBX_STARTS_AHEAD + 3);
    (void)state;
    /* Half a per cent of a processor is 5 ms a second. */
    assert_int_equal(put_off_ms(sbx_start_account_at(account, 1000 * SECOND + SECOND / 2, BUDGET, 1000)),
                     SBX_PUT_OFF_MS);
    assert_int_equal(put_off_ms(sbx_start_account_at(account, 1001 * SECOND, BUDGET, 1000)), 0);
    assert_int_equal(put_off_ms(sbx_start_account_at(account, 1001 * SECOND, BUDGET, 500)), SBX_PUT_OFF_MS);
    assert_int_equal(put_off_ms(sbx_start_account_at(account, 1002 * SECOND, BUDGET, 500)), 0);
}

static void test_a_family_that_rests_is_lent_what_a_tenth_of_a_processor_would_pay(void **state)
{
    uint64_t account = charge(begun(), SBX_STARTS_AHEAD);
    (void)state;
    assert_int_equal(put_off_ms(sbx_start_account_at(account, 1000 * SECOND + 1000000, BUDGET, 0)), SBX_PUT_OFF_MS);
    assert_int_equal(put_off_ms(sbx_start_account_at(account, 1003 * SECOND, BUDGET, 0)), 0);
    assert_true((uint32_t)sbx_start_account_at(account, 1003 * SECOND, BUDGET, 0) > 0);
    assert_int_equal((uint32_t)sbx_start_account_at(account, 1000 * SECOND + 200 * SECOND, BUDGET, 0), 0);
}

static void test_time_too_short_to_pay_a_microsecond_is_not_lost(void **state)
{
    uint64_t account = charge(begun(), 1), now_ns = 1000 * SECOND;
    (void)state;
    for (unsigned i = 0; i < 2000; i++) { /* at a tenth of a processor, 1 us takes 2 ms to pay */
        now_ns += 1000000;
        account = sbx_start_account_at(account, now_ns, BUDGET, 0);
    }
    assert_int_equal((uint32_t)account, 0);
}

static void test_without_a_budget_nothing_is_owed(void **state)
{
    (void)state;
    assert_int_equal(put_off_ms(sbx_start_account_at(charge(begun(), 1000), 1000 * SECOND, 0, 1000)), 0);
}

static void test_a_worker_that_has_paid_by_itself_gives_its_place_to_another(void **state)
{
    uint64_t account = charge(begun(), SBX_STARTS_AHEAD);
    (void)state;
    account = sbx_start_account_refund(account);
    assert_int_equal(put_off_ms(account), 0);
    for (unsigned i = 0; i < 2 * SBX_STARTS_AHEAD; i++) {
        account = sbx_start_account_refund(account);
    }
    assert_int_equal((uint32_t)account, 0);
    assert_true(sbx_start_paid_ns(BUDGET) == SECOND / 5);
}

static void test_what_another_process_wrote_later_is_not_taken_for_time_that_has_passed(void **state)
{
    uint64_t account = charge(sbx_start_account_at(0, 1001 * SECOND, BUDGET, 1000), 70);
    (void)state;
    assert_true(sbx_start_account_at(account, 1000 * SECOND, BUDGET, 1000) == account);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_workers_of_a_family_begin_at_once),
        cmocka_unit_test(test_the_more_is_owed_the_longer_a_child_is_put_off_and_never_for_more_than_a_second),
        cmocka_unit_test(test_the_familys_work_pays_for_starts_at_the_rate_of_the_budget),
        cmocka_unit_test(test_a_family_that_rests_is_lent_what_a_tenth_of_a_processor_would_pay),
        cmocka_unit_test(test_time_too_short_to_pay_a_microsecond_is_not_lost),
        cmocka_unit_test(test_without_a_budget_nothing_is_owed),
        cmocka_unit_test(test_a_worker_that_has_paid_by_itself_gives_its_place_to_another),
        cmocka_unit_test(test_what_another_process_wrote_later_is_not_taken_for_time_that_has_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
