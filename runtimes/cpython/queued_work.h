/* SPDX-License-Identifier: Apache-2.0 */
/* queued_work.h - who queued what asyncio runs: callbacks, timers, first steps of tasks, calls for other threads.
 *
 * No function of the interpreter's can be hooked here by a slot of another module: what runs a callback, Context.run, is called inside of
 * it. But it is called by a word in a table, as is what copies a context, frees one or makes a task. Four such words lead to a
 * function here, which calls the former one with the same arguments and returns what that returned:
 *
 *   contextvars.copy_context     a handle takes its context: something is queued, if the frames say so (queuing_frames.h)
 *   _asyncio.Task, tp_init       a task is made, and its first step is queued
 *   Context.run                  what was queued begins, and ends
 *   Context, tp_dealloc          a context is gone: what its address names from now on is another's (context_table.h)
 *
 * The words stay so for good: they cost some instructions while nothing is recorded. Everything here runs with the interpreter's lock. */
#ifndef QUEUED_WORK_H
#define QUEUED_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "context_table.h"
#include "queuing_frames.h"

/* Once, between two instructions of the interpreter, when its frames read as they should (attach.c). The words of modules that are not
 * imported yet follow when the first context is run. */
void queued_work_begin(void);

/* Of what the frames say is put into `queue` (NULL: none that is counted): its id; 0: it is not followed. */
uint64_t queued_work_tell(struct queuing queuing, const void *queue);

/* What had a place in the table and has it no longer (id 0: nothing). */
void queued_work_forget(struct context_item item);

/* Was an item forgotten that is counted still in the queue where it lies? It is taken for the one that somebody takes out of a queue now. */
bool queued_work_take_forgotten_item(void);

#endif
