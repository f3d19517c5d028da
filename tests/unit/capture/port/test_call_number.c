/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_number.c - this machine's system calls have the names that readers give to their recorded numbers. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/syscall.h>

#include "call_number.h"
#include "names.h"

static void test_blocking_calls_keep_their_names(void **state)
{
    (void)state;
    static const struct {
        uint64_t number;
        const char *name;
    } calls[] = {
        {SYS_read, "read"},           {SYS_futex, "futex"},   {SYS_clock_nanosleep, "clock_nanosleep"},
        {SYS_ppoll, "ppoll"},         {SYS_fsync, "fsync"},   {SYS_epoll_pwait, "epoll_pwait"},
        {SYS_wait4, "wait4"},         {SYS_flock, "flock"},   {SYS_recvfrom, "recvfrom"},
        {SYS_nanosleep, "nanosleep"}, {SYS_openat, "openat"}, {SYS_mmap, "mmap"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        assert_string_equal(sbx_syscall_name(sbx_recorded_call_number(calls[i].number)), calls[i].name);
    }
}

static void test_calls_without_a_name_take_no_other(void **state)
{
    (void)state;
    assert_null(sbx_syscall_name(sbx_recorded_call_number(SYS_getpid)));
    assert_null(sbx_syscall_name(sbx_recorded_call_number(SYS_sethostname)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocking_calls_keep_their_names),
        cmocka_unit_test(test_calls_without_a_name_take_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
