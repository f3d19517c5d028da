/* SPDX-License-Identifier: Apache-2.0 */
/* queuing_frames.h - reads from the calling thread's frames whether a new context or task is being queued, and by whom.
 *
 * asyncio itself copies contexts. Handle.__init__ does so for what call_soon() or call_at() queues, but also for a
 * descriptor's callbacks, which are not queued. to_thread() does so for the call that a thread will run. The threads of
 * a pool take the items that submit() put into their queue. Either the program or the library queues an item. Frames
 * are recognised by file and function name, once for each code object. */
#ifndef QUEUING_FRAMES_H
#define QUEUING_FRAMES_H

#include <stdint.h>

#include "cpython.h"

enum queuing_sort {
    QUEUES_NOTHING,
    QUEUES_CALLBACK,
    QUEUES_TIMER,
    QUEUES_TASK,
    QUEUES_CALL, /* a call for a thread */
    QUEUES_ITEM, /* an item of a thread pool */
};

enum queuing_who {
    QUEUED_BY_NOBODY,  /* by the loop itself, or not known */
    QUEUED_BY_FRAMES,  /* by code whose frames are on the stack */
    QUEUED_BY_RUNNING, /* by a library callback, for the code that queued this callback */
};

struct queuing {
    enum queuing_sort sort;
    enum queuing_who who;
    uint64_t run; /* QUEUED_BY_RUNNING: the frame that runs the callback */
};

/* The first is called when a context was copied, the second when a task was made. `thread` is the calling thread's
 * state. The caller holds the interpreter lock, in a call that a Python function made. */
struct queuing queuing_of_copy(const struct cpython *cpython, uint64_t thread);
struct queuing queuing_of_task(const struct cpython *cpython, uint64_t thread);

/* Called when an object is put into a queue: is it an item of a ThreadPoolExecutor? A call of to_thread() does not
 * count, because it is reported already. */
struct queuing queuing_of_item(const struct cpython *cpython, uint64_t thread);

/* In a call of Context.run: returns the frame that made the call. */
uint64_t queuing_run_frame(const struct cpython *cpython, uint64_t thread);

/* In a call that takes an object out of a queue: returns the frame that made the call, if it runs the items of a pool;
 * 0: it does not. */
uint64_t queuing_worker_frame(const struct cpython *cpython, uint64_t thread);

/* Classifies a function by its file and its name (qualified or not). Pure, for the tests. */
enum queuing_part {
    PART_PROGRAM = 1, /* not of the standard library */
    PART_LIBRARY,
    PART_INIT,      /* __init__ of a handle or a timer */
    PART_CALL_SOON, /* queues a callback */
    PART_TO_THREAD,
    PART_SUBMIT,  /* puts an item into a pool's queue */
    PART_WORKER,  /* takes the item out and runs it */
    PART_SLEEP,   /* its timer only wakes the sleeping task */
    PART_RUN,     /* calls a handle's callback: all frames outside of it are the loop's */
    PART_TOO_FAR, /* no function: the search went too far */
};
enum queuing_part queuing_part_of(const char *file, size_t file_bytes, const char *name, size_t name_bytes);

#endif
