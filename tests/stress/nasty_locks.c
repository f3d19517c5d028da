/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_locks.c - locks and waits with invariants: counts under a lock are right, and no wake-up is lost. */
#include "nasty_host.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* ---- locks ---- */

enum {
    MUTEXES = 6,
    FRIENDS = 3 /* additional threads of each worker */
};

static struct {
    pthread_once_t once;
    pthread_mutex_t mutexes[MUTEXES];
    long pairs[MUTEXES][2]; /* equal whenever the mutex is unlocked */
    pthread_rwlock_t readers;
    long shared[2];
    pthread_spinlock_t spin;
    long spun[2];
    atomic_long turns;
} locks = {.once = PTHREAD_ONCE_INIT};

static void make_locks(void)
{
    static const int types[MUTEXES] = {PTHREAD_MUTEX_NORMAL,      PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                       PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_NORMAL,    PTHREAD_MUTEX_NORMAL};
    for (int i = 0; i < MUTEXES; i++) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, types[i]);
        if (i == 4) {
            pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        } else if (i == 5) {
            pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
        }
        pthread_mutex_init(&locks.mutexes[i], &attributes);
        pthread_mutexattr_destroy(&attributes);
    }
    pthread_rwlock_init(&locks.readers, NULL);
    pthread_spin_init(&locks.spin, PTHREAD_PROCESS_PRIVATE);
}

static void count_pair(struct nasty_worker *worker, long *pair, unsigned us)
{
    if (pair[0] != pair[1]) {
        nasty_error(worker, "two threads were under one lock");
    }
    ((volatile long *)pair)[0]++;
    nasty_compute(1, us);
    ((volatile long *)pair)[1]++;
}

static int lock_somehow(struct nasty_worker *worker, pthread_mutex_t *mutex, unsigned how)
{
    struct timespec until, now;
    int error = EBUSY;
    if (how == 0) {
        while ((error = pthread_mutex_trylock(mutex)) == EBUSY && nasty_goes_on()) {
            nasty_pause_us(50);
        }
    } else if (how == 1) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 300000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        error = pthread_mutex_timedlock(mutex, &until);
        clock_gettime(CLOCK_REALTIME, &now);
        if (error == ETIMEDOUT &&
            (now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec))) {
            nasty_error(worker, "pthread_mutex_timedlock: over before its time");
        }
    } else {
        error = pthread_mutex_lock(mutex);
    }
    if (error != 0 && error != EBUSY && error != ETIMEDOUT) {
        nasty_error(worker, "a mutex: %s", strerror(error));
    }
    return error;
}

static void use_locks(struct nasty_worker *worker, unsigned random)
{
    unsigned which = random % (MUTEXES + 2), us = random / 16 % 64 == 0 ? 300 : random / 16 % 8;
    long *pair;
    int error = 0;
    if (which < MUTEXES) {
        pthread_mutex_t *mutex = &locks.mutexes[which];
        if (lock_somehow(worker, mutex, random / 4096 % 4) != 0) {
            return;
        }
        if (which == 1 && pthread_mutex_lock(mutex) == 0) { /* recursive */
            error = pthread_mutex_unlock(mutex);
        } else if (which == 2 && pthread_mutex_lock(mutex) != EDEADLK) {
            nasty_error(worker, "an error-checking mutex was taken twice");
        }
        pair = locks.pairs[which];
        count_pair(worker, pair, us);
        error |= pthread_mutex_unlock(mutex);
        if (which == 2 && pthread_mutex_unlock(mutex) == 0) {
            nasty_error(worker, "an error-checking mutex was opened by who did not hold it");
        }
    } else if (which == MUTEXES) {
        if (random / 4096 % 4 != 0) {
            error = pthread_rwlock_rdlock(&locks.readers);
            if (locks.shared[0] != locks.shared[1]) {
                nasty_error(worker, "a writer was beside a reader");
            }
        } else {
            error = pthread_rwlock_wrlock(&locks.readers);
            count_pair(worker, locks.shared, us);
        }
        error |= pthread_rwlock_unlock(&locks.readers);
    } else {
        error = pthread_spin_lock(&locks.spin);
        count_pair(worker, locks.spun, 1);
        error |= pthread_spin_unlock(&locks.spin);
    }
    if (error != 0) {
        nasty_error(worker, "lock %u: %s", which, strerror(error));
    }
}

static void *lock_again_and_again(void *argument)
{
    unsigned random = (unsigned)(uintptr_t)&random;
    for (int i = 0; i < 200; i++) {
        random = random * 1664525 + 1013904223;
        use_locks(argument, random >> 8);
    }
    return NULL;
}

void nasty_locks(struct nasty_worker *worker)
{
    pthread_once(&locks.once, make_locks);
    while (nasty_goes_on()) {
        pthread_t threads[FRIENDS];
        nasty_step(worker, "locking");
        for (int i = 0; i < FRIENDS; i++) {
            threads[i] = nasty_thread(worker, 0, lock_again_and_again, worker);
        }
        lock_again_and_again(worker);
        for (int i = 0; i < FRIENDS; i++) {
            nasty_join(worker, threads[i]);
        }
        nasty_round(worker);
    }
}

/* ---- waits ---- */

enum {
    ITEMS = 300,
    PLACES = 4,
    CONSUMERS = 3
};

static struct {
    struct nasty_worker *worker;
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    long queue[PLACES], count, taken_sum; /* protected by lock */
    sem_t full, empty, mutex;
    long ring[PLACES], put_at, take_at, ring_sum; /* protected by the semaphore `mutex` */
    pthread_barrier_t barrier;
    atomic_long at_barrier;
} waits = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .not_full = PTHREAD_COND_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER};

static void wait_for(sem_t *semaphore)
{
    sig_atomic_t handled = nasty_handled;
    while (sem_wait(semaphore) != 0) {
        if (!nasty_is_interrupted(waits.worker, handled, "sem_wait")) {
            return;
        }
        handled = nasty_handled;
    }
}

static void *consume(void *unused)
{
    (void)unused;
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&waits.lock);
        while (waits.count == 0) {
            pthread_cond_wait(&waits.not_empty, &waits.lock);
        }
        waits.taken_sum += waits.queue[--waits.count];
        pthread_mutex_unlock(&waits.lock);
        pthread_cond_signal(&waits.not_full);
        wait_for(&waits.full);
        wait_for(&waits.mutex);
        waits.ring_sum += waits.ring[waits.take_at++ % PLACES];
        sem_post(&waits.mutex);
        sem_post(&waits.empty);
    }
    for (int i = 0; i < 20; i++) {
        long before = atomic_fetch_add(&waits.at_barrier, 1);
        pthread_barrier_wait(&waits.barrier);
        long now = waits.at_barrier;
        if (now < before + 1 || now % CONSUMERS != 0) {
            nasty_error(waits.worker, "a barrier opened with %ld of %d before it", now % CONSUMERS, CONSUMERS);
        }
        pthread_barrier_wait(&waits.barrier);
    }
    return NULL;
}

static void produce(long number)
{
    pthread_mutex_lock(&waits.lock);
    while (waits.count == PLACES) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_sec += 1000;
        if (number % 2 == 0) {
            pthread_cond_wait(&waits.not_full, &waits.lock);
        } else if (pthread_cond_timedwait(&waits.not_full, &waits.lock, &soon) == ETIMEDOUT) {
            nasty_error(waits.worker, "pthread_cond_timedwait: over before its time, or a wake-up was lost");
        }
    }
    waits.queue[waits.count++] = number;
    pthread_mutex_unlock(&waits.lock);
    pthread_cond_signal(&waits.not_empty);
    wait_for(&waits.empty);
    wait_for(&waits.mutex);
    waits.ring[waits.put_at++ % PLACES] = number;
    sem_post(&waits.mutex);
    sem_post(&waits.full);
}

void nasty_waits(struct nasty_worker *worker)
{
    waits.worker = worker;
    sem_init(&waits.full, 0, 0);
    sem_init(&waits.empty, 0, PLACES);
    sem_init(&waits.mutex, 0, 1);
    pthread_barrier_init(&waits.barrier, NULL, CONSUMERS);
    while (nasty_goes_on()) {
        pthread_t threads[CONSUMERS];
        long sum = 0;
        waits.taken_sum = waits.ring_sum = 0;
        nasty_step(worker, "a queue with conditions, a ring with semaphores (a lost wake-up is a hang)");
        for (int i = 0; i < CONSUMERS; i++) {
            threads[i] = nasty_thread(worker, 0, consume, NULL);
        }
        for (long i = 0; i < (long)ITEMS * CONSUMERS; i++) {
            produce(i);
            sum += i;
        }
        nasty_step(worker, "a barrier");
        for (int i = 0; i < CONSUMERS; i++) {
            nasty_join(worker, threads[i]);
        }
        if (waits.taken_sum != sum || waits.ring_sum != sum) {
            nasty_error(worker, "what was put: %ld, taken from the queue: %ld, from the ring: %ld", sum,
                        waits.taken_sum, waits.ring_sum);
        }
        nasty_round(worker);
    }
}
