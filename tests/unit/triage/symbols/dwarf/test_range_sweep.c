/* SPDX-License-Identifier: Apache-2.0 */
/* test_range_sweep.c - overlapping ranges, compared with a check of every address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "range_sweep.h"

static void test_at_every_address_the_greatest_rank_counts(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int round = 0; round < 300; round++) {
        enum {
            SPACE = 200,
            RANGES = 24
        };
        uint32_t best[SPACE] = {0}; /* rank; 0: none */
        struct sbx_ranges list = {0};
        for (uint32_t i = 1; i <= RANGES; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            uint64_t begin = (random >> 20) % SPACE, bytes = (random >> 40) % 40;
            uint64_t end = begin + bytes > SPACE ? SPACE : begin + bytes;
            assert_int_equal(sbx_ranges_add(&list, (struct sbx_range){begin, end, i, 100 + i}), 0);
            for (uint64_t at = begin; at < end; at++) {
                best[at] = i;
            }
        }
        assert_int_equal(sbx_ranges_sweep(&list), 0);
        for (size_t i = 0; i < list.count; i++) {
            assert_true(list.ranges[i].begin < list.ranges[i].end);
            assert_true(i == 0 || list.ranges[i - 1].end <= list.ranges[i].begin);
        }
        for (uint64_t at = 0; at < SPACE; at++) {
            const struct sbx_range *found = sbx_ranges_find(&list, at);
            assert_int_equal(found == NULL ? 0 : found->tag - 100, best[at]);
        }
        sbx_ranges_finish(&list);
    }
}

static void test_an_empty_list_and_empty_ranges_cover_nothing(void **state)
{
    (void)state;
    struct sbx_ranges list = {0};
    assert_int_equal(sbx_ranges_add(&list, (struct sbx_range){5, 5, 1, 1}), 0);
    assert_int_equal(sbx_ranges_add(&list, (struct sbx_range){9, 3, 1, 1}), 0);
    assert_int_equal(list.count, 0);
    assert_int_equal(sbx_ranges_sweep(&list), 0);
    assert_null(sbx_ranges_find(&list, 5));
    sbx_ranges_finish(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_every_address_the_greatest_rank_counts),
        cmocka_unit_test(test_an_empty_list_and_empty_ranges_cover_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
