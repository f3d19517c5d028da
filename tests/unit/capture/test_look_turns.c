/* SPDX-License-Identifier: Apache-2.0 */
/* test_look_turns.c - a tick looks at a limited number of sleepers, however many there are, and each has its turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "look_turns.h"

enum {
    THREADS = 1000,
    ROUND = (THREADS + SBX_LOOKS_A_TICK - 1) / SBX_LOOKS_A_TICK, /* ticks until all have been looked at */
};

static unsigned looks_of[THREADS];

/* A tick in which every thread wants a look. Returns how many got one. */
static unsigned tick(struct sbx_look_turns *turns)
{
    unsigned looks = 0;
    sbx_look_turns_begin(turns);
    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t index = (turns->first + i) % THREADS;
        if (sbx_look_turns_take_sleeper(turns, index)) {
            looks_of[index]++;
            looks++;
        }
    }
    sbx_look_turns_end(turns, THREADS);
    return looks;
}

/* Symptom: in a process with a pool of 2,000 threads the watch thread took 6.7 % of a processor, half of it for looks
 * at sleeping threads. */
static void test_a_thousand_sleepers_cost_a_tick_no_more_than_eight_looks(void **state)
{
    (void)state;
    struct sbx_look_turns turns = {.first = 0};
    for (int i = 0; i < 10; i++) {
        assert_int_equal(tick(&turns), SBX_LOOKS_A_TICK);
    }
}

static void test_all_sleepers_are_looked_at_in_turn(void **state)
{
    (void)state;
    struct sbx_look_turns turns = {.first = 123};
    for (uint32_t i = 0; i < THREADS; i++) {
        looks_of[i] = 0;
    }
    for (int i = 0; i < ROUND; i++) {
        tick(&turns);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(looks_of[i], 1);
    }
}

static void test_where_nobody_was_turned_away_the_next_tick_begins_one_further(void **state)
{
    (void)state;
    struct sbx_look_turns turns = {.first = 4};
    sbx_look_turns_begin(&turns);
    assert_true(sbx_look_turns_take_sleeper(&turns, 2));
    sbx_look_turns_end(&turns, 6);
    assert_int_equal(turns.first, 5);
    sbx_look_turns_begin(&turns);
    sbx_look_turns_end(&turns, 6);
    assert_int_equal(turns.first, 0);
    sbx_look_turns_end(&turns, 0); /* no thread is known */
    assert_int_equal(turns.first, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thousand_sleepers_cost_a_tick_no_more_than_eight_looks),
        cmocka_unit_test(test_all_sleepers_are_looked_at_in_turn),
        cmocka_unit_test(test_where_nobody_was_turned_away_the_next_tick_begins_one_further),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
