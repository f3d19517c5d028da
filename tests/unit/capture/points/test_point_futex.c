/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_futex.c - syscall(): futexes are recorded as waits; every other call behaves as without a hook. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorded_process.h"

static atomic_uint word, word_of_lock;

/* ---- waits ---- */

__attribute__((noinline)) static void wait_for_the_word(long operation)
{
    say_about_to_wait();
    while (word == 0) {
        syscall(SYS_futex, &word, operation, 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    }
    KEEP_FRAME();
}

__attribute__((noinline)) static void wake_the_word(long operation, long count)
{
    word = 1;
    syscall(SYS_futex, &word, operation, count, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    KEEP_FRAME();
}

static void *word_thread(void *operation)
{
    wait_for_the_word((long)(intptr_t)operation);
    return NULL;
}

enum {
    CROWD = 3
};

static void let_wait(long wait, long wake, int count)
{
    pthread_t threads[CROWD];
    word = 0;
    for (int i = 0; i < count; i++) {
        child_expect(pthread_create(&threads[i], NULL, word_thread, (void *)(intptr_t)wait) == 0, "a thread starts");
    }
    let_them_wait(count);
    wake_the_word(wake, count);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void child_waits_for_words(void)
{
    let_wait(FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE, 1);
    let_wait(FUTEX_WAIT, FUTEX_WAKE, CROWD);
    let_wait(FUTEX_WAIT_BITSET_PRIVATE, FUTEX_WAKE_BITSET_PRIVATE, CROWD);
}

static void test_who_waits_for_a_word_learns_who_woke_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_for_words);
    const struct expected_wait wait = {SBX_RECORD_WAIT, SBX_OP_FUTEX_WAIT, SBX_OP_FUTEX_WAKE, (void *)wait_for_the_word,
                                       (void *)wake_the_word};
    assert_int_equal(count_pairs(snapshot, &wait), 1 + 2 * CROWD);
    sbx_snapshot_destroy(snapshot);
}

__attribute__((noinline)) static void lock_with_inheritance(void)
{
    say_about_to_wait();
    child_expect(syscall(SYS_futex, &word_of_lock, FUTEX_LOCK_PI_PRIVATE, 0, NULL) == 0, "the lock is had in the end");
    KEEP_FRAME();
}

__attribute__((noinline)) static void unlock_with_inheritance(void)
{
    child_expect(syscall(SYS_futex, &word_of_lock, FUTEX_UNLOCK_PI_PRIVATE) == 0, "the lock is given back");
    KEEP_FRAME();
}

static void *inheriting_thread(void *unused)
{
    (void)unused;
    lock_with_inheritance();
    syscall(SYS_futex, &word_of_lock, FUTEX_UNLOCK_PI_PRIVATE);
    return NULL;
}

static void child_locks_with_inheritance(void)
{
    pthread_t thread;
    word_of_lock = (unsigned)syscall(SYS_gettid); /* read before, because a slow gettid() would be a record */
    child_expect(pthread_create(&thread, NULL, inheriting_thread, NULL) == 0, "a thread starts");
    let_them_wait(1);
    unlock_with_inheritance();
    pthread_join(thread, NULL);
}

__attribute__((noinline)) static void wait_at_two(void)
{
    say_about_to_wait();
    while (word_of_lock == 2) {
        syscall(SYS_futex, &word_of_lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
    KEEP_FRAME();
}

static void *two_thread(void *unused)
{
    wait_at_two();
    return unused;
}

/* qemu-user has no process_vm_readv(2); the lock holder is unknown there. */
static bool can_copy_words(void)
{
    uint32_t value = 1, copy = 0;
    struct iovec to = {&copy, sizeof copy}, from = {&value, sizeof value};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof copy && copy == value;
}

static void test_a_futex_that_is_a_lock_names_its_holder(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_locks_with_inheritance);
    const struct expected_wait wait = {SBX_RECORD_LOCK, SBX_OP_FUTEX_WAIT, SBX_OP_FUTEX_WAKE,
                                       (void *)lock_with_inheritance, (void *)unlock_with_inheritance};
    assert_int_equal(count_pairs(snapshot, &wait), 1);
    const struct sbx_record *record =
        only_record(snapshot, SBX_RECORD_LOCK, SBX_OP_FUTEX_WAIT, (void *)lock_with_inheritance);
    assert_int_equal(record->peer, can_copy_words() ? snapshot->header.pid : 0);
    sbx_snapshot_destroy(snapshot);
}

/* Wait while the word is 2, until the waker changes it as `end` says. */
static void let_wait_at_two(unsigned end)
{
    pthread_t thread;
    word_of_lock = 2;
    child_expect(pthread_create(&thread, NULL, two_thread, NULL) == 0, "a thread starts");
    let_them_wait(1);
    word_of_lock = end;
    syscall(SYS_futex, &word_of_lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(thread, NULL);
}

static void child_waits_at_two_for_a_lock(void)
{
    let_wait_at_two(0);
}

static void child_waits_at_two_for_a_count(void)
{
    let_wait_at_two(3);
}

static void test_a_word_of_two_is_a_lock_unless_it_goes_on_counting(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_at_two_for_a_lock);
    assert_non_null(only_record(snapshot, SBX_RECORD_LOCK, SBX_OP_FUTEX_WAIT, (void *)wait_at_two));
    sbx_snapshot_destroy(snapshot);
    if (!can_copy_words()) {
        return;
    }
    snapshot = run_recorded(child_waits_at_two_for_a_count);
    assert_non_null(only_record(snapshot, SBX_RECORD_WAIT, SBX_OP_FUTEX_WAIT, (void *)wait_at_two));
    sbx_snapshot_destroy(snapshot);
}

/* ---- everything else ---- */

static void child_makes_system_calls(void)
{
    errno = 77;
    child_expect(syscall(SYS_gettid) == (long)getpid() && errno == 77, "a call without arguments");
    child_expect(syscall(SYS_close, -1) == -1 && errno == EBADF, "an error");
    child_expect(syscall(9999) == -1 && errno == ENOSYS, "a number that means nothing");
    /* A call with six arguments, each of which matters. */
    int file = (int)syscall(SYS_memfd_create, "sixth", 0);
    child_expect(file >= 0 && ftruncate(file, 3 * 4096) == 0 && pwrite(file, "x", 1, 2 * 4096) == 1, "a file");
    char *page =
        (char *)syscall(SYS_mmap, NULL, (size_t)4096, (long)PROT_READ, (long)MAP_SHARED, (long)file, 2L * 4096);
    child_expect(page != MAP_FAILED && page[0] == 'x', "the sixth argument arrives");
    /* Futex calls keep their results. */
    struct timespec soon = {0, 1000000};
    unsigned own = 5;
    errno = 0;
    child_expect(syscall(SYS_futex, &own, FUTEX_WAIT, 6, NULL) == -1 && errno == EAGAIN, "another value");
    child_expect(syscall(SYS_futex, &own, FUTEX_WAIT, 5, &soon) == -1 && errno == ETIMEDOUT, "a time-out");
    child_expect(syscall(SYS_futex, (void *)8, FUTEX_WAIT, 5, &soon) == -1 && errno == EFAULT, "no address");
    child_expect(syscall(SYS_futex, (void *)8, FUTEX_LOCK_PI, 5, NULL) == -1 && errno == EFAULT,
                 "no address of a lock");
    child_expect(syscall(SYS_futex, &own, 99, 0) == -1 && errno == ENOSYS, "no operation");
    errno = 77;
    child_expect(syscall(SYS_futex, &own, FUTEX_WAKE, 1) == 0 && errno == 77, "nobody is there");
    /* The sixth argument of a futex call: the mask that selects the waiters. */
    child_expect(syscall(SYS_futex, &own, FUTEX_WAIT_BITSET, 5, NULL, NULL, 0) == -1 && errno == EINVAL,
                 "an empty mask");
    /* A child that is made by clone() returns here a second time, on a copy of this same stack. */
    volatile int marks = 0;
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        marks++;
        _exit(marks == 1 && own == 5 ? 23 : 24);
    }
    int status = 0;
    child_expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 23, "clone");
    child_expect(marks == 0, "and this stack is ours alone");
}

static void test_other_system_calls_pass_untouched(void **state)
{
    (void)state;
    child_makes_system_calls(); /* in this process nothing is hooked */
    sbx_snapshot_destroy(run_recorded(child_makes_system_calls));
}

/* The caller's frame must stay unchanged at the place where a seventh argument would lie. */
#ifdef __x86_64__
static void child_keeps_its_frame(void)
{
    unsigned own = 5;
    const int operations[] = {FUTEX_WAKE, FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAKE_OP, 99};
    for (unsigned i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        uint64_t first = 0, second = 0;
        struct timespec soon = {0, 0};
        register struct timespec *fifth __asm__("r8") = &soon;
        own = i == 2 ? (unsigned)syscall(SYS_gettid) : 5; /* locked by this thread: EDEADLK */
        __asm__ volatile("movq %%rsp, %%rbx\n\t"
                         "subq $128, %%rsp\n\t"
                         "andq $-16, %%rsp\n\t"
                         "movq $0x7777777777777777, %%rax\n\t"
                         "pushq %%rax\n\t"
                         "pushq %%rax\n\t"
                         "xorl %%eax, %%eax\n\t"
                         "call syscall@plt\n\t"
                         "popq %0\n\t"
                         "popq %1\n\t"
                         "movq %%rbx, %%rsp\n\t"
                         : "=&r"(first), "=&r"(second), "+r"(fifth)
                         : "D"((long)SYS_futex), "S"(&own), "d"((long)operations[i]), "c"(5L)
                         : "rax", "rbx", "r9", "r10", "r11", "memory", "cc");
        child_expect(first == 0x7777777777777777 && second == 0x7777777777777777, "the caller's frame is as it was");
    }
}

static void test_a_call_with_fewer_arguments_keeps_the_callers_frame(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_keeps_its_frame));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_waits_for_a_word_learns_who_woke_it),
        cmocka_unit_test(test_a_futex_that_is_a_lock_names_its_holder),
        cmocka_unit_test(test_a_word_of_two_is_a_lock_unless_it_goes_on_counting),
        cmocka_unit_test(test_other_system_calls_pass_untouched),
#ifdef __x86_64__
        cmocka_unit_test(test_a_call_with_fewer_arguments_keeps_the_callers_frame),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
