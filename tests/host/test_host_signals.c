/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_signals.c - hosts that take, ignore, block, await and send the signal that we sample by; hosts with small
 * stacks for their handlers; and hosts whose calls, without passing a hook, could be cut short by a handler. */
#include "host_case.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "signal_frame.h"

enum {
    MANY = 24, /* threads, of which only a few run at the same time */
    SLOW_MOST_MS =
        4000 /* for work of tens of milliseconds, which took longer than this when each call waited for a signal */
};
#define OUR_SIGNAL (SIGRTMAX - 2)

static _Atomic bool goes_on = true;

static void begin_thread(pthread_t *thread, void *(*body)(void *), void *argument)
{
    host_expect(pthread_create(thread, NULL, body, argument) == 0, "a thread starts");
}

/* Wait until that many more samples were taken by signal. */
static void await_samples(uint64_t more)
{
    uint64_t before = host_counts().captures_async;
    for (int i = 0; i < 400 && host_counts().captures_async < before + more; i++) {
        host_pause_ms(25);
    }
    host_expect(host_counts().captures_async >= before + more, "running threads are sampled by signal");
}

static void *compute(void *unused)
{
    (void)unused;
    while (goes_on) {
        host_compute_ms(5);
    }
    return NULL;
}

/* ---- HOST-6: awaited ---- */

/* Computes, blocks all signals, computes, and reads the signals that became pending: first as they are delivered, then
 * by signalfd, then by sigtimedwait. Nobody has sent any. Then it makes calls that do not wait. */
static void *await_all_signals(void *unused)
{
    sigset_t all;
    int strangers = 0, ends[2];
    (void)unused;
    sigfillset(&all);
    int signals = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    host_expect(signals >= 0 && pipe(ends) == 0, "descriptors are had");
    for (int turn = 0; turn < 24 || (turn < 200 && host_counts().captures_async < 10);
         turn++) { /* more on a busy machine */
        struct signalfd_siginfo told;
        siginfo_t info;
        const struct timespec at_once = {0, 0};
        host_compute_ms(10);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        host_compute_ms(3);
        while (turn % 2 == 0 ? read(signals, &told, sizeof told) > 0 : sigtimedwait(&all, &info, &at_once) > 0) {
            strangers++;
        }
        pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    }
    host_expect(strangers == 0, "who awaits all signals is told of none that nobody sent");
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    uint64_t begin_ms = host_now_ms();
    for (int i = 0; i < 50; i++) {
        char byte = 'x';
        host_expect(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1, "a pipe passes a byte");
    }
    host_expect(host_now_ms() - begin_ms < SLOW_MOST_MS, "and no call waits for a signal that never comes");
    close(signals);
    return NULL;
}

static void awaits_all_signals(void)
{
    pthread_t threads[6];
    for (int i = 0; i < 6; i++) {
        begin_thread(&threads[i], await_all_signals, NULL);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
    }
    host_expect_snapshot();
}

static void host_06_who_awaits_all_signals_is_told_of_none_of_ours(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "awaits_all_signals"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_true(snapshot->header.captures_async > 0);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-6: taken while samples are under way ---- */

static void on_any(int number)
{
    (void)number;
}

static void *compute_then_sleep(void *unused)
{
    (void)unused;
    while (goes_on) {
        host_compute_ms(5);
    }
    uint64_t begin_ms = host_now_ms();
    for (int i = 0; i < 40; i++) {
        host_pause_ms(1);
    }
    host_expect(host_now_ms() - begin_ms < SLOW_MOST_MS, "no call waits for a signal that never comes");
    return NULL;
}

/* As daemons do that set all signals at their start, and run-times that are loaded late: also without passing our
 * hooks. */
static void takes_all_signals(void)
{
    pthread_t threads[MANY];
    const char *way = getenv("HOST_WAY");
    for (int i = 0; i < MANY; i++) {
        begin_thread(&threads[i], compute_then_sleep, NULL);
    }
    await_samples(5);
    for (int number = 1; number <= 64; number++) {
        if (number >= 34 || number == SIGURG) {
            struct {
                void (*handler)(int);
                unsigned long flags;
                void *restorer;
                uint64_t mask;
            } ignored = {.handler = SIG_IGN};
            if (strcmp(way, "raw") == 0) {
                syscall(SYS_rt_sigaction, number, &ignored, NULL, 8L);
            } else {
                signal(number, strcmp(way, "ignore") == 0 ? SIG_IGN : strcmp(way, "default") == 0 ? SIG_DFL : on_any);
            }
        }
    }
    host_pause_ms(300);
    if (strcmp(way, "default") == 0) {
        await_samples(5); /* both the program and the recorder have what they need */
    }
    goes_on = false;
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
    }
    host_expect_snapshot();
}

static void host_06_a_host_that_sets_all_signals_in_mid_flight_waits_for_none(void **state)
{
    static const char *const ways[] = {"ignore", "handler", "raw", "default"};
    (void)state;
    for (size_t i = 0; i < SBX_COUNT_OF(ways); i++) {
        setenv("HOST_WAY", ways[i], 1);
        host_run_well(&(struct host_order){.body = "takes_all_signals"});
        struct sbx_snapshot *snapshot = host_read_snapshot();
        assert_int_equal(snapshot->header.async_signal != 0, strcmp(ways[i], "default") == 0);
        sbx_snapshot_destroy(snapshot);
        host_tear_down(state);
    }
    unsetenv("HOST_WAY");
}

/* ---- HOST-6: looked at ---- */

static void expect_nothing_of_ours(void)
{
    for (int number = 1; number <= 64; number++) {
        struct sigaction now;
        bool is_fault = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
                        number == SIGABRT || number == SIGSYS || number == SIGTRAP; /* docs/DEATH.md */
        if (!is_fault && sigaction(number, NULL, &now) == 0) {
            host_expect(now.sa_handler == SIG_DFL && now.sa_flags == 0, "every signal has its default action");
        }
    }
    stack_t stack;
    host_expect(sigaltstack(NULL, &stack) == 0 && stack.ss_flags == SS_DISABLE && stack.ss_sp == NULL,
                "no alternate stack is set");
}

static void *look_around(void *unused)
{
    host_compute_ms(100);
    expect_nothing_of_ours();
    return unused;
}

static void looks_at_its_signals(void)
{
    pthread_t thread, busy;
    begin_thread(&busy, compute, NULL);
    await_samples(5);
    begin_thread(&thread, look_around, NULL);
    pthread_join(thread, NULL);
    expect_nothing_of_ours();
    pid_t child = fork();
    if (child == 0) {
        expect_nothing_of_ours();
        _exit(0);
    }
    int status = 1;
    host_expect(waitpid(child, &status, 0) == child && status == 0, "nor is there in a child");
    host_expect(signal(OUR_SIGNAL, SIG_DFL) == SIG_DFL, "who sets the default action is told that it was");
    host_expect(signal(OUR_SIGNAL, on_any) == SIG_DFL, "who sets a handler finds the default action");
    host_expect(signal(OUR_SIGNAL, SIG_DFL) == on_any, "and then his own");
    await_samples(5);
    goes_on = false;
    pthread_join(busy, NULL);
}

static void host_06_a_host_that_looks_at_its_signals_finds_nothing_of_ours(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "looks_at_its_signals"});
}

/* ---- HOST-6: sent by others ---- */

static _Atomic int interrupted;

static void *poll_again_and_again(void *unused)
{
    (void)unused;
    while (goes_on) {
        struct pollfd none = {.fd = -1};
        interrupted += poll(&none, 1, 20) < 0 && errno == EINTR;
    }
    return NULL;
}

/* SIGURG interrupts nothing in a program that does not handle it. */
static void is_sent_urgent_signals(void)
{
    pthread_t thread, busy;
    begin_thread(&busy, compute, NULL);
    await_samples(5);
    begin_thread(&thread, poll_again_and_again, NULL);
    for (int i = 0; i < 100; i++) {
        host_expect(pthread_kill(thread, SIGURG) == 0, "a signal is sent");
        host_pause_ms(5);
    }
    goes_on = false;
    pthread_join(thread, NULL);
    pthread_join(busy, NULL);
    host_expect(interrupted == 0, "signals that nobody handles interrupt nothing");
}

static void host_06_signals_that_nobody_handles_interrupt_nothing(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "is_sent_urgent_signals"});
}

static void is_sent_our_signal(void)
{
    const struct rlimit none = {0, 0};
    pthread_t busy;
    setrlimit(RLIMIT_CORE, &none);
    begin_thread(&busy, compute, NULL);
    await_samples(5);
    pid_t child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    int status = 0;
    kill(child, OUR_SIGNAL);
    host_expect(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == OUR_SIGNAL,
                "a child ends by it");
    host_tell("child");
    kill(getpid(), OUR_SIGNAL);
    host_pause_ms(10000);
}

static void host_06_our_signal_sent_by_others_ends_the_host_as_it_would_alone(void **state)
{
    (void)state;
    int status = host_run(&(struct host_order){.body = "is_sent_our_signal"});
    assert_true(host_was_told("child"));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), OUR_SIGNAL);
}

/* ---- HOST-7: stacks ---- */

enum {
    AREA = 128 * 1024,
    MARK = 0xa5
};

static char *marked_area(void)
{
    char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    host_expect(area != MAP_FAILED, "memory is had");
    memset(area, MARK, AREA);
    return area;
}

static size_t count_overwritten(const char *area, size_t bytes)
{
    size_t overwritten = 0;
    for (size_t i = 0; i < bytes; i++) {
        overwritten += (unsigned char)area[i] != MARK;
    }
    return overwritten;
}

static void ignore_number(int unused)
{
    (void)unused;
}

/* The number of threads that the recorder found it cannot ask, as its file shows it now. */
static uint64_t threads_found_deaf(void)
{
    static _Thread_local struct sbx_recording_header header;
    char pattern[160];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%d-*.rec", getenv("STALLBOX_RECORDINGS"), (int)getpid());
    host_expect(glob(pattern, 0, NULL, &found) == 0, "there is a recording");
    FILE *file = fopen(found.gl_pathv[0], "re");
    host_expect(file != NULL && fread(&header, sizeof header, 1, file) == 1, "it can be read");
    fclose(file);
    globfree(&found);
    return header.drops[SBX_DROP_SIGNAL_DEAF];
}

/* Without the recorder nothing is ever written there, because the host's handlers are not called. */
static void *compute_with_a_small_stack_for_handlers(void *bytes)
{
    char *area = marked_area();
    const stack_t stack = {.ss_sp = area + AREA / 2, .ss_size = (size_t)(uintptr_t)bytes};
    stack_t now;
    if (sigaltstack(&stack, NULL) == 0) { /* the kernel itself may refuse it as too small */
        uint64_t begin_ms = host_now_ms();
        do { /* longer if the recorder had no processor to look at it */
            host_compute_ms(300);
        } while (threads_found_deaf() == 0 && host_now_ms() - begin_ms < 30000);
        host_expect(sigaltstack(NULL, &now) == 0 && now.ss_sp == stack.ss_sp && now.ss_size == stack.ss_size,
                    "the stack is still the host's");
    }
    host_expect(count_overwritten(area, AREA) == 0, "nothing was written to it, or below it");
    return NULL;
}

static void has_small_stacks_for_handlers(void)
{
    static const size_t sizes[] = {2048, 3072, 3376, 4096, 5120};
    pthread_t threads[SBX_COUNT_OF(sizes)], busy;
    begin_thread(&busy, compute, NULL);
    for (size_t i = 0; i < SBX_COUNT_OF(sizes); i++) {
        begin_thread(&threads[i], compute_with_a_small_stack_for_handlers, (void *)(uintptr_t)sizes[i]);
    }
    await_samples(5);
    for (size_t i = 0; i < SBX_COUNT_OF(sizes); i++) {
        pthread_join(threads[i], NULL);
    }
    goes_on = false;
    pthread_join(busy, NULL);
    host_expect_snapshot();
}

static void host_07_small_stacks_for_handlers_are_never_written_to(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "has_small_stacks_for_handlers"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_true(snapshot->drops[SBX_DROP_SIGNAL_DEAF] > 0); /* they were not sampled, and this was counted */
    sbx_snapshot_destroy(snapshot);
}

/* A stack with room for a sample beside one handler, or for all of the host's handlers at once, but not for both. Which
 * of them will come is not known. The size that the kernel asks for may be three times what is used (AMX). */
static void has_room_for_its_own_handlers_only(void)
{
    static const int numbers[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGPROF, SIGIO, SIGWINCH};
    pthread_t thread;
    for (size_t i = 0; i < SBX_COUNT_OF(numbers); i++) {
        struct sigaction action = {.sa_handler = ignore_number, .sa_flags = SA_ONSTACK};
        sigemptyset(&action.sa_mask);
        sigaction(numbers[i], &action, NULL);
    }
    begin_thread(&thread, compute_with_a_small_stack_for_handlers, (void *)(4 * sbx_signal_frame_bytes() + 8192));
    pthread_join(thread, NULL);
    host_expect_snapshot();
}

static void host_07_a_stack_that_the_hosts_handlers_fill_is_left_to_them(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "has_room_for_its_own_handlers_only"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_true(snapshot->drops[SBX_DROP_SIGNAL_DEAF] > 0);
    sbx_snapshot_destroy(snapshot);
}

static ucontext_t outside, inside;
static uint64_t coroutine_ends_ms;

/* Computes with calls that need no more stack than the clock. */
static void compute_in_a_coroutine(void)
{
    while (host_now_ms() < coroutine_ends_ms) {
        for (volatile int i = 0; i < 1000000; i++) {
        }
    }
}

static void runs_coroutines_on_small_stacks(void)
{
    static const size_t sizes[] = {2048, 4096};
    for (volatile size_t i = 0; i < SBX_COUNT_OF(sizes); i++) {
        char *volatile area = marked_area();
        host_expect(getcontext(&inside) == 0, "a context is had");
        inside.uc_stack.ss_sp = area + AREA / 2;
        inside.uc_stack.ss_size = sizes[i];
        inside.uc_link = &outside;
        makecontext(&inside, compute_in_a_coroutine, 0);
        coroutine_ends_ms = host_now_ms() + 1500;
        swapcontext(&outside, &inside);
        host_expect(count_overwritten(area, AREA / 2) == 0, "nothing was written below the coroutine's stack");
    }
    host_expect(host_counts().captures_async > 5, "it was sampled there");
}

static void host_07_a_sample_takes_nothing_of_a_coroutines_stack(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "runs_coroutines_on_small_stacks"});
}

static _Thread_local char *own_stack;
static _Atomic int handled_on_own, handled_elsewhere;

static void on_own_stack(int number)
{
    char here;
    (void)number;
    bool is_on_own = own_stack != NULL && &here >= own_stack && &here < own_stack + AREA;
    *(is_on_own ? &handled_on_own : &handled_elsewhere) += 1;
}

/* As Rust's standard library does for each of its threads: sets a stack if there is none, and removes it again. */
static void *bring_a_stack(void *unused)
{
    stack_t was, set, none = {.ss_flags = SS_DISABLE, .ss_size = AREA};
    (void)unused;
    own_stack = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    host_expect(sigaltstack(NULL, &was) == 0 && was.ss_flags == SS_DISABLE, "there is no stack for handlers");
    set = (stack_t){.ss_sp = own_stack, .ss_size = AREA};
    host_expect(sigaltstack(&set, &was) == 0 && was.ss_flags == SS_DISABLE, "nor was there when it sets its own");
    for (int i = 0; i < 40; i++) {
        raise(SIGUSR1);
        host_compute_ms(4);
    }
    host_expect(sigaltstack(&none, &was) == 0 && was.ss_sp == own_stack, "its own is there until it takes it away");
    host_expect(sigaltstack(NULL, &was) == 0 && was.ss_flags == SS_DISABLE, "and then none");
    munmap(own_stack, AREA);
    own_stack = NULL;
    host_compute_ms(50);
    raise(SIGUSR1); /* SA_ONSTACK without a stack: runs on the thread's own stack, or where there is room */
    return NULL;
}

static void brings_stacks_for_handlers(void)
{
    pthread_t threads[4];
    struct sigaction action = {.sa_handler = on_own_stack, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            begin_thread(&threads[i], bring_a_stack, NULL);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    host_expect(handled_on_own == 3 * 4 * 40 && handled_elsewhere == 3 * 4, "handlers run on the host's stack");
    host_expect(host_counts().captures_async > 5, "those threads were sampled");
}

static void host_07_a_host_has_its_own_stacks_for_handlers(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "brings_stacks_for_handlers"});
}

/* A handler that may be called again while it runs, on a thread that seldom gets a processor. The kernel puts a frame
 * of 3 to 12 KiB on the stack for each signal that came meanwhile. Without the recorder there is room for as many as
 * the thread's own stack holds. */
enum {
    NESTED = 40,
    HANDLERS_BYTES = 1024
};

static _Thread_local int nested;
static _Atomic int nested_most;

static void on_nested(int number)
{
    volatile char room[HANDLERS_BYTES];
    room[0] = room[HANDLERS_BYTES - 1] = (char)number;
    if (++nested < NESTED) {
        raise(number);
    } else {
        nested_most = nested;
    }
    nested--;
}

static void *raise_nested(void *unused)
{
    (void)unused;
    for (int round = 0; round < 5; round++) {
        host_compute_ms(10);
        raise(SIGUSR2);
    }
    return NULL;
}

static void nests_handlers(void)
{
    pthread_t thread;
    struct sigaction action = {.sa_handler = on_nested, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
    begin_thread(&thread, raise_nested, NULL);
    pthread_join(thread, NULL);
    host_expect(nested_most == NESTED, "handlers were called inside each other");
}

static void host_07_handlers_that_nest_have_room(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "nests_handlers"});
}

/* ---- HOST-9: calls that nobody hooks ---- */

static int (*poll_by_pointer)(struct pollfd *, nfds_t, int);
static ssize_t (*getrandom_by_pointer)(void *, size_t, unsigned);
static _Atomic long polls, polls_cut, fills, fills_cut;

static void *poll_by_a_pointer(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed + 1;
    while (goes_on) {
        struct pollfd none = {.fd = -1};
        for (volatile int i = rand_r(&random) % 400000; i > 0; i--) {
        }
        polls++;
        polls_cut += poll_by_pointer(&none, 1, 1) < 0 && errno == EINTR;
    }
    return NULL;
}

static void *fill_by_a_pointer(void *unused)
{
    enum {
        BYTES = 4 << 20
    };
    char *bytes = malloc(BYTES);
    (void)unused;
    while (goes_on) {
        fills++;
        fills_cut += getrandom_by_pointer(bytes, BYTES, 0) != BYTES;
    }
    free(bytes);
    return NULL;
}

static void tell_number(const char *name, long number)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", getenv("HOST_FOLDER"), name);
    FILE *file = fopen(path, "w");
    host_expect(file != NULL && fprintf(file, "%ld\n", number) > 0 && fclose(file) == 0, "a number is told");
}

static long told_number(const char *name)
{
    char path[128];
    long number = -1;
    snprintf(path, sizeof path, "%s/%s", host_folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &number), 1);
    fclose(file);
    return number;
}

/* Calls as JNA, ctypes and LuaJIT make them, including calls that are not thought of as waits. */
static void calls_by_pointer(void)
{
    pthread_t threads[MANY], filler;
    poll_by_pointer = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_DEFAULT, "poll");
    getrandom_by_pointer = (ssize_t(*)(void *, size_t, unsigned))dlsym(RTLD_DEFAULT, "getrandom");
    host_expect(poll_by_pointer != NULL && getrandom_by_pointer != NULL, "libc has them");
    for (int i = 0; i < MANY; i++) {
        begin_thread(&threads[i], poll_by_a_pointer, (void *)(uintptr_t)i);
    }
    begin_thread(&filler, fill_by_a_pointer, NULL);
    host_pause_ms(host_size(60000, 2000));
    await_samples(20);
    goes_on = false;
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_join(filler, NULL);
    fprintf(stderr, "%ld of %ld polls and %ld of %ld fills cut short\n", (long)polls_cut, (long)polls, (long)fills_cut,
            (long)fills);
    if (polls_cut + fills_cut != 0) {
        host_tell("cut");
    }
    host_tell("done");
    host_expect_snapshot();
    tell_number("polls_cut", polls_cut);
}

/* Where the kernel makes signals inside of calls, calls may be cut short, and each is counted. Partly filled results
 * are no error and do not count. */
static void host_09_calls_by_pointer_are_not_cut_short(void **state)
{
    char path[128];
    (void)state;
    host_run_well(&(struct host_order){.body = "calls_by_pointer"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_not_equal(snapshot->header.signal_place, SBX_SIGNAL_PLACE_UNKNOWN);
    bool is_outside = snapshot->header.signal_place == SBX_SIGNAL_PLACE_OUTSIDE;
    uint64_t counted = snapshot->drops[SBX_DROP_CALL_CUT];
    sbx_snapshot_destroy(snapshot);
    assert_true(host_was_told("done"));
    snprintf(path, sizeof path, "%s/cut", host_folder);
    if (is_outside) {
        assert_int_not_equal(access(path, F_OK), 0);
    } else {
        assert_true(counted >= (uint64_t)told_number("polls_cut"));
    }
}

static void suspends_for_io(void)
{
    pthread_t busy;
    int ends[2];
    char byte;
    begin_thread(&busy, compute, NULL);
    host_expect(pipe(ends) == 0, "a pipe is had");
    struct aiocb request = {.aio_fildes = ends[0], .aio_buf = &byte, .aio_nbytes = 1};
    const struct aiocb *const list[] = {&request};
    host_expect(aio_read(&request) == 0, "a read is begun");
    unsigned random = 1;
    uint64_t begin_ms = host_now_ms();
    while (host_now_ms() - begin_ms < 4000) {
        const struct timespec soon = {0, 300000};
        for (volatile int i = rand_r(&random) % 400000; i > 0; i--) {
        }
        host_expect(aio_suspend(list, 1, &soon) == -1 && errno == EAGAIN, "a wait for I/O ends with its time");
    }
    host_expect(write(ends[1], "x", 1) == 1 && aio_suspend(list, 1, NULL) == 0, "or with the I/O");
    goes_on = false;
    pthread_join(busy, NULL);
    host_expect(host_counts().captures_async > 5, "there were samples to cut it short");
}

static void host_09_a_wait_for_asynchronous_io_is_not_cut_short(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "suspends_for_io"});
}

/* ---- HOST-5: beginnings and ends ---- */

static pthread_key_t end_key;
static _Atomic int ends_seen, cleanups_seen;

static void see_end(void *unused)
{
    (void)unused;
    ends_seen++;
}

static void see_cleanup(void *unused)
{
    (void)unused;
    cleanups_seen++;
}

static void *end_in_some_way(void *way)
{
    pthread_setspecific(end_key, way);
    switch ((uintptr_t)way % 3) {
    case 0:
        return way;
    case 1:
        pthread_exit(way);
    default:
        pthread_cleanup_push(see_cleanup, NULL);
        for (;;) {
            poll(NULL, 0, 1000);
        }
        pthread_cleanup_pop(0);
    }
    return NULL;
}

static int end_with_a_number(void *number)
{
    return *(int *)number;
}

static void ends_threads_in_all_ways(void)
{
    pthread_t busy;
    begin_thread(&busy, compute, NULL);
    host_expect(pthread_key_create(&end_key, see_end) == 0, "a key is had");
    int expected_ends = 0;
    for (int round = 0; round < 300; round++) {
        pthread_t threads[9];
        for (uintptr_t i = 0; i < 9; i++) {
            begin_thread(&threads[i], end_in_some_way, (void *)(i + 3));
        }
        for (uintptr_t i = 0; i < 9; i++) {
            void *result = NULL;
            if ((i + 3) % 3 == 2) {
                pthread_cancel(threads[i]); /* perhaps before its first instruction */
            }
            pthread_join(threads[i], &result);
            host_expect(result == ((i + 3) % 3 == 2 ? PTHREAD_CANCELED : (void *)(i + 3)), "a thread ends as it says");
            expected_ends += 1;
        }
    }
    host_expect(ends_seen <= expected_ends && ends_seen >= expected_ends * 2 / 3, "and its destructors run");
    int number = 42, result = 0;
    thrd_t thread;
    host_expect(thrd_create(&thread, end_with_a_number, &number) == thrd_success &&
                    thrd_join(thread, &result) == thrd_success && result == 42,
                "so does one of C11");
    goes_on = false;
    pthread_join(busy, NULL);
}

static void host_05_threads_end_as_they_would_by_return_exit_and_cancellation(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "ends_threads_in_all_ways"});
}

/* Passes no hook at all: it reads the processor's counter. */
__attribute__((noinline)) static void compute_without_a_call(void)
{
    while (goes_on) {
        for (volatile int i = 0; i < 1000000; i++) {
        }
    }
    HOST_KEEP_FRAME();
}

static void *compute_only(void *unused)
{
    compute_without_a_call();
    return unused;
}

static void has_a_thread_that_only_computes(void)
{
    pthread_t thread;
    begin_thread(&thread, compute_only, NULL);
    await_samples(10);
    host_expect_snapshot();
    goes_on = false;
    pthread_join(thread, NULL);
}

static void host_05_a_thread_that_only_computes_is_sampled_from_its_beginning(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "has_a_thread_that_only_computes"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    unsigned seen = 0, whole = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_ASYNC && host_passes(snapshot, record->stack, (void *)compute_without_a_call)) {
            seen++;
            whole += host_passes(snapshot, record->stack, (void *)compute_only);
        }
    }
    assert_true(whole > 0);
    /* On a busy machine the first sample may come before the rows of the executable exist. Its walk then ends early and
     * is counted. */
    assert_true(seen - whole <= snapshot->drops[SBX_DROP_TRUNCATED]);
    sbx_snapshot_destroy(snapshot);
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(awaits_all_signals),
        HOST_BODY(takes_all_signals),
        HOST_BODY(looks_at_its_signals),
        HOST_BODY(is_sent_urgent_signals),
        HOST_BODY(is_sent_our_signal),
        HOST_BODY(has_small_stacks_for_handlers),
        HOST_BODY(runs_coroutines_on_small_stacks),
        HOST_BODY(brings_stacks_for_handlers),
        HOST_BODY(nests_handlers),
        HOST_BODY(has_room_for_its_own_handlers_only),
        HOST_BODY(calls_by_pointer),
        HOST_BODY(suspends_for_io),
        HOST_BODY(ends_threads_in_all_ways),
        HOST_BODY(has_a_thread_that_only_computes),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_05_threads_end_as_they_would_by_return_exit_and_cancellation),
        HOST_TEST(host_05_a_thread_that_only_computes_is_sampled_from_its_beginning),
        HOST_TEST(host_06_who_awaits_all_signals_is_told_of_none_of_ours),
        HOST_TEST(host_06_a_host_that_sets_all_signals_in_mid_flight_waits_for_none),
        HOST_TEST(host_06_a_host_that_looks_at_its_signals_finds_nothing_of_ours),
        HOST_TEST(host_06_signals_that_nobody_handles_interrupt_nothing),
        HOST_TEST(host_06_our_signal_sent_by_others_ends_the_host_as_it_would_alone),
        HOST_TEST(host_07_small_stacks_for_handlers_are_never_written_to),
        HOST_TEST(host_07_a_sample_takes_nothing_of_a_coroutines_stack),
        HOST_TEST(host_07_a_host_has_its_own_stacks_for_handlers),
        HOST_TEST(host_07_handlers_that_nest_have_room),
        HOST_TEST(host_07_a_stack_that_the_hosts_handlers_fill_is_left_to_them),
        HOST_TEST(host_09_calls_by_pointer_are_not_cut_short),
        HOST_TEST(host_09_a_wait_for_asynchronous_io_is_not_cut_short),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
