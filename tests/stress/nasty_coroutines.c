/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_coroutines.c - coroutines that yield inside of a stream's write function, are destroyed there, or continue in
 * another thread; and coroutines on stacks so small that they can only compute.
 *
 * Their threads block the host's signals, whose handlers would need room on these stacks. */
#include "nasty_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    STACK_BYTES = 96 << 10,
    TEXT_BYTES = 4096
};

struct coroutine {
    struct nasty_worker *worker;
    ucontext_t home, away;
    char *stack; /* NULL: none yet, or destroyed */
    FILE *stream;
    int pipe_fds[2];
    unsigned number, lines;
    size_t text_bytes;
    bool is_over, is_inside_write, is_destroyed;
    char text[TEXT_BYTES]; /* the bytes that came out of the stream */
};

/* The coroutine that runs on this thread. It must be read again after each switch, because the code may continue on
 * another thread. */
static _Thread_local struct coroutine *volatile current;

__attribute__((noinline)) static struct coroutine *the_current(void)
{
    return current;
}

__attribute__((noinline)) static void yield(struct coroutine *self)
{
    swapcontext(&self->away, &self->home);
}

static ssize_t write_and_yield(void *cookie, const char *bytes, size_t count)
{
    struct coroutine *self = cookie;
    struct pollfd none = {.fd = -1};
    if (self->is_destroyed) {
        return (ssize_t)count; /* fclose() of a stream whose writer is destroyed */
    }
    self->is_inside_write = true;
    yield(self);
    poll(&none, 1, 0); /* a call inside of a call, perhaps on another thread by now */
    yield(self);
    self->is_inside_write = false;
    size_t room = sizeof self->text - self->text_bytes;
    memcpy(self->text + self->text_bytes, bytes, count < room ? count : room);
    self->text_bytes += count < room ? count : room;
    return (ssize_t)count;
}

static void run_coroutine(void)
{
    struct coroutine *self = the_current();
    for (unsigned i = 0; i < self->lines; i++) {
        char byte = 1;
        fprintf(self->stream, "coroutine %u line %u\n", self->number, i);
        fflush(self->stream);
        free(malloc(100 + i));
        (void)!write(self->pipe_fds[1], &byte, 1);
        yield(self);
        (void)!read(self->pipe_fds[0], &byte, 1);
        nasty_pause_us(20);
    }
    self->is_over = true;
    yield(self);
}

static void open_coroutine(struct coroutine *self, struct nasty_worker *worker, unsigned number)
{
    static const cookie_io_functions_t functions = {.write = write_and_yield};
    memset(self, 0, sizeof *self);
    self->worker = worker;
    self->number = number;
    self->lines = 2 + number % 5;
    self->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    self->stream = fopencookie(self, "w", functions);
    if (self->stack == MAP_FAILED || self->stream == NULL || pipe2(self->pipe_fds, O_CLOEXEC) != 0) {
        nasty_error(worker, "a coroutine: %s", strerror(errno));
        _exit(1);
    }
    __fsetlocking(self->stream, FSETLOCKING_BYCALLER); /* a lock of stdio belongs to a thread; ours may change */
    getcontext(&self->away);
    self->away.uc_stack.ss_sp = self->stack;
    self->away.uc_stack.ss_size = STACK_BYTES;
    self->away.uc_link = NULL;
    makecontext(&self->away, run_coroutine, 0);
}

__attribute__((noinline)) static void resume(struct coroutine *self)
{
    current = self;
    swapcontext(&self->home, &self->away);
}

/* Unmap its stack first, wherever the coroutine is on it. The stream belongs to the test and is closed afterwards, from
 * outside. */
static void destroy_coroutine(struct coroutine *self, bool check)
{
    char expected[TEXT_BYTES];
    size_t bytes = 0;
    munmap(self->stack, STACK_BYTES);
    for (unsigned i = 0; i < self->lines; i++) {
        bytes += (size_t)snprintf(expected + bytes, sizeof expected - bytes, "coroutine %u line %u\n", self->number, i);
    }
    if (check && (bytes != self->text_bytes || memcmp(expected, self->text, bytes) != 0)) {
        nasty_error(self->worker, "a stream lost or changed bytes: %zu of %zu", self->text_bytes, bytes);
    }
    self->stack = NULL;
    self->is_destroyed = true;
    if (fclose(self->stream) != 0) {
        nasty_error(self->worker, "fclose of a stream whose coroutine is gone: %s", strerror(errno));
    }
    close(self->pipe_fds[0]);
    close(self->pipe_fds[1]);
}

void nasty_coroutines(struct nasty_worker *worker)
{
    enum {
        AT_ONCE = 6
    };
    static struct coroutine all[AT_ONCE];
    nasty_block_host_signals();
    for (unsigned number = 0; nasty_goes_on();) {
        unsigned over = 0;
        nasty_step(worker, "resuming coroutines");
        for (unsigned i = 0; i < AT_ONCE; i++) {
            open_coroutine(&all[i], worker, number++);
        }
        while (over < AT_ONCE) {
            struct coroutine *one = &all[nasty_random(worker, AT_ONCE)];
            if (one->stack == NULL) {
                continue;
            }
            resume(one);
            (void)nasty_compute(1, nasty_random(worker, 40));
            if (one->is_over || (one->is_inside_write && nasty_random(worker, 20) == 0)) {
                destroy_coroutine(one, one->is_over);
                over++;
                nasty_pause_us(10); /* at its end this call must not access the stack that was unmapped */
            }
        }
        nasty_round(worker);
    }
}

/* ---- across threads ---- */

enum {
    WANDERERS = 12
};

static struct {
    pthread_mutex_t lock;
    struct coroutine all[WANDERERS];
    bool is_running[WANDERERS]; /* protected by lock */
    unsigned number;            /* protected by lock */
    unsigned workers;           /* protected by lock */
} wander = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Take a coroutine that no thread runs. It belongs to this thread until it is put back. */
static struct coroutine *take_wanderer(struct nasty_worker *worker)
{
    struct coroutine *one = NULL;
    pthread_mutex_lock(&wander.lock);
    unsigned first = nasty_random(worker, WANDERERS);
    for (unsigned i = 0; i < WANDERERS && one == NULL; i++) {
        unsigned at = (first + i) % WANDERERS;
        if (!wander.is_running[at]) {
            wander.is_running[at] = true;
            one = &wander.all[at];
            if (one->stack == NULL) {
                open_coroutine(one, worker, wander.number++);
            }
        }
    }
    pthread_mutex_unlock(&wander.lock);
    return one;
}

static void put_back(struct coroutine *one)
{
    pthread_mutex_lock(&wander.lock);
    wander.is_running[one - wander.all] = false;
    pthread_mutex_unlock(&wander.lock);
}

static void *run_wanderers(void *argument)
{
    struct nasty_worker *worker = argument;
    nasty_block_host_signals();
    for (int i = 0; i < 200; i++) {
        nasty_step(worker, "resuming coroutines of other threads");
        struct coroutine *one = take_wanderer(worker);
        if (one == NULL) {
            nasty_pause_us(50);
            continue;
        }
        resume(one);
        if (one->is_over || (one->is_inside_write && i % 40 == 39)) {
            destroy_coroutine(one, one->is_over);
        }
        put_back(one);
    }
    return NULL;
}

void nasty_migrating_coroutines(struct nasty_worker *worker)
{
    pthread_mutex_lock(&wander.lock);
    wander.workers++;
    pthread_mutex_unlock(&wander.lock);
    nasty_block_host_signals();
    while (nasty_goes_on()) { /* threads end while coroutines that they began are suspended */
        nasty_step(worker, "starting a thread for coroutines of others");
        pthread_t thread = nasty_thread(worker, 0, run_wanderers, worker);
        nasty_join(worker, thread);
        nasty_round(worker);
    }
    pthread_mutex_lock(&wander.lock);
    if (--wander.workers == 0) {
        for (unsigned i = 0; i < WANDERERS; i++) {
            if (wander.all[i].stack != NULL) {
                destroy_coroutine(&wander.all[i], false);
            }
        }
    }
    pthread_mutex_unlock(&wander.lock);
}

/* ---- on small stacks ---- */

enum {
    CANARY_BYTES = 6144
};

static _Thread_local struct small {
    ucontext_t home, away;
    volatile uint64_t sum;
    unsigned us;
} *volatile small;

static void compute_only(void)
{
    for (;;) {
        small->sum = nasty_compute(small->sum, small->us);
        swapcontext(&small->away, &small->home);
    }
}

/* Two libraries determine how much stack a context takes. A switch must work on a stack of 2 KiB. */
void nasty_small_coroutines(struct nasty_worker *worker)
{
    static const size_t sizes[] = {2048, 2560, 3072, 4096, 6144, 8192, 16384};
    struct small self;
    small = &self;
    nasty_block_host_signals();
    while (nasty_goes_on()) {
        size_t bytes = sizes[nasty_random(worker, 7)], whole = bytes + 2 * (size_t)CANARY_BYTES;
        unsigned char *memory = malloc(whole);
        if (memory == NULL) {
            continue;
        }
        memset(memory, 0xa5, whole);
        nasty_step(worker, "computing on a small stack");
        getcontext(&self.away);
        self.away.uc_stack.ss_sp = memory + CANARY_BYTES;
        self.away.uc_stack.ss_size = bytes;
        self.away.uc_link = NULL;
        makecontext(&self.away, compute_only, 0);
        uint64_t expected = self.sum = 1;
        self.us = 1500;
        for (int turn = 0; turn < 8; turn++) {
            swapcontext(&self.home, &self.away);
            expected = nasty_compute(expected, self.us);
            if (self.sum != expected) {
                nasty_error(worker, "a coroutine computed something else");
                expected = self.sum;
            }
        }
        for (size_t i = 0; i < CANARY_BYTES; i++) {
            if (memory[i] != 0xa5 || memory[CANARY_BYTES + bytes + i] != 0xa5) {
                nasty_error(worker, "memory beside a stack of %zu bytes was overwritten, from %zu bytes below it",
                            bytes, CANARY_BYTES - i);
                break;
            }
        }
        free(memory);
        nasty_round(worker);
    }
}
