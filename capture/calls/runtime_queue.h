/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_queue.h - work that an embedded runtime puts into a queue of its own, while it calls no libc function except
 * a clock.
 *
 * node's setTimeout() is JavaScript from end to end, except that it asks libuv for the time. So the hook of
 * clock_gettime() asks the runtime whether the code that reads the clock is queueing work (stallbox.h, `queues`). If it
 * is, a note with the item's number says which code queued it (handler/work_notes.h). That costs a walk, so only one
 * clock read in 100 us of a thread is looked at, and bursts of 64. */
#ifndef SBX_RUNTIME_QUEUE_H
#define SBX_RUNTIME_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"
#include "providers.h"

/* Is the clock read by code that may queue work? `site` is the return address of the call. */
SBX_HOOK_SAFE static inline bool sbx_clock_reader_is_at(uint64_t site)
{
    uint64_t bytes = sbx_load_acquire(&sbx_the_clock_reader.bytes); /* order: acquire clock_reader.bytes - its begin */
    return site - sbx_load_relaxed(&sbx_the_clock_reader.begin) < bytes;
}

/* It is: if that code queues work now, make a note of it. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_runtime_queue_look(void);

#endif
