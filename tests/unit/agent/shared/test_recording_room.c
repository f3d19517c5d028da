/* SPDX-License-Identifier: Apache-2.0 */
/* test_recording_room.c - how much memory is left to the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "recording_room.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t room(uint64_t total_mib, uint64_t free_mib, uint64_t taken_mib, uint64_t limit_mib)
{
    const struct sbx_recording_room given = {.total_bytes = total_mib * MIB,
                                             .free_bytes = free_mib * MIB,
                                             .taken_bytes = taken_mib * MIB,
                                             .limit_bytes = limit_mib == 0 ? UINT64_MAX : limit_mib * MIB};
    return sbx_recording_room(&given) / MIB;
}

static void test_a_small_file_system_keeps_three_quarters_and_half_of_it_free(void **state)
{
    (void)state;
    assert_int_equal(room(64, 64, 0, 0), 16);
    assert_int_equal(room(64, 56, 8, 0), 8);
    assert_int_equal(room(64, 48, 16, 0), 0);
    assert_int_equal(room(64, 40, 0, 0), 8); /* the host keeps 24 */
    assert_int_equal(room(64, 32, 0, 0), 0);
    assert_int_equal(room(64, 10, 30, 0), 0);
}

static void test_a_large_file_system_keeps_a_quarter_of_a_gibibyte_free(void **state)
{
    (void)state;
    assert_int_equal(room(8192, 8192, 0, 0), 2048);
    assert_int_equal(room(8192, 300, 0, 0), 44);
    assert_int_equal(room(8192, 256, 0, 0), 0);
}

static void test_an_eighth_of_a_control_groups_memory_is_for_recordings(void **state)
{
    (void)state;
    assert_int_equal(room(8192, 8192, 0, 64), 8);
    assert_int_equal(room(8192, 8192, 7, 64), 1);
    assert_int_equal(room(8192, 8192, 9, 64), 0);
}

static void test_a_file_system_that_does_not_tell_sets_no_limit(void **state)
{
    (void)state;
    assert_true(room(0, 0, 100, 0) > 1000);
    assert_int_equal(room(0, 0, 0, 80), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_file_system_keeps_three_quarters_and_half_of_it_free),
        cmocka_unit_test(test_a_large_file_system_keeps_a_quarter_of_a_gibibyte_free),
        cmocka_unit_test(test_an_eighth_of_a_control_groups_memory_is_for_recordings),
        cmocka_unit_test(test_a_file_system_that_does_not_tell_sets_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
