/* SPDX-License-Identifier: Apache-2.0 */
/* test_unit_filter.c - lists of allowed and of denied system calls, and sets inside of sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit_filter.h"

/* The sets of a made-up systemd: @all has every call of the recorder except those of @timer, and @default. */
static char *expand(const char *set)
{
    static const char *const sets[][2] = {
        {"@default",
         "@default\n    # Always\n    clock_gettime clock_nanosleep exit futex getpid gettid getrandom geteuid getuid\n"
         "    membarrier mmap munmap mprotect madvise read write close sigaltstack rt_sigreturn\n"},
        {"@timer", "@timer\n    timer_create\n    timer_settime\n    timer_delete\n"},
        {"@all",
         "@all\n    # All the others\n    @inner\n    arch_prctl\n    capget\n    close_range\n    faccessat fallocate "
         "fchmod "
         "fcntl flock\n"
         "    fstat fstatfs fsync ftruncate getdents64 getrusage getsockopt getxattr kill lseek mkdirat newfstatat "
         "openat prctl\n"
         "    pread64 prlimit64 pwrite64 readlinkat renameat renameat2 rt_sigaction rt_sigpending rt_sigprocmask\n"
         "    rt_sigtimedwait rt_tgsigqueueinfo sched_getaffinity sched_getscheduler statx tgkill unlinkat unshare "
         "utimensat\n"},
        {"@inner", "@inner\n    process_vm_readv\n"},
        {"@endless", "@endless\n    @endless\n"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if (strcmp(sets[i][0], set) == 0) {
            return strdup(sets[i][1]);
        }
    }
    return NULL;
}

static enum sbx_unit_filter judge(const char *lines, char calls_out[256])
{
    char text[512];
    struct sbx_unit_file unit = {0};
    snprintf(text, sizeof text, "[Service]\n%s", lines);
    assert_int_equal(sbx_unit_file_add(&unit, text, strlen(text)), 0);
    enum sbx_unit_filter filter = sbx_unit_filter_judge(&unit, SBX_UNIT_RECORDER, expand, calls_out, 256);
    sbx_unit_file_free(&unit);
    return filter;
}

static void test_a_list_of_allowed_calls_has_to_have_all_of_them(void **state)
{
    char calls[256];
    (void)state;
    assert_int_equal(judge("", calls), SBX_UNIT_FILTER_NONE);
    assert_int_equal(judge("SystemCallFilter=@all @timer\n", calls), SBX_UNIT_FILTER_ALLOWS);
    assert_int_equal(judge("SystemCallFilter=@all\n", calls), SBX_UNIT_FILTER_KILLS);
    assert_string_equal(calls, "timer_create timer_delete timer_settime");
    assert_int_equal(judge("SystemCallFilter=@all\nSystemCallErrorNumber=EPERM\n", calls), SBX_UNIT_FILTER_REFUSES);
    assert_int_equal(judge("SystemCallFilter=@all\nSystemCallFilter=@timer:EPERM\n", calls), SBX_UNIT_FILTER_ALLOWS);
}

static void test_what_is_denied_behind_or_alone_counts(void **state)
{
    char calls[256];
    (void)state;
    assert_int_equal(judge("SystemCallFilter=@all @timer\nSystemCallFilter=~ @inner ptrace\n", calls),
                     SBX_UNIT_FILTER_KILLS);
    assert_string_equal(calls, "process_vm_readv");
    assert_int_equal(judge("SystemCallFilter=~ptrace mount\n", calls), SBX_UNIT_FILTER_ALLOWS);
    assert_int_equal(judge("SystemCallFilter=~@timer\n", calls), SBX_UNIT_FILTER_KILLS);
    assert_int_equal(judge("SystemCallFilter=~@timer\nSystemCallFilter=\n", calls), SBX_UNIT_FILTER_NONE);
}

static void test_a_set_that_is_not_known_is_not_guessed(void **state)
{
    char calls[256];
    (void)state;
    assert_int_equal(judge("SystemCallFilter=@all @timer @new\n", calls), SBX_UNIT_FILTER_UNKNOWN);
    assert_string_equal(calls, "@new");
    assert_int_equal(judge("SystemCallFilter=@all @endless\n", calls), SBX_UNIT_FILTER_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_of_allowed_calls_has_to_have_all_of_them),
        cmocka_unit_test(test_what_is_denied_behind_or_alone_counts),
        cmocka_unit_test(test_a_set_that_is_not_known_is_not_guessed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
