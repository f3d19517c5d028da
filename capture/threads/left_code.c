/* SPDX-License-Identifier: Apache-2.0 */
/* left_code.c - finds out that a jump left our own code, and repairs what the code had half done. */
#include "left_code.h"

#include "sample_run.h"
#include "signal_frame.h"

SBX_SIGNAL_SAFE bool sbx_inside_is_stale(const struct sbx_thread *thread, uint64_t inside, uint64_t here)
{
    uint64_t place = SBX_INSIDE_PLACE_OF(inside);
    return inside >= SBX_INSIDE_PLACE && sbx_thread_is_on_own_stack(thread, here) &&
           (here >= place || !sbx_thread_is_on_own_stack(thread, place));
}

/* Has the frame's return address been overwritten? The calling thread runs at `here`, further in on the same stack, so
 * the memory in between is mapped. Only on x86-64, where the return address is the word below the frame's place. */
SBX_SIGNAL_SAFE SBX_READS_FOREIGN_STACKS static bool is_overwritten(const struct sbx_thread *thread, uint64_t inside,
                                                                    uint64_t here)
{
    uint64_t place = SBX_INSIDE_PLACE_OF(inside);
    if (SBX_INSIDE_RETURN(1) == 0 || inside < SBX_INSIDE_PLACE || here >= place ||
        !sbx_thread_is_on_own_stack(thread, here) || !sbx_thread_is_on_own_stack(thread, place)) {
        return false;
    }
    return (SBX_INSIDE_RETURN(((const uint64_t *)(uintptr_t)place)[-1]) | place) != inside;
}

SBX_SIGNAL_SAFE SBX_NOINLINE void sbx_code_was_left(struct sbx_thread *thread)
{
    sbx_thread_enter(thread); /* inside again, here: a handler of ours that interrupts finds nothing to repair */
    sbx_thread_clock_was_left(&thread->clock);
    sbx_ring_was_left(&thread->writer);
    sbx_run_end(&thread->entry->own);
    thread->replay.depth = 0;
    thread->cache.generation = 0; /* a generation that no map has: an entry may be half of one and half of another */
    thread->logical.native = 0;
    thread->logical.drops_native = false;
    thread->logical.is_note = false;
    sbx_store_relaxed(&thread->logical.noted_ns, 0); /* relaxed: no reader needs an order with it */
    sbx_thread_leave(thread);
}

SBX_SIGNAL_SAFE SBX_NOINLINE bool sbx_code_is_found_left(struct sbx_thread *thread, uint64_t here)
{
    uint64_t inside = thread->inside;
    if (!sbx_inside_is_stale(thread, inside, here) && !is_overwritten(thread, inside, here)) {
        return false;
    }
    sbx_code_was_left(thread);
    return true;
}
