/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_status.c - the kernel's small files about a thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "thread_status.h"

static void test_a_call_is_read_with_its_six_arguments(void **state)
{
    (void)state;
    struct sbx_thread_position position;
    assert_true(sbx_thread_position_parse("202 0x7f1 0x80 0x2 0x0 0x5 0x6 0x7ffd8 0x7f9\n", &position));
    assert_true(position.is_asleep);
    assert_int_equal(position.call, 202);
    assert_int_equal(position.arguments[0], 0x7f1);
    assert_int_equal(position.arguments[5], 6);
    assert_int_equal(position.sp, 0x7ffd8);
    assert_int_equal(position.pc, 0x7f9);
}

static void test_a_sleep_outside_of_a_call_has_no_arguments(void **state)
{
    (void)state;
    struct sbx_thread_position position;
    assert_true(sbx_thread_position_parse("-1 0x7ffd8 0x7f9\n", &position));
    assert_int_equal(position.call, SBX_CALL_NONE);
    assert_int_equal(position.arguments[0], 0);
    assert_int_equal(position.sp, 0x7ffd8);
    assert_int_equal(position.pc, 0x7f9);
}

static void test_a_running_thread_is_not_asleep(void **state)
{
    (void)state;
    struct sbx_thread_position position;
    assert_true(sbx_thread_position_parse("running\n", &position));
    assert_false(position.is_asleep);
}

static void test_what_a_kernel_hides_is_not_used(void **state)
{
    (void)state;
    struct sbx_thread_position position;
    assert_false(sbx_thread_position_parse("", &position));
    assert_false(sbx_thread_position_parse("0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", &position)); /* qemu-user, gVisor */
    assert_false(sbx_thread_position_parse("202 0x1 0x2\n0x3", &position) && position.call == 202);
}

static void test_a_name_may_hold_brackets_and_spaces(void **state)
{
    (void)state;
    struct sbx_thread_status status;
    assert_true(
        sbx_thread_stat_parse("12 (a) R (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
                              "27 28 29 30 31 32 33 34 35 3 0 0",
                              &status));
    assert_string_equal(status.name, "a) R (b");
    assert_int_equal(status.state, 'S');
    assert_int_equal(status.processor, 3);
}

static void test_a_short_line_has_no_processor(void **state)
{
    (void)state;
    struct sbx_thread_status status;
    assert_true(sbx_thread_stat_parse("12 (a) Z 1 2", &status));
    assert_int_equal(status.processor, -1);
    assert_false(sbx_thread_stat_parse("12 (a", &status));
    assert_false(sbx_thread_stat_parse("12 (a)", &status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_is_read_with_its_six_arguments),
        cmocka_unit_test(test_a_sleep_outside_of_a_call_has_no_arguments),
        cmocka_unit_test(test_a_running_thread_is_not_asleep),
        cmocka_unit_test(test_what_a_kernel_hides_is_not_used),
        cmocka_unit_test(test_a_name_may_hold_brackets_and_spaces),
        cmocka_unit_test(test_a_short_line_has_no_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
