/* SPDX-License-Identifier: Apache-2.0 */
/* test_tick_moment.c - the next tick is in the future, at the place of the last one in its round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tick_moment.h"

static void the_next_tick_is_ahead_and_no_further_than_a_round(void **state)
{
    (void)state;
    const uint64_t places_ns[] = {0, 1, 3900000, SBX_TICK_ROUND_NS - 1};
    for (uint64_t now_ns = 0; now_ns < 3 * SBX_TICK_ROUND_NS; now_ns += 499999) {
        for (size_t i = 0; i < sizeof places_ns / sizeof places_ns[0]; i++) {
            uint64_t next_ns = sbx_tick_next_ns(now_ns, places_ns[i]);
            assert_true(next_ns > now_ns && next_ns - now_ns <= SBX_TICK_ROUND_NS);
            assert_int_equal(sbx_tick_place_of(next_ns), places_ns[i]);
        }
    }
}

/* A thread that begins to wait exactly at a tick waits for the next one. */
static void a_tick_that_is_now_is_over(void **state)
{
    (void)state;
    assert_int_equal(sbx_tick_next_ns(5 * SBX_TICK_ROUND_NS, 0), 6 * SBX_TICK_ROUND_NS);
    assert_int_equal(sbx_tick_next_ns(5 * SBX_TICK_ROUND_NS + 7, 7), 6 * SBX_TICK_ROUND_NS + 7);
}

/* A round is a whole number of ticks at every rate that kernels are built with. */
static void a_round_is_whole_ticks_of_each_rate(void **state)
{
    (void)state;
    const uint64_t rates[] = {100, 250, 1000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        assert_int_equal(SBX_TICK_ROUND_NS % (UINT64_C(1000000000) / rates[i]), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_tick_is_ahead_and_no_further_than_a_round),
        cmocka_unit_test(a_tick_that_is_now_is_over),
        cmocka_unit_test(a_round_is_whole_ticks_of_each_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
