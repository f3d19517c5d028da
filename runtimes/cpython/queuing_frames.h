/* SPDX-License-Identifier: Apache-2.0 */
/* queuing_frames.h - what the calling thread's frames say of a context or a task that was just made: is something queued, and by whom?
 *
 * asyncio's own functions copy contexts: Handle.__init__ for what call_soon() or call_at() queues, but also for a descriptor's callbacks, which nobody
 * queues; to_thread() for what a thread will run. A pool's threads take what submit() put into their queue. And what is queued may be queued by the program or by the library for itself.
 * Frames are known by file and name, once for each code object. */
#ifndef QUEUING_FRAMES_H
#define QUEUING_FRAMES_H

#include <stdint.h>

#include "cpython.h"

enum queuing_sort {
    QUEUES_NOTHING,
    QUEUES_CALLBACK,
    QUEUES_TIMER,
    QUEUES_TASK,
    QUEUES_CALL, /* of a thread */
    QUEUES_ITEM, /* of a pool of threads */
};

enum queuing_who {
    QUEUED_BY_NOBODY,  /* by the loop itself, or it is not known */
    QUEUED_BY_FRAMES,  /* who it was stands on the stack */
    QUEUED_BY_RUNNING, /* by a callback of the library, on behalf of who queued that */
};

struct queuing {
    enum queuing_sort sort;
    enum queuing_who who;
    uint64_t run; /* QUEUED_BY_RUNNING: the frame that runs the callback */
};

/* `thread`: the calling thread's state, with the interpreter's lock, in a call that a Python function made. Of a copy of a context; of a
 * task's making. */
struct queuing queuing_of_copy(const struct cpython *cpython, uint64_t thread);
struct queuing queuing_of_task(const struct cpython *cpython, uint64_t thread);

/* Of something that is put into a queue: is it an item of a ThreadPoolExecutor? A call of to_thread() is none, because it is told already. */
struct queuing queuing_of_item(const struct cpython *cpython, uint64_t thread);

/* In a call of Context.run: the frame that made it. */
uint64_t queuing_run_frame(const struct cpython *cpython, uint64_t thread);

/* In a call that takes something out of a queue: the frame that made it, if that is what runs a pool's items; 0: it is another. */
uint64_t queuing_worker_frame(const struct cpython *cpython, uint64_t thread);

/* What a function is to these questions, by its file and its name (qualified, or bare). Pure, for the tests. */
enum queuing_part {
    PART_PROGRAM = 1, /* not of the standard library */
    PART_LIBRARY,
    PART_INIT,      /* of a handle or a timer */
    PART_CALL_SOON, /* what queues a callback */
    PART_TO_THREAD,
    PART_SUBMIT,  /* what puts an item into a pool's queue */
    PART_WORKER,  /* what takes it out, and runs it */
    PART_SLEEP,   /* its timer wakes who sleeps, and no more */
    PART_RUN,     /* what calls a handle's callback: all frames outside of it are the loop's */
    PART_TOO_FAR, /* no function's */
};
enum queuing_part queuing_part_of(const char *file, size_t file_bytes, const char *name, size_t name_bytes);

#endif
