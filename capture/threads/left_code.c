/* SPDX-License-Identifier: Apache-2.0 */
/* left_code.c - what a jump out of our own code leaves half done, and how it is noticed. */
#include "left_code.h"

#include "sample_run.h"

SBX_SIGNAL_SAFE bool sbx_inside_is_stale(const struct sbx_thread *thread, uint64_t inside, uint64_t here)
{
    return inside >= SBX_INSIDE_PLACE && sbx_thread_is_on_own_stack(thread, here) &&
           (here >= inside || !sbx_thread_is_on_own_stack(thread, inside));
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_code_was_left(struct sbx_thread *thread)
{
    sbx_thread_clock_was_left(&thread->clock);
    sbx_ring_was_left(&thread->writer);
    sbx_run_end(&thread->entry->own);
    thread->replay.depth = 0;
    thread->cache.generation = 0; /* no map has it: an entry may be of two */
    thread->logical.native = 0;
    thread->logical.drops_native = false;
    sbx_store_relaxed(&thread->logical.noted_ns, 0); /* relaxed: nobody is told of what was written behind it */
    sbx_thread_leave(thread);
}

SBX_HOOK_SAFE SBX_NOINLINE bool sbx_code_is_found_left(struct sbx_thread *thread, uint64_t here)
{
    if (!sbx_inside_is_stale(thread, thread->inside, here)) {
        return false;
    }
    sbx_code_was_left(thread);
    return true;
}
