/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_signals.c - signals at random, on alternate stacks of all sizes, and real-time signals taken one by one. */
#include "nasty_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* ---- signals at random ---- */

enum {
    TARGETS = 4
};

static struct target {
    struct nasty_worker *worker;
    pthread_t thread;
    atomic_int tid;
    int pipe_fds[2];
    sem_t semaphore;
} targets[TARGETS];

static atomic_bool targets_go_on;

/* Sleeps must not be shorter than requested, and the reported rest must not be longer. */
static void sleep_exactly(struct target *self)
{
    const struct timespec want = {0, 700000};
    struct timespec rest = {0, 0};
    sig_atomic_t handled = nasty_handled;
    uint64_t begin_ns = nasty_now_ns();
    if (nanosleep(&want, &rest) != 0) {
        const long slack_ns = 1000000; /* the kernel's timers end a little late and count that */
        if (nasty_is_interrupted(self->worker, handled, "nanosleep") &&
            (rest.tv_sec != 0 || rest.tv_nsec > want.tv_nsec + slack_ns)) {
            nasty_error(self->worker, "nanosleep: a rest longer than the whole");
        }
    } else if (nasty_now_ns() - begin_ns < 700000) {
        nasty_error(self->worker, "nanosleep: over before its time");
    }
}

static void pass_a_byte(struct target *self)
{
    unsigned char byte = 0x5a;
    sig_atomic_t handled = nasty_handled;
    while (write(self->pipe_fds[1], &byte, 1) != 1 && nasty_is_interrupted(self->worker, handled, "write")) {
        handled = nasty_handled;
    }
    byte = 0;
    handled = nasty_handled;
    while (read(self->pipe_fds[0], &byte, 1) != 1 && nasty_is_interrupted(self->worker, handled, "read")) {
        handled = nasty_handled;
    }
    if (byte != 0x5a) {
        nasty_error(self->worker, "a byte was lost");
    }
}

static void wait_a_moment(struct target *self)
{
    struct pollfd ready = {.fd = self->pipe_fds[0], .events = POLLIN};
    sig_atomic_t handled = nasty_handled;
    int count = poll(&ready, 1, 1);
    if (count < 0) {
        nasty_is_interrupted(self->worker, handled, "poll");
    } else if (count > 0) {
        nasty_error(self->worker, "poll: something in an empty pipe");
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 100;
    handled = nasty_handled;
    sem_post(&self->semaphore);
    while (sem_timedwait(&self->semaphore, &until) != 0 &&
           nasty_is_interrupted(self->worker, handled, "sem_timedwait")) {
        handled = nasty_handled;
    }
}

static void *be_signalled(void *argument)
{
    struct target *self = argument;
    self->tid = (int)syscall(SYS_gettid);
    for (unsigned turn = 0; targets_go_on; turn++) {
        errno = 4242;
        uint64_t sum = nasty_compute(7, 200);
        if (errno != 4242 || sum != nasty_compute(7, 200)) {
            nasty_error(self->worker, "errno or a sum changed under a signal");
        }
        switch (turn % 3) {
        case 0:
            sleep_exactly(self);
            break;
        case 1:
            pass_a_byte(self);
            break;
        default:
            wait_a_moment(self);
        }
    }
    return NULL;
}

static void send_one(struct nasty_worker *worker)
{
    static const int numbers[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGPROF, SIGIO};
    int number = numbers[nasty_random(worker, 5)];
    struct target *target = &targets[nasty_random(worker, TARGETS)];
    int us = 200 + (int)nasty_random(worker, 20000);
    struct itimerval soon = {.it_value = {0, us}};
    switch (nasty_random(worker, 8)) {
    case 0:
        kill(getpid(), number);
        break;
    case 1:
        pthread_kill(target->thread, number);
        break;
    case 2:
        syscall(SYS_tgkill, getpid(), (int)target->tid, number);
        break;
    case 3:
        sigqueue(getpid(), number, (union sigval){.sival_int = 1});
        break;
    case 4:
        setitimer(ITIMER_REAL, &soon, NULL);
        break;
    case 5:
        setitimer(ITIMER_PROF, &soon, NULL);
        break;
    case 6:
        kill(getpid(), SIGWINCH);
        break; /* nobody handles it, so it interrupts nothing */
    default:
        pthread_sigqueue(target->thread, number, (union sigval){.sival_int = 2});
    }
}

void nasty_signals(struct nasty_worker *worker)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    const struct itimerspec often = {{0, 3100000}, {0, 3100000}}, never = {{0, 0}, {0, 0}};
    const struct itimerval no_more = {{0, 0}, {0, 0}};
    targets_go_on = true;
    for (int i = 0; i < TARGETS; i++) {
        targets[i].worker = worker;
        sem_init(&targets[i].semaphore, 0, 0);
        if (pipe2(targets[i].pipe_fds, O_CLOEXEC) != 0) {
            nasty_error(worker, "pipe: %s", strerror(errno));
        }
        targets[i].thread = nasty_thread(worker, i == 0 ? 64 << 10 : 0, be_signalled, &targets[i]);
    }
    for (int i = 0; i < TARGETS; i++) {
        while (targets[i].tid == 0) {
            nasty_pause_us(100);
        }
    }
    bool has_timer = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
    while (nasty_goes_on()) {
        nasty_step(worker, "sending");
        if (has_timer) {
            timer_settime(timer, 0, nasty_random(worker, 2) ? &often : &never, NULL);
        }
        for (int i = 0; i < 50; i++) {
            send_one(worker);
            nasty_pause_us(nasty_random(worker, 1500));
        }
        nasty_round(worker);
    }
    setitimer(ITIMER_REAL, &no_more, NULL);
    setitimer(ITIMER_PROF, &no_more, NULL);
    if (has_timer) {
        timer_delete(timer);
    }
    targets_go_on = false;
    nasty_step(worker, "joining the signalled");
    for (int i = 0; i < TARGETS; i++) {
        nasty_join(worker, targets[i].thread);
        close(targets[i].pipe_fds[0]);
        close(targets[i].pipe_fds[1]);
    }
}

/* ---- small alternate stacks ---- */

enum {
    CANARY_BYTES = 8192
};

struct small {
    struct nasty_worker *worker;
    size_t stack_bytes;
    atomic_bool is_over;
    atomic_long handled;
};

/* Threads of this kind have handlers run on their alternate stack only if it is large enough for the kernel's frames
 * and for the handlers of all signals at once. A thread that had no processor for a while may get them all. On a
 * smaller stack the program itself never has a handler run. */
static size_t least_that_holds_a_handler(void)
{
    enum {
        HOST_SIGNALS = 6
    };
    return HOST_SIGNALS * (getauxval(AT_MINSIGSTKSZ) + 1024) + 4096;
}

static bool is_untouched(const unsigned char *bytes, size_t count, size_t *at_out)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0xa5) {
            *at_out = i;
            return false;
        }
    }
    return true;
}

static void *live_with_small_stack(void *argument)
{
    struct small *small = argument;
    unsigned char *memory = malloc(CANARY_BYTES * 2 + small->stack_bytes);
    size_t at;
    if (memory == NULL) {
        return NULL;
    }
    memset(memory, 0xa5, CANARY_BYTES * 2 + small->stack_bytes);
    if (small->stack_bytes < least_that_holds_a_handler()) {
        nasty_block_host_signals();
    }
    stack_t stack = {.ss_sp = memory + CANARY_BYTES, .ss_size = small->stack_bytes}, none = {.ss_flags = SS_DISABLE};
    if (sigaltstack(&stack, NULL) != 0) {
        if (errno != ENOMEM) { /* the kernel requires more than MINSIGSTKSZ */
            nasty_error(small->worker, "sigaltstack of %zu bytes: %s", small->stack_bytes, strerror(errno));
        }
        free(memory);
        return NULL;
    }
    for (unsigned turn = 0; !small->is_over; turn++) {
        (void)nasty_compute(turn, 500);
        free(malloc(100));
        if (turn % 8 == 0) {
            nasty_pause_us(100);
        }
        if (turn % 16 == 0) {
            stack_t now;
            sigaltstack(&none, &now);
            if (now.ss_sp != stack.ss_sp || now.ss_size != stack.ss_size) {
                nasty_error(small->worker, "another alternate stack than was set");
            }
            sigaltstack(&stack, NULL);
        }
        if (!is_untouched(memory, CANARY_BYTES, &at)) {
            nasty_error(small->worker, "memory %zu bytes below an alternate stack of %zu was overwritten",
                        CANARY_BYTES - at, small->stack_bytes);
            memset(memory, 0xa5, CANARY_BYTES);
        }
        if (!is_untouched(memory + CANARY_BYTES + small->stack_bytes, CANARY_BYTES, &at)) {
            nasty_error(small->worker, "memory above an alternate stack of %zu was overwritten", small->stack_bytes);
            memset(memory + CANARY_BYTES + small->stack_bytes, 0xa5, CANARY_BYTES);
        }
        if (small->stack_bytes < least_that_holds_a_handler() &&
            !is_untouched(memory + CANARY_BYTES, small->stack_bytes, &at)) {
            nasty_note(small->worker, 1); /* used within its bounds: a handler ran on it */
            memset(memory + CANARY_BYTES, 0xa5, small->stack_bytes);
        }
    }
    sigaltstack(&none, NULL);
    free(memory);
    return NULL;
}

void nasty_small_altstacks(struct nasty_worker *worker)
{
    enum {
        AT_ONCE = 3
    };
    static const size_t sizes[] = {2048, 2560, 3072, 3376, 4096, 5120, 6144, 8192, 12288, 16384, 65536};
    while (nasty_goes_on()) {
        struct small smalls[AT_ONCE];
        pthread_t threads[AT_ONCE];
        nasty_step(worker, "living with small alternate stacks");
        for (int i = 0; i < AT_ONCE; i++) {
            smalls[i] = (struct small){.worker = worker, .stack_bytes = sizes[nasty_random(worker, 11)]};
            threads[i] = nasty_thread(worker, 0, live_with_small_stack, &smalls[i]);
        }
        for (int i = 0; i < 30; i++) {
            int one = (int)nasty_random(worker, AT_ONCE);
            nasty_pause_us(1000);
            pthread_kill(threads[one], SIGUSR1);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            smalls[i].is_over = true;
        }
        for (int i = 0; i < AT_ONCE; i++) {
            nasty_join(worker, threads[i]);
        }
        nasty_round(worker);
    }
}

/* ---- real-time signals, by and by ---- */

enum {
    INBOXES = 3,
    NUMBERS_MAX = 65
};

static struct inbox {
    struct nasty_worker *worker;
    pthread_t thread;
    atomic_int sent[NUMBERS_MAX], got[NUMBERS_MAX], wrong;
    atomic_bool is_open; /* signals from before would be strays, on a machine too busy to start the thread at once */
} inboxes[INBOXES];

static _Thread_local struct inbox *volatile own_inbox;
static atomic_bool inboxes_go_on;
static atomic_uint_fast64_t taken_ns[NUMBERS_MAX];
static atomic_long strays, strays_long_after;

static void on_realtime(int number, siginfo_t *info, void *context)
{
    int error = errno;
    struct inbox *inbox = own_inbox;
    (void)context;
    nasty_handled++;
    if (inbox != NULL && info->si_code == SI_QUEUE && info->si_pid == getpid() &&
        info->si_value.sival_int >> 16 == 0x4e00 + number) {
        if ((info->si_value.sival_int & 0xffff) != (inbox->got[number] & 0xffff)) {
            inbox->wrong++; /* lost or out of order */
        }
        inbox->got[number]++;
    } else {
        strays++;
        strays_long_after += nasty_now_ns() - taken_ns[number] > 1000000000;
    }
    errno = error;
}

static void *receive_realtime(void *argument)
{
    struct inbox *inbox = argument;
    own_inbox = inbox;
    inbox->is_open = true;
    for (unsigned turn = 0; inboxes_go_on; turn++) {
        if (turn % 2 == 0) {
            (void)nasty_compute(turn, 300);
        } else {
            sig_atomic_t handled = nasty_handled;
            if (poll(NULL, 0, 1) < 0) {
                nasty_is_interrupted(inbox->worker, handled, "poll");
            }
        }
    }
    return NULL;
}

static void take_realtime(struct nasty_worker *worker, int number)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART}, now;
    action.sa_sigaction = on_realtime;
    sigfillset(&action.sa_mask);
    taken_ns[number] = nasty_now_ns();
    if (sigaction(number, &action, NULL) != 0 || sigaction(number, NULL, &now) != 0 ||
        now.sa_sigaction != on_realtime) {
        nasty_error(worker, "signal %d was not taken", number);
    }
}

static void send_realtime(struct nasty_worker *worker, int number)
{
    struct inbox *inbox = &inboxes[nasty_random(worker, INBOXES)];
    union sigval value = {.sival_int = (0x4e00 + number) << 16 | (inbox->sent[number] & 0xffff)};
    int error = pthread_sigqueue(inbox->thread, number, value);
    if (error == 0) {
        inbox->sent[number]++;
    } else if (error != EAGAIN) {
        nasty_error(worker, "pthread_sigqueue: %s", strerror(error));
    }
}

/* All signals that were sent have arrived, each once and in order. */
static void collect_realtime(struct nasty_worker *worker)
{
    nasty_step(worker, "waiting for real-time signals that were sent");
    for (int i = 0; i < INBOXES; i++) {
        for (int number = 0; number < NUMBERS_MAX; number++) {
            while (inboxes[i].got[number] < inboxes[i].sent[number]) {
                nasty_pause_us(100);
            }
            if (inboxes[i].got[number] != inboxes[i].sent[number]) {
                nasty_error(worker, "signal %d came more often than it was sent", number);
                inboxes[i].got[number] = (int)inboxes[i].sent[number];
            }
        }
        if (atomic_exchange(&inboxes[i].wrong, 0) != 0) {
            nasty_error(worker, "real-time signals were lost or out of order");
        }
    }
    if (atomic_exchange(&strays_long_after, 0) != 0) {
        nasty_error(worker, "a handler of ours ran for a signal nobody sent");
    }
    nasty_note(worker, atomic_exchange(&strays, 0)); /* within a second after the host took that signal */
}

void nasty_realtime(struct nasty_worker *worker)
{
    inboxes_go_on = true;
    for (int i = 0; i < INBOXES; i++) {
        inboxes[i].worker = worker;
        inboxes[i].thread = nasty_thread(worker, 0, receive_realtime, &inboxes[i]);
    }
    for (int i = 0; i < INBOXES; i++) {
        while (!inboxes[i].is_open) {
            nasty_pause_us(100);
        }
    }
    while (nasty_goes_on()) {
        int first = SIGRTMIN, last = SIGRTMAX, offset = (int)nasty_random(worker, (unsigned)(last - first + 1));
        /* Upwards, or downwards, which is the order in which the recorder looks for another signal. */
        int numbers = last - first + 1, way = nasty_random(worker, 2) ? 1 : numbers - 1;
        for (int count = 1; count <= numbers && nasty_goes_on(); count++) {
            take_realtime(worker, first + (offset + count * way) % numbers);
            nasty_step(worker, "sending real-time signals");
            for (int i = 0; i < 60; i++) {
                int one = 1 + (int)nasty_random(worker, (unsigned)count);
                send_realtime(worker, first + (offset + one * way) % numbers);
                if (i % 8 == 0) {
                    nasty_pause_us(nasty_random(worker, 1000));
                }
            }
            collect_realtime(worker);
        }
        for (int number = first; number <= last; number++) {
            /* As a daemon does that resets everything: from now on the host sends these signals no more. */
            signal(number, nasty_random(worker, 2) ? SIG_IGN : SIG_DFL);
        }
        nasty_round(worker);
        nasty_pause_us(300000);
    }
    inboxes_go_on = false;
    for (int i = 0; i < INBOXES; i++) {
        nasty_join(worker, inboxes[i].thread);
    }
}
