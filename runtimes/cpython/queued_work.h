/* SPDX-License-Identifier: Apache-2.0 */
/* queued_work.h - which code queued what asyncio runs: callbacks, timers, first steps of tasks, calls for other
 * threads.
 *
 * No interpreter function can be hooked here through a GOT slot of another module: Context.run, which runs a callback,
 * is called inside the interpreter. But it is called through a pointer in a table, and so are the functions that copy a
 * context, free a context and make a task. Four such pointers lead to a function here. This function calls the original
 * with the same arguments and returns its result.
 *
 *   contextvars.copy_context     a handle gets its context: something is queued, if the frames show it
 *                                (queuing_frames.h)
 *   _asyncio.Task, tp_init       a task is made, and its first step is queued
 *   Context.run                  a queued item begins, and ends
 *   Context, tp_dealloc          a context is freed: its address may name another context from now on (context_table.h)
 *
 * The pointers are never restored: they cost a few instructions while nothing is recorded. Everything here runs with
 * the interpreter lock held. */
#ifndef QUEUED_WORK_H
#define QUEUED_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "context_table.h"
#include "queuing_frames.h"

/* Call this once, between two instructions of the interpreter, after its frames were read correctly (attach.c). Modules
 * that are not imported yet are hooked when a context is run. */
void queued_work_begin(void);

/* Reports that an item is queued, as `queuing` says, into `queue` (NULL: no queue that is counted). Returns its id; 0:
 * it is not followed. */
uint64_t queued_work_tell(struct queuing queuing, const void *queue);

/* Forgets an item that lost its place in the table (id 0: nothing). */
void queued_work_forget(struct context_item item);

/* Was an item of a queue forgotten that is still counted in its queue? Then the item that is being taken out of a queue
 * now counts as that item. */
bool queued_work_take_forgotten_item(void);

#endif
