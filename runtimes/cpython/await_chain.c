/* SPDX-License-Identifier: Apache-2.0 */
/* await_chain.c - tasks, futures, callbacks and suspended frames. Each object is tested for readable memory, and then
 * its type is checked. */
#include "await_chain.h"

#include <string.h>

#include "dict_read.h"
#include "instance_read.h"

enum {
    LOOPS_MOST = 32, /* entries of the dict of running tasks */
    CALLBACKS_MOST = 8,
    CELLS_MOST = 12,
    BASES_MOST = 8,
    OBJECT_BYTES = 32,
    SEQUENCE_ITEMS = 24,   /* of a tuple: the first item; of a list: the address of the items */
    CALLBACK_OF_TASK = 16, /* 3.9: the task to wake; also what a coroutine wrapper wraps, and a cell's value */
    METHOD_SELF = 24,      /* of a C function and of a bound method */
    PARTIAL_ARGUMENTS = 24,
    TYPE_NAME = 24,
    TYPE_BASE = 256,
    TYPE_BYTES = 264,
    OWNED_BY_GENERATOR = 1,
};

static uint64_t type_of(struct await_chain *chain, uint64_t object, size_t bytes)
{
    return object_can_read(&chain->page, object, bytes) ? object_word_at(object, OBJECT_TYPE) : 0;
}

static bool is_kind_of(uint64_t type, uint64_t wanted)
{
    struct object_page page = {0};
    for (int i = 0; i < BASES_MOST && type != 0; i++) {
        if (type == wanted) {
            return true;
        }
        type = object_can_read(&page, type, TYPE_BYTES) ? object_word_at(type, TYPE_BASE) : 0;
    }
    return false;
}

/* Does the type have this name? Used for types that the interpreter does not export. */
static bool is_called(uint64_t type, const char *name)
{
    struct object_page page = {0};
    if (!object_can_read(&page, type, TYPE_BYTES)) {
        return false;
    }
    uint64_t at = object_word_at(type, TYPE_NAME);
    size_t bytes = strlen(name) + 1;
    return at != 0 && stallbox_provider_can_read((const void *)(uintptr_t)at, bytes) != 0 &&
           memcmp((const void *)(uintptr_t)at, name, bytes) == 0;
}

static bool is_task(struct await_chain *chain, uint64_t object)
{
    return is_kind_of(type_of(chain, object, chain->module->layout->task_bytes), chain->module->task_type);
}

/* Is it a future, but not a task? */
static bool is_future(struct await_chain *chain, uint64_t object)
{
    uint64_t type = type_of(chain, object, FUTURE_BYTES);
    return type != 0 && is_kind_of(type, chain->module->future_type) && !is_kind_of(type, chain->module->task_type);
}

/* ---- generators ---- */

static bool is_generator(struct await_chain *chain, uint64_t object)
{
    const struct cpython_types *types = &chain->cpython->types;
    uint64_t type = type_of(chain, object, chain->module->layout->generator_frame + sizeof(uint64_t));
    return type != 0 && (type == types->coroutine || type == types->generator || type == types->async_generator);
}

/* Returns the address of the generator's frame; 0: it has none. */
static uint64_t frame_of(const struct await_layout *layout, uint64_t generator)
{
    return layout->generator_state != 0 ? generator + layout->generator_frame
                                        : object_word_at(generator, layout->generator_frame);
}

/* Returns the object that a suspended generator awaits, which is on top of the stack of `frame`, the generator's frame.
 * 0: the generator is not suspended. */
static uint64_t awaited(struct await_chain *chain, uint64_t generator, uint64_t frame)
{
    const struct await_layout *layout = chain->module->layout;
    uint64_t top;
    if (layout->frame_depth == 0) {
        top = object_can_read(&chain->page, frame, layout->frame_top + sizeof top)
                  ? object_word_at(frame, layout->frame_top)
                  : 0;
    } else {
        bool is_embedded = layout->generator_state != 0;
        if (!object_can_read(&chain->page, frame,
                             (size_t)(is_embedded ? layout->frame_values : layout->frame_state) + 8)) {
            return 0;
        }
        int8_t state = (int8_t)(is_embedded ? object_byte_at(generator, layout->generator_state)
                                            : object_byte_at(frame, layout->frame_state));
        uint32_t depth = object_half_at(frame, layout->frame_depth);
        if (state < layout->state_suspended_first || state > layout->state_suspended_last || depth == 0 ||
            depth > UINT16_MAX) {
            return 0;
        }
        top = (is_embedded ? frame + layout->frame_values : object_word_at(frame, layout->frame_values)) +
              depth * sizeof(uint64_t);
    }
    return top != 0 && object_can_read(&chain->page, top - sizeof top, sizeof top) ? object_word_at(top - sizeof top, 0)
                                                                                   : 0;
}

void await_frames_begin(struct await_frames *frames, struct await_chain *chain, uint64_t task)
{
    *frames = (struct await_frames){.chain = chain, .left = AWAIT_DEPTH_MAX};
    if (is_task(chain, task)) {
        frames->generator = object_word_at(task, chain->module->layout->task_coroutine);
    }
}

/* A coroutine awaits another coroutine in one of three ways: directly, through the object that its __await__()
 * returned, or through the next value of an asynchronous generator. */
static uint64_t generator_behind(struct await_chain *chain, uint64_t object)
{
    if (object == 0 || is_generator(chain, object)) {
        return object;
    }
    uint64_t type = type_of(chain, object, OBJECT_BYTES);
    return type != 0 && (is_called(type, "coroutine_wrapper") || is_called(type, "async_generator_asend"))
               ? object_word_at(object, CALLBACK_OF_TASK)
               : 0;
}

bool await_frames_next(struct await_frames *frames, struct chain_frame *frame_out)
{
    struct await_chain *chain = frames->chain;
    const struct cpython *cpython = chain->cpython;
    if (frames->left == 0 || frames->generator == 0 || !is_generator(chain, frames->generator)) {
        return false;
    }
    frames->left--;
    uint64_t generator = frames->generator, frame = frame_of(chain->module->layout, generator);
    uint64_t next = awaited(chain, generator, frame);
    frames->generator = 0;
    if (next == 0 || !frame_chain_look_at(cpython->layout, cpython->types.code, frame, frame_out)) {
        return false;
    }
    frames->generator = generator_behind(chain, next);
    return true;
}

/* ---- tasks ---- */

static bool waits_for(struct await_chain *chain, uint64_t task, uint64_t future)
{
    return is_task(chain, task) && object_word_at(task, chain->module->layout->task_waits_for) == future;
}

/* Returns the task that `callback` wakes and that waits for `future`; 0: the callback wakes no such task. */
static uint64_t task_woken(struct await_chain *chain, uint64_t callback, uint64_t future)
{
    static const uint8_t places[] = {METHOD_SELF, CALLBACK_OF_TASK};
    for (size_t i = 0; i < sizeof places && object_can_read(&chain->page, callback, OBJECT_BYTES); i++) {
        uint64_t task = object_word_at(callback, places[i]);
        if (waits_for(chain, task, future)) {
            return task;
        }
    }
    return 0;
}

/* Returns the first future among the items of a tuple, or in the cells that the tuple holds. */
static uint64_t future_in(struct await_chain *chain, uint64_t tuple, bool has_cells)
{
    const struct cpython_types *types = &chain->cpython->types;
    if (type_of(chain, tuple, SEQUENCE_ITEMS) != types->tuple) {
        return 0;
    }
    uint64_t count = object_word_at(tuple, OBJECT_SIZE);
    for (uint64_t i = 0; i < count && i < CELLS_MOST; i++) {
        uint64_t at = tuple + SEQUENCE_ITEMS + i * sizeof at;
        uint64_t item = object_can_read(&chain->page, at, sizeof at) ? object_word_at(at, 0) : 0;
        if (has_cells) {
            item = item != 0 && type_of(chain, item, OBJECT_BYTES) == types->cell
                       ? object_word_at(item, CALLBACK_OF_TASK)
                       : 0;
        }
        if (item != 0 && is_future(chain, item)) {
            return item;
        }
    }
    return 0;
}

/* Returns the future that a callback completes. It is one of the futures to which a nested function refers (gather,
 * wait, shield), or an argument of a partial function (wait_for). 0: none. */
static uint64_t future_ended(struct await_chain *chain, uint64_t callback)
{
    const struct await_layout *layout = chain->module->layout;
    uint64_t type = type_of(chain, callback, OBJECT_BYTES);
    if (type == 0) {
        return 0;
    }
    if (type == chain->cpython->types.function) {
        bool can = object_can_read(&chain->page, callback, layout->function_closure + sizeof type);
        return can ? future_in(chain, object_word_at(callback, layout->function_closure), true) : 0;
    }
    if (type == chain->cpython->types.method) { /* of a TaskGroup: the task awaits the end of the group */
        uint64_t future =
            instance_attribute(chain->cpython, layout, object_word_at(callback, METHOD_SELF), "_on_completed_fut");
        return future != 0 && is_future(chain, future) ? future : 0;
    }
    return is_called(type, "functools.partial") ? future_in(chain, object_word_at(callback, PARTIAL_ARGUMENTS), false)
                                                : 0;
}

/* Looks at one callback of `future`: returns the task that it wakes, or sets *ended to the future that it completes. */
static uint64_t take_callback(struct await_chain *chain, uint64_t callback, uint64_t future, uint64_t *ended)
{
    if (callback == 0) {
        return 0;
    }
    uint64_t task = task_woken(chain, callback, future);
    if (task == 0 && *ended == 0) {
        uint64_t next = future_ended(chain, callback);
        *ended = next != future ? next : 0;
    }
    return task;
}

/* Returns the task that waits for `future`. 0: no task waits; then *ended is the future that is completed by this one
 * (0: none). */
static uint64_t task_behind(struct await_chain *chain, uint64_t future, uint64_t *ended)
{
    *ended = 0;
    if (!object_can_read(&chain->page, future, FUTURE_BYTES)) {
        return 0;
    }
    uint64_t list = object_word_at(future, FUTURE_CALLBACKS);
    uint64_t task = take_callback(chain, object_word_at(future, FUTURE_CALLBACK), future, ended);
    if (task != 0 || list == 0 || type_of(chain, list, OBJECT_BYTES) != chain->cpython->types.list) {
        return task;
    }
    uint64_t count = object_word_at(list, OBJECT_SIZE), items = object_word_at(list, SEQUENCE_ITEMS);
    for (uint64_t i = 0; i < count && i < CALLBACKS_MOST && task == 0; i++) {
        uint64_t at = items + i * sizeof at;
        uint64_t pair = object_can_read(&chain->page, at, sizeof at) ? object_word_at(at, 0) : 0; /* and its context */
        if (pair != 0 && type_of(chain, pair, OBJECT_BYTES) == chain->cpython->types.tuple) {
            task = take_callback(chain, object_word_at(pair, SEQUENCE_ITEMS), future, ended);
        }
    }
    return task;
}

static bool is_known(const struct await_chain *chain, uint64_t task)
{
    for (uint32_t i = 0; i < chain->task_count; i++) {
        if (chain->tasks[i] == task) {
            return true;
        }
    }
    return false;
}

uint64_t await_chain_next(struct await_chain *chain)
{
    if (chain->task_count == 0 || chain->task_count == AWAIT_TASKS_MAX) {
        return 0;
    }
    uint64_t future = chain->tasks[chain->task_count - 1], task = 0;
    for (; future != 0 && task == 0 && chain->left > 0; chain->left--) {
        uint64_t ended;
        task = task_behind(chain, future, &ended);
        future = ended;
    }
    if (task == 0 || is_known(chain, task)) {
        return 0;
    }
    chain->tasks[chain->task_count++] = task;
    return task;
}

/* ---- the running task ---- */

/* The tasks that run in any loop, and the frames of their coroutines. */
struct running {
    uint32_t count;
    struct {
        uint64_t task, frame;
    } each[4]; /* more loops than a process has at a time */
};

static void find_running(struct await_chain *chain, struct running *running)
{
    struct dict_reader tasks;
    uint64_t loop, task;
    if (!dict_read_begin(&tasks, chain->cpython->layout, chain->cpython->types.dict, chain->module->current_tasks,
                         LOOPS_MOST)) {
        return;
    }
    while (running->count < sizeof running->each / sizeof *running->each && dict_read_next(&tasks, &loop, &task)) {
        uint64_t coroutine = is_task(chain, task) ? object_word_at(task, chain->module->layout->task_coroutine) : 0;
        if (coroutine != 0 && is_generator(chain, coroutine)) {
            running->each[running->count].task = task;
            running->each[running->count++].frame = frame_of(chain->module->layout, coroutine);
        }
    }
}

bool await_chain_begin(struct await_chain *chain, const struct cpython *cpython, uint64_t thread, bool interrupted)
{
    struct running running = {.count = 0};
    struct frame_chain frames;
    const struct chain_frame *frame;
    *chain = (struct await_chain){
        .cpython = cpython, .module = asyncio_module_find(cpython, false), .left = AWAIT_FUTURES_MAX};
    if (chain->module != NULL) {
        find_running(chain, &running);
        if (running.count == 0) {
            return false;
        }
    }
    frame_chain_begin(&frames, cpython->layout, cpython->types.code, thread, interrupted);
    while ((frame = frame_chain_next(&frames)) != NULL) {
        if (chain->module == NULL && frame->is_generator) {
            chain->module = asyncio_module_find(cpython, !interrupted);
            if (chain->module == NULL) {
                return false;
            }
            find_running(chain, &running);
        }
        for (uint32_t i = 0; i < running.count; i++) {
            if (running.each[i].frame == frame->address) {
                chain->tasks[chain->task_count++] = running.each[i].task;
                return true;
            }
        }
    }
    return false;
}
