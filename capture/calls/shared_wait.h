/* SPDX-License-Identifier: Apache-2.0 */
/* shared_wait.h - around waits for objects that processes share, and around their releases: semaphores, conditions and
 * read-write locks.
 *
 * The waiting thread and the releasing thread are in different processes, so they use a page of the family
 * (threads/shared_hands.h). The releasing thread stores its name there. If the wait was long, the waiting thread leaves
 * a message for the watch thread (agent/family/outside_holders.h). Only hooks that have checked that the object is
 * shared between processes call these functions. */
#ifndef SBX_SHARED_WAIT_H
#define SBX_SHARED_WAIT_H

#include <stdint.h>

#include "blocking_call.h"

/* A shorter wait is not recorded. Most waits are shorter. */
#define SBX_SHARED_WAIT_NS UINT64_C(30000000)

SBX_HOOK_SAFE void sbx_shared_taken(uint64_t object);
SBX_HOOK_SAFE void sbx_shared_let_go(uint64_t object);

/* Before a wait for `object`: how often the object was released so far. */
SBX_HOOK_SAFE uint32_t sbx_shared_turns(uint64_t object);

/* After a wait that succeeded: if a thread has released the object meanwhile, that thread has ended the wait. */
SBX_HOOK_SAFE void sbx_shared_wait_end(const struct sbx_blocking *call, uint32_t turns_before);

#endif
