/* SPDX-License-Identifier: Apache-2.0 */
/* capture_sample.h - leaf points: functions that the program calls often carry the sampling.
 *
 * A leaf point counts down a word of its thread, which costs less than reading a clock. When the count runs out, the
 * leaf point asks the clock whether a sample is due. It chooses the next count so that the clock is asked about eight
 * times an interval. So the agent needs no ticking thread for this, and none runs while the application is idle. */
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

/* The same for a point that does nothing else and does not look up its thread (sbx_own_entry). `caller`: where the
 * hooked call returns to. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_leaf_of_anybody(uint8_t kind, uint8_t op, uint8_t group, const void *caller);

/* Count one call down. True: the count has run out, and the caller must call sbx_leaf_of_anybody(). */
SBX_HOOK_SAFE static inline bool sbx_leaf_is_out(void)
{
    return --sbx_own_entry->countdown < 0;
}

/* In a hook itself, so that its return address is the caller's. */
__attribute__((always_inline)) SBX_HOOK_SAFE static inline void sbx_leaf_here(uint8_t kind, uint8_t op, uint8_t group)
{
    if (SBX_UNLIKELY(sbx_leaf_is_out())) {
        sbx_leaf_of_anybody(kind, op, group, __builtin_return_address(0));
    }
}

/* The count has run out or was taken back. Charge the calls since it was set to `group`. */
SBX_HOOK_SAFE static inline void sbx_leaf_charge(struct sbx_thread *thread, uint8_t group)
{
    sbx_cost_passes(&thread->cost, group, thread->counted_from - thread->entry->countdown);
}

#endif
