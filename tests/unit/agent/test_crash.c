/* SPDX-License-Identifier: Apache-2.0 */
/* test_crash.c - every fault that can kill a process, with and without handlers of the process, each in a real process,
 * and what is found afterwards (docs/DEATH.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dying_process.h"

__attribute__((noinline)) void function_that_crashes(int depth, volatile int *place);
__attribute__((noinline)) void function_that_crashes(int depth, volatile int *place)
{
    if (depth > 0) {
        function_that_crashes(depth - 1, place);
    } else {
        *place = 1;
    }
    KEEP_FRAME();
}

static volatile int *volatile nowhere = (volatile int *)64;

__attribute__((noinline)) static void fault_at_nowhere(void)
{
    function_that_crashes(3, nowhere);
    KEEP_FRAME();
}

static void fault_at_protected_memory(void)
{
    function_that_crashes(0, mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void fault_beyond_a_file(void)
{
    int fd = memfd_create("short", MFD_CLOEXEC);
    function_that_crashes(0, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
}

#ifdef __x86_64__
static void fault_at_an_impossible_address(void)
{
    function_that_crashes(0, (volatile int *)UINT64_C(0x1234567812345678));
}

static void run_no_instruction(void)
{
    __builtin_trap(); /* the instruction ud2 */
}

static void divide_by_zero(void)
{
    int high = 0, low = 1, zero = 0;
    __asm__ volatile("idivl %2" : "+d"(high), "+a"(low) : "r"(zero) : "cc");
}

static void run_into_a_breakpoint(void)
{
    __asm__ volatile("int3");
}
#endif

static void make_a_forbidden_call(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sethostname, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    sethostname("x", 1);
}

static void send_itself_a_fault(void)
{
    raise(SIGBUS);
}

static void (*fault)(void); /* of the current case */

__attribute__((noinline)) static void child_faults(void)
{
    dying_start(false);
    fault();
    KEEP_FRAME();
}

static void child_faults_and_wants_nothing_made_of_it(void)
{
    dying_start(true);
    fault_at_nowhere();
}

static void child_stalls_and_faults(void)
{
    dying_start(false);
    dying_stall();
    fault_at_nowhere();
}

__attribute__((noinline)) static void *fault_here(void *unused)
{
    prctl(PR_SET_NAME, "pool-7");
    stalling_pause_ms(50);
    fault_at_nowhere();
    return unused;
}

static void child_faults_on_another_thread(void)
{
    dying_start(false);
    pthread_t thread;
    pthread_create(&thread, NULL, fault_here, NULL);
    pthread_join(thread, NULL);
}

static void (*volatile no_function)(void);

__attribute__((noinline)) void function_that_calls_nothing(void);
__attribute__((noinline)) void function_that_calls_nothing(void)
{
    no_function();
    KEEP_FRAME();
}

static volatile bool deeper = true;

__attribute__((noinline)) static int use_up_the_stack(volatile char *before)
{
    volatile char ballast[4096];
    ballast[0] = before != NULL ? before[0] : 0;
    int below = deeper ? use_up_the_stack(ballast) : 0;
    return below + ballast[0];
}

static void overflow_the_stack(void)
{
    use_up_the_stack(NULL);
}

static void *overflow_here(void *unused)
{
    stalling_pause_ms(50);
    use_up_the_stack(NULL);
    return unused;
}

static void overflow_the_stack_of_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, overflow_here, NULL);
    pthread_join(thread, NULL);
}

static void overflow_the_stack_with_another_at_hand(void)
{
    stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&other, NULL);
    use_up_the_stack(NULL);
}

/* ---- hosts with handlers of their own ---- */

static struct sigaction found; /* the action that the host found when it set its own */
static volatile int host_calls;

static void put_in(void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, &found);
}

static void say_and_end(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    _exit(42);
}

static void child_has_a_handler_before(void)
{
    put_in(say_and_end);
    dying_start(false);
    fault_at_nowhere();
}

static void child_has_a_handler_afterwards(void)
{
    dying_start(false);
    put_in(say_and_end);
    fault_at_nowhere();
}

/* As Breakpad, sentry-native and CPython's faulthandler do: restore the earlier action and let the fault happen
 * again. */
static void put_back_and_return(int number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    host_calls++;
    sigaction(number, &found, NULL);
}

static void child_puts_back_what_it_found(void)
{
    dying_start(false);
    put_in(put_back_and_return);
    fault_at_nowhere();
}

/* As a Java machine does: call the earlier action. If it returns, the signal counts as handled. */
static void call_what_was_there(int number, siginfo_t *info, void *context)
{
    if (++host_calls > 5) {
        _exit(98); /* not reached: the loop does not end */
    }
    if (found.sa_handler != SIG_DFL && found.sa_handler != SIG_IGN) {
        found.sa_sigaction(number, info, context);
    } else {
        _exit(97);
    }
}

static void child_calls_what_it_found(void)
{
    dying_start(false);
    put_in(call_what_was_there);
    fault_at_nowhere();
}

static sigjmp_buf way_out;

static void call_and_jump_out(int number, siginfo_t *info, void *context)
{
    found.sa_sigaction(number, info, context);
    siglongjmp(way_out, 1);
}

static void child_survives_and_is_killed_later(void)
{
    dying_start(false);
    put_in(call_and_jump_out);
    if (sigsetjmp(way_out, 1) == 0) {
        fault_at_nowhere();
    }
    for (int i = 0; i < 30; i++) { /* keep the watch thread awake, so that it ticks */
        stalling_pause_ms(100);
        for (volatile int j = 0; j < 3000000; j++) {
        }
    }
    raise(SIGKILL);
}

static void child_puts_in_the_default_action(void)
{
    dying_start(false);
    signal(SIGSEGV, SIG_DFL);
    fault_at_nowhere();
}

/* ---- children of the child ---- */

static void expect_death_by(pid_t pid, int number)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != number) {
        fprintf(stderr, "in the child: status %x\n", status);
        _exit(1);
    }
}

static void child_has_children_that_crash(void)
{
    dying_start(false);
    pid_t pid = fork();
    if (pid == 0) {
        fault_at_nowhere();
    }
    expect_death_by(pid, SIGSEGV);
    pid = vfork();
    if (pid == 0) {
        function_that_crashes(0, nowhere);
    }
    expect_death_by(pid, SIGSEGV);
    raise(SIGKILL); /* our own recording must show nothing of this */
}

/* Whether one of the frames of the stack lies in the function. The addresses of this process are valid, because the
 * child is its fork. */
static bool stack_goes_through(const struct sbx_snapshot *snapshot, uint32_t stack, void (*function)(void))
{
    uint64_t frames[256], address = (uint64_t)(uintptr_t)function;
    size_t count = sbx_snapshot_stack(snapshot, stack, frames, 256);
    for (size_t i = 0; i < count; i++) {
        uint32_t module = (uint32_t)(frames[i] >> SBX_FRAME_MODULE_SHIFT);
        if (module >= snapshot->module_count) {
            continue;
        }
        uint64_t pc = (frames[i] & SBX_FRAME_OFFSET_MASK) + snapshot->modules[module].bias;
        if (pc > address && pc <= address + 128) {
            return true;
        }
    }
    return false;
}

/* The record that the dying thread wrote about itself. */
static const struct sbx_record *last_record(const struct sbx_snapshot *snapshot)
{
    const struct sbx_record *last = NULL;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if ((record->flags & SBX_FLAG_AT_TRIGGER) != 0 && record->kind == SBX_RECORD_ASYNC) {
            last = record;
        }
    }
    return last;
}

static struct sbx_snapshot *expect_a_crash(uint32_t number, uint32_t kind_of_fault)
{
    assert_int_equal(dying_process_recover().crashed, 1);
    assert_int_equal(dying_process_recordings_left(), 0);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    const struct sbx_trigger_entry *trigger = &snapshot->header.trigger;
    assert_int_equal(trigger->kind, SBX_TRIGGER_CRASH);
    assert_int_equal(trigger->signal, number);
    assert_int_equal(trigger->fault, kind_of_fault);
    assert_int_equal(dying_process_recover().crashed, 0); /* a crash is reported once */
    return snapshot;
}

/* ---- faults ---- */

static void test_a_fault_is_a_crash_with_the_stack_it_happened_on(void **state)
{
    (void)state;
    fault = fault_at_nowhere;
    assert_true(died_by(dying_process_run(child_faults), SIGSEGV));
    struct sbx_snapshot *snapshot = expect_a_crash(SIGSEGV, SBX_FAULT_UNMAPPED);
    const struct sbx_record *record = last_record(snapshot);
    assert_non_null(record);
    assert_true(stack_goes_through(snapshot, record->stack, (void (*)(void))(uintptr_t)function_that_crashes));
    assert_true(stack_goes_through(snapshot, record->stack, fault_at_nowhere));
    assert_int_equal(snapshot->threads[record->thread].index, snapshot->header.trigger.thread);
    assert_int_equal(snapshot->header.trigger.in_progress, 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_each_fatal_signal_is_told_with_its_kind_of_fault(void **state)
{
    static const struct {
        void (*fault)(void);
        uint32_t number, kind;
    } faults[] = {
        {fault_at_protected_memory, SIGSEGV, SBX_FAULT_PROTECTED},
#ifdef __x86_64__
        {fault_at_an_impossible_address, SIGSEGV, SBX_FAULT_WILD}, {divide_by_zero, SIGFPE, SBX_FAULT_DIVISION},
        {run_into_a_breakpoint, SIGTRAP, SBX_FAULT_BREAKPOINT},    {run_no_instruction, SIGILL, SBX_FAULT_INSTRUCTION},
#endif
        {fault_beyond_a_file, SIGBUS, SBX_FAULT_BACKING},          {abort, SIGABRT, SBX_FAULT_ABORT},
        {make_a_forbidden_call, SIGSYS, SBX_FAULT_SECCOMP},        {send_itself_a_fault, SIGBUS, SBX_FAULT_ABORT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        fault = faults[i].fault;
        int status = dying_process_run(child_faults);
        if (!died_by(status, (int)faults[i].number)) {
            fail_msg("fault %zu: status %x", i, (unsigned)status);
        }
        struct sbx_snapshot *snapshot = expect_a_crash(faults[i].number, faults[i].kind);
        const struct sbx_record *record = last_record(snapshot);
        assert_non_null(record);
#ifdef __GLIBC__ /* musl has no unwind data: the callers of its abort() and raise() are unknown */
        if (!stack_goes_through(snapshot, record->stack, child_faults)) {
            fail_msg("fault %zu: child_faults() is not on its stack", i);
        }
#endif
        sbx_snapshot_destroy(snapshot);
        stalling_process_tear_down(state);
        stalling_process_set_up(state);
    }
}

static void test_a_signal_of_a_fault_that_somebody_sent_is_told_as_sent(void **state)
{
    (void)state;
    fault = (void (*)(void))(uintptr_t)pause;
    pid_t pid = dying_process_begin(child_faults);
    stalling_pause_ms(600);
    kill(pid, SIGSEGV);
    assert_true(died_by(dying_process_end(pid), SIGSEGV));
    sbx_snapshot_destroy(expect_a_crash(SIGSEGV, SBX_FAULT_SENT));
}

static void test_a_fault_in_a_stall_is_a_crash_that_tells_of_the_stall(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_stalls_and_faults), SIGSEGV));
    struct sbx_snapshot *snapshot = expect_a_crash(SIGSEGV, SBX_FAULT_UNMAPPED);
    const struct sbx_trigger_entry *trigger = &snapshot->header.trigger;
    assert_true(trigger->end_ns - trigger->begin_ns >= 500000000);
    assert_int_equal(trigger->in_progress, 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_fault_on_another_thread_is_about_that_thread(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_faults_on_another_thread), SIGSEGV));
    struct sbx_snapshot *snapshot = expect_a_crash(SIGSEGV, SBX_FAULT_UNMAPPED);
    assert_int_not_equal(snapshot->header.trigger.thread, snapshot->threads[snapshot->header.main_thread].index);
    const struct sbx_record *record = last_record(snapshot);
    assert_non_null(record);
    assert_int_equal(snapshot->threads[record->thread].index, snapshot->header.trigger.thread);
    assert_true(stack_goes_through(snapshot, record->stack, (void (*)(void))(uintptr_t)fault_here));
    sbx_snapshot_destroy(snapshot);
}

static void test_a_call_through_a_null_pointer_shows_its_caller(void **state)
{
    (void)state;
    fault = function_that_calls_nothing;
    assert_true(died_by(dying_process_run(child_faults), SIGSEGV));
    struct sbx_snapshot *snapshot = expect_a_crash(SIGSEGV, SBX_FAULT_UNMAPPED);
    const struct sbx_record *record = last_record(snapshot);
    assert_non_null(record);
    assert_true(stack_goes_through(snapshot, record->stack, function_that_calls_nothing));
    sbx_snapshot_destroy(snapshot);
}

static void expect_an_overflow_to_be_seen(void (*overflow)(void))
{
    fault = overflow;
    assert_true(died_by(dying_process_run(child_faults), SIGSEGV));
    struct sbx_snapshot *snapshot = expect_a_crash(SIGSEGV, SBX_FAULT_STACK);
    const struct sbx_record *record = last_record(snapshot);
    assert_non_null(record);
    assert_true(stack_goes_through(snapshot, record->stack, (void (*)(void))(uintptr_t)use_up_the_stack));
    sbx_snapshot_destroy(snapshot);
}

static void test_a_stack_overflow_ends_as_it_would_and_is_seen_on_a_stack_of_ours(void **state)
{
    (void)state;
    expect_an_overflow_to_be_seen(overflow_the_stack);
}

static void test_a_stack_overflow_ends_as_it_would_and_is_seen_on_a_stack_of_the_hosts(void **state)
{
    (void)state;
    expect_an_overflow_to_be_seen(overflow_the_stack_with_another_at_hand);
}

static void test_a_stack_overflow_of_a_thread_runs_into_its_guard_and_is_told_as_such(void **state)
{
    (void)state;
    expect_an_overflow_to_be_seen(overflow_the_stack_of_a_thread);
}

static void test_crashes_that_are_left_alone_leave_nothing(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_faults_and_wants_nothing_made_of_it), SIGSEGV));
    dying_process_expect_nothing();
}

#ifdef __x86_64__
/* A debugger, and so a core dump, sees of the fatal signal exactly what it would see without the recorder. */
static void test_the_signal_that_ends_the_process_is_the_one_that_came(void **state)
{
    (void)state;
    siginfo_t seen[4];
    uint64_t places[4];
    int status, count = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        dying_take_no_handlers_along();
        dying_start(false);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(77);
        }
        fault_at_nowhere();
    }
    for (;;) {
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSTOPPED(status)) {
            break;
        }
        int number = WSTOPSIG(status);
        if (number == SIGSEGV && count < 4) {
            places[count] = (uint64_t)ptrace(PTRACE_PEEKUSER, pid, 16 * 8 /* rip */, NULL);
            assert_int_equal(ptrace(PTRACE_GETSIGINFO, pid, NULL, &seen[count]), 0);
            count++;
        }
        assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)number), 0);
    }
    if (exited_with(status, 77)) {
        skip();
    }
    assert_true(died_by(status, SIGSEGV));
    assert_int_equal(count, 2); /* once as it came, once when it happened again */
    assert_int_equal(seen[1].si_code, SEGV_MAPERR);
    assert_int_equal(seen[0].si_code, SEGV_MAPERR);
    assert_ptr_equal(seen[1].si_addr, (void *)(uintptr_t)nowhere);
    assert_int_equal(places[1], places[0]);
}
#endif

/* ---- hosts ---- */

static void test_a_handler_of_the_host_that_was_there_before_stays(void **state)
{
    (void)state;
    assert_true(exited_with(dying_process_run(child_has_a_handler_before), 42));
    dying_process_expect_nothing();
}

static void test_a_handler_of_the_host_that_comes_afterwards_replaces_ours(void **state)
{
    (void)state;
    assert_true(exited_with(dying_process_run(child_has_a_handler_afterwards), 42));
    dying_process_expect_nothing();
}

static void test_a_host_that_puts_back_what_it_found_has_a_crash_recorded(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_puts_back_what_it_found), SIGSEGV));
    sbx_snapshot_destroy(expect_a_crash(SIGSEGV, SBX_FAULT_UNMAPPED));
}

static void test_a_host_that_calls_what_it_found_dies_in_the_end(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_calls_what_it_found), SIGSEGV));
    sbx_snapshot_destroy(expect_a_crash(SIGSEGV, SBX_FAULT_UNMAPPED));
}

static void test_a_host_that_survives_its_fault_has_not_crashed(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_survives_and_is_killed_later), SIGKILL));
    dying_process_expect_nothing();
}

static void test_a_host_that_wants_the_default_action_has_it(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_puts_in_the_default_action), SIGSEGV));
    dying_process_expect_nothing();
}

static void test_a_crash_of_a_child_is_not_its_parents(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_has_children_that_crash), SIGKILL));
    dying_process_expect_nothing();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DYING_PROCESS_TEST(test_a_fault_is_a_crash_with_the_stack_it_happened_on),
        DYING_PROCESS_TEST(test_each_fatal_signal_is_told_with_its_kind_of_fault),
        DYING_PROCESS_TEST(test_a_signal_of_a_fault_that_somebody_sent_is_told_as_sent),
        DYING_PROCESS_TEST(test_a_fault_in_a_stall_is_a_crash_that_tells_of_the_stall),
        DYING_PROCESS_TEST(test_a_fault_on_another_thread_is_about_that_thread),
        DYING_PROCESS_TEST(test_a_call_through_a_null_pointer_shows_its_caller),
        DYING_PROCESS_TEST(test_a_stack_overflow_ends_as_it_would_and_is_seen_on_a_stack_of_ours),
        DYING_PROCESS_TEST(test_a_stack_overflow_ends_as_it_would_and_is_seen_on_a_stack_of_the_hosts),
        DYING_PROCESS_TEST(test_a_stack_overflow_of_a_thread_runs_into_its_guard_and_is_told_as_such),
        DYING_PROCESS_TEST(test_crashes_that_are_left_alone_leave_nothing),
#ifdef __x86_64__
        DYING_PROCESS_TEST(test_the_signal_that_ends_the_process_is_the_one_that_came),
#endif
        DYING_PROCESS_TEST(test_a_handler_of_the_host_that_was_there_before_stays),
        DYING_PROCESS_TEST(test_a_handler_of_the_host_that_comes_afterwards_replaces_ours),
        DYING_PROCESS_TEST(test_a_host_that_puts_back_what_it_found_has_a_crash_recorded),
        DYING_PROCESS_TEST(test_a_host_that_calls_what_it_found_dies_in_the_end),
        DYING_PROCESS_TEST(test_a_host_that_survives_its_fault_has_not_crashed),
        DYING_PROCESS_TEST(test_a_host_that_wants_the_default_action_has_it),
        DYING_PROCESS_TEST(test_a_crash_of_a_child_is_not_its_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
