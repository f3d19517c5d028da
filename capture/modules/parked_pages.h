/* SPDX-License-Identifier: Apache-2.0 */
/* parked_pages.h - memory that was replaced and that a walk may still be reading: unmapped when none can be.
 *
 * Walks load the code map while their thread's `inside` is set, so once every thread has been seen with `inside` clear
 * after the replacement, what only the old map led to is nobody's. The two loads need an order that would cost each walk
 * a fence; membarrier(2) puts the cost here instead (the scheme of userspace RCU's sys_membarrier flavour). Where the
 * kernel has no membarrier, nothing is ever given back.
 *
 * One thread at a time: the module thread, and before it the one that starts. */
#ifndef SBX_PARKED_PAGES_H
#define SBX_PARKED_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "marks.h"

/* Park what the code map in force no longer leads to. taken on success; false: there is no room, because no moment
 * without a walk was met for very long. Gives back what was parked before, when enough has come together and no thread
 * is inside. */
bool sbx_parked_pages_put(void *pages, size_t bytes);

/* Is there room for some more? Whoever would replace what only a walk can hold asks before, so that what waits is bounded also
 * where a thread seems to be inside for ever. Gives back what it can. */
bool sbx_parked_pages_have_room(void);

#endif
