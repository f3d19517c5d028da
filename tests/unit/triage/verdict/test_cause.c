/* SPDX-License-Identifier: Apache-2.0 */
/* test_cause.c - the causes and names of calls and system calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cause.h"

static enum sbx_cause cause_of_syscall(uint64_t number, uint32_t fd_class)
{
    return sbx_cause_of_call(SBX_RECORD_BLOCKED, SBX_OP_SYSCALL, fd_class, number);
}

static void test_system_calls_of_blocked_threads(void **state)
{
    (void)state;
    assert_int_equal(cause_of_syscall(35, 0), SBX_CAUSE_SLEEP);        /* nanosleep */
    assert_int_equal(cause_of_syscall(230, 0), SBX_CAUSE_SLEEP);       /* clock_nanosleep */
    assert_int_equal(cause_of_syscall(202, 0), SBX_CAUSE_WAIT);        /* futex: join, semaphore, rwlock */
    assert_int_equal(cause_of_syscall(74, 0), SBX_CAUSE_IO);           /* fsync */
    assert_int_equal(cause_of_syscall(0, SBX_FD_PIPE), SBX_CAUSE_IPC); /* read */
    assert_int_equal(cause_of_syscall(0, SBX_FD_SOCKET), SBX_CAUSE_NETWORK);
    assert_int_equal(cause_of_syscall(0, SBX_FD_TTY), SBX_CAUSE_WAIT);
    assert_int_equal(cause_of_syscall(0, 0), SBX_CAUSE_IO);
    assert_int_equal(cause_of_syscall(42, 0), SBX_CAUSE_NETWORK); /* connect */
    assert_int_equal(cause_of_syscall(7, 0), SBX_CAUSE_WAIT);     /* poll */
    assert_int_equal(cause_of_syscall(61, 0), SBX_CAUSE_IPC);     /* wait4 */
    assert_int_equal(cause_of_syscall(11, 0), SBX_CAUSE_MEMORY);  /* munmap */
    assert_int_equal(cause_of_syscall(999999, 0), SBX_CAUSE_UNKNOWN);
}

static void test_blocked_sample_means_what_its_point_means(void **state)
{
    (void)state;
    static const struct {
        uint8_t op, kind;
    } points[] = {
        {SBX_OP_MUTEX_LOCK, SBX_RECORD_LOCK},    {SBX_OP_COND_TIMEDWAIT, SBX_RECORD_COND},
        {SBX_OP_SELECT, SBX_RECORD_POLL},        {SBX_OP_USLEEP, SBX_RECORD_SLEEP},
        {SBX_OP_PWRITE, SBX_RECORD_FILE},        {SBX_OP_FDATASYNC, SBX_RECORD_SYNC},
        {SBX_OP_RECVMSG, SBX_RECORD_SOCKET},     {SBX_OP_FLOCK, SBX_RECORD_FILE},
        {SBX_OP_RWLOCK_WRLOCK, SBX_RECORD_LOCK}, {SBX_OP_MUTEX_CLOCKLOCK, SBX_RECORD_LOCK},
        {SBX_OP_SEM_WAIT, SBX_RECORD_WAIT},      {SBX_OP_FUTEX_WAIT, SBX_RECORD_WAIT},
        {SBX_OP_RENAME, SBX_RECORD_FILE},        {SBX_OP_MSYNC, SBX_RECORD_SYNC},
        {SBX_OP_FGETS, SBX_RECORD_FILE},         {SBX_OP_WAITPID, SBX_RECORD_PROCESS},
        {SBX_OP_DLOPEN, SBX_RECORD_LOADER},      {SBX_OP_GETHOSTBYNAME, SBX_RECORD_SOCKET},
    };
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        assert_int_equal(sbx_cause_of_call(SBX_RECORD_BLOCKED, points[i].op, 0, 0),
                         sbx_cause_of_call(points[i].kind, points[i].op, 0, 0));
    }
    assert_int_equal(sbx_cause_of_call(SBX_RECORD_BLOCKED, SBX_OP_NONE, 0, 0), SBX_CAUSE_UNKNOWN);
    assert_int_equal(sbx_cause_of_call(200, 200, 200, 0), SBX_CAUSE_UNKNOWN);
}

static void assert_call_name(uint32_t kind, uint32_t op, uint64_t amount, const char *expected)
{
    char name[48];
    sbx_call_name(kind, op, amount, name, sizeof name);
    assert_string_equal(name, expected);
}

static void test_calls_have_names(void **state)
{
    (void)state;
    assert_call_name(SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, 0, "nanosleep");
    assert_call_name(SBX_RECORD_BLOCKED, SBX_OP_SYSCALL, 202, "futex");
    assert_call_name(SBX_RECORD_BLOCKED, SBX_OP_SYSCALL, 999999, "system call 999999");
    assert_call_name(SBX_RECORD_LOCK, SBX_OP_NONE, 0, "lock");
}

static void test_causes_and_classes_are_spelled_as_in_the_contract(void **state)
{
    (void)state;
    assert_string_equal(sbx_cause_name(SBX_CAUSE_CPU_CONTENTION), "cpu_contention");
    assert_string_equal(sbx_cause_name(SBX_CAUSE_HIGH_FREQUENCY), "high_frequency");
    assert_string_equal(sbx_cause_name(SBX_CAUSE_UNKNOWN), "unknown");
    assert_string_equal(sbx_cause_name((enum sbx_cause)99), "unknown");
    assert_string_equal(sbx_class_name(SBX_CLASS_ON_CPU), "on_cpu");
    assert_string_equal(sbx_class_name(SBX_CLASS_OFF_CPU), "off_cpu");
    assert_string_equal(sbx_class_name(SBX_CLASS_RUNNABLE), "runnable");
    assert_string_equal(sbx_class_name((enum sbx_class)0), "unknown");
}

static void test_new_points_have_the_causes_of_the_contract(void **state)
{
    (void)state;
    static const struct {
        uint8_t kind, op;
        enum sbx_cause cause;
    } calls[] = {
        {SBX_RECORD_LOCK, SBX_OP_SPIN_LOCK, SBX_CAUSE_LOCK},
        {SBX_RECORD_WAIT, SBX_OP_JOIN, SBX_CAUSE_WAIT},
        {SBX_RECORD_WAIT, SBX_OP_EVENTFD_READ, SBX_CAUSE_WAIT},
        {SBX_RECORD_PROCESS, SBX_OP_SYSTEM, SBX_CAUSE_IPC},
        {SBX_RECORD_LOADER, SBX_OP_DLCLOSE, SBX_CAUSE_IO},
        {SBX_RECORD_FILE, SBX_OP_LOCKF, SBX_CAUSE_IO},
        {SBX_RECORD_MEMORY, SBX_OP_MUNMAP, SBX_CAUSE_MEMORY},
        {SBX_RECORD_BLOCKED, SBX_OP_MMAP, SBX_CAUSE_MEMORY},
        {SBX_RECORD_SLEEP, SBX_OP_PAUSE, SBX_CAUSE_WAIT},
        {SBX_RECORD_SLEEP, SBX_OP_USLEEP, SBX_CAUSE_SLEEP},
        {SBX_RECORD_WAKE, SBX_OP_SEM_POST, SBX_CAUSE_UNKNOWN},
        {SBX_RECORD_FRAME, 0, SBX_CAUSE_UNKNOWN},
        {SBX_RECORD_LEAF, SBX_OP_MMAP, SBX_CAUSE_UNKNOWN},
        {SBX_RECORD_BLOCKED, SBX_OP_SEM_POST, SBX_CAUSE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (sbx_cause_of_call(calls[i].kind, calls[i].op, 0, 0) != calls[i].cause) {
            fail_msg("kind %u op %u", calls[i].kind, calls[i].op);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_points_have_the_causes_of_the_contract),
        cmocka_unit_test(test_system_calls_of_blocked_threads),
        cmocka_unit_test(test_blocked_sample_means_what_its_point_means),
        cmocka_unit_test(test_calls_have_names),
        cmocka_unit_test(test_causes_and_classes_are_spelled_as_in_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
