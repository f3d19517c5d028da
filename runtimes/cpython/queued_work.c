/* SPDX-License-Identifier: Apache-2.0 */
/* queued_work.c - the hooks of four function pointers of the interpreter. */
#include "queued_work.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <stallbox/stallbox.h>

#include "asyncio_module.h"
#include "context_table.h"
#include "cpython.h"
#include "dict_read.h"
#include "method_word.h"
#include "module_read.h"
#include "object_read.h"
#include "queuing_frames.h"

enum {
    TYPE_DEALLOC = 48, /* the same in all versions, like the next */
    TYPE_INIT = 296,
    TYPE_BYTES = 304,
    CONTEXT_BEHIND_COROUTINE = 16, /* of a task: coroutine, name, context */
    STEP_TASK = 16,                /* of the callable for a task's first step: the task */
    STEP_BYTES = 24,
    RUNS = 64, /* runs that are known at a time */
};

static void *(*real_copy)(void *, void *);
static int (*real_init)(void *, void *, void *);
static void *(*real_run)(void *, void *const *, ptrdiff_t, void *);
static void (*real_dealloc)(void *);

/* The followed items that run, found by the frame that runs them. What the library queues in such a run is attributed
 * to the code that queued the item. Not on the stack of the call, because greenlets move that stack. */
static struct run {
    uint64_t frame, id;
} runs[RUNS];

static uint64_t context_type;
static uint64_t forgotten_items; /* forgotten items that are still in their queues */
static bool has_all;             /* all pointers are hooked: no search is needed any more */

static uint64_t address_of(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static uint64_t this_thread(void)
{
    return address_of(the_cpython.calls.PyGILState_GetThisThreadState());
}

static uint64_t find_copy(void)
{
    uint64_t dict = module_dict(&the_cpython, "_contextvars");
    uint64_t function = dict != 0 ? module_object(&the_cpython, dict, "copy_context") : 0;
    return method_word_of_function(function, "copy_context", METHOD_NO_ARGUMENTS);
}

/* ---- what is queued, and by whom ---- */

static struct run *run_of(uint64_t frame)
{
    return &runs[(frame * UINT64_C(0x9e3779b97f4a7c15) >> 40) % RUNS];
}

/* Called by the thread that runs `frame`. Only this thread meets the frame, so a value that another thread writes
 * meanwhile belongs to another frame. */
static uint64_t running_in(uint64_t frame)
{
    const struct run *run = run_of(frame);
    return __atomic_load_n(&run->frame, __ATOMIC_RELAXED) == frame ? __atomic_load_n(&run->id, __ATOMIC_RELAXED) : 0;
}

static void set_running(uint64_t frame, uint64_t id)
{
    struct run *run = run_of(frame);
    __atomic_store_n(&run->id, id,
                     __ATOMIC_RELAXED); /* relaxed: under the lock; the recorder asks for its own thread's */
    __atomic_store_n(&run->frame, frame, __ATOMIC_RELAXED);
}

uint64_t queued_work_tell(struct queuing queuing, const void *queue)
{
    static const enum stallbox_work works[] = {
        [QUEUES_CALLBACK] = STALLBOX_WORK_CALL_SOON, [QUEUES_TIMER] = STALLBOX_WORK_CALL_LATER,
        [QUEUES_TASK] = STALLBOX_WORK_CREATE_TASK,   [QUEUES_CALL] = STALLBOX_WORK_TO_THREAD,
        [QUEUES_ITEM] = STALLBOX_WORK_SUBMIT,
    };
    if (queuing.sort == QUEUES_NOTHING || queuing.who == QUEUED_BY_NOBODY) {
        return 0;
    }
    return queuing.who == QUEUED_BY_RUNNING
               ? stallbox_provider_work_passed_on(works[queuing.sort], running_in(queuing.run))
               : stallbox_provider_work_queued(works[queuing.sort], queue);
}

void queued_work_forget(struct context_item item)
{
    if (item.id != 0) {
        stallbox_provider_work_forgotten(item.id);
        forgotten_items += (item.context & CONTEXT_TABLE_ITEM) != 0;
    }
}

bool queued_work_take_forgotten_item(void)
{
    bool is_one = forgotten_items > 0;
    forgotten_items -= is_one;
    return is_one;
}

static void keep(uint64_t context, uint64_t id, uint64_t task)
{
    if (id != 0) {
        queued_work_forget(context_table_put(context, id, task));
    }
}

static void *hook_copy(void *module, void *unused)
{
    void *context = real_copy(module, unused);
    if (context != NULL) {
        keep(address_of(context), queued_work_tell(queuing_of_copy(&the_cpython, this_thread()), NULL), 0);
    }
    return context;
}

/* Returns the context of a task whose first step is in the loop's queue. 0: the task has begun already (an eager task),
 * or does not read as a task. */
READS_OBJECTS static uint64_t waits_in(uint64_t task)
{
    const struct asyncio_module *asyncio = asyncio_module_find(&the_cpython, false);
    if (asyncio == NULL || object_word_at(task, asyncio->layout->task_coroutine) == 0 ||
        object_word_at(task, asyncio->layout->task_waits_for) != 0) {
        return 0;
    }
    uint64_t context = object_word_at(task, asyncio->layout->task_coroutine + CONTEXT_BEHIND_COROUTINE);
    return context != 0 && object_word_at(context, OBJECT_TYPE) == context_type ? context : 0;
}

static int hook_init(void *task, void *arguments, void *names)
{
    int result = real_init(task, arguments, names);
    uint64_t context = result == 0 ? waits_in(address_of(task)) : 0;
    if (context != 0) {
        keep(context, queued_work_tell(queuing_of_task(&the_cpython, this_thread()), NULL), address_of(task));
    }
    return result;
}

/* ---- what runs ---- */

/* Hooks the modules that were not imported when the first pointers were hooked. Searches again when the number of
 * modules changed. */
__attribute__((noinline)) static void look_for_more(void)
{
    static uint64_t looked_count;
    uint64_t count = dict_read_count(the_cpython.types.dict, the_cpython.modules);
    if (count == looked_count) {
        return;
    }
    looked_count = count;
    uint64_t copy = real_copy == NULL ? find_copy() : 0;
    if (copy != 0) {
        method_word_lead_to(copy, (const void *)hook_copy, &real_copy);
    }
    const struct asyncio_module *asyncio = asyncio_module_find(&the_cpython, true);
    if (real_init == NULL && asyncio != NULL && object_word_at(asyncio->task_type, TYPE_INIT) != 0) {
        method_word_lead_to(asyncio->task_type + TYPE_INIT, (const void *)hook_init, &real_init);
    }
    has_all = real_copy != NULL && real_init != NULL;
}

/* Will `callable` run the item of `context`? A task's item is run only by the task's step. A callable may be smaller
 * than a step. Then the start of the next object is read, which does not contain this task's address. */
READS_OBJECTS static bool is_run_by(uint64_t context, uint64_t callable)
{
    struct object_page page = {0};
    uint64_t task = context_table_task(context);
    return task == 0 || (object_can_read(&page, callable, STEP_BYTES) && object_word_at(callable, STEP_TASK) == task);
}

static void *hook_run(void *context, void *const *arguments, ptrdiff_t count, void *names)
{
    if (__builtin_expect(!has_all, 0)) {
        look_for_more();
    }
    bool is_queued =
        count > 0 && context_table_has(address_of(context)) && is_run_by(address_of(context), address_of(arguments[0]));
    uint64_t id = is_queued ? context_table_take(address_of(context)) : 0;
    if (id == 0) {
        return real_run(context, arguments, count, names);
    }
    uint64_t frame = queuing_run_frame(&the_cpython, this_thread());
    stallbox_task_begin(id);
    set_running(frame, id);
    void *result = real_run(context, arguments, count, names);
    if (running_in(frame) == id) {
        set_running(frame, 0);
    }
    stallbox_task_end(id);
    return result;
}

static void hook_dealloc(void *context)
{
    uint64_t id = context_table_take(address_of(context));
    if (__builtin_expect(id != 0, 0)) {
        stallbox_task_cancelled(id);
    }
    real_dealloc(context);
}

void queued_work_begin(void)
{
    struct object_page page = {0};
    context_type = the_cpython.types.context;
    if (real_run != NULL || !object_can_read(&page, context_type, TYPE_BYTES) || !context_table_prepare()) {
        return;
    }
    uint64_t run = method_word_of_type(context_type, "run", METHOD_FAST_WITH_NAMES).at;
    if (run == 0 || object_word_at(context_type, TYPE_DEALLOC) == 0) {
        return;
    }
    method_word_lead_to(context_type + TYPE_DEALLOC, (const void *)hook_dealloc, &real_dealloc);
    method_word_lead_to(run, (const void *)hook_run, &real_run);
}
