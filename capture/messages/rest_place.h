/* SPDX-License-Identifier: Apache-2.0 */
/* rest_place.h - a main thread that does not poll for its work, but waits for it at a condition, a semaphore or a
 * futex.
 *
 * In Tcl programs a separate thread polls and wakes the main one; other programs hand all events through a queue. Such
 * a main thread polls too, but only for replies, as each Xlib call does. Without this code that poll call would be
 * taken for the loop's, and the wait for work for a handler that hangs.
 *
 * A wait is the loop's, and not a handler's, when
 *   R1  none of the innermost activations at the loop's poll call is on the stack;
 *   R2  the poll calls have not shown that they wait for work: they are short, or have waited only rarely;
 *   R3  the thread came back SBX_REST_PASSES times to the same place for waits that lasted, and waited there
 *       SBX_REST_SHARE times as long as in the polls.
 * From then on a message is the time between two such waits, and a poll inside it is a wait. This ends when the place
 * was not met for SBX_REST_POLLS polls. Before R3 holds, a wait with R1 and R2 is not counted as a stall, because too
 * little is known. Places are told apart by the two innermost calls. So the wait of a modal dialog, which is further
 * in, is a turn like any other.
 *
 * The functions are for the main thread itself, take no lock, do not allocate, and keep errno. They cost a walk of the
 * stack for each wait that begins inside a message of the loop. */
#ifndef SBX_REST_PLACE_H
#define SBX_REST_PLACE_H

#include "open_calls.h"
#include "thread_block.h"

/* The calling thread is about to wait. Called after sbx_wait_begin(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_rest_wait_begin(struct sbx_blocking *call);
SBX_HOOK_SAFE static inline void sbx_rest_begin(struct sbx_blocking *call)
{
    const struct sbx_thread *thread = call->thread;
    if (SBX_UNLIKELY(thread != NULL && thread->has_loop) && thread->loop.site_pc != 0 && call->depth == 0) {
        sbx_rest_wait_begin(call);
    }
}

/* The thread has waited. Called after sbx_blocking_end(). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_rest_wait_end(const struct sbx_blocking *call);
SBX_HOOK_SAFE static inline void sbx_rest_end(const struct sbx_blocking *call)
{
    if (call->thread != NULL && SBX_UNLIKELY(call->is_rest)) {
        sbx_rest_wait_end(call);
    }
}

/* Is the thread's next poll call inside a message that lies between two rests? Also forgets a place of rest that is not
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

/* How long the thread's present wait has lasted, if it is not a stall. For the watch thread; the answer may be wrong by
 * one look. */
SBX_HOOK_SAFE static inline uint64_t sbx_rest_awaited_ns(const struct sbx_thread *thread, uint64_t now_ns)
{
    uint64_t begin_ns = sbx_load_relaxed(&thread->loop.rest.begin_ns);
    return begin_ns != 0 && begin_ns == thread->entry->call_begin_ns && now_ns > begin_ns ? now_ns - begin_ns : 0;
}

#endif
