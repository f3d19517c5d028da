/* SPDX-License-Identifier: Apache-2.0 */
/* point_qt_pool.c - Qt's thread pools: which thread started the work that a pool's thread runs, how long the work lay,
 * and which work was taken back.
 *
 * QThreadPool::start() uses a slot, and so do QtConcurrent::run() and the engines of QtConcurrent. When a pool's thread
 * takes the work, no slot is used: Qt binds its own calls, and run() is a virtual function of a class of the program.
 * So the word of that class's vtable that leads to run() is made to lead to a function of the agent that stands for it
 * (stand_ins.h). The thread that starts the first object of a class does this at once; otherwise the first work of each
 * class would be missed, and often there is no other. Such words stay. The agent's function calls the original with the
 * same argument. No object of the program is changed. So Qt compares, takes back, counts and deletes the program's own
 * objects. A thread that waits for work may also steal it; it calls run() too.
 *
 * A std::function is moved into an object of Qt that the agent does not see. But it is passed by value, so the agent
 * can change it before. A function of GNU's library has two words of state, a manager and a caller; the caller is
 * replaced in the same way. Moves copy the state word by word, so the state is the key. Functions with the same state
 * begin in the order in which they were started. The manager, which a program uses to ask for type or target, is not
 * changed.
 *
 * A pool is one queue. It belongs to the group of Qt's events, because it is the same library, and users want to know
 * about posted events and started work together. The code only uses that, in Qt 5 and 6, a QRunnable has its vtable
 * first, and that the vtable has run() first. */
#include "point.h"
#include "qt_unfollowed.h"
#include "relro_word.h"
#include "stand_ins.h"
#include "task.h"

typedef void run_function(void *runnable);
typedef void call_function(const uint64_t *state);

/* GNU's std::function<void()> (libstdc++, bits/std_function.h). */
struct function {
    uint64_t state[2];
    const void *manager; /* NULL: the function is empty */
    call_function *call;
};

/* ---- the side that runs ---- */

static uint64_t key_of_runnable(const void *runnable)
{
    return ((uint64_t)(uintptr_t)runnable * UINT64_C(0x8ebc6af09c88c6e3)) | 1;
}

static uint64_t key_of_function(uint32_t number, const uint64_t state[2])
{
    return ((state[0] * UINT64_C(0x589965cc75374cc3)) ^ (state[1] * UINT64_C(0x1d8e4e27c47d124f)) ^
            ((uint64_t)number << 1)) |
           1;
}

static void serve_runnable(uint32_t number, void *runnable);
static void serve_function(uint32_t number, const uint64_t *state);

#define RUNS(n)                         \
    static void run_##n(void *runnable) \
    {                                   \
        serve_runnable(n, runnable);    \
    }
#define CALLS(n)                                \
    static void call_##n(const uint64_t *state) \
    {                                           \
        serve_function(n, state);               \
    }
SBX_STAND_IN_NUMBERS(RUNS)
SBX_STAND_IN_NUMBERS(CALLS)
#define RUN_NAME(n)  (const void *)run_##n,
#define CALL_NAME(n) (const void *)call_##n,
static const void *const runs[] = {SBX_STAND_IN_NUMBERS(RUN_NAME)}, *const calls_of_functions[] = {
                                                                        SBX_STAND_IN_NUMBERS(CALL_NAME)};
static_assert(SBX_COUNT_OF(runs) == SBX_STAND_INS && SBX_COUNT_OF(calls_of_functions) == SBX_STAND_INS,
              "a function for each number");
static struct sbx_stand_ins run_stand_ins = {.ours = runs}, call_stand_ins = {.ours = calls_of_functions};

static uint64_t
    pools[SBX_STAND_INS]; /* the last pool of each function: the queue of work that is counted but not followed */

static void serve_runnable(uint32_t number, void *runnable)
{
    run_function *run = (run_function *)sbx_stand_in_served(&run_stand_ins, number);
    uint64_t key = key_of_runnable(runnable), task = sbx_capture_is_open() ? sbx_task_find(key, 0) : 0;
    task = task != 0 ? task : sbx_qt_take_unfollowed(key);
    if (task == 0) {
        run(runnable);
        return;
    }
    sbx_task_begin(task);
    run(runnable); /* run() may delete it */
    sbx_task_end(task);
}

static void serve_function(uint32_t number, const uint64_t *state)
{
    call_function *call = (call_function *)sbx_stand_in_served(&call_stand_ins, number);
    uint64_t task = sbx_capture_is_open() ? sbx_task_find(key_of_function(number, state), 0) : 0;
    if (task == 0) {
        sbx_task_begin_uncounted(sbx_load_relaxed(&pools[number])); /* relaxed: a number */
        call(state);
        return;
    }
    sbx_task_begin(task);
    call(state);
    sbx_task_end(task);
}

/* ---- the side that starts ---- */

/* Will the begin of this work be seen? */
static bool is_led(void *const *runnable)
{
    uintptr_t *word = *(uintptr_t *const *)(const void *)runnable;
    const void *function = (const void *)sbx_load_relaxed(word); /* relaxed: functions do not move */
    if (SBX_LIKELY(sbx_stand_in_number(&run_stand_ins, function) < SBX_STAND_INS)) {
        return true;
    }
    uint32_t number = sbx_stand_in_for(&run_stand_ins, function);
    return number < SBX_STAND_INS && sbx_relro_store(word, (uintptr_t)runs[number]);
}

static uint64_t queue(const void *pool, uint64_t key)
{
    return sbx_task_queued(SBX_GROUP_QT, SBX_OP_QT_THREAD_POOL, (uint64_t)(uintptr_t)pool, key, 0);
}

static uint64_t queue_runnable(const void *pool, void *runnable)
{
    if (!sbx_capture_is_open() || pool == NULL || runnable == NULL || !is_led(runnable)) {
        return 0;
    }
    uint64_t key = key_of_runnable(runnable), task = queue(pool, key);
    if (SBX_UNLIKELY(task != 0 && sbx_task_hop_of_id(task) == 0)) {
        sbx_qt_keep_unfollowed(key, task);
    }
    return task;
}

static uint64_t queue_function(const void *pool, struct function *function)
{
    if (!sbx_capture_is_open() || pool == NULL || function == NULL || function->manager == NULL) {
        return 0;
    }
    uint32_t number = sbx_stand_in_for(&call_stand_ins, (const void *)function->call);
    if (number >= SBX_STAND_INS) {
        return 0;
    }
    function->call = (call_function *)calls_of_functions[number];
    sbx_store_relaxed(&pools[number], (uint64_t)(uintptr_t)pool); /* relaxed: a number */
    return queue(pool, key_of_function(number, function->state));
}

static void (*real_start)(void *, void *, int);
static void hook_start(void *pool, void *runnable, int priority)
{
    (void)queue_runnable(pool, runnable);
    real_start(pool, runnable, priority);
}

static void (*real_start_function)(void *, struct function *, int);
static void hook_start_function(void *pool, struct function *function, int priority)
{
    (void)queue_function(pool, function);
    real_start_function(pool, function, priority);
}

static bool (*real_tryStart)(void *, void *);
static bool hook_tryStart(void *pool, void *runnable)
{
    uint64_t task = queue_runnable(pool, runnable);
    bool is_started = real_tryStart(pool, runnable);
    if (!is_started) {
        sbx_task_cancelled(sbx_task_hop_of_id(task) != 0 ? task : sbx_qt_take_unfollowed(key_of_runnable(runnable)));
    }
    return is_started;
}

static bool (*real_tryStart_function)(void *, struct function *);
static bool hook_tryStart_function(void *pool, struct function *function)
{
    uint64_t task = queue_function(pool, function);
    bool is_started = real_tryStart_function(pool, function);
    if (!is_started) {
        sbx_task_cancelled(task);
    }
    return is_started;
}

static void (*real_startOnReserved)(void *, void *);
static void hook_startOnReserved(void *pool, void *runnable)
{
    (void)queue_runnable(pool, runnable);
    real_startOnReserved(pool, runnable);
}

static void (*real_startOnReserved_function)(void *, struct function *);
static void hook_startOnReserved_function(void *pool, struct function *function)
{
    (void)queue_function(pool, function);
    real_startOnReserved_function(pool, function);
}

/* ---- work that is taken back ---- */

static bool (*real_tryTake)(void *, void *);
static bool hook_tryTake(void *pool, void *runnable)
{
    uint64_t key = key_of_runnable(runnable), task = sbx_capture_is_open() ? sbx_task_find(key, 0) : 0;
    bool is_taken = real_tryTake(pool, runnable);
    if (is_taken) {
        sbx_task_cancelled(task != 0 ? task : sbx_qt_take_unfollowed(key));
    }
    return is_taken;
}

/* Qt 5 does not say whether the work was still in the queue. Work that has begun is marked so in the table. The object
 * may be deleted by this call. */
static void (*real_cancel)(void *, void *);
static void hook_cancel(void *pool, void *runnable)
{
    uint64_t key = key_of_runnable(runnable), task = sbx_capture_is_open() ? sbx_task_find(key, 0) : 0;
    real_cancel(pool, runnable);
    sbx_task_cancelled(task != 0 ? task : sbx_qt_take_unfollowed(key));
}

/* All work in the queue is removed. Its counts begin anew. */
static void (*real_clear)(void *);
static void hook_clear(void *pool)
{
    sbx_task_queue_ends((uint64_t)(uintptr_t)pool);
    real_clear(pool);
}

/* If an older pool had this address, it has ended. */
typedef void construct(void *, void *);
#define CONSTRUCTS(of)                                        \
    static construct *real_construct_##of;                    \
    static void hook_construct_##of(void *pool, void *parent) \
    {                                                         \
        sbx_task_queue_ends((uint64_t)(uintptr_t)pool);       \
        real_construct_##of(pool, parent);                    \
    }
CONSTRUCTS(complete)
CONSTRUCTS(base)

/* Work that was counted but not followed, and that is deleted before it began. */
static void (*real_destroy_runnable)(void *);
static void hook_destroy_runnable(void *runnable)
{
    if (SBX_LIKELY(sbx_capture_is_open())) {
        sbx_task_cancelled(sbx_qt_take_unfollowed(key_of_runnable(runnable)));
    }
    real_destroy_runnable(runnable);
}

#define POINT(symbol, name) SBX_POINT(symbol, hook_##name, real_##name, SBX_GROUP_QT)
static const struct sbx_point points[] = {
    POINT("_ZN11QThreadPool5startEP9QRunnablei", start),
    POINT("_ZN11QThreadPool5startESt8functionIFvvEEi", start_function),
    POINT("_ZN11QThreadPool8tryStartEP9QRunnable", tryStart),
    POINT("_ZN11QThreadPool8tryStartESt8functionIFvvEE", tryStart_function),
    POINT("_ZN11QThreadPool21startOnReservedThreadEP9QRunnable", startOnReserved),
    POINT("_ZN11QThreadPool21startOnReservedThreadESt8functionIFvvEE", startOnReserved_function),
    POINT("_ZN11QThreadPool7tryTakeEP9QRunnable", tryTake),
    POINT("_ZN11QThreadPool6cancelEP9QRunnable", cancel),
    POINT("_ZN11QThreadPool5clearEv", clear),
    POINT("_ZN11QThreadPoolC1EP7QObject", construct_complete),
    POINT("_ZN11QThreadPoolC2EP7QObject", construct_base),
    POINT("_ZN9QRunnableD2Ev", destroy_runnable),
};
const struct sbx_point_list sbx_points_qt_pool = SBX_POINT_LIST(points);
