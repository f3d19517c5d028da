/* SPDX-License-Identifier: Apache-2.0 */
/* loader_visit.c - one lock, held around visits to the loader and around fork.
 *
 * The lock has priority inheritance: a real-time thread that forks lends its priority to the agent's thread inside the
 * loader, which then leaves within microseconds. Without it, the agent's thread would not run while real-time threads
 * fill the processor, and each such fork would wait for the whole time limit. */
#include "loader_visit.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "fork_path.h"
#include "libc_symbols.h"
#include "order.h"
#include "raw_syscall.h"
#include "the_capture.h"

enum {
    FORK_LOOK_MS = 50,        /* time between two checks of the visitor's progress */
    FORK_WAIT_MOST_MS = 10000 /* for a visitor that gets too little processor time to finish */
};

static pthread_mutex_t visit_lock SBX_FORK_DATA = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t untouched_lock; /* a copy of visit_lock as it was made; never locked */
static __thread bool has_visit_lock;
static uint32_t is_inside SBX_FORK_DATA; /* 1: a visitor of the agent has the loader's own lock */

static void make_lock(void)
{
    pthread_mutexattr_t attributes;
    bool inherits = pthread_mutexattr_init(&attributes) == 0 &&
                    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0 &&
                    pthread_mutex_init(&visit_lock, &attributes) == 0;
    if (!inherits) { /* a kernel without CONFIG_FUTEX_PI */
        pthread_mutex_init(&visit_lock, NULL);
    }
    memcpy(&untouched_lock, &visit_lock, sizeof untouched_lock);
}

void sbx_loader_visit_begin(void)
{
    pthread_mutex_lock(&visit_lock);
}

void sbx_loader_visit_end(void)
{
    pthread_mutex_unlock(&visit_lock);
}

struct each {
    int (*call)(struct dl_phdr_info *, size_t, void *);
    void *context;
};

static int call_inside(struct dl_phdr_info *info, size_t bytes, void *context)
{
    const struct each *each = context;
    sbx_store_relaxed(&is_inside, 1); /* relaxed: a fork looks every few milliseconds */
    return each->call(info, bytes, each->context);
}

int sbx_loader_visit_each(int (*call)(struct dl_phdr_info *info, size_t bytes, void *context), void *context)
{
    struct each each = {call, context};
    uint32_t was_inside = sbx_load_relaxed(&is_inside);
    int result = dl_iterate_phdr(call_inside, &each);
    sbx_store_relaxed(&is_inside, was_inside); /* relaxed: the end of the visit, which follows, lets a fork continue */
    return result;
}

/* musl has no pthread_mutex_clocklock, and the thread sanitizer of GCC 12 does not know it. There, if the clock is set
 * back, one fork waits longer. */
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define HAS_CLOCKLOCK   1
#define FORK_WAIT_CLOCK CLOCK_MONOTONIC
#else
#define HAS_CLOCKLOCK   0
#define FORK_WAIT_CLOCK CLOCK_REALTIME
#endif

static int lock_within(uint32_t ms)
{
    struct timespec until;
    clock_gettime(FORK_WAIT_CLOCK, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
#if HAS_CLOCKLOCK
    int error = pthread_mutex_clocklock(&visit_lock, FORK_WAIT_CLOCK, &until);
    if (error == EINVAL) { /* before Linux 5.14 such a lock knows only one clock */
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (until.tv_nsec + ms * 1000000L) / 1000000000;
        until.tv_nsec = (until.tv_nsec + ms * 1000000L) % 1000000000;
        error = pthread_mutex_timedlock(&visit_lock, &until);
    }
    return error;
#else
    return pthread_mutex_timedlock(&visit_lock, &until);
#endif
}

/* Count it when the visit did not end in time, because the child's copy of the loader's lock then stays held for
 * ever. */
static void count_if_it_is_inside(void)
{
    if (!has_visit_lock && sbx_load_relaxed(&is_inside) != 0 && sbx_the_capture.header != NULL) {
        sbx_count_drop(SBX_DROP_LOADER_HELD); /* relaxed: a visit that ends in this moment is counted too */
    }
}

/* On a machine with many times more threads than processors, the visitor may get only a few milliseconds a second. It
 * holds the loader's lock, which the child would find held for ever. So wait on while the visitor works. */
static bool wait_while_it_works(void)
{
    for (uint32_t waited_ms = SBX_FORK_WAIT_MS; waited_ms < FORK_WAIT_MOST_MS; waited_ms += FORK_LOOK_MS) {
        if (sbx_load_relaxed(&is_inside) == 0) { /* relaxed: the visitor itself waits for the loader's lock */
            return false;
        }
        if (lock_within(FORK_LOOK_MS) == 0) {
            return true;
        }
    }
    return false;
}

/* A visitor that is inside the loader gets the priority of the forking thread and leaves within microseconds. If it
 * does not leave, it is not inside, but waits for the loader's lock, which a thread of the program holds. A fork would
 * meet that thread inside the loader without the agent as well. A real-time thread does not wait for this. */
static void before_fork(void)
{
    has_visit_lock = pthread_mutex_trylock(&visit_lock) == 0 || lock_within(SBX_FORK_REAL_TIME_WAIT_MS) == 0 ||
                     (!sbx_fork_is_real_time() &&
                      (lock_within(SBX_FORK_WAIT_MS - SBX_FORK_REAL_TIME_WAIT_MS) == 0 || wait_while_it_works()));
    count_if_it_is_inside();
}

static void after_fork_in_parent(void)
{
    if (has_visit_lock) {
        pthread_mutex_unlock(&visit_lock);
    }
}

/* No thread visits the loader in the child, so the child's own forks need not wait. */
SBX_FORK_CODE static void after_fork_in_child(void)
{
    sbx_store_relaxed(&is_inside, 0);
    sbx_fork_copy(&visit_lock, &untouched_lock, sizeof visit_lock);
}

SBX_FORK_CODE bool sbx_loader_was_left(void)
{
    return has_visit_lock;
}

void sbx_loader_visit_start(void)
{
    static bool has_started;
    if (has_started) {
        return;
    }
    has_started = true;
    make_lock();
    sbx_at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
}
