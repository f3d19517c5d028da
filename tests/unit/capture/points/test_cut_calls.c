/* SPDX-License-Identifier: Apache-2.0 */
/* test_cut_calls.c - a signal of the recorder arrives in the middle of a call that the kernel does not restart after a
 * handler.
 *
 * Symptom: poll() ended with EINTR although no handler of the program had run. Where timer signals are made on the way
 * out of calls, such a signal was made when another event had interrupted the call that no handler sees: a stop, or a
 * signal which another thread took. Here the signal is sent into the middle of each call, several times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorded_process.h"
#include "sample_handler.h"

enum {
    WAIT_MS = 300,
    EACH_MS = 40,
    FIRST_THREAD = 0, /* the thread that starts the recorder has the first entry */
};

static atomic_bool goes_on;
static atomic_int sent;
static int our_signal;
static pid_t waiter;

/* Find the highest signal with a handler. This process sets none itself, so it is the recorder's. Uses system calls,
 * because the hooks hide the handler. */
static int find_our_signal(void)
{
    int number = SIGRTMAX;
    for (; number > SIGRTMIN; number--) {
        struct {
            void *handler;
            unsigned long flags;
            void *restorer;
            uint64_t mask;
        } now = {.handler = NULL};
        if (syscall(SYS_rt_sigaction, number, NULL, &now, sizeof now.mask) == 0 && now.handler != NULL) {
            break;
        }
    }
    child_expect(number > SIGRTMIN, "a real-time signal is ours");
    return number;
}

static void *send_ours(void *unused)
{
    const struct timespec pause = {.tv_nsec = EACH_MS * 1000000L};
    siginfo_t info;
    (void)unused;
    memset(&info, 0, sizeof info);
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr = (void *)(uintptr_t)sbx_sample_value(FIRST_THREAD, 0x7777);
    while (goes_on) {
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
        sent += syscall(SYS_rt_tgsigqueueinfo, getpid(), waiter, our_signal, &info) == 0;
    }
    return NULL;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct timespec after_the_wait(clockid_t clock)
{
    struct timespec until;
    clock_gettime(clock, &until);
    until.tv_nsec += WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

static const struct timespec wait_time = {.tv_nsec = WAIT_MS * 1000000L};

static bool polls(void)
{
    return poll(NULL, 0, WAIT_MS) == 0;
}

static bool polls_by_ppoll(void)
{
    return ppoll(NULL, 0, &wait_time, NULL) == 0;
}

#ifndef THE_REST_IS_NOT_TOLD
static bool selects(void)
{
    struct timeval time = {.tv_usec = WAIT_MS * 1000L};
    return select(0, NULL, NULL, NULL, &time) == 0;
}
#endif

static bool selects_by_pselect(void)
{
    return pselect(0, NULL, NULL, NULL, &wait_time, NULL) == 0;
}

static bool sleeps(void)
{
    return nanosleep(&wait_time, NULL) == 0;
}

static bool sleeps_and_asks_for_the_rest(void)
{
    struct timespec rest;
    return nanosleep(&wait_time, &rest) == 0;
}

static bool sleeps_for_the_rest(void)
{
    struct timespec time = wait_time;
    return nanosleep(&time, &time) == 0;
}

static bool sleeps_by_a_clock(void)
{
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &wait_time, NULL) == 0;
}

static bool sleeps_until(void)
{
    struct timespec until = after_the_wait(CLOCK_MONOTONIC);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0;
}

static bool sleeps_by_usleep(void)
{
    return usleep(WAIT_MS * 1000) == 0;
}

static bool sleeps_by_thread(void)
{
    return thrd_sleep(&wait_time, NULL) == 0;
}

static bool sleeps_by_seconds(void)
{
    return sleep(1) == 0;
}

static bool waits_for_a_semaphore(void)
{
    sem_t semaphore;
    struct timespec until = after_the_wait(CLOCK_REALTIME);
    sem_init(&semaphore, 0, 0);
    return sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT;
}

static const struct {
    const char *what;
    bool (*call)(void);
    unsigned ms;
} calls[] = {
    {"poll", polls, WAIT_MS},
    {"ppoll", polls_by_ppoll, WAIT_MS},
#ifndef THE_REST_IS_NOT_TOLD
    {"select", selects, WAIT_MS},
#endif
    {"pselect", selects_by_pselect, WAIT_MS},
    {"nanosleep", sleeps, WAIT_MS},
    {"nanosleep with a rest", sleeps_and_asks_for_the_rest, WAIT_MS},
    {"nanosleep in place", sleeps_for_the_rest, WAIT_MS},
    {"clock_nanosleep", sleeps_by_a_clock, WAIT_MS},
    {"clock_nanosleep until a time", sleeps_until, WAIT_MS},
    {"usleep", sleeps_by_usleep, WAIT_MS},
    {"thrd_sleep", sleeps_by_thread, WAIT_MS},
    {"sleep", sleeps_by_seconds, 1000},
    {"sem_timedwait", waits_for_a_semaphore, WAIT_MS},
};

static void child_waits_under_our_signals(void)
{
    pthread_t sender;
    our_signal = find_our_signal();
    waiter = (pid_t)syscall(SYS_gettid);
    goes_on = true;
    child_expect(pthread_create(&sender, NULL, send_ours, NULL) == 0, "a thread starts");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int sent_before;
        uint64_t took_ms;
        bool is_good;
        unsigned turns = 0;
        do { /* on a busy machine the sender may sleep for longer */
            sent_before = sent;
            uint64_t begin_ms = now_ms();
            is_good = calls[i].call();
            took_ms = now_ms() - begin_ms;
        } while (is_good && sent == sent_before && ++turns < 50);
        if (!is_good || took_ms + 1 < calls[i].ms) { /* both values are rounded to whole milliseconds */
            fprintf(stderr, "%s: %s after %u ms\n", calls[i].what, strerror(errno), (unsigned)took_ms);
        }
        child_expect(is_good, "a wait is not ended by a signal of ours");
        child_expect(took_ms + 1 >= calls[i].ms, "nor earlier than it should");
        child_expect(sent > sent_before, "which came");
    }
    goes_on = false;
    pthread_join(sender, NULL);
}

static void test_a_wait_that_our_signal_cuts_short_is_made_once_more(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_waits_under_our_signals));
}

/* ---- the program's own signal beside ours ---- */

static volatile sig_atomic_t handled;

static void on_alarm(int number)
{
    (void)number;
    handled++;
}

static void child_awaits_an_alarm(void)
{
    pthread_t sender;
    struct sigaction action = {.sa_handler = on_alarm};
    our_signal = find_our_signal();
    waiter = (pid_t)syscall(SYS_gettid);
    sigaction(SIGUSR1, &action, NULL);
    goes_on = true;
    child_expect(pthread_create(&sender, NULL, send_ours, NULL) == 0, "a thread starts");
    for (int i = 0; i < 10; i++) {
        timer_t timer;
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
        /* Periodic: a signal that arrives between ours and the restarted call does not end the call, just as one that
         * arrives before the call. */
        const struct itimerspec soon = {.it_interval = {.tv_nsec = 30000000}, .it_value = {.tv_nsec = 30000000}};
        handled = 0;
        child_expect(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "a timer is had");
        timer_settime(timer, 0, &soon, NULL);
        int result = i % 2 == 0 ? poll(NULL, 0, 60000) : nanosleep(&(struct timespec){.tv_sec = 60}, NULL);
        child_expect(handled >= 1 && result == -1 && errno == EINTR, "the program's own signal ends its wait");
        timer_delete(timer);
    }
    goes_on = false;
    pthread_join(sender, NULL);
}

static void test_a_signal_of_the_programs_still_ends_the_wait(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_awaits_an_alarm));
}

/* ---- a signal that any thread may take ---- */

#if defined(__x86_64__)
static const uint8_t behind_call[] = {0x0f, 0x05};
#elif defined(__aarch64__)
static const uint8_t behind_call[] = {0x01, 0x00, 0x00, 0xd4};
#endif

/* The context that a handler gets when it interrupts a thread right after a system call whose result is EINTR. No
 * signal is blocked there. */
static void interrupt_behind_a_cut_call(ucontext_t *context_out)
{
    memset(context_out, 0, sizeof *context_out);
#if defined(__x86_64__)
    context_out->uc_mcontext.gregs[REG_RAX] = -EINTR;
    context_out->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)(behind_call + sizeof behind_call);
    context_out->uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)__builtin_frame_address(0);
#elif defined(__aarch64__)
    context_out->uc_mcontext.regs[0] = (unsigned long long)-EINTR;
    context_out->uc_mcontext.pc = (uintptr_t)(behind_call + sizeof behind_call);
    context_out->uc_mcontext.sp = (uintptr_t)__builtin_frame_address(0);
#endif
}

static void *can_take_it(void *answer_out)
{
    sigset_t pending;
    sigpending(&pending);
    *(bool *)answer_out = sigismember(&pending, SIGUSR1) == 1;
    return NULL;
}

static bool can_another_thread_take_it(void)
{
    bool answer = false;
    pthread_t other;
    child_expect(pthread_create(&other, NULL, can_take_it, &answer) == 0, "a thread starts");
    pthread_join(other, NULL);
    return answer;
}

/* Call our handler as the kernel would call it there. */
static void handle_as_behind_a_cut_call(void)
{
    struct {
        void (*handler)(int, siginfo_t *, void *);
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } now;
    ucontext_t context;
    siginfo_t ours;
    syscall(SYS_rt_sigaction, our_signal, NULL, &now, sizeof now.mask);
    memset(&ours, 0, sizeof ours);
    ours.si_code = SI_TIMER;
    ours.si_value.sival_ptr = (void *)(uintptr_t)sbx_sample_value(FIRST_THREAD, 0x7777);
    interrupt_behind_a_cut_call(&context);
    now.handler(our_signal, &ours, &context);
}

/* Symptom: poll() ended with EINTR although no handler had run. A signal of the process was still pending when our
 * handler looked, and another thread took it before this thread did. */
static void child_looks_while_a_signal_of_the_process_waits(void)
{
    sigset_t it;
    siginfo_t theirs;
    our_signal = find_our_signal();
    sigemptyset(&it);
    sigaddset(&it, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &it, NULL); /* in both threads: it stays pending until a thread takes it */
    kill(getpid(), SIGUSR1);
#ifndef SIGNALS_ARE_THE_EMULATORS
    child_expect(can_another_thread_take_it(), "it waits for the whole process");
#endif
    handle_as_behind_a_cut_call();
    child_expect(!can_another_thread_take_it(), "it is this thread's from now on");
    const struct timespec at_once = {0, 0};
    child_expect(sigtimedwait(&it, &theirs, &at_once) == SIGUSR1, "and was not lost");
    child_expect(theirs.si_code == SI_USER && theirs.si_pid == getpid(), "nor changed");
    child_expect(sigtimedwait(&it, &theirs, &at_once) == -1 && errno == EAGAIN, "nor doubled");
}

/* Symptom: of several real-time signals that were pending for a thread, the first was delivered last. */
static void child_looks_while_real_time_signals_wait(void)
{
    enum {
        SENT = 3
    };
    const int number = SIGRTMIN + 1;
    const struct timespec at_once = {0, 0};
    sigset_t it;
    siginfo_t theirs;
    our_signal = find_our_signal();
    child_expect(our_signal != number, "another one is ours");
    sigemptyset(&it);
    sigaddset(&it, number);
    pthread_sigmask(SIG_BLOCK, &it, NULL);
    for (int i = 0; i < SENT; i++) {
        memset(&theirs, 0, sizeof theirs);
        theirs.si_code = SI_QUEUE;
        theirs.si_value.sival_int = i;
        child_expect(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, &theirs) == 0, "it is sent");
    }
    handle_as_behind_a_cut_call();
    for (int i = 0; i < SENT; i++) {
        child_expect(sigtimedwait(&it, &theirs, &at_once) == number && theirs.si_value.sival_int == i,
                     "they come in their order");
    }
}

static void test_real_time_signals_keep_their_order(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_looks_while_real_time_signals_wait));
}

static void test_a_signal_that_ends_a_wait_is_left_to_no_other_thread(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_looks_while_a_signal_of_the_process_waits));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_that_our_signal_cuts_short_is_made_once_more),
        cmocka_unit_test(test_a_signal_of_the_programs_still_ends_the_wait),
        cmocka_unit_test(test_a_signal_that_ends_a_wait_is_left_to_no_other_thread),
        cmocka_unit_test(test_real_time_signals_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
