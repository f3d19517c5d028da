/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_threads.c - threads that live for microseconds, 2,000 threads at once, and threads that only compute. */
#include "nasty_host.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- churn ---- */

static pthread_key_t key;
static atomic_long destroyed;

/* A destructor that allocates, and sets another value the first time, so that it is called again. */
static void destroy_value(void *value)
{
    int *times = value;
    free(malloc(100));
    if (--*times > 0) {
        pthread_setspecific(key, times);
        return;
    }
    free(times);
    atomic_fetch_add(&destroyed, 1);
}

static void make_key(void)
{
    pthread_key_create(&key, destroy_value);
}

struct short_life {
    struct nasty_worker *worker;
    uintptr_t number;
    atomic_int *ended; /* counted down by detached threads */
};

static void *live_shortly(void *argument)
{
    struct short_life *life = argument;
    char *volatile block = malloc(50 + life->number % 3000);
    int *times = malloc(sizeof *times);
    if (block == NULL || times == NULL) {
        nasty_error(life->worker, "no memory");
        return NULL;
    }
    *times = 2;
    pthread_setspecific(key, times);
    memset(block, 7, 50);
    if (life->number % 4 == 0) {
        nasty_pause_us((long)(life->number % 700));
    } else if (life->number % 4 == 1) {
        (void)nasty_compute(life->number, 100);
    }
    free(block);
    uintptr_t number = life->number;
    if (life->ended != NULL) {
        atomic_fetch_sub(life->ended, 1);
        return NULL;
    }
    if (number % 5 == 0) {
        pthread_exit((void *)(number + 1));
    }
    return (void *)(number + 1);
}

void nasty_churn(struct nasty_worker *worker)
{
    enum {
        AT_ONCE = 8
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static atomic_long made;
    static atomic_uint working;
    static const size_t stacks[] = {0, 32 << 10, 40 << 10, 64 << 10, 200 << 10, 1 << 20};
    pthread_once(&once, make_key);
    atomic_fetch_add(&working, 1);
    while (nasty_goes_on()) {
        struct short_life lives[AT_ONCE];
        pthread_t threads[AT_ONCE];
        atomic_int detached = 0;
        nasty_step(worker, "making threads");
        for (unsigned i = 0; i < AT_ONCE; i++) {
            bool is_detached = nasty_random(worker, 5) == 0;
            lives[i] = (struct short_life){worker, nasty_random(worker, 100000), is_detached ? &detached : NULL};
            atomic_fetch_add(&made, 1);
            atomic_fetch_add(&detached, is_detached);
            threads[i] = nasty_thread(worker, stacks[nasty_random(worker, 6)], live_shortly, &lives[i]);
            if (is_detached) {
                pthread_detach(threads[i]);
            }
        }
        nasty_step(worker, "joining threads");
        for (unsigned i = 0; i < AT_ONCE; i++) {
            if (lives[i].ended == NULL && nasty_join(worker, threads[i]) != (void *)(lives[i].number + 1)) {
                nasty_error(worker, "a thread returned something else");
            }
        }
        nasty_step(worker, "waiting for detached threads");
        while (detached > 0) {
            nasty_pause_us(100);
        }
        nasty_round(worker);
    }
    if (atomic_fetch_sub(&working, 1) == 1) {
        nasty_step(worker, "waiting for the last destructors");
        while (destroyed < made) {
            nasty_pause_us(1000);
        }
        if (destroyed != made) {
            nasty_error(worker, "%ld destructors for %ld threads", (long)destroyed, (long)made);
        }
    }
}

/* ---- crowd ---- */

enum {
    CROWD = 2000
};

static struct crowd {
    struct nasty_worker *worker;
    pthread_mutex_t lock;
    pthread_cond_t gate;
    bool is_open;    /* protected by lock */
    long sum;        /* protected by lock */
    int pipe_fds[2]; /* one byte for every thread that waits for one */
} crowd = {.lock = PTHREAD_MUTEX_INITIALIZER, .gate = PTHREAD_COND_INITIALIZER};

static void *be_one_of_many(void *number)
{
    void *volatile blocks[8];
    char byte = 1;
    pthread_mutex_lock(&crowd.lock);
    while (!crowd.is_open) {
        pthread_cond_wait(&crowd.gate, &crowd.lock);
    }
    pthread_mutex_unlock(&crowd.lock);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 8; i++) {
            blocks[i] = malloc(64u << i);
        }
        for (int i = 0; i < 8; i++) {
            free(blocks[i]);
        }
        while (write(crowd.pipe_fds[1], &byte, 1) < 0 && errno == EINTR) {
        }
        while (read(crowd.pipe_fds[0], &byte, 1) < 0 && errno == EINTR) {
        }
        nasty_pause_us(1 + (long)(uintptr_t)number % 1000);
    }
    pthread_mutex_lock(&crowd.lock);
    crowd.sum += (long)(uintptr_t)number;
    pthread_mutex_unlock(&crowd.lock);
    return number;
}

void nasty_crowd(struct nasty_worker *worker)
{
    static pthread_t threads[CROWD];
    crowd.worker = worker;
    if (pipe(crowd.pipe_fds) != 0) {
        nasty_error(worker, "pipe: %s", strerror(errno));
        return;
    }
    while (nasty_goes_on()) {
        long expected = 0;
        uintptr_t made = 0;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, (48u + 16u * nasty_random(worker, 4)) << 10);
        crowd.is_open = false;
        crowd.sum = 0;
        for (; made < CROWD; made++) {
            nasty_step(worker, "making 2,000 threads");
            if (pthread_create(&threads[made], &attributes, be_one_of_many, (void *)made) != 0) {
                nasty_note(worker, 1); /* the machine's limit was reached */
                break;
            }
            expected += (long)made;
        }
        pthread_attr_destroy(&attributes);
        pthread_mutex_lock(&crowd.lock);
        crowd.is_open = true;
        pthread_cond_broadcast(&crowd.gate);
        pthread_mutex_unlock(&crowd.lock);
        for (uintptr_t i = 0; i < made; i++) {
            nasty_step(worker, "joining 2,000 threads");
            if (nasty_join(worker, threads[i]) != (void *)i) {
                nasty_error(worker, "one of many returned something else");
            }
        }
        if (crowd.sum != expected) {
            nasty_error(worker, "%zu threads added up to %ld, not %ld", (size_t)made, crowd.sum, expected);
        }
        nasty_round(worker);
        for (int i = 0; i < 30 && nasty_goes_on(); i++) { /* leave processors to the other kinds */
            nasty_step(worker, "resting");
            nasty_pause_us(100000);
        }
    }
    close(crowd.pipe_fds[0]);
    close(crowd.pipe_fds[1]);
}

/* ---- compute ---- */

static double series(unsigned terms)
{
    volatile double x = 0.5;
    double sum = 0, power = x;
    for (unsigned i = 1; i <= terms; i++) {
        sum += power / i;
        power = power * x + 1.0 / (i + 1.0);
    }
    return sum;
}

static long double long_series(unsigned terms)
{
    volatile long double one = 1;
    long double sum = 0;
    for (unsigned i = 1; i <= terms; i++) {
        sum += one / i;
    }
    return sum;
}

void nasty_compute_check(struct nasty_worker *worker)
{
    const double expected = series(50000);
    const long double long_expected = long_series(50000);
    const uint64_t sum = nasty_compute(42, 3000);
    nasty_block_host_signals();
    while (nasty_goes_on()) {
        nasty_step(worker, "computing");
        errno = 4711;
        double now = series(50000);
        long double long_now = long_series(50000);
        uint64_t sum_now = nasty_compute(42, 3000);
        if (errno != 4711) {
            nasty_error(worker, "errno became %d while nothing was called", errno);
        }
        if (memcmp(&now, &expected, sizeof now) != 0 || long_now != long_expected || sum_now != sum) {
            nasty_error(worker, "the same sum came out differently");
        }
        nasty_round(worker);
        if (nasty_random(worker, 4) == 0) {
            nasty_pause_us(1000);
        }
    }
}
