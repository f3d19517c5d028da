/* SPDX-License-Identifier: Apache-2.0 */
/* await_chain.h - the tasks that await the task whose coroutine runs on this thread.
 *
 *     running coroutine's task  --callback-->  the task that awaits it  --coroutine's frame--> what that awaits --> ...
 *                                                      |
 *                                                  --callback-->  the task that awaits this second task  ...
 *
 * An awaited task has the awaiting task in one of its callbacks, and the awaiting task names the object that it waits
 * for. The two must agree. If a future is between the two tasks (gather, wait, wait_for, shield, TaskGroup), it is
 * found in the objects from which the callback was made. If several tasks await one task, the first is reported. If
 * tasks await each other in a circle, the chain ends where the circle closes. */
#ifndef AWAIT_CHAIN_H
#define AWAIT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "asyncio_module.h"
#include "cpython.h"
#include "frame_chain.h"
#include "object_read.h"

enum {
    AWAIT_TASKS_MAX = 16,   /* tasks in one chain */
    AWAIT_FUTURES_MAX = 32, /* futures between tasks in one chain */
    AWAIT_DEPTH_MAX = 64,   /* frames of one task */
};

struct await_chain {
    const struct cpython *cpython;
    const struct asyncio_module *module;
    struct object_page page;
    uint32_t task_count, left;
    uint64_t tasks[AWAIT_TASKS_MAX]; /* the running task first */
};

/* Begin at the task that runs on `thread`, the calling thread's state. Returns false if no asyncio task runs there.
 * Signal safe, like all functions here. */
bool await_chain_begin(struct await_chain *chain, const struct cpython *cpython, uint64_t thread, bool interrupted);

/* Returns the task that awaits the previous one. 0: no task does, or it cannot be determined. */
uint64_t await_chain_next(struct await_chain *chain);

/* The suspended frames of a task that await_chain_next() returned, outermost first. */
struct await_frames {
    struct await_chain *chain;
    uint64_t generator; /* the next generator; 0: there are no more */
    uint32_t left;
};
void await_frames_begin(struct await_frames *frames, struct await_chain *chain, uint64_t task);
bool await_frames_next(struct await_frames *frames, struct chain_frame *frame_out);

#endif
