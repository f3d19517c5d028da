/* SPDX-License-Identifier: Apache-2.0 */
/* healthy.c - programs without a stall. None of them may be reported. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "stall.h"

static void compute_ms(int ms)
{
    for (int64_t until_ns = stall_now_ns() + ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        for (int i = 0; i < 2000; i++) {
            stall_sink += (uint64_t)i * 3;
        }
    }
}

static void do_little(int n)
{
    stall_sink += (uint64_t)n;
}

static void do_briefly(int n)
{
    compute_ms(1);
    stall_sink += (uint64_t)n;
}

static void do_forty_ms(int n)
{
    compute_ms(40);
    stall_sink += (uint64_t)n;
}

/* Never comes to a loop, like a compiler, a copy or a build step. */
static void batch_and_exit(void)
{
    compute_ms(1800);
    usleep(1200000);
    exit(0);
}

static void start_slowly(void)
{
    compute_ms(1000);
    usleep(1000000);
    /* A poll outside of the loop, for a server that the program connects to at its start. */
    poll(NULL, 0, 900);
}

static void *work_all_the_time(void *unused)
{
    for (;;) {
        compute_ms(100);
        usleep(1000);
    }
    return unused;
}

static void start_busy_worker(void)
{
    stall_thread("busy", work_all_the_time, NULL, NULL);
}

static void *sleep_for_long(void *unused)
{
    usleep(60000000);
    return unused;
}

static void start_sleeper(void)
{
    stall_thread("sleeper", sleep_for_long, NULL, NULL);
}

/* A worker with a loop of its own that hangs for long, but nobody waits for it. */
static void *run_own_loop(void *unused)
{
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    for (;;) {
        epoll_wait(loop, &event, 1, 5);
        compute_ms(1300);
    }
    return unused;
}

static void start_second_loop(void)
{
    stall_thread("second-loop", run_own_loop, NULL, NULL);
}

/* A worker holds this lock for long, but the main thread only tries to take it. */
static pthread_mutex_t tried_lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold_for_long(void *unused)
{
    pthread_mutex_lock(&tried_lock);
    usleep(60000000);
    return unused;
}

static void start_holder(void)
{
    stall_thread("holder", hold_for_long, NULL, NULL);
}

static void try_lock(int n)
{
    if (pthread_mutex_trylock(&tried_lock) == 0) {
        pthread_mutex_unlock(&tried_lock);
    }
    stall_sink += (uint64_t)n;
}

/* Stopped by job control or a debugger for 1.5 s, a moment after the loop has begun. */
static void stop_for_a_while(void)
{
    pid_t parent = getpid();
    if (fork() == 0) {
        stall_pause_ms(400);
        kill(parent, SIGSTOP);
        stall_pause_ms(1500);
        kill(parent, SIGCONT);
        _exit(0);
    }
}

/* The loop ends, and the remaining work takes longer than a message may. */
static void save_and_wait(void)
{
    compute_ms(1000);
    usleep(1000000);
}

static void save_at_exit(void)
{
    atexit(save_and_wait);
}

const struct stall stalls_healthy[] = {
    {.name = "healthy_idle", .message = do_little, .delay_ms = 900, .messages = 12},
    {.name = "healthy_long_poll", .message = do_little, .delay_ms = 2500, .messages = 10},
    {.name = "healthy_batch", .prepare = batch_and_exit, .message = do_little},
    {.name = "healthy_slow_start", .prepare = start_slowly, .message = do_little},
    {.name = "healthy_busy_worker",
     .prepare = start_busy_worker,
     .message = do_briefly,
     .every = true,
     .delay_ms = 16,
     .messages = 120},
    {.name = "healthy_many_messages", .message = do_briefly, .every = true, .messages = 1500},
    {.name = "healthy_timer", .message = do_forty_ms, .every = true, .delay_ms = 60, .messages = 28},
    {.name = "healthy_sleeper", .prepare = start_sleeper, .message = do_little, .delay_ms = 200, .messages = 17},
    {.name = "healthy_second_loop",
     .prepare = start_second_loop,
     .message = do_little,
     .every = true,
     .delay_ms = 50,
     .messages = 50},
    {.name = "healthy_trylock",
     .prepare = start_holder,
     .message = try_lock,
     .every = true,
     .delay_ms = 20,
     .messages = 100},
    {.name = "healthy_stopped_idle",
     .prepare = stop_for_a_while,
     .message = do_little,
     .delay_ms = 1500,
     .messages = 12},
    {.name = "healthy_stopped_busy",
     .prepare = stop_for_a_while,
     .message = do_forty_ms,
     .every = true,
     .delay_ms = 1,
     .messages = 60},
    {.name = "healthy_loop_ended",
     .prepare = save_at_exit,
     .message = do_forty_ms, /* long enough that its loop is seen */
     .every = true,
     .delay_ms = 15,
     .messages = 40},
    {.name = NULL},
};
