/* SPDX-License-Identifier: Apache-2.0 */
/* executor_queue.c - the hooks of three methods of _queue.SimpleQueue. */
#include "executor_queue.h"

#include <stdbool.h>
#include <string.h>

#include <stallbox/stallbox.h>

#include "context_table.h"
#include "cpython.h"
#include "interpreter_lock.h"
#include "method_word.h"
#include "module_read.h"
#include "queued_work.h"
#include "queuing_frames.h"
#include "wiped_pages.h"

enum {
    WORKERS = 256,
};

static void *(*real_put)(void *, void *const *, ptrdiff_t, void *);
static void *(*real_get)(void *, void *const *, ptrdiff_t, void *);
static void *(*real_get_of_class)(void *, void *, void *const *, ptrdiff_t, void *);
static void *(*real_get_now)(void *, void *);
static void *(*real_get_now_of_class)(void *, void *, void *const *, ptrdiff_t, void *);

/* The followed item that a pool's thread runs, found by the frame that runs it. */
static struct worker {
    uint64_t frame, id;
} * workers;

static bool is_met, has_looked;

static uint64_t address_of(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static uint64_t this_thread(void)
{
    return address_of(the_cpython.calls.PyGILState_GetThisThreadState());
}

/* ---- items put into a queue ---- */

static uint64_t name_of(const void *item)
{
    return address_of(item) | CONTEXT_TABLE_ITEM;
}

static void comes(const void *queue, const void *item)
{
    if (context_table_has(name_of(item))) { /* EQ1 */
        stallbox_task_cancelled(context_table_take(name_of(item)));
    }
    uint64_t id = queued_work_tell(queuing_of_item(&the_cpython, this_thread()), queue);
    if (id == 0) {
        return;
    }
    queued_work_forget(context_table_put(name_of(item), id, 0)); /* EQ2 */
}

static void *hook_put(void *queue, void *const *arguments, ptrdiff_t count, void *names)
{
    /* Before the item is in the queue, because another thread may take it as soon as it is there. The interpreter lock
     * is not released in between. */
    if (count > 0) {
        comes(queue, arguments[0]);
    }
    void *result = real_put(queue, arguments, count, names);
    if (result == NULL && count > 0) {
        stallbox_task_cancelled(context_table_take(name_of(arguments[0])));
    }
    return result;
}

/* ---- items taken from a queue ---- */

static struct worker *worker_of(uint64_t frame)
{
    return &workers[(frame * UINT64_C(0x9e3779b97f4a7c15) >> 40) % WORKERS];
}

/* A pool's thread asks for the next item, so the item that it ran has ended. Returns the frame of the thread; 0: it is
 * no pool's thread. */
static uint64_t asks(void)
{
    uint64_t frame = queuing_worker_frame(&the_cpython, this_thread());
    struct worker *worker = worker_of(frame);
    if (frame != 0 && worker->frame == frame) {
        stallbox_task_end(worker->id);
        *worker = (struct worker){0};
    }
    return frame;
}

static void *takes(const void *queue, uint64_t frame, void *item)
{
    if (item == NULL) {
        return NULL;
    }
    uint64_t id = context_table_take(name_of(item));
    struct worker *worker = worker_of(frame);
    if (id == 0) {
        if (frame != 0 && queued_work_take_forgotten_item()) {
            stallbox_provider_work_taken_out(queue);
        }
    } else if (frame == 0) { /* the pool was shut down, or the program itself took the item */
        stallbox_task_cancelled(id);
    } else if (worker->frame != 0) { /* EQ2 */
        stallbox_provider_work_forgotten(id);
        stallbox_provider_work_taken_out(queue);
    } else {
        *worker = (struct worker){frame, id};
        stallbox_task_begin(id);
    }
    return item;
}

static void *hook_get(void *queue, void *const *arguments, ptrdiff_t count, void *names)
{
    uint64_t frame = asks();
    return takes(queue, frame, real_get(queue, arguments, count, names));
}

static void *hook_get_of_class(void *queue, void *class, void *const *arguments, ptrdiff_t count, void *names)
{
    uint64_t frame = asks();
    return takes(queue, frame, real_get_of_class(queue, class, arguments, count, names));
}

static void *hook_get_now(void *queue, void *unused)
{
    uint64_t frame = asks();
    return takes(queue, frame, real_get_now(queue, unused));
}

static void *hook_get_now_of_class(void *queue, void *class, void *const *arguments, ptrdiff_t count, void *names)
{
    uint64_t frame = asks();
    return takes(queue, frame, real_get_now_of_class(queue, class, arguments, count, names));
}

/* ---- the method pointers ---- */

void executor_queue_meets(const char *file, size_t file_bytes)
{
    static const char end[] = "/concurrent/futures/thread.py";
    const size_t end_bytes = sizeof end - 1;
    if (file_bytes >= end_bytes && memcmp(file + file_bytes - end_bytes, end, end_bytes) == 0) {
        __atomic_store_n(&is_met, true, __ATOMIC_RELAXED);
    }
}

/* Hooks all methods or none. With put alone hooked, items that nobody is seen to take would be reported as waiting. */
__attribute__((noinline)) static void put_words_in(void)
{
    uint64_t dict = module_dict(&the_cpython, "_queue");
    uint64_t type = dict != 0 ? module_object(&the_cpython, dict, "SimpleQueue") : 0;
    struct method_word put = method_word_of_type(type, "put", METHOD_FAST_WITH_NAMES);
    struct method_word get = method_word_of_type(type, "get", METHOD_ANY);
    struct method_word get_now = method_word_of_type(type, "get_nowait", METHOD_ANY);
    if (put.at == 0 || get.at == 0 || get.flags == METHOD_NO_ARGUMENTS || get_now.at == 0 ||
        get_now.flags == METHOD_FAST_WITH_NAMES) {
        return;
    }
    if (get_now.flags == METHOD_NO_ARGUMENTS) {
        method_word_lead_to(get_now.at, (const void *)hook_get_now, &real_get_now);
    } else {
        method_word_lead_to(get_now.at, (const void *)hook_get_now_of_class, &real_get_now_of_class);
    }
    if (get.flags == METHOD_FAST_WITH_NAMES) {
        method_word_lead_to(get.at, (const void *)hook_get, &real_get);
    } else {
        method_word_lead_to(get.at, (const void *)hook_get_of_class, &real_get_of_class);
    }
    method_word_lead_to(put.at, (const void *)hook_put, &real_put);
}

void executor_queue_prepare(void)
{
    if (workers == NULL && context_table_prepare()) {
        workers = wiped_pages(WORKERS * sizeof *workers); /* EQ3 */
    }
}

void executor_queue_look(uint64_t thread)
{
    if (__builtin_expect(!__atomic_load_n(&is_met, __ATOMIC_RELAXED), 1) || has_looked || workers == NULL ||
        !interpreter_lock_is_held_by(thread)) {
        return;
    }
    has_looked = true;
    put_words_in();
}
