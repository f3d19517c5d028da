/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_jumps.c - siglongjmp out of calls, loops and handlers, also from a coroutine to the thread's own stack.
 *
 * Only jumps that POSIX allows: the handler interrupts an async-signal-safe call or the program's own code. A timer of
 * each thread sends it SIGHUP until it has jumped. */
#include "nasty_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static _Thread_local sigjmp_buf place;
static _Thread_local volatile sig_atomic_t may_jump, jumps_from_inner;

static void on_hangup(int number)
{
    struct timespec now;
    nasty_handled++;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (may_jump && number == SIGHUP && jumps_from_inner) {
        raise(SIGVTALRM); /* its handler jumps, past this frame too */
    }
    if (may_jump) {
        may_jump = 0;
        siglongjmp(place, 1);
    }
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void take_signals(void)
{
    struct sigaction action = {.sa_handler = on_hangup};
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
}

static timer_t make_timer(struct nasty_worker *worker)
{
    timer_t timer = NULL;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGHUP};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) {
        nasty_error(worker, "timer_create: %s", strerror(errno));
    }
    return timer;
}

static void set_timer(timer_t timer, long us)
{
    const struct itimerspec times = {{0, us != 0 ? 2000000 : 0}, {0, us * 1000}};
    timer_settime(timer, 0, &times, NULL);
}

enum way {
    OUT_OF_READ,
    OUT_OF_POLL,
    OUT_OF_SELECT,
    OUT_OF_NANOSLEEP,
    OUT_OF_WRITE,
    OUT_OF_PAUSE,
    OUT_OF_SIGSUSPEND,
    OUT_OF_CLOCK,
    OUT_OF_LOOP,
    OUT_OF_TRANSFERS,
    WAYS
};

static const char *const names[WAYS] = {
    "read",  "poll",       "select",        "nanosleep", "write",
    "pause", "sigsuspend", "clock_gettime", "a loop",    "reads and writes in turn"};

struct fds {
    int empty[2], full[2], used[2];
};

/* Until a handler jumps. */
static void wait_to_jump(enum way way, const struct fds *fds)
{
    static const struct timespec long_time = {100, 0};
    struct pollfd ready = {.fd = fds->empty[0], .events = POLLIN};
    char bytes[4096] = {0};
    volatile uint64_t sum = 0;
    struct timespec now;
    sigset_t none;
    sigemptyset(&none);
    may_jump = 1;
    for (;;) {
        switch (way) {
        case OUT_OF_READ:
            (void)!read(fds->empty[0], bytes, 1);
            break;
        case OUT_OF_POLL:
            poll(&ready, 1, -1);
            break;
        case OUT_OF_SELECT:
            select(0, NULL, NULL, NULL, NULL);
            break;
        case OUT_OF_NANOSLEEP:
            nanosleep(&long_time, NULL);
            break;
        case OUT_OF_WRITE:
            (void)!write(fds->full[1], bytes, sizeof bytes);
            break;
        case OUT_OF_PAUSE:
            pause();
            break;
        case OUT_OF_SIGSUSPEND:
            sigsuspend(&none);
            break;
        case OUT_OF_CLOCK:
            clock_gettime(CLOCK_MONOTONIC, &now);
            break;
        case OUT_OF_TRANSFERS:
            (void)!write(fds->used[1], bytes, 1);
            (void)!read(fds->used[0], bytes, 1);
            break;
        default:
            sum = sum * 3 + 1;
        }
    }
}

/* What a thread does between jumps: calls whose results must be as usual. */
static void check_after(struct nasty_worker *worker, const struct fds *fds)
{
    struct timespec moment = {0, 200000};
    uint64_t begin_ns = nasty_now_ns();
    char byte;
    sig_atomic_t handled = nasty_handled;
    if (nanosleep(&moment, NULL) != 0) {
        nasty_is_interrupted(worker, handled, "nanosleep after a jump");
    } else if (nasty_now_ns() - begin_ns < 200000) {
        nasty_error(worker, "nanosleep after a jump: over before its time");
    }
    while (read(fds->used[0], &byte, 1) > 0) { /* does not block: reads what the jump left in the pipe */
    }
    void *block = malloc(1000);
    free(block);
    nasty_calls_are_quick(worker, fds->used);
}

static void jump_once(struct nasty_worker *worker, timer_t timer, const struct fds *fds)
{
    enum way way = (enum way)nasty_random(worker, WAYS);
    volatile int jumped = 0;
    nasty_step(worker, names[way]);
    jumps_from_inner = nasty_random(worker, 4) == 0;
    set_timer(timer, 20 + (long)nasty_random(worker, 2500));
    if (sigsetjmp(place, 1) == 0) {
        wait_to_jump(way, fds);
    } else {
        jumped = 1;
    }
    set_timer(timer, 0);
    if (!jumped) {
        nasty_error(worker, "went on without a jump");
    }
}

static void open_fds(struct nasty_worker *worker, struct fds *fds)
{
    char bytes[4096] = {0};
    if (pipe2(fds->empty, O_CLOEXEC) != 0 || pipe2(fds->full, O_CLOEXEC | O_NONBLOCK) != 0 ||
        pipe2(fds->used, O_CLOEXEC | O_NONBLOCK) != 0) {
        nasty_error(worker, "pipes: %s", strerror(errno));
    }
    while (write(fds->full[1], bytes, sizeof bytes) > 0) {
    }
    fcntl(fds->full[1], F_SETFL, 0);
}

static void close_fds(const struct fds *fds)
{
    for (int i = 0; i < 2; i++) {
        close(fds->empty[i]);
        close(fds->full[i]);
        close(fds->used[i]);
    }
}

void nasty_jumps(struct nasty_worker *worker)
{
    struct fds fds;
    pthread_once(&once, take_signals);
    timer_t timer = make_timer(worker);
    open_fds(worker, &fds);
    while (nasty_goes_on()) {
        for (int i = 0; i < 10; i++) {
            jump_once(worker, timer, &fds);
        }
        nasty_step(worker, "after jumps");
        check_after(worker, &fds);
        nasty_round(worker);
    }
    timer_delete(timer);
    close_fds(&fds);
}

/* ---- from a coroutine's stack to the thread's ---- */

enum {
    STACK_BYTES = 128 << 10
};

struct leaper {
    struct nasty_worker *worker;
    ucontext_t home, away;
    struct fds fds;
    char *coroutine_stack;
    unsigned long turns;
};

static _Thread_local struct leaper *leaper;

static void run_away(void)
{
    wait_to_jump(leaper->turns % 2 == 0 ? OUT_OF_READ : OUT_OF_POLL, &leaper->fds);
}

/* On the thread's stack, some frames deeper or not: its calls are then above or below those that were left. */
__attribute__((noinline)) static void leap(struct leaper *self, timer_t timer, unsigned depth)
{
    volatile char room[512];
    room[0] = (char)depth;
    if (depth > 0) {
        leap(self, timer, depth - 1);
        room[1] = room[0];
        return;
    }
    getcontext(&self->away);
    self->away.uc_stack.ss_sp = self->coroutine_stack;
    self->away.uc_stack.ss_size = STACK_BYTES;
    self->away.uc_link = NULL;
    makecontext(&self->away, run_away, 0);
    jumps_from_inner = 0;
    set_timer(timer, 50 + (long)nasty_random(self->worker, 1500));
    if (sigsetjmp(place, 1) == 0) {
        swapcontext(&self->home, &self->away);
    }
    set_timer(timer, 0);
    check_after(self->worker, &self->fds);
}

static void *leap_again_and_again(void *argument)
{
    struct leaper *self = leaper = argument;
    timer_t timer = make_timer(self->worker);
    nasty_block_host_signals();
    for (int i = 0; i < 20; i++) {
        self->turns++;
        leap(self, timer, nasty_random(self->worker, 6));
        if (i % 4 == 3) { /* unmap the stack that was left; in one step, because other threads map memory too */
            mmap(self->coroutine_stack, STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            check_after(self->worker, &self->fds);
            mprotect(self->coroutine_stack, STACK_BYTES, PROT_READ | PROT_WRITE);
        }
    }
    timer_delete(timer);
    return NULL;
}

void nasty_coroutine_jumps(struct nasty_worker *worker)
{
    pthread_once(&once, take_signals);
    while (nasty_goes_on()) {
        struct leaper self = {.worker = worker};
        char *stacks = mmap(NULL, 3 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        bool is_coroutine_above = nasty_random(worker, 2) == 0;
        pthread_attr_t attributes;
        pthread_t thread;
        if (stacks == MAP_FAILED) {
            nasty_error(worker, "mmap: %s", strerror(errno));
            return;
        }
        open_fds(worker, &self.fds);
        self.coroutine_stack = is_coroutine_above ? stacks + 2 * (size_t)STACK_BYTES : stacks;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, is_coroutine_above ? stacks : stacks + 2 * (size_t)STACK_BYTES, STACK_BYTES);
        nasty_step(worker, "jumping from a coroutine");
        int error = pthread_create(&thread, &attributes, leap_again_and_again, &self);
        pthread_attr_destroy(&attributes);
        if (error != 0) {
            nasty_error(worker, "pthread_create: %s", strerror(error));
        } else {
            nasty_join(worker, thread);
        }
        close_fds(&self.fds);
        munmap(stacks, 3 * (size_t)STACK_BYTES);
        nasty_round(worker);
    }
}
