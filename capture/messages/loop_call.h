/* SPDX-License-Identifier: Apache-2.0 */
/* loop_call.h - which poll call of the main thread belongs to its message loop.
 *
 * The loop is recognised by the place of the call: the same return address and the same stack pointer, met twice. For a
 * call from elsewhere, a walk of the stack shows whether it lies in the loop: it does when one of the loop's innermost
 * activations is still on the stack. Where the stack alone does not decide, the next pass does: see
 * name_activations().
 *
 * A call that lies in the loop is made by a handler. The polled descriptors and the place of the call decide whether
 * the loop turns there as well (a modal dialog, a nested g_main_loop_run()) or the handler waits for a reply.
 * loop_turn.h has the rule. */
#ifndef SBX_LOOP_CALL_H
#define SBX_LOOP_CALL_H

#include <stddef.h>

#include "poll_set.h"
#include "thread_block.h"

enum sbx_loop_call {
    SBX_LOOP_CALL_NONE,     /* a wait of a handler, or the first call of a possible loop */
    SBX_LOOP_CALL_SITE,     /* the loop's */
    SBX_LOOP_CALL_AGAIN,    /* the loop's, once more from the other place of its function */
    SBX_LOOP_CALL_IN_DOUBT, /* from another place of its function: the loop's, or the first of another loop */
    SBX_LOOP_CALL_NESTED    /* a turn of the loop inside a handler */
};

/* A turn is plain when the loop's place is met again and nothing happened since from which the agent learns: no poll
 * call elsewhere, no sample that did not find the poller, no rest. At the end of a turn that polls the epoll set that
 * it always polls, there is nothing to learn either. Also, the application does not report its messages itself.
 *
 * Nearly all turns of a server are plain. They take a path of their own (message_loop.c). Their passes are counted in
 * one word of the thread that is in the cache, and added to the place when its count is needed. */
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

/* Is the thread's present call made by the loop, or by a handler that the loop has called, as far as the stack
 * shows? */
SBX_HOOK_SAFE bool sbx_loop_is_around(struct sbx_thread *thread);

/* Is it certain that none of the innermost activations at the loop's poll call is on the stack? Then `key_out` names
 * the place of the thread's present call, by the functions that lead to it. */
SBX_HOOK_SAFE bool sbx_loop_is_away(struct sbx_thread *thread, uint64_t *key_out);

/* A call of the loop returned after `took_ns`. Learns what the loop looks at, unless it failed. */
SBX_HOOK_SAFE void sbx_loop_call_ended(struct sbx_thread *thread, const struct sbx_blocking *call,
                                       const struct sbx_polled *polled, uint64_t took_ns, bool failed);

#endif
