/* SPDX-License-Identifier: Apache-2.0 */
/* capture_sample.c - what a leaf point does when its count runs out: it takes a sample if one is due.
 *
 * The code that makes a record is in handler/, because the sample handler uses it too. Nothing here allocates or
 * locks. */
#include "capture_sample.h"

#include <errno.h>

#include "capture_record.h"
#include "left_code.h"
#include "logical_stack.h"
#include "open_calls.h"
#include "providers.h"
#include "registers.h"
#include "the_capture.h"
#include "thread_registry.h"
#include "thread_seats.h"
#include "thread_stack.h"

enum {
    ASKS_AN_INTERVAL = 8, /* how often the clock is asked: a sample is late by an eighth of the interval at most */
    STRIDE_MAX = 4096,    /* leaf calls between two looks: at 10 ns each, 40 us */
    STRIDE_CLOSED = 1000, /* while nothing is recorded */
};

/* The next count is twice or half the last, so that the clock is asked about ASKS_AN_INTERVAL times an interval. This
 * path has no division. */
static void count_anew(struct sbx_thread *thread, uint64_t now_ns, uint64_t interval_ns)
{
    uint64_t elapsed_ns = now_ns - thread->asked_ns;
    uint32_t stride = thread->stride;
    if (elapsed_ns * (2 * ASKS_AN_INTERVAL) < interval_ns) {
        stride = stride < STRIDE_MAX / 2 ? stride * 2 : STRIDE_MAX;
    } else if (elapsed_ns > interval_ns) {
        stride = 0; /* the calls have become rare */
    } else if (elapsed_ns * ASKS_AN_INTERVAL > interval_ns * 2) {
        stride /= 2;
    }
    thread->asked_ns = now_ns;
    thread->stride = stride != 0 ? stride : 1;
    thread->entry->countdown = thread->counted_from = (int32_t)stride;
}

/* Record the calling thread's stack. Returns whether the watch thread must be woken. */
static bool take_sample(struct sbx_thread *thread, uint8_t kind, uint8_t op, const struct sbx_times *now)
{
    if (SBX_UNLIKELY(thread->stack_high == 0)) {
        sbx_thread_find_stack(thread);
    }
    struct sbx_walk_registers here;
    sbx_registers_here(&here);
    struct sbx_record record = {
        .kind = kind, .op = op, .begin_ns = now->wall_ns, .end_ns = now->wall_ns, .cpu_ns = now->cpu_ns};
    record.stack = sbx_capture_stack(thread, &here);
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.provider_count) != 0) && /* relaxed: a hint */
        sbx_provider_is_entered() && thread->logical.not_now && sbx_logical_defer(thread, kind, op, 0)) {
        thread->sampled_ns = now->wall_ns; /* the sample comes in a moment, at the safepoint */
    } else {
        sbx_capture_put(thread, &record);
    }
    return sbx_load_relaxed(&sbx_the_capture.resting) == SBX_RESTS;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_leaf_ask(struct sbx_thread *thread, uint8_t kind, uint8_t op, uint8_t group)
{
    if (sbx_thread_is_inside(thread) || !sbx_capture_is_open()) {
        if (SBX_UNLIKELY(!sbx_capture_is_ours())) {
            sbx_thread_become(SBX_THREAD_GONE); /* a child made without fork(): the entry belongs to its parent */
            return;
        }
        thread->entry->countdown = thread->counted_from = STRIDE_CLOSED;
        return;
    }
    int saved_errno = errno;
    bool was_resting = false;
    if (SBX_UNLIKELY(thread->call_depth != 0)) {
        sbx_calls_forget(thread, (uint64_t)__builtin_dwarf_cfa()); /* calls not around this place are over */
    }
    sbx_thread_enter(thread);
    sbx_leaf_charge(thread, group);
    sbx_store_relaxed(&thread->cost.asks, thread->cost.asks + 1); /* relaxed: statistics */
    uint64_t interval_ns = sbx_load_relaxed(&sbx_the_capture.leaf_interval_ns[group]);
    struct sbx_times now = {.wall_ns = sbx_thread_wall_ns(thread)};
    if (now.wall_ns - thread->sampled_ns >= interval_ns) {
        now = sbx_thread_times(thread);
        was_resting = take_sample(thread, kind, op, &now);
        sbx_store_relaxed(&thread->cost.group[group].captures, thread->cost.group[group].captures + 1);
        if (SBX_UNLIKELY(sbx_cost_capture(&thread->cost, SBX_COST_LEAF))) {
            sbx_cost_timed(&thread->cost, SBX_COST_LEAF, sbx_thread_times(thread).cpu_ns - now.cpu_ns);
        }
    }
    count_anew(thread, now.wall_ns, interval_ns);
    sbx_thread_leave(thread);
    if (SBX_UNLIKELY(was_resting)) {
        sbx_capture_ring_bell();
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_leaf_of_anybody(uint8_t kind, uint8_t op, uint8_t group, const void *caller)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_LIKELY(sbx_thread_is_registered(thread))) {
        sbx_leaf_ask(thread, kind, op, group);
    } else if (thread == NULL && sbx_capture_is_open()) {
        if (sbx_thread_register_self() == NULL && sbx_is_seatless(sbx_own_entry)) {
            sbx_own_entry->countdown = SBX_SEATLESS_STRIDE;
        }
    } else if (thread == SBX_THREAD_GONE) { /* of a forked child whose recorder has not begun */
        sbx_entry_of_nobody.countdown = SBX_NOBODYS_STRIDE;
        sbx_capture_ask_late(group, op, caller);
    }
}
