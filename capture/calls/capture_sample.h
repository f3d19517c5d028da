/* SPDX-License-Identifier: Apache-2.0 */
/* capture_sample.h - leaf points: what runs often carries the sampling.
 *
 * A leaf point counts down a word of its thread, which costs less than a look at any clock. When the count is out the
 * clock is asked whether a sample is due, and the next count is chosen so that it is asked some eight times an interval:
 * no thread of ours has to tick for it, and an application at rest has none running. */
#ifndef SBX_CAPTURE_SAMPLE_H
#define SBX_CAPTURE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "thread_block.h"

SBX_HOOK_SAFE SBX_NOINLINE void sbx_leaf_ask(struct sbx_thread *thread, uint8_t kind, uint8_t op, uint8_t group);

SBX_HOOK_SAFE static inline void sbx_leaf(struct sbx_thread *thread, uint8_t kind, uint8_t op, uint8_t group)
{
    if (SBX_UNLIKELY(--thread->entry->countdown < 0)) {
        sbx_leaf_ask(thread, kind, op, group);
    }
}

/* The same for a point that does nothing else and asks nobody who its thread is (sbx_own_entry). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_leaf_of_anybody(uint8_t kind, uint8_t op, uint8_t group);

/* Count one call down; true: the count is out, and sbx_leaf_of_anybody() is to be called. */
SBX_HOOK_SAFE static inline bool sbx_leaf_is_out(void)
{
    return --sbx_own_entry->countdown < 0;
}

SBX_HOOK_SAFE static inline void sbx_leaf_here(uint8_t kind, uint8_t op, uint8_t group)
{
    if (SBX_UNLIKELY(sbx_leaf_is_out())) {
        sbx_leaf_of_anybody(kind, op, group);
    }
}

/* The count is out, or taken back: so many calls went by since it was set. They are charged to `group`. */
SBX_HOOK_SAFE static inline void sbx_leaf_charge(struct sbx_thread *thread, uint8_t group)
{
    sbx_cost_passes(&thread->cost, group, thread->counted_from - thread->entry->countdown);
}

#endif
