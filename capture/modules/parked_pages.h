/* SPDX-License-Identifier: Apache-2.0 */
/* parked_pages.h - memory that was replaced and that a walk may still be reading: it is unmapped when no walk can be
 * reading it.
 *
 * A walk loads the code map while its thread's `inside` is set. So when every thread has been seen with `inside` clear
 * after the replacement, no walk can use the memory to which only the old map led. The two loads must be ordered, and a
 * fence in each walk would cost time. membarrier(2) moves that cost to this code (the scheme of userspace RCU's
 * sys_membarrier flavour). Where the kernel has no membarrier, this memory is never unmapped.
 *
 * For one thread at a time: the starting thread first, the module thread later. */
#ifndef SBX_PARKED_PAGES_H
#define SBX_PARKED_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "marks.h"

/* Zeroed memory for a map that will be parked; NULL when there is none. */
void *sbx_parked_pages_new(size_t bytes);

/* In a forked child: nothing is parked, and of its parent's maps it uses `kept` alone. */
void sbx_parked_pages_inherit(const void *kept);

/* Park memory to which the code map in force does not lead any more. True: the memory was taken. False: there is no
 * room, because for a very long time no moment without a walk was met. Also unmaps what was parked before, when there
 * is enough of it and no thread is inside. */
bool sbx_parked_pages_put(void *pages, size_t bytes);

/* Is there room for more? Callers ask before they replace memory that only walks can hold. So the parked memory is
 * bounded even if a thread seems to be inside for ever. Unmaps what it can. */
bool sbx_parked_pages_have_room(void);

#endif
