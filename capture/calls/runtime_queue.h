/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_queue.h - work that an embedded runtime puts into a queue of its own, and calls nothing of libc's then but a clock.
 *
 * node's setTimeout() is JavaScript from end to end, but for the time, which it asks libuv for. So the hook of clock_gettime() asks the runtime whether
 * its code, which reads the clock there, puts work off just now (stallbox.h, `queues`); if so, who does is noted by the item's number
 * (handler/work_notes.h). That costs a walk: one clock in 100 us of a thread is looked at, and bursts of 64. */
#ifndef SBX_RUNTIME_QUEUE_H
#define SBX_RUNTIME_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"
#include "providers.h"

/* Does code that may queue work read the clock? `site`: where the call of it returns to. */
SBX_HOOK_SAFE static inline bool sbx_clock_reader_is_at(uint64_t site)
{
    uint64_t bytes = sbx_load_acquire(&sbx_the_clock_reader.bytes); /* order: acquire clock_reader.bytes - its begin */
    return site - sbx_load_relaxed(&sbx_the_clock_reader.begin) < bytes;
}

/* It does: note what it queues, if it does. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_runtime_queue_look(void);

#endif
