/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared_hands.c - which process took an object that processes share, and which released it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shared_hands.h"

#define LOCK   UINT64_C(0x7f0000001000)
#define ANNE   (UINT64_C(100) << 32 | 101)
#define BERTA  (UINT64_C(200) << 32 | 200)
#define NOBODY UINT64_C(0)

static uint64_t page[SBX_HANDS_BYTES / 8];

static int begin(void **state)
{
    (void)state;
    memset(page, 0, sizeof page);
    sbx_hands_use(page);
    return 0;
}

static uint64_t next_of(uint64_t object)
{
    struct sbx_hands hands;
    return sbx_hands_find(object, &hands) ? sbx_hands_next(&hands) : NOBODY;
}

static void test_what_nobody_touched_is_not_known(void **state)
{
    (void)state;
    assert_int_equal(next_of(LOCK), NOBODY);
    sbx_hands_taken(LOCK, ANNE);
    assert_int_equal(next_of(LOCK + 8), NOBODY);
    assert_int_equal(next_of(0), NOBODY);
}

static void test_who_has_a_lock_is_to_let_it_go(void **state)
{
    (void)state;
    sbx_hands_taken(LOCK, ANNE);
    assert_int_equal(next_of(LOCK), ANNE); /* nobody has released it yet */
    sbx_hands_let_go(LOCK, ANNE);
    sbx_hands_taken(LOCK, BERTA);
    assert_int_equal(next_of(LOCK), BERTA);
}

static void test_who_posts_without_taking_is_to_post_again(void **state)
{
    (void)state;
    sbx_hands_let_go(LOCK, ANNE);
    sbx_hands_taken(LOCK, BERTA);
    assert_int_equal(next_of(LOCK), ANNE);
}

static void test_each_release_is_a_turn(void **state)
{
    (void)state;
    struct sbx_hands hands;
    sbx_hands_let_go(LOCK, ANNE);
    assert_true(sbx_hands_find(LOCK, &hands));
    uint32_t before = hands.turns;
    sbx_hands_taken(LOCK, BERTA);
    assert_true(sbx_hands_find(LOCK, &hands));
    assert_int_equal(hands.turns, before);
    sbx_hands_let_go(LOCK, BERTA);
    assert_true(sbx_hands_find(LOCK, &hands));
    assert_int_equal(hands.turns, before + 1);
    assert_int_equal(hands.let_go_by, BERTA);
    assert_true(hands.is_returned);
}

static void test_of_two_that_meet_in_a_place_the_newer_is_known_and_takes_no_name_over(void **state)
{
    (void)state;
    uint64_t other = LOCK + 8;
    sbx_hands_taken(LOCK, ANNE);
    for (; next_of(LOCK) != NOBODY; other += 8) {
        sbx_hands_let_go(other, BERTA);
    }
    other -= 8;
    assert_int_equal(next_of(other), BERTA);
    sbx_hands_taken(LOCK, ANNE);
    assert_int_equal(next_of(other), NOBODY);
    assert_int_equal(next_of(LOCK), ANNE);
}

static void test_without_a_page_nothing_is_noted(void **state)
{
    (void)state;
    sbx_hands_use(NULL);
    sbx_hands_taken(LOCK, ANNE);
    sbx_hands_let_go(LOCK, ANNE);
    assert_int_equal(next_of(LOCK), NOBODY);
    sbx_hands_use(page);
    assert_int_equal(next_of(LOCK), NOBODY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_nobody_touched_is_not_known, begin),
        cmocka_unit_test_setup(test_who_has_a_lock_is_to_let_it_go, begin),
        cmocka_unit_test_setup(test_who_posts_without_taking_is_to_post_again, begin),
        cmocka_unit_test_setup(test_each_release_is_a_turn, begin),
        cmocka_unit_test_setup(test_of_two_that_meet_in_a_place_the_newer_is_known_and_takes_no_name_over, begin),
        cmocka_unit_test_setup(test_without_a_page_nothing_is_noted, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
