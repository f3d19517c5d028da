/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - queues of the program itself, which reports their tasks through the recorder's interface. */
#include <dlfcn.h>
#include <pthread.h>

#include "stall.h"

enum {
    ROOM = 16
};

static struct {
    void (*run)(void);
    uint64_t id;
} queue[ROOM];
static unsigned put_count, taken_count;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;

/* The program is not linked with the library; it looks the function up. */
static uint64_t (*task_queued)(const void *);
static void (*task_begin)(uint64_t), (*task_end)(uint64_t);

static void find_interface(void)
{
    *(void **)&task_queued = dlsym(RTLD_DEFAULT, "stallbox_task_queued_in");
    *(void **)&task_begin = dlsym(RTLD_DEFAULT, "stallbox_task_begin");
    *(void **)&task_end = dlsym(RTLD_DEFAULT, "stallbox_task_end");
}

static STALL_FUNCTION void post_task(void (*run)(void))
{
    pthread_mutex_lock(&queue_lock);
    queue[put_count % ROOM].run = run;
    queue[put_count % ROOM].id = task_queued != NULL ? task_queued(queue) : 0;
    put_count++;
    pthread_cond_signal(&queue_filled);
    pthread_mutex_unlock(&queue_lock);
}

/* Run one task; returns whether there was one. */
static int run_task(int waits)
{
    pthread_mutex_lock(&queue_lock);
    while (waits && taken_count == put_count) {
        pthread_cond_wait(&queue_filled, &queue_lock);
    }
    int has_one = taken_count != put_count;
    void (*run)(void) = has_one ? queue[taken_count % ROOM].run : NULL;
    uint64_t id = has_one ? queue[taken_count++ % ROOM].id : 0;
    pthread_mutex_unlock(&queue_lock);
    if (has_one) {
        if (task_begin != NULL) {
            task_begin(id);
        }
        run();
        if (task_end != NULL) {
            task_end(id);
        }
    }
    return has_one;
}

/* ---- a thread posts to the loop ---- */

static STALL_FUNCTION void redraw_chart(void)
{
    STALL_COMPUTE_MS(stall_ms);
    STALL_STAY();
}

static STALL_FUNCTION void on_prices_arrived(void)
{
    post_task(redraw_chart);
    STALL_STAY();
}

static void *receive_prices(void *unused)
{
    on_prices_arrived();
    return unused;
}

static STALL_FUNCTION void run_posted(int n)
{
    if (n == 10) {
        stall_thread("prices", receive_prices, NULL, NULL);
    }
    (void)run_task(0);
    stall_sink += (uint64_t)n;
}

/* ---- a worker that the loop waits for ---- */

static pthread_mutex_t result_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t result_there = PTHREAD_COND_INITIALIZER;
static int has_result;

static void *work_for_ever(void *unused)
{
    for (;;) {
        (void)run_task(1);
    }
    return unused;
}

static void prepare_worker(void)
{
    find_interface();
    stall_thread("worker", work_for_ever, NULL, NULL);
}

static STALL_FUNCTION void rebuild_cache(void)
{
    STALL_COMPUTE_MS(stall_ms + 100);
    STALL_STAY();
}

static STALL_FUNCTION void look_up_price(void)
{
    pthread_mutex_lock(&result_lock);
    has_result = 1;
    pthread_cond_signal(&result_there);
    pthread_mutex_unlock(&result_lock);
}

static STALL_FUNCTION void refresh_cache(void)
{
    post_task(rebuild_cache);
    STALL_STAY();
}

static STALL_FUNCTION void await_price(int n)
{
    refresh_cache();
    post_task(look_up_price);
    pthread_mutex_lock(&result_lock);
    while (!has_result) {
        pthread_cond_wait(&result_there, &result_lock);
    }
    pthread_mutex_unlock(&result_lock);
    stall_sink += (uint64_t)n;
}

/* The task itself is slow and did not lie in the queue, so this is a wait. */
static STALL_FUNCTION void price_slowly(void)
{
    STALL_COMPUTE_MS(stall_ms);
    look_up_price();
    STALL_STAY();
}

static STALL_FUNCTION void await_slow_price(int n)
{
    post_task(price_slowly);
    pthread_mutex_lock(&result_lock);
    while (!has_result) {
        pthread_cond_wait(&result_there, &result_lock);
    }
    pthread_mutex_unlock(&result_lock);
    stall_sink += (uint64_t)n;
}

const struct stall stalls_tasks[] = {
    {.name = "task_posted", .prepare = find_interface, .message = run_posted, .every = true, .delay_ms = 15},
    {.name = "task_backlog", .prepare = prepare_worker, .message = await_price},
    {.name = "task_slow", .prepare = prepare_worker, .message = await_slow_price},
    {.name = NULL},
};
