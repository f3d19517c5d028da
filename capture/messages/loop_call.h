/* SPDX-License-Identifier: Apache-2.0 */
/* loop_call.h - which poll call of the main thread is its message loop's.
 *
 * The loop is recognised by the place of the call: same return address, same stack pointer, met twice. Of a call from
 * elsewhere a walk of the stack tells whether it lies in the loop: it does when one of the loop's innermost activations is
 * still on the stack (DESIGN.md 3.3). Where the stack alone does not tell, the next pass does: see name_activations().
 *
 * A call that lies in the loop is made by a handler. What is polled and where from says whether the loop turns there as
 * well (a modal dialog, a nested g_main_loop_run()) or the handler waits for a reply: loop_turn.h has the rule. */
#ifndef SBX_LOOP_CALL_H
#define SBX_LOOP_CALL_H

#include <stddef.h>

#include "poll_set.h"
#include "thread_block.h"

enum sbx_loop_call {
    SBX_LOOP_CALL_NONE,     /* a wait of a handler, or the first of what may become a loop */
    SBX_LOOP_CALL_SITE,     /* the loop's */
    SBX_LOOP_CALL_AGAIN,    /* the loop's, once more from the other place of its function */
    SBX_LOOP_CALL_IN_DOUBT, /* the loop's, from another place of its function: or the first of another loop there */
    SBX_LOOP_CALL_NESTED    /* a turn of the loop that a handler makes */
};

/* A turn is plain where the loop's place is met again and nothing that happened since is to be learned from there: no poll call elsewhere, no
 * sample that found the poller gone, and no rest. Of the turn's end nothing is to be learned where it polls the epoll set that it always polls.
 * Nor does the application say what its messages are. Nearly all turns of a server are so: they take a way of their own (message_loop.c), and their passes are counted in one word of the thread's
 * that is hot, until somebody wants to know. */
SBX_HOOK_SAFE static inline bool sbx_loop_is_plain(const struct sbx_message_loop *loop)
{
    _Static_assert(offsetof(struct sbx_message_loop, is_plain) == offsetof(struct sbx_message_loop, entered) + 7,
                   "in one word with what the application says of its messages");
    uint64_t word;
    __builtin_memcpy(&word, &loop->entered, sizeof word);
    return word == UINT64_C(1) << 56;
}

SBX_HOOK_SAFE static inline void sbx_loop_count_turns(struct sbx_message_loop *loop)
{
    struct sbx_poll_place *place = &loop->places[loop->place];
    uint32_t turns = loop->plain_turns;
    place->passes = turns < UINT32_MAX - place->passes ? place->passes + turns : UINT32_MAX;
    loop->plain_turns = 0;
}

/* A poll call is about to be made from return address `pc`, stack pointer `sp`. For the loop thread itself. */
SBX_HOOK_SAFE enum sbx_loop_call sbx_loop_call(struct sbx_thread *thread, uint64_t pc, uint64_t sp,
                                               const struct sbx_polled *polled);

/* Does the loop, or a handler that it has called, make the call that the thread is in? As far as the stack tells. */
SBX_HOOK_SAFE bool sbx_loop_is_around(struct sbx_thread *thread);

/* Is none of the innermost activations at the loop's poll call on the stack, for certain? Then `key_out` names the place of the call that the
 * thread is in, by the functions that lead to it. */
SBX_HOOK_SAFE bool sbx_loop_is_away(struct sbx_thread *thread, uint64_t *key_out);

/* A call of the loop returned after `took_ns`. Learns what the loop looks at, unless it failed. */
SBX_HOOK_SAFE void sbx_loop_call_ended(struct sbx_thread *thread, const struct sbx_blocking *call,
                                       const struct sbx_polled *polled, uint64_t took_ns, bool failed);

#endif
