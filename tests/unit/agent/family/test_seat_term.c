/* SPDX-License-Identifier: Apache-2.0 */
/* test_seat_term.c - when a worker has to give its seat to another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "seat_term.h"

#define SECOND UINT64_C(1000000000)

/* Look once a second while the worker uses `percent` of a processor. Returns what the last look said. */
static uint64_t look_for(struct sbx_seat_term *term, uint64_t *now_ns, uint64_t *worked_ns, unsigned seconds,
                         unsigned percent)
{
    uint64_t limit_ns = SBX_SEAT_KEPT;
    for (unsigned i = 0; i < seconds; i++) {
        *now_ns += SECOND;
        *worked_ns += SECOND / 100 * percent;
        limit_ns = sbx_seat_term_look(term, *now_ns, *worked_ns);
    }
    return limit_ns;
}

static void test_who_rests_for_seconds_gives_way_to_anybody_who_works(void **state)
{
    struct sbx_seat_term term;
    uint64_t now_ns = 1000 * SECOND, worked_ns = 7 * SECOND;
    (void)state;
    sbx_seat_term_begin(&term, now_ns, worked_ns);
    assert_true(look_for(&term, &now_ns, &worked_ns, 4, 0) == SBX_SEAT_KEPT);
    assert_true(look_for(&term, &now_ns, &worked_ns, 1, 0) == 0);
    assert_true(look_for(&term, &now_ns, &worked_ns, 30, 0) == 0);
}

static void test_who_works_again_rests_no_more(void **state)
{
    struct sbx_seat_term term;
    uint64_t now_ns = 1000 * SECOND, worked_ns = 0;
    (void)state;
    sbx_seat_term_begin(&term, now_ns, worked_ns);
    assert_true(look_for(&term, &now_ns, &worked_ns, 10, 0) == 0);
    assert_true(look_for(&term, &now_ns, &worked_ns, 1, 50) == SBX_SEAT_KEPT);
    assert_true(look_for(&term, &now_ns, &worked_ns, 4, 0) == SBX_SEAT_KEPT);
    assert_true(look_for(&term, &now_ns, &worked_ns, 1, 0) == 0);
}

static void test_a_look_that_comes_late_sees_the_rest_as_well(void **state)
{
    struct sbx_seat_term term;
    (void)state;
    sbx_seat_term_begin(&term, 1000 * SECOND, 0);
    assert_true(sbx_seat_term_look(&term, 1040 * SECOND, SECOND / 1000) == 0);
}

static void test_who_works_keeps_its_seat_for_a_minute_and_gives_way_then_to_who_has_worked_half_as_long(void **state)
{
    struct sbx_seat_term term;
    uint64_t now_ns = 1000 * SECOND, worked_ns = 500 * SECOND;
    (void)state;
    sbx_seat_term_begin(&term, now_ns, worked_ns);
    assert_true(look_for(&term, &now_ns, &worked_ns, 59, 20) == SBX_SEAT_KEPT);
    assert_true(look_for(&term, &now_ns, &worked_ns, 1, 20) == 6 * SECOND); /* half of 12 s */
    assert_true(look_for(&term, &now_ns, &worked_ns, 10, 20) == 7 * SECOND);
    sbx_seat_term_begin(&term, now_ns, worked_ns); /* the next term */
    assert_true(look_for(&term, &now_ns, &worked_ns, 10, 20) == SBX_SEAT_KEPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_rests_for_seconds_gives_way_to_anybody_who_works),
        cmocka_unit_test(test_who_works_again_rests_no_more),
        cmocka_unit_test(test_a_look_that_comes_late_sees_the_rest_as_well),
        cmocka_unit_test(test_who_works_keeps_its_seat_for_a_minute_and_gives_way_then_to_who_has_worked_half_as_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
