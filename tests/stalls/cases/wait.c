/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - another thread should have reported that it is done, and was late. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "stall.h"

#define LASTS_NS (stall_ms * INT64_C(1000000))

/* A worker that waits for an order, does something slow, and reports when it is done. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ordered = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static int orders, results;
static sem_t sem_ordered, sem_done;
static int event;

static STALL_FUNCTION void encode_frame(void)
{
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        for (int i = 0; i < 5000; i++) {
            stall_sink += (uint64_t)i * 3;
        }
    }
}

static STALL_FUNCTION void persist_state(void)
{
    static char block[128 * 1024];
    char path[300];
    snprintf(path, sizeof path, "%s/state", stall_folder());
    int file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        if (pwrite(file, block, sizeof block, 0) < 0) {
            abort();
        }
        fdatasync(file);
    }
    close(file);
}

static STALL_FUNCTION void fetch_remote(void)
{
    usleep((useconds_t)stall_ms * 1000);
    STALL_STAY();
}

/* ---- condition variables ---- */

static void *serve_orders(void *work)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (orders == 0) {
            pthread_cond_wait(&ordered, &lock);
        }
        orders--;
        pthread_mutex_unlock(&lock);
        ((void (*)(void))work)();
        pthread_mutex_lock(&lock);
        results++;
        pthread_cond_signal(&done);
    }
    return NULL;
}

static void order_and_wait(void)
{
    pthread_mutex_lock(&lock);
    orders++;
    pthread_cond_signal(&ordered);
    while (results == 0) {
        pthread_cond_wait(&done, &lock);
    }
    results--;
    pthread_mutex_unlock(&lock);
}

static void prepare_encoder(void)
{
    stall_thread("encoder", serve_orders, (void *)encode_frame, NULL);
}

static STALL_FUNCTION void await_frame(int n)
{
    order_and_wait();
    stall_sink += (uint64_t)n;
}

static void prepare_persister(void)
{
    stall_thread("persister", serve_orders, (void *)persist_state, NULL);
}

static STALL_FUNCTION void await_persisted(int n)
{
    order_and_wait();
    stall_sink += (uint64_t)n;
}

/* ---- a pool whose two threads are busy with earlier jobs ---- */

static STALL_FUNCTION void crunch_block(void)
{
    usleep(700000);
    STALL_STAY();
}

static void prepare_pool(void)
{
    stall_thread("pool-1", serve_orders, (void *)crunch_block, NULL);
    stall_thread("pool-2", serve_orders, (void *)crunch_block, NULL);
}

static STALL_FUNCTION void await_backlog(int n)
{
    pthread_mutex_lock(&lock);
    orders += 5;
    pthread_cond_broadcast(&ordered);
    while (results < 5) {
        pthread_cond_wait(&done, &lock);
    }
    results = 0;
    pthread_mutex_unlock(&lock);
    stall_sink += (uint64_t)n;
}

/* ---- a condition nobody signals in time ---- */

static STALL_FUNCTION void await_forever(int n)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    until.tv_nsec += 500000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&lock);
    while (pthread_cond_timedwait(&done, &lock, &until) == 0) {
    }
    pthread_mutex_unlock(&lock);
    stall_sink += (uint64_t)n;
}

/* ---- semaphores ---- */

static void *serve_semaphore(void *unused)
{
    for (;;) {
        while (sem_wait(&sem_ordered) != 0) {
        }
        fetch_remote();
        sem_post(&sem_done);
    }
    return unused;
}

static void prepare_fetcher(void)
{
    sem_init(&sem_ordered, 0, 0);
    sem_init(&sem_done, 0, 0);
    stall_thread("fetcher", serve_semaphore, NULL, NULL);
}

static STALL_FUNCTION void await_download(int n)
{
    sem_post(&sem_ordered);
    while (sem_wait(&sem_done) != 0) {
    }
    stall_sink += (uint64_t)n;
}

/* ---- barriers ---- */

static pthread_barrier_t barrier;

static void *come_late(void *unused)
{
    encode_frame();
    pthread_barrier_wait(&barrier);
    return unused;
}

static STALL_FUNCTION void meet_at_barrier(int n)
{
    pthread_barrier_init(&barrier, NULL, 2);
    stall_thread("latecomer", come_late, NULL, NULL);
    pthread_barrier_wait(&barrier);
    stall_sink += (uint64_t)n;
}

/* ---- the end of a thread ---- */

static STALL_FUNCTION void drain_queue(void)
{
    usleep((useconds_t)stall_ms * 1000);
    STALL_STAY();
}

static void *drain(void *unused)
{
    drain_queue();
    STALL_STAY();
    return unused;
}

static STALL_FUNCTION void stop_worker(int n)
{
    uint64_t thread;
    stall_thread("drainer", drain, NULL, &thread);
    stall_pause_ms(10);
    pthread_join((pthread_t)thread, NULL);
    stall_sink += (uint64_t)n;
}

/* ---- an event counter, read as a file ---- */

static void *raise_late(void *unused)
{
    uint64_t one = 1;
    persist_state();
    if (write(event, &one, sizeof one) != (ssize_t)sizeof one) {
        abort();
    }
    return unused;
}

static STALL_FUNCTION void await_event(int n)
{
    uint64_t value;
    event = eventfd(0, EFD_CLOEXEC);
    stall_thread("raiser", raise_late, NULL, NULL);
    if (read(event, &value, sizeof value) == (ssize_t)sizeof value) {
        stall_sink += (uint64_t)n;
    }
}

const struct stall stalls_wait[] = {
    {.name = "wait_cond_cpu", .prepare = prepare_encoder, .message = await_frame},
    {.name = "wait_cond_io", .prepare = prepare_persister, .message = await_persisted},
    {.name = "wait_pool_backlog", .prepare = prepare_pool, .message = await_backlog},
    {.name = "wait_cond_nobody", .message = await_forever},
    {.name = "wait_sem", .prepare = prepare_fetcher, .message = await_download},
    {.name = "wait_barrier", .message = meet_at_barrier},
    {.name = "wait_join", .message = stop_worker},
    {.name = "wait_eventfd", .message = await_event},
    {.name = NULL},
};
