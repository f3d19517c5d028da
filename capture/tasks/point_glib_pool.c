/* SPDX-License-Identifier: Apache-2.0 */
/* point_glib_pool.c - GLib's thread pools and asynchronous queues: which thread pushed the item on which a worker
 * works.
 *
 * A pool's workers call the pool's function from inside GLib, without a slot. So a pool that is made while the points
 * are in use gets a function of the agent in place of the program's. There is a fixed number of such functions, and
 * each calls the program's function with the same arguments. It serves one pool until a thread frees that pool and
 * waits for its tasks. Otherwise it serves that pool for ever, because workers of a freed pool may still be running.
 * Pools beyond that number are not followed. The program can only see the change in the field `func` of the GThreadPool
 * (docs/LIMITS.md).
 *
 * A queue's items are known by their address. What a worker does from one pop to the next is the item's task. If the
 * main thread pops an item, it is not known when it has finished with it, so the item is recorded as taken.
 *
 * Items that are in a queue when it ends never run, and neither do items of a pool that is freed immediately. GLib does
 * not report the end of a queue. So its references are counted here, from g_async_queue_new() on. The end of a queue
 * that was made before the points were in use is only noticed when another queue has its address. */
#include "point.h"
#include "point_glib.h"
#include "task.h"

#include <errno.h>

enum {
    POOLS = 64 /* bits of a word */
};

typedef void pool_function(void *data, void *user_data);
typedef void destroy_function(void *data);

/* The public part of a GThreadPool (gthreadpool.h). */
struct pool {
    pool_function *function;
    void *user_data;
};

static pool_function *served[POOLS]; /* by number of the agent's function */
static uint64_t served_numbers;      /* the numbers in use, one bit each */
static uint64_t pools[POOLS];        /* the pool that each function serves, known after the first push */

/* ---- pools ---- */

static uint64_t key_of_item(uint32_t number, const void *data)
{
    return ((uint64_t)(uintptr_t)data * UINT64_C(0xc4ceb9fe1a85ec53) + number) | 1;
}

static void serve(uint32_t number, void *data, void *user_data)
{
    uint64_t pool = sbx_load_relaxed(&pools[number]), task = 0; /* relaxed: a number */
    if (SBX_LIKELY(sbx_capture_is_open())) {
        sbx_queue_expect(pool);
        task = sbx_task_find(key_of_item(number, data), 0);
    }
    pool_function *function = sbx_load_acquire(&served[number]); /* order: acquire served */
    if (task == 0) {
        sbx_task_begin_uncounted(pool);
        function(data, user_data);
        return;
    }
    sbx_task_begin(task);
    function(data, user_data);
    sbx_task_end(task);
}

/* clang-format off */
#define SERVERS(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) \
    X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) \
    X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) \
    X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) \
    X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) \
    X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) \
    X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63)
/* clang-format on */
#define SERVER(n)                                      \
    static void serve_##n(void *data, void *user_data) \
    {                                                  \
        serve(n, data, user_data);                     \
    }
SERVERS(SERVER)
#define SERVER_NAME(n) serve_##n,
static pool_function *const servers[] = {SERVERS(SERVER_NAME)};
static_assert(SBX_COUNT_OF(servers) == POOLS, "a function for each pool");

/* The function to give to a new pool in place of the program's. */
static pool_function *server_for(pool_function *function)
{
    if (function == NULL || !sbx_capture_is_open()) {
        return function;
    }
    uint64_t taken = sbx_load_relaxed(&served_numbers); /* relaxed: the exchange looks again */
    uint32_t number;
    do {
        if (taken == UINT64_MAX) {
            return function;
        }
        number = (uint32_t)__builtin_ctzll(~taken);
        /* order: acq_rel served_numbers - one for each pool; the last pool's workers do not call it any more */
    } while (!sbx_cas_acq_rel(&served_numbers, &taken, taken | UINT64_C(1) << number));
    sbx_store_release(&served[number], function); /* order: release served - before any worker is there */
    return servers[number];
}

/* The number of the agent's function; POOLS: it is another function. */
static uint32_t number_of(pool_function *function)
{
    uint32_t number = 0;
    while (number < POOLS && servers[number] != function) {
        number++;
    }
    return number;
}

/* If an older pool had this address and its end was not seen, it has ended. */
static void *note_pool(void *made)
{
    sbx_task_queue_ends((uint64_t)(uintptr_t)made);
    return made;
}

static void *(*real_g_thread_pool_new)(pool_function *, void *, int, int, void **);
static void *hook_g_thread_pool_new(pool_function *function, void *user_data, int threads, int exclusive, void **error)
{
    return note_pool(real_g_thread_pool_new(server_for(function), user_data, threads, exclusive, error));
}

static void *(*real_g_thread_pool_new_full)(pool_function *, void *, destroy_function *, int, int, void **);
static void *hook_g_thread_pool_new_full(pool_function *function, void *user_data, destroy_function *free_item,
                                         int threads, int exclusive, void **error)
{
    return note_pool(
        real_g_thread_pool_new_full(server_for(function), user_data, free_item, threads, exclusive, error));
}

static int (*real_g_thread_pool_push)(struct pool *, void *, void **);
static int hook_g_thread_pool_push(struct pool *pool, void *data, void **error)
{
    uint32_t i = pool != NULL ? number_of(pool->function) : POOLS;
    if (i < POOLS) {
        if (SBX_UNLIKELY(sbx_load_relaxed(&pools[i]) != (uint64_t)(uintptr_t)pool)) { /* relaxed: a number */
            sbx_store_relaxed(&pools[i], (uint64_t)(uintptr_t)pool);
        }
        (void)sbx_task_queued(SBX_GROUP_GLIB, SBX_OP_G_THREAD_POOL_PUSH, (uint64_t)(uintptr_t)pool,
                              key_of_item(i, data), 0);
    }
    return real_g_thread_pool_push(pool, data, error);
}

static void (*real_g_thread_pool_free)(struct pool *, int, int);
static void hook_g_thread_pool_free(struct pool *pool, int immediate, int wait)
{
    if (immediate && pool != NULL) { /* otherwise all its items run */
        sbx_task_queue_ends((uint64_t)(uintptr_t)pool);
    }
    uint32_t number = pool != NULL && wait ? number_of(pool->function) : POOLS;
    real_g_thread_pool_free(pool, immediate, wait);
    if (number < POOLS) { /* its last task is over, and the agent's function has returned */
        sbx_and_seq_cst(&served_numbers, ~(UINT64_C(1) << number));
    }
}

/* ---- reference counts of asynchronous queues ---- */

enum {
    QUEUES = 128,
    PROBES = 8,
};

static struct references {
    uint64_t queue; /* 0: free */
    uint64_t count;
} references[QUEUES];

void sbx_glib_forget_references(void)
{
    for (int i = 0; i < QUEUES; i++) {
        sbx_store_relaxed(&references[i].queue, 0); /* relaxed: a hint */
    }
}

static struct references *references_of(uint64_t queue, uint64_t wanted)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct references *place = &references[((queue * UINT64_C(0x9e3779b97f4a7c15) >> 40) + i) % QUEUES];
        uint64_t nobody = 0;
        if (sbx_load_relaxed(&place->queue) == wanted && /* relaxed: passed on by the thread that made it */
            (wanted != 0 || sbx_cas_acq_rel(&place->queue, &nobody, queue))) { /* order: acq_rel references.queue */
            return place;
        }
    }
    return NULL;
}

static void *note_new(void *made)
{
    uint64_t queue = (uint64_t)(uintptr_t)made;
    if (queue != 0 && sbx_capture_is_open()) {
        sbx_task_queue_ends(queue); /* of an older queue at this address whose end was not seen */
        struct references *place = references_of(queue, queue);
        place = place != NULL ? place : references_of(queue, 0);
        if (place != NULL) {
            sbx_store_relaxed(&place->count, 1);
        }
    }
    return made;
}

static void note_one_more(const void *queue)
{
    struct references *place = references_of((uint64_t)(uintptr_t)queue, (uint64_t)(uintptr_t)queue);
    if (queue != NULL && place != NULL) {
        sbx_add_relaxed(&place->count, 1);
    }
}

static void note_one_less(const void *queue)
{
    struct references *place = references_of((uint64_t)(uintptr_t)queue, (uint64_t)(uintptr_t)queue);
    if (queue != NULL && place != NULL && sbx_add_relaxed(&place->count, UINT64_MAX) == 1) {
        sbx_store_relaxed(&place->queue, 0);
        sbx_task_queue_ends((uint64_t)(uintptr_t)queue);
    }
}

static void *(*real_g_async_queue_new)(void);
static void *hook_g_async_queue_new(void)
{
    return note_new(real_g_async_queue_new());
}

static void *(*real_g_async_queue_new_full)(destroy_function *);
static void *hook_g_async_queue_new_full(destroy_function *free_item)
{
    return note_new(real_g_async_queue_new_full(free_item));
}

static void *(*real_g_async_queue_ref)(void *);
static void *hook_g_async_queue_ref(void *queue)
{
    note_one_more(queue);
    return real_g_async_queue_ref(queue);
}

static void (*real_g_async_queue_ref_unlocked)(void *);
static void hook_g_async_queue_ref_unlocked(void *queue)
{
    note_one_more(queue);
    real_g_async_queue_ref_unlocked(queue);
}

static void (*real_g_async_queue_unref)(void *);
static void hook_g_async_queue_unref(void *queue)
{
    note_one_less(queue);
    real_g_async_queue_unref(queue);
}

static void (*real_g_async_queue_unref_and_unlock)(void *);
static void hook_g_async_queue_unref_and_unlock(void *queue)
{
    note_one_less(queue);
    real_g_async_queue_unref_and_unlock(queue);
}

/* ---- asynchronous queues ---- */

static uint64_t key_in_queue(const void *queue, const void *data)
{
    return ((uint64_t)(uintptr_t)data * UINT64_C(0x2545f4914f6cdd1d) ^ (uint64_t)(uintptr_t)queue) | 1;
}

#define PUSHES(name, parameters, arguments)                                                          \
    static void(*real_##name) parameters;                                                            \
    static void hook_##name parameters                                                               \
    {                                                                                                \
        (void)sbx_task_queued(SBX_GROUP_GLIB, SBX_OP_G_ASYNC_QUEUE_PUSH, (uint64_t)(uintptr_t)queue, \
                              key_in_queue(queue, data), 0);                                         \
        real_##name arguments;                                                                       \
    }
typedef int compare_function(const void *, const void *, void *);
PUSHES(g_async_queue_push, (void *queue, void *data), (queue, data))
PUSHES(g_async_queue_push_front, (void *queue, void *data), (queue, data))
PUSHES(g_async_queue_push_unlocked, (void *queue, void *data), (queue, data))
PUSHES(g_async_queue_push_front_unlocked, (void *queue, void *data), (queue, data))
PUSHES(g_async_queue_push_sorted, (void *queue, void *data, compare_function *compare, void *user_data),
       (queue, data, compare, user_data))
PUSHES(g_async_queue_push_sorted_unlocked, (void *queue, void *data, compare_function *compare, void *user_data),
       (queue, data, compare, user_data))

#define REMOVES(name)                                                                                        \
    static int (*real_##name)(void *, void *);                                                               \
    static int hook_##name(void *queue, void *data)                                                          \
    {                                                                                                        \
        uint64_t task = sbx_capture_is_open() ? sbx_task_find(key_in_queue(queue, data), 0) : 0;             \
        int is_removed = real_##name(queue, data);                                                           \
        if (is_removed) { /* the address may be queued again by now; that item is another task */            \
            task != 0 ? sbx_task_cancelled(task) : sbx_task_cancelled_uncounted((uint64_t)(uintptr_t)queue); \
        }                                                                                                    \
        return is_removed;                                                                                   \
    }
REMOVES(g_async_queue_remove)
REMOVES(g_async_queue_remove_unlocked)

static void end_popped(const void *queue)
{
    struct sbx_thread *thread = sbx_self;
    if (sbx_thread_is_registered(thread) && SBX_UNLIKELY(thread->tasks.popped != 0) &&
        thread->tasks.popped_from == (uint64_t)(uintptr_t)queue) {
        sbx_task_end(thread->tasks.popped);
        thread->tasks.popped = 0;
    }
}

SBX_NOINLINE static void begin_popped(const void *queue, const void *data)
{
    uint64_t task = sbx_capture_is_open() ? sbx_task_find(key_in_queue(queue, data), 0) : 0;
    if (task == 0) {
        sbx_task_begin_uncounted((uint64_t)(uintptr_t)queue);
        return;
    }
    sbx_task_begin(task);
    struct sbx_thread *thread = sbx_self;
    if (!sbx_thread_is_registered(thread) || thread->has_loop) {
        sbx_task_end(task);
        return;
    }
    thread->tasks.popped = task;
    thread->tasks.popped_from = (uint64_t)(uintptr_t)queue;
}

#define POPS(name, parameters, arguments)   \
    static void *(*real_##name)parameters;  \
    static void *hook_##name parameters     \
    {                                       \
        end_popped(queue);                  \
        void *data = real_##name arguments; \
        if (data != NULL) {                 \
            begin_popped(queue, data);      \
        }                                   \
        return data;                        \
    }
POPS(g_async_queue_pop, (void *queue), (queue))
POPS(g_async_queue_pop_unlocked, (void *queue), (queue))
POPS(g_async_queue_try_pop, (void *queue), (queue))
POPS(g_async_queue_try_pop_unlocked, (void *queue), (queue))
POPS(g_async_queue_timeout_pop, (void *queue, uint64_t us), (queue, us))
POPS(g_async_queue_timeout_pop_unlocked, (void *queue, uint64_t us), (queue, us))

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_GLIB)
static const struct sbx_point points[] = {
    POINT(g_thread_pool_new),           POINT(g_thread_pool_new_full),
    POINT(g_thread_pool_push),          POINT(g_thread_pool_free),
    POINT(g_async_queue_new),           POINT(g_async_queue_new_full),
    POINT(g_async_queue_ref),           POINT(g_async_queue_ref_unlocked),
    POINT(g_async_queue_unref),         POINT(g_async_queue_unref_and_unlock),
    POINT(g_async_queue_push),          POINT(g_async_queue_push_front),
    POINT(g_async_queue_push_unlocked), POINT(g_async_queue_push_front_unlocked),
    POINT(g_async_queue_push_sorted),   POINT(g_async_queue_push_sorted_unlocked),
    POINT(g_async_queue_remove),        POINT(g_async_queue_remove_unlocked),
    POINT(g_async_queue_pop),           POINT(g_async_queue_pop_unlocked),
    POINT(g_async_queue_try_pop),       POINT(g_async_queue_try_pop_unlocked),
    POINT(g_async_queue_timeout_pop),   POINT(g_async_queue_timeout_pop_unlocked),
};
const struct sbx_point_list sbx_points_glib_pool = SBX_POINT_LIST(points);
