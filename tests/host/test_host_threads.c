/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_threads.c - threads that start and end, small stacks, the host's own signals, unusual names. */
#include "host_case.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static _Atomic bool goes_on = true;

static void begin_thread(pthread_t *thread, size_t stack_bytes, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes != 0) {
        host_expect(pthread_attr_setstacksize(&attributes, stack_bytes) == 0, "the stack's size is taken");
    }
    host_expect(pthread_create(thread, &attributes, body, argument) == 0, "a thread starts");
    pthread_attr_destroy(&attributes);
}

/* ---- HOST-5 ---- */

/* Busy until the very end, so that signals arrive while it ends. */
static void *live_for_a_millisecond(void *unused)
{
    (void)unused;
    void *volatile memory = malloc(100);
    for (volatile int i = 0; i < 200000; i++) {
    }
    free(memory);
    return NULL;
}

static void has_a_thousand_threads_a_second(void)
{
    uint64_t begin = host_now_ms();
    unsigned lives = 0;
    host_loop(10, NULL);
    while (lives < 3000 || host_now_ms() - begin < 3000) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++) {
            begin_thread(&threads[i], 0, live_for_a_millisecond, NULL);
        }
        if (lives % 800 == 0) {
            host_api().snapshot(0); /* looks at all of them while they end */
        }
        for (int i = 0; i < 8; i++) {
            pthread_join(threads[i], NULL);
        }
        lives += 8;
    }
    host_pause_ms(1100); /* snapshots of one kind are at least a second apart */
    host_expect_snapshot();
}

static void host_05_a_thousand_threads_a_second_are_recorded_without_a_hang(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "has_a_thousand_threads_a_second"});
    assert_true(host_count_snapshots() >= 1);
}

static bool has_number_again;
static int next_tid; /* the tid that all of them should get */

__attribute__((noinline)) static void first_life(void)
{
    host_compute_ms(50);
    host_pause_ms(1200); /* long enough for a scan to read its name */
    HOST_KEEP_FRAME();
}

__attribute__((noinline)) static void second_life(void)
{
    host_pause_ms(50);
    host_compute_ms(1200);
    HOST_KEEP_FRAME();
}

static void *live_with_a_number(void *number)
{
    int life = (int)(uintptr_t)number;
    pthread_setname_np(pthread_self(), life == 0 ? "first" : "second");
    if (life == 0) {
        next_tid = (int)syscall(SYS_gettid);
        first_life();
        return NULL;
    }
    if ((int)syscall(SYS_gettid) != next_tid) {
        return NULL; /* another process of the machine got the tid: try again */
    }
    has_number_again = true;
    second_life();
    return NULL;
}

static bool set_last_pid(int pid)
{
    char text[16];
    int file = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    int length = snprintf(text, sizeof text, "%d", pid);
    bool is_set = file >= 0 && write(file, text, (size_t)length) == length;
    if (file >= 0) {
        close(file);
    }
    return is_set;
}

static void gives_a_number_again(void)
{
    pthread_t thread;
    begin_thread(&thread, 0, live_with_a_number, (void *)0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 200 && !has_number_again; i++) {
        if (!set_last_pid(next_tid - 1)) {
            _exit(77);
        }
        begin_thread(&thread, 0, live_with_a_number, (void *)1);
        pthread_join(thread, NULL);
        host_pause_ms(has_number_again ? 0 : 7);
    }
    if (!has_number_again) {
        _exit(77);
    }
    host_expect_snapshot();
}

static void host_05_a_thread_that_gets_a_dead_ones_number_is_another(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "gives_a_number_again"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    unsigned of_first = 0, of_second = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        const char *name = snapshot->threads[record->thread].entry.name;
        if (host_passes(snapshot, record->stack, (void *)first_life)) {
            of_first++;
            assert_string_not_equal(name, "second");
        } else if (host_passes(snapshot, record->stack, (void *)second_life)) {
            of_second++;
            assert_string_not_equal(name, "first");
        }
    }
    assert_true(of_first > 0 && of_second > 0);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-6 ---- */

#define OUR_SIGNAL (SIGRTMAX - 2) /* the first free signal: capture/signals/sample_signal.c */

static _Atomic int ours_taken, ours_foreign;

static void *compute_with_all_signals_blocked(void *unused)
{
    sigset_t all;
    (void)unused;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    while (goes_on) {
        host_compute_ms(20);
    }
    return NULL;
}

/* Takes its signals by sigtimedwait, as a daemon does, and would act on a signal that nobody of the host sent. */
static void *take_signals(void *unused)
{
    sigset_t ours;
    (void)unused;
    sigemptyset(&ours);
    sigaddset(&ours, OUR_SIGNAL);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    while (goes_on) {
        siginfo_t info;
        const struct timespec soon = {0, 1000000};
        for (volatile int i = 0; i < 20000000; i++) {
        }
        if (sigtimedwait(&ours, &info, &soon) == OUR_SIGNAL) {
            if (info.si_code == SI_USER || info.si_code == SI_TKILL) { /* ours come from timers: SI_TIMER */
                ours_taken++;
            } else {
                ours_foreign++;
            }
        }
    }
    return NULL;
}

static void blocks_all_signals(void)
{
    pthread_t blocked, taker;
    begin_thread(&blocked, 0, compute_with_all_signals_blocked, NULL);
    begin_thread(&taker, 0, take_signals, NULL);
    host_loop(20, NULL);
    host_pause_ms(1500);
    for (int i = 0; i < 50 && ours_taken == 0; i++) {
        host_expect(pthread_kill(taker, OUR_SIGNAL) == 0, "the host sends its own");
        host_pause_ms(100);
    }
    host_expect(ours_taken > 0, "the host's own signal is taken by who waits for it");
    host_expect(ours_foreign == 0, "nobody takes a signal of ours by sigtimedwait");
    host_expect_snapshot();
    goes_on = false;
    pthread_join(blocked, NULL);
    pthread_join(taker, NULL);
}

static void host_06_a_thread_that_blocks_or_awaits_our_signal_never_gets_one(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "blocks_all_signals"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_true(snapshot->header.async_signal != 0);
    assert_true(snapshot->drops[SBX_DROP_SIGNAL_DEAF] > 0); /* it was not sampled, and this was counted */
    sbx_snapshot_destroy(snapshot);
}

static _Atomic int ours_seen;

static void on_ours(int number)
{
    (void)number;
    ours_seen++;
}

static void *compute(void *unused)
{
    (void)unused;
    while (goes_on) {
        host_compute_ms(5);
    }
    return NULL;
}

enum {
    BUSY = 3
};

/* Sets its handler after the recorder's, in one of three ways. */
static void installs_a_handler_later(void)
{
    pthread_t threads[BUSY];
    const char *way = getenv("HOST_WAY");
    for (int i = 0; i < BUSY; i++) {
        begin_thread(&threads[i], 0, compute, NULL);
    }
    for (int i = 0; i < 200 && host_counts().captures_async < 5; i++) {
        host_pause_ms(50);
    }
    host_expect(host_counts().captures_async >= 5, "the signal is ours at first");
    struct sigaction theirs = {.sa_handler = strcmp(way, "ignore") == 0 ? SIG_IGN : on_ours,
                               .sa_flags = strcmp(way, "once") == 0 ? (int)SA_RESETHAND : SA_RESTART};
    sigemptyset(&theirs.sa_mask);
    host_expect(sigaction(OUR_SIGNAL, &theirs, NULL) == 0, "the host takes it");
    host_pause_ms(100);
    int strays = ours_seen;
    host_expect(strays <= 1, "at most one was just being delivered");
    uint64_t before = host_counts().captures_async;
    for (int i = 0; i < 200 && host_counts().captures_async < before + 5; i++) {
        host_pause_ms(50);
    }
    host_expect(host_counts().captures_async >= before + 5, "samples are taken by another signal");
    host_expect(ours_seen == strays, "and none by this one");
    struct sigaction now;
    sigaction(OUR_SIGNAL, NULL, &now);
    if (strcmp(way, "handler") == 0) {
        raise(OUR_SIGNAL);
        host_expect(ours_seen == strays + 1, "the host's handler runs for the host");
        host_expect(now.sa_handler == on_ours, "and is still installed");
    } else if (strcmp(way, "ignore") == 0) {
        host_expect(now.sa_handler == SIG_IGN, "it is still ignored");
    }
    host_expect_snapshot();
    goes_on = false;
    for (int i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void host_06_a_host_that_takes_the_signal_later_has_it_for_good(void **state)
{
    static const char *const ways[] = {"handler", "once", "ignore"};
    (void)state;
    for (size_t i = 0; i < SBX_COUNT_OF(ways); i++) {
        setenv("HOST_WAY", ways[i], 1);
        host_run_well(&(struct host_order){.body = "installs_a_handler_later"});
        struct sbx_snapshot *snapshot = host_read_snapshot();
        assert_int_equal(snapshot->drops[SBX_DROP_SIGNAL_TAKEN], 1);
        assert_int_equal(snapshot->header.async_signal, OUR_SIGNAL - 1);
        sbx_snapshot_destroy(snapshot);
        host_tear_down(state);
    }
    unsetenv("HOST_WAY");
}

static bool ignore_ours(void)
{
    return signal(OUR_SIGNAL, SIG_IGN) != SIG_ERR;
}

static void finds_the_signal_ignored(void)
{
    struct sigaction now;
    sigaction(OUR_SIGNAL, NULL, &now);
    host_expect(now.sa_handler == SIG_IGN, "what was ignored before the start still is");
    host_loop(10, NULL);
    host_expect_snapshot();
}

static void host_06_a_signal_ignored_before_the_start_stays_ignored(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "finds_the_signal_ignored", .before_exec = ignore_ours});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_equal(snapshot->header.async_signal, OUR_SIGNAL - 1);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-7 ---- */

enum {
    ENOUGH_SAMPLES = 6,
    STACK_USE_MS = 1500,
    STACK_USE_MOST_MS = 60000 /* on a busy machine the threads get little CPU time */
};

static _Atomic bool are_enough; /* there are enough samples; the threads have no stack left to check that themselves */

/* Uses its stack down to `left` bytes above the end, and computes there until there are enough samples. */
__attribute__((noinline)) static void use_stack(uintptr_t low, size_t left)
{
    volatile char here[256];
    here[0] = 1;
    if ((uintptr_t)here > low + left + 1024) {
        use_stack(low, left);
    } else {
        uint64_t begin_ms = host_now_ms(), used_ms = 0;
        while (used_ms < STACK_USE_MS || (!are_enough && used_ms < STACK_USE_MOST_MS)) {
            for (volatile int i = 0; i < 1000000; i++) {
            }
            used_ms = host_now_ms() - begin_ms;
        }
    }
    here[1] = here[0];
}

static void *compute_near_the_end(void *left)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    host_expect(pthread_getattr_np(pthread_self(), &attributes) == 0, "a thread knows its stack");
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    use_stack((uintptr_t)low, (size_t)(uintptr_t)left);
    return NULL;
}

static void has_small_stacks(void)
{
    pthread_t small, usual, deep;
    host_loop(10, NULL);
    begin_thread(&small, PTHREAD_STACK_MIN, compute_near_the_end, (void *)(uintptr_t)2048);
    begin_thread(&usual, 64 * 1024, compute_near_the_end, (void *)(uintptr_t)(24 * 1024));
    begin_thread(&deep, 1024 * 1024, compute_near_the_end, (void *)(uintptr_t)(24 * 1024));
    for (int turn = 0; turn < STACK_USE_MOST_MS / 10 && !are_enough; turn++) {
        host_pause_ms(10);
        are_enough = host_counts().captures_async >= ENOUGH_SAMPLES;
    }
    host_expect(are_enough, "the others were sampled");
    pthread_join(small, NULL);
    pthread_join(usual, NULL);
    pthread_join(deep, NULL);
    host_expect_snapshot();
}

static void host_07_stacks_of_16_and_64_KiB_hold_what_sampling_needs(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "has_small_stacks"});
}

static void on_overflow(int number)
{
    (void)number;
    _exit(42);
}

__attribute__((noinline)) static int recurse_without_end(int depth)
{
    volatile char ballast[4000];
    ballast[0] = (char)depth;
    if (depth % 100 == 0) {
        void *volatile memory = malloc(64); /* captures on the way down */
        free(memory);
    }
    int below = depth < INT_MAX ? recurse_without_end(depth + 1) : 0;
    return below + ballast[0];
}

static void overflows_its_stack(void)
{
    static char alternate[65536];
    if (getenv("HOST_HANDLER") != NULL) {
        stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
        struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
        sigemptyset(&action.sa_mask);
        host_expect(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0, "a handler stands by");
    } else {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
    }
    host_loop(10, NULL);
    host_expect(recurse_without_end(0) != 1, "not reached");
}

static void host_07_an_overflow_of_the_hosts_stack_ends_as_it_would(void **state)
{
    (void)state;
    setenv("HOST_HANDLER", "1", 1);
    assert_int_equal(host_run(&(struct host_order){.body = "overflows_its_stack"}), 42 << 8);
    unsetenv("HOST_HANDLER");
    assert_int_equal(host_run(&(struct host_order){.body = "overflows_its_stack"}) & ~0x80, SIGSEGV);
}

static ucontext_t main_context, coroutine_context;

static void coroutine(void)
{
    for (int i = 0; i < 200; i++) {
        void *volatile memory = malloc(100);
        host_compute_ms(5);
        free(memory);
        swapcontext(&coroutine_context, &main_context);
    }
}

static void runs_coroutines(void)
{
    static char stack[64 * 1024];
    host_expect(getcontext(&coroutine_context) == 0, "a context is had");
    coroutine_context.uc_stack.ss_sp = stack;
    coroutine_context.uc_stack.ss_size = sizeof stack;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, coroutine, 0);
    for (int i = 0; i < 200; i++) {
        swapcontext(&main_context, &coroutine_context);
    }
    host_expect(host_counts().captures_async > 5, "samples were taken in it");
    host_expect_snapshot();
}

static void host_07_coroutines_are_sampled_on_their_own_stacks(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "runs_coroutines"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    unsigned seen = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        seen += host_passes(snapshot, snapshot->records[i].stack, (void *)coroutine);
    }
    assert_true(seen > 0);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-8 ---- */

static _Atomic long seen[128], sent[128];

static void on_any(int number)
{
    seen[number]++;
}

static void handles_its_own_signals(void)
{
    pthread_t threads[BUSY];
    int numbers[64], count = 0;
    struct sigaction action = {.sa_handler = on_any, .sa_flags = SA_RESTART}, now;
    sigfillset(&action.sa_mask);
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (sigaction(number, NULL, &now) == 0) {
            host_expect(now.sa_handler == SIG_DFL || number == SIGKILL || number == SIGSTOP, "no handler is ours");
        }
    }
    numbers[count++] = SIGUSR1;
    numbers[count++] = SIGUSR2;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        if (number != SIGRTMIN + 3) { /* one is left for the recorder */
            numbers[count++] = number;
        }
    }
    for (int i = 0; i < count; i++) {
        host_expect(sigaction(numbers[i], &action, NULL) == 0, "the host installs its handlers");
    }
    action.sa_flags = SA_RESTART;
    host_expect(sigaction(SIGPROF, &action, NULL) == 0, "and a profiler's");
    struct itimerval tick = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &tick, NULL);
    for (int i = 0; i < BUSY; i++) {
        begin_thread(&threads[i], 0, compute, NULL);
    }
    for (int turn = 0; turn < 300; turn++) {
        int number = numbers[turn % count];
        if (number >= SIGRTMIN) { /* these are queued, so each one counts */
            host_expect(sigqueue(getpid(), number, (union sigval){0}) == 0, "a signal is sent");
            sent[number]++;
        } else {
            long before = seen[number];
            sent[number] = before + 1;
            raise(number);
        }
        host_compute_ms(3);
    }
    setitimer(ITIMER_PROF, &off, NULL);
    host_pause_ms(200);
    for (int i = 0; i < count; i++) {
        if (seen[numbers[i]] != sent[numbers[i]]) {
            fprintf(stderr, "signal %d: sent %ld, seen %ld\n", numbers[i], (long)sent[numbers[i]],
                    (long)seen[numbers[i]]);
        }
        host_expect(seen[numbers[i]] == sent[numbers[i]], "each signal of the host was seen as often as it was sent");
    }
    host_expect(seen[SIGPROF] > 20, "the host's profiler ticks");
    host_expect(host_counts().captures_async > 20, "and so does ours");
    goes_on = false;
    for (int i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
    }
    host_expect_snapshot();
}

static void host_08_the_hosts_own_signals_and_profiler_work_beside_ours(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "handles_its_own_signals"});
}

/* ---- HOST-22 ---- */

enum {
    SLEEPERS = 500,
    DEEP = 128
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static _Atomic int asleep;

__attribute__((noinline)) static void sleep_deeply(int depth)
{
    volatile char ballast[16];
    ballast[0] = (char)depth;
    if (depth > 0) {
        sleep_deeply(depth - 1);
    } else {
        pthread_mutex_lock(&lock);
        asleep++;
        while (goes_on) {
            pthread_cond_wait(&never, &lock);
        }
        pthread_mutex_unlock(&lock);
    }
    ballast[1] = ballast[0];
}

static void *sleeper(void *unused)
{
    (void)unused;
    sleep_deeply(DEEP);
    return NULL;
}

static void hang_long(void)
{
    host_pause_ms(3000);
    HOST_KEEP_FRAME();
}

static void hangs_with_many_threads(void)
{
    static pthread_t threads[SLEEPERS];
    for (int i = 0; i < SLEEPERS; i++) {
        begin_thread(&threads[i], 128 * 1024, sleeper, NULL);
    }
    while (asleep < SLEEPERS) {
        host_pause_ms(10);
    }
    host_loop(20, hang_long);
    pthread_mutex_lock(&lock);
    goes_on = false;
    pthread_cond_broadcast(&never);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void host_22_five_hundred_threads_of_128_frames_are_all_in_the_snapshot(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "hangs_with_many_threads", .anr_ms = 1000});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    static bool has_stack[4096];
    unsigned with_stack = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        uint64_t frames[8];
        if (record->kind == SBX_RECORD_BLOCKED && (record->flags & SBX_FLAG_AT_TRIGGER) != 0 && record->thread < 4096 &&
            sbx_snapshot_stack(snapshot, record->stack, frames, 8) > DEEP &&
            host_passes(snapshot, record->stack, (void *)sleep_deeply)) {
            with_stack += !has_stack[record->thread];
            has_stack[record->thread] = true;
        }
    }
    assert_true(with_stack >= SLEEPERS * 98 / 100); /* a thread that moves during the look is counted as a drop */
    assert_true(with_stack + snapshot->drops[SBX_DROP_OBSERVE_FAILED] >= SLEEPERS);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-23 ---- */

static void *change_name(void *unused)
{
    static const char *const names[] = {"", "\xff\xfe\x80", "a\nb\tc", "../../etc", "sixteen bytes!!", "%s%n%d"};
    (void)unused;
    for (unsigned i = 0; goes_on; i++) {
        char sixteen[16]; /* not terminated by NUL */
        memset(sixteen, 'x', sizeof sixteen);
        prctl(PR_SET_NAME, i % 7 == 6 ? sixteen : names[i % 7]);
        void *volatile memory = malloc(10);
        free(memory);
    }
    return NULL;
}

static void changes_its_names(void)
{
    pthread_t threads[BUSY];
    for (int i = 0; i < BUSY; i++) {
        begin_thread(&threads[i], 0, change_name, NULL);
    }
    for (int i = 0; i < 150; i++) { /* long enough for some scans */
        host_loop(10, NULL);
    }
    host_expect_snapshot();
    goes_on = false;
    for (int i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void host_23_odd_thread_names_stay_names_and_stay_here(void **state)
{
    char command[700];
    (void)state;
    host_run_well(&(struct host_order){.body = "changes_its_names"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        assert_non_null(memchr(snapshot->threads[i].entry.name, 0, sizeof snapshot->threads[i].entry.name));
    }
    sbx_snapshot_destroy(snapshot);
    /* Encoded, and printed field by field: none of the host's names may be in it. */
    snprintf(
        command, sizeof command,
        "cd '%s' && '%s' report --format json spool >report.json && '%s' show --what-leaves spool/raw/*.raw >leaves.txt"
        " 2>&1; ! grep -aqE 'sixteen|xxxxxxx|etc' leaves.txt",
        host_folder, HOST_TOOL, HOST_TOOL);
    assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(has_a_thousand_threads_a_second),
        HOST_BODY(gives_a_number_again),
        HOST_BODY(blocks_all_signals),
        HOST_BODY(installs_a_handler_later),
        HOST_BODY(finds_the_signal_ignored),
        HOST_BODY(has_small_stacks),
        HOST_BODY(overflows_its_stack),
        HOST_BODY(runs_coroutines),
        HOST_BODY(handles_its_own_signals),
        HOST_BODY(hangs_with_many_threads),
        HOST_BODY(changes_its_names),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_05_a_thousand_threads_a_second_are_recorded_without_a_hang),
        HOST_TEST(host_05_a_thread_that_gets_a_dead_ones_number_is_another),
        HOST_TEST(host_06_a_thread_that_blocks_or_awaits_our_signal_never_gets_one),
        HOST_TEST(host_06_a_host_that_takes_the_signal_later_has_it_for_good),
        HOST_TEST(host_06_a_signal_ignored_before_the_start_stays_ignored),
        HOST_TEST(host_07_stacks_of_16_and_64_KiB_hold_what_sampling_needs),
        HOST_TEST(host_07_an_overflow_of_the_hosts_stack_ends_as_it_would),
        HOST_TEST(host_07_coroutines_are_sampled_on_their_own_stacks),
        HOST_TEST(host_08_the_hosts_own_signals_and_profiler_work_beside_ours),
        HOST_TEST(host_22_five_hundred_threads_of_128_frames_are_all_in_the_snapshot),
        HOST_TEST(host_23_odd_thread_names_stay_names_and_stay_here),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
