/* SPDX-License-Identifier: Apache-2.0 */
/* rest_place.h - a main thread that does not poll for its work but waits for a condition, a semaphore or a futex.
 *
 * A thread of its own polls for Tcl, and wakes the main one; a program may hand all its events through a queue. Such a main thread polls
 * all the same: for a reply, as each Xlib call does. That poll call would be taken for the loop's, and the wait for work for a
 * handler that hangs.
 *
 * A wait is the loop's, and not a handler's, when
 *   R1  none of the innermost activations at the loop's poll call is on the stack;
 *   R2  what polls has not shown that it waits for work: its calls are short, or seldom waited at all;
 *   R3  it came back SBX_REST_PASSES times to the same place and lasted, and took SBX_REST_SHARE times as long as the polls.
 * From then on a message is the time between two such waits, and a poll inside of it is a wait, until the place is not met for
 * SBX_REST_POLLS polls. Before that, a wait for which R1 and R2 hold is nobody's stall: nothing is known of it. Places are told apart by
 * the two innermost calls, so that a modal dialog, which waits further in, is a turn like any other.
 *
 * For the main thread itself, no lock, no allocation, errno kept. Costs a walk of the stack for each wait that begins inside a message
 * of the loop. */
#ifndef SBX_REST_PLACE_H
#define SBX_REST_PLACE_H

#include "open_calls.h"
#include "thread_block.h"

/* The calling thread is about to wait: behind sbx_wait_begin(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_rest_wait_begin(struct sbx_blocking *call);
SBX_HOOK_SAFE static inline void sbx_rest_begin(struct sbx_blocking *call)
{
    const struct sbx_thread *thread = call->thread;
    if (SBX_UNLIKELY(thread != NULL && thread->has_loop) && thread->loop.site_pc != 0 && call->depth == 0) {
        sbx_rest_wait_begin(call);
    }
}

/* It has waited: behind sbx_blocking_end(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_rest_wait_end(const struct sbx_blocking *call);
SBX_HOOK_SAFE static inline void sbx_rest_end(const struct sbx_blocking *call)
{
    if (call->thread != NULL && SBX_UNLIKELY(call->is_rest)) {
        sbx_rest_wait_end(call);
    }
}

/* Is the poll call that the thread is about to make inside of a message that lies between two rests? Forgets a place of rest that is not
 * met any more. */
SBX_HOOK_SAFE static inline bool sbx_rest_is_loop(struct sbx_thread *thread)
{
    struct sbx_rest *rest = &thread->loop.rest;
    if (SBX_LIKELY(rest->loop == NULL)) {
        return false;
    }
    if (++rest->polls > SBX_REST_POLLS) {
        *rest = (struct sbx_rest){.polls = 0};
    }
    return rest->loop != NULL;
}

/* For how long the wait that the thread is in has lasted, where it is nobody's stall; for the watch thread, wrong by one look. */
SBX_HOOK_SAFE static inline uint64_t sbx_rest_awaited_ns(const struct sbx_thread *thread, uint64_t now_ns)
{
    uint64_t begin_ns = sbx_load_relaxed(&thread->loop.rest.begin_ns);
    return begin_ns != 0 && begin_ns == thread->entry->call_begin_ns && now_ns > begin_ns ? now_ns - begin_ns : 0;
}

#endif
