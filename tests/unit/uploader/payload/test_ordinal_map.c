/* SPDX-License-Identifier: Apache-2.0 */
/* test_ordinal_map.c - numbers in order of first appearance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ordinal_map.h"

static void test_ordinals_follow_first_appearance(void **state)
{
    (void)state;
    struct sbx_ordinal_map map = {.slots = NULL};
    uint32_t ordinal;
    bool is_new;
    assert_false(sbx_ordinal_map_find(&map, 7, &ordinal));
    assert_int_equal(sbx_ordinal_map_put(&map, 0, &ordinal, &is_new), 0); /* 0 is an ordinary key */
    assert_int_equal(ordinal, 0);
    assert_true(is_new);
    assert_int_equal(sbx_ordinal_map_put(&map, UINT64_MAX, &ordinal, &is_new), 0);
    assert_int_equal(ordinal, 1);
    assert_int_equal(sbx_ordinal_map_put(&map, 0, &ordinal, &is_new), 0);
    assert_int_equal(ordinal, 0);
    assert_false(is_new);
    assert_int_equal(map.count, 2);
    sbx_ordinal_map_finish(&map);
    assert_false(sbx_ordinal_map_find(&map, 0, &ordinal));
}

static void test_many_keys_that_differ_in_high_bits_only_keep_their_ordinals(void **state)
{
    (void)state;
    struct sbx_ordinal_map map = {.slots = NULL};
    uint32_t ordinal;
    for (uint64_t i = 0; i < 100000; i++) {
        assert_int_equal(sbx_ordinal_map_put(&map, i << 40, &ordinal, NULL), 0);
        assert_int_equal(ordinal, i);
    }
    for (uint64_t i = 0; i < 100000; i++) {
        assert_true(sbx_ordinal_map_find(&map, i << 40, &ordinal));
        assert_int_equal(ordinal, i);
    }
    assert_false(sbx_ordinal_map_find(&map, 1, &ordinal));
    sbx_ordinal_map_finish(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinals_follow_first_appearance),
        cmocka_unit_test(test_many_keys_that_differ_in_high_bits_only_keep_their_ordinals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
