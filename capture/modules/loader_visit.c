/* SPDX-License-Identifier: Apache-2.0 */
/* loader_visit.c - one lock, held around visits to the loader, and around fork.
 *
 * With priority inheritance: a real-time thread that forks lends its priority to ours that is inside the loader, which then
 * is out within microseconds. Without it, ours would not run while real-time threads fill the processor, and each such fork
 * would wait to the end. */
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
    FORK_LOOK_MS = 50,        /* between two looks at what the visitor does */
    FORK_WAIT_MOST_MS = 10000 /* for one that has had no processor to finish with */
};

static pthread_mutex_t visit_lock SBX_FORK_DATA = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t untouched_lock; /* as visit_lock was when it was made; never locked */
static __thread bool has_visit_lock;
static uint32_t is_inside SBX_FORK_DATA; /* 1: a visitor of ours has the loader's own lock */

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
    sbx_store_relaxed(&is_inside, was_inside); /* relaxed: the visit's end, behind it, lets a fork go on */
    return result;
}

/* musl has no pthread_mutex_clocklock, and the thread sanitizer of GCC 12 does not know it: there a clock set back makes one fork
 * wait longer. */
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
    if (error == EINVAL) { /* before Linux 5.14 a lock with inheritance knows one clock only */
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

/* It did not end in time, and the child's copy of the loader's lock is held for good. */
static void count_if_it_is_inside(void)
{
    if (!has_visit_lock && sbx_load_relaxed(&is_inside) != 0 && sbx_the_capture.header != NULL) {
        sbx_count_drop(SBX_DROP_LOADER_HELD); /* relaxed: its end in this very moment is counted as well */
    }
}

/* A machine with many times more threads than processors may give the visitor a few milliseconds a second. It has the loader's
 * lock, which the child would find held for ever. */
static bool wait_while_it_works(void)
{
    for (uint32_t waited_ms = SBX_FORK_WAIT_MS; waited_ms < FORK_WAIT_MOST_MS; waited_ms += FORK_LOOK_MS) {
        if (sbx_load_relaxed(&is_inside) == 0) { /* relaxed: it waits for that lock itself */
            return false;
        }
        if (lock_within(FORK_LOOK_MS) == 0) {
            return true;
        }
    }
    return false;
}

/* The visitor that is inside, and has the priority of the thread that forks now, is out within microseconds. Else it is not
 * inside but waits for the loader, which a thread of the program's holds: a fork would meet that one there without us as well. A
 * real-time thread does not wait for it. */
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

/* Nobody visits the loader here any more: the child's own forks need not wait. */
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
