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
#include <time.h>

#include "libc_symbols.h"

enum {
    FORK_WAIT_MS = 200
};

static pthread_mutex_t visit_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool has_visit_lock;

static void make_lock(void)
{
    pthread_mutexattr_t attributes;
    bool inherits = pthread_mutexattr_init(&attributes) == 0 &&
                    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0 &&
                    pthread_mutex_init(&visit_lock, &attributes) == 0;
    if (!inherits) { /* a kernel without CONFIG_FUTEX_PI */
        pthread_mutex_init(&visit_lock, NULL);
    }
}

void sbx_loader_visit_begin(void)
{
    pthread_mutex_lock(&visit_lock);
}

void sbx_loader_visit_end(void)
{
    pthread_mutex_unlock(&visit_lock);
}

/* musl has no pthread_mutex_clocklock: there a clock set back makes one fork wait longer. */
#ifdef __GLIBC__
#define FORK_WAIT_CLOCK CLOCK_MONOTONIC
#else
#define FORK_WAIT_CLOCK CLOCK_REALTIME
#endif

static void add_wait(struct timespec *until)
{
    until->tv_nsec += FORK_WAIT_MS * 1000000L;
    until->tv_sec += until->tv_nsec / 1000000000;
    until->tv_nsec %= 1000000000;
}

static void before_fork(void)
{
    struct timespec until;
    clock_gettime(FORK_WAIT_CLOCK, &until);
    add_wait(&until);
#ifdef __GLIBC__
    int error = pthread_mutex_clocklock(&visit_lock, FORK_WAIT_CLOCK, &until);
    if (error == EINVAL) { /* before Linux 5.14 such a lock knows one clock only */
        clock_gettime(CLOCK_REALTIME, &until);
        add_wait(&until);
        error = pthread_mutex_timedlock(&visit_lock, &until);
    }
    has_visit_lock = error == 0;
#else
    has_visit_lock = pthread_mutex_timedlock(&visit_lock, &until) == 0;
#endif
}

static void after_fork_in_parent(void)
{
    if (has_visit_lock) {
        pthread_mutex_unlock(&visit_lock);
    }
}

static void after_fork_in_child(void)
{
    /* Nobody visits the loader here any more: the child's own forks need not wait. */
    make_lock();
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
