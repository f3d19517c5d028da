/* SPDX-License-Identifier: Apache-2.0 */
/* test_parked_pages.c - memory of replaced maps comes back when no walk can hold it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

#include "attached_recording.h"
#include "parked_pages.h"
#include "process_barrier.h"

enum {
    SMALL = 500,
    PLACES = 18, /* parked_pages.c */
    BATCH = 16   /* the same */
};

static void test_small_maps_lie_side_by_side_and_further_ones_are_mappings(void **state)
{
    uint8_t *maps[PLACES + 1];
    (void)state;
    sbx_parked_pages_inherit(NULL);
    for (int i = 0; i <= PLACES; i++) {
        maps[i] = sbx_parked_pages_new(SMALL);
        assert_non_null(maps[i]);
        memset(maps[i], 1, SMALL);
    }
    for (int i = 1; i < PLACES; i++) {
        assert_ptr_equal(maps[i], maps[0] + 4096 * i);
    }
    assert_int_equal((uintptr_t)maps[PLACES] % 4096, 0);
    assert_int_equal(munmap(maps[PLACES], SMALL), 0);
    uint8_t *large = sbx_parked_pages_new(5000);
    assert_int_equal((uintptr_t)large % 4096, 0);
    assert_int_equal(munmap(large, 5000), 0);
}

static void test_what_was_parked_is_used_again_and_is_zero(void **state)
{
    uint8_t *maps[BATCH];
    (void)state;
    if (!sbx_process_barrier_start()) {
        skip(); /* no membarrier(2): nothing comes back */
    }
    sbx_parked_pages_inherit(NULL);
    for (int i = 0; i < BATCH; i++) {
        maps[i] = sbx_parked_pages_new(SMALL);
        memset(maps[i], 1, SMALL);
    }
    assert_true(sbx_parked_pages_put(maps[0], SMALL));
    uint8_t *next = sbx_parked_pages_new(SMALL);
    assert_ptr_not_equal(next, maps[0]); /* a walk may be reading it */
    for (int i = 1; i < BATCH; i++) {
        assert_true(sbx_parked_pages_put(maps[i], SMALL));
    }
    for (int i = 0; i < BATCH; i++) {
        uint8_t *again = sbx_parked_pages_new(SMALL);
        assert_ptr_equal(again, maps[i]);
        for (int at = 0; at < SMALL; at++) {
            assert_int_equal(again[at], 0);
        }
    }
}

static void test_a_child_keeps_the_map_that_it_inherits_alone(void **state)
{
    (void)state;
    sbx_parked_pages_inherit(NULL);
    uint8_t *first = sbx_parked_pages_new(SMALL), *second = sbx_parked_pages_new(SMALL),
            *third = sbx_parked_pages_new(SMALL);
    sbx_parked_pages_inherit(second);
    assert_ptr_equal(sbx_parked_pages_new(SMALL), first);
    assert_ptr_equal(sbx_parked_pages_new(SMALL), third);
    assert_ptr_equal(sbx_parked_pages_new(SMALL), third + 4096);
}

static int begin(void **state)
{
    (void)state;
    return attached_recording_begin(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_maps_lie_side_by_side_and_further_ones_are_mappings),
        cmocka_unit_test(test_what_was_parked_is_used_again_and_is_zero),
        cmocka_unit_test(test_a_child_keeps_the_map_that_it_inherits_alone),
    };
    return cmocka_run_group_tests(tests, begin, attached_recording_end);
}
