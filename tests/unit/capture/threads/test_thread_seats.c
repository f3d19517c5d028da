/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_seats.c - a thread that asks whether a seat is free gets the true answer while other threads free or take
 * seats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "thread_seats.h"

enum {
    ROUNDS = 1500000 / ROUNDS_DIVISOR,
    ASKERS = 2,
    LONGEST_S = 10
};

static void test_a_free_seat_is_told_of_until_it_is_taken(void **state)
{
    (void)state;
    assert_false(sbx_seats_have_free());
    for (uint32_t index = 0; index < SBX_THREADS_MAX; index += 63) {
        sbx_seat_is_free(index, true);
        assert_true(sbx_seats_have_free());
        sbx_seat_is_free(index, true); /* the scan reports it again */
        assert_true(sbx_seats_have_free());
        assert_int_equal(sbx_seat_candidate(), index);
        sbx_seat_is_free(index, false);
        assert_false(sbx_seats_have_free());
        assert_false(sbx_seats_have_free());
    }
}

static void test_of_several_free_seats_each_is_told_of(void **state)
{
    (void)state;
    sbx_seat_is_free(3, true);
    sbx_seat_is_free(900, true);
    sbx_seat_is_free(3, false);
    assert_true(sbx_seats_have_free());
    sbx_seat_is_free(900, false);
    assert_false(sbx_seats_have_free());
}

static atomic_bool has_ended;

static void *ask(void *unused)
{
    (void)unused;
    while (!has_ended) {
        (void)sbx_seats_have_free();
    }
    return NULL;
}

/* An asking thread may be between its two looks and get no processor for a long time. */
static bool is_told_at_last(void)
{
    for (time_t end = time(NULL) + LONGEST_S; time(NULL) < end; sched_yield()) {
        if (sbx_seats_have_free()) {
            return true;
        }
    }
    return false;
}

/* In each round the summary word says that a seat may be free while none is. Other threads find that out and clear the
 * word, while one thread frees a seat. */
static void test_a_seat_freed_beside_threads_that_find_none_is_not_lost(void **state)
{
    (void)state;
    pthread_t askers[ASKERS];
    for (int i = 0; i < ASKERS; i++) {
        assert_int_equal(pthread_create(&askers[i], NULL, ask, NULL), 0);
    }
    bool is_told = true;
    for (uint32_t round = 1; round <= ROUNDS && is_told; round++) {
        uint32_t index = round * 17 % SBX_THREADS_MAX;
        sbx_seat_is_free(index, true);
        is_told = sbx_seats_have_free() || is_told_at_last();
        sbx_seat_is_free(index, false);
    }
    has_ended = true;
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(askers[i], NULL);
    }
    assert_true(is_told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_free_seat_is_told_of_until_it_is_taken),
        cmocka_unit_test(test_of_several_free_seats_each_is_told_of),
        cmocka_unit_test(test_a_seat_freed_beside_threads_that_find_none_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
