/* SPDX-License-Identifier: Apache-2.0 */
/* await_chain.h - who awaits the task whose coroutine runs on this thread.
 *
 *     running coroutine's task  --callback-->  the task that awaits it  --its coroutine's frame--> what that awaits --> ...
 *                                                      |
 *                                                  --callback-->  the task that awaits that one  ...
 *
 * A task that is awaited has the awaiting task in a callback, and that one says in turn what it waits for: both must agree. Where a
 * future stands between them (gather, wait, wait_for, shield, a group of tasks), it is found in what the callback was made of. Of several
 * that await one task the first is told. A circle of tasks ends where it closes. */
#ifndef AWAIT_CHAIN_H
#define AWAIT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "asyncio_module.h"
#include "cpython.h"
#include "frame_chain.h"
#include "object_read.h"

enum {
    AWAIT_TASKS_MAX = 16,   /* tasks that are followed */
    AWAIT_FUTURES_MAX = 32, /* and futures between them */
    AWAIT_DEPTH_MAX = 64,   /* frames of one task */
};

struct await_chain {
    const struct cpython *cpython;
    const struct asyncio_module *module;
    struct object_page page;
    uint32_t task_count, left;
    uint64_t tasks[AWAIT_TASKS_MAX]; /* the running one first */
};

/* Begin at the task that runs on `thread`, the calling thread's state. false: no task of asyncio runs there. Signal safe, as all here. */
bool await_chain_begin(struct await_chain *chain, const struct cpython *cpython, uint64_t thread, bool interrupted);

/* The task that awaits the one before; 0: none, or it cannot be told. */
uint64_t await_chain_next(struct await_chain *chain);

/* The suspended frames of a task that await_chain_next() told, outermost first. */
struct await_frames {
    struct await_chain *chain;
    uint64_t generator; /* the next; 0: there are no more */
    uint32_t left;
};
void await_frames_begin(struct await_frames *frames, struct await_chain *chain, uint64_t task);
bool await_frames_next(struct await_frames *frames, struct chain_frame *frame_out);

#endif
