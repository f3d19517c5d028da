/* SPDX-License-Identifier: Apache-2.0 */
/* shared_wait.h - around waits for what processes share, and its releases: semaphores, conditions and read-write locks.
 *
 * The two sides are in different processes, so they meet in a page of the family (threads/shared_hands.h): the release leaves its name there, and
 * the waiting side leaves word for the watch thread when its wait was long (agent/family/outside_holders.h). Only hooks that have seen in the
 * thing itself that it is between processes call these. */
#ifndef SBX_SHARED_WAIT_H
#define SBX_SHARED_WAIT_H

#include <stdint.h>

#include "blocking_call.h"

/* A wait that is over sooner is not told: most are. */
#define SBX_SHARED_WAIT_NS UINT64_C(30000000)

SBX_HOOK_SAFE void sbx_shared_taken(uint64_t object);
SBX_HOOK_SAFE void sbx_shared_let_go(uint64_t object);

/* Before a wait for `object`: how often it was let go so far. */
SBX_HOOK_SAFE uint32_t sbx_shared_turns(uint64_t object);

/* Behind the end of a wait that was not in vain: whoever has let the object go meanwhile has ended it. */
SBX_HOOK_SAFE void sbx_shared_wait_end(const struct sbx_blocking *call, uint32_t turns_before);

#endif
