/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_where.c - parsing of /proc/PID/task/TID/syscall. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread_where.h"

static void test_a_sleeper_has_its_call_and_its_registers(void **state)
{
    struct sbx_where where;
    (void)state;
    assert_true(sbx_where_parse("7 0x7ffd10 0x2 0xffffffff 0x0 0x8 0x7f00 0x7ffd08 0x7f3a10\n", &where));
    assert_true(where.is_blocked);
    assert_int_equal(where.call, 7);
    assert_int_equal(where.arguments[0], 0x7ffd10);
    assert_int_equal(where.arguments[1], 2);
    assert_int_equal(where.sp, 0x7ffd08);
    assert_int_equal(where.pc, 0x7f3a10);
}

static void test_a_sleeper_in_a_page_fault_has_no_call(void **state)
{
    struct sbx_where where;
    (void)state;
    assert_true(sbx_where_parse("-1 0x7ffd08 0x7f3a10\n", &where));
    assert_true(where.is_blocked);
    assert_int_equal(where.call, -1);
    assert_int_equal(where.sp, 0x7ffd08);
    assert_int_equal(where.pc, 0x7f3a10);
}

static void test_who_runs_is_not_blocked(void **state)
{
    struct sbx_where where;
    (void)state;
    assert_true(sbx_where_parse("running\n", &where));
    assert_false(where.is_blocked);
    assert_int_equal(where.sp, 0);
}

static void test_a_line_that_is_cut_says_nothing(void **state)
{
    static const char *const lines[] = {"", "7", "7 0x1", "-1 0x0 0x0\n", "7 0x1 0x2 0x0 0x7f3a10\n"};
    struct sbx_where where;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_false(sbx_where_parse(lines[i], &where));
    }
}

static void test_the_thread_that_asks_is_in_the_call_that_asks(void **state)
{
    struct sbx_where where;
    (void)state;
    if (!sbx_where_read((uint32_t)syscall(SYS_gettid), &where)) {
        skip(); /* a kernel without CONFIG_HAVE_ARCH_TRACEHOOK has no such file */
    }
    assert_true(where.is_blocked);
    assert_true(where.sp != 0 && where.pc != 0);
    assert_false(sbx_where_read(UINT32_MAX, &where));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sleeper_has_its_call_and_its_registers),
        cmocka_unit_test(test_a_sleeper_in_a_page_fault_has_no_call),
        cmocka_unit_test(test_who_runs_is_not_blocked),
        cmocka_unit_test(test_a_line_that_is_cut_says_nothing),
        cmocka_unit_test(test_the_thread_that_asks_is_in_the_call_that_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
