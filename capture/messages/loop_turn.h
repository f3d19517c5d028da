/* SPDX-License-Identifier: Apache-2.0 */
/* loop_turn.h - is a poll call away from the loop's place a turn of the loop, or a wait of the handler that makes it?
 *
 * The functions are pure and take facts that were gathered before, so that each case is a line in a test.
 * docs/ATTRIBUTION.md explains the rule. */
#ifndef SBX_LOOP_TURN_H
#define SBX_LOOP_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "poll_place.h"

enum sbx_poll_role {
    SBX_POLL_IS_TURN,   /* the loop turns, so the program responds */
    SBX_POLL_IS_WAIT,   /* for something that the handler needs, usually a reply */
    SBX_POLL_IS_UNKNOWN /* the polled set does not decide; another loop may have replaced the loop */
};

/* The facts about the call and about the loop to which it may belong. */
struct sbx_poll_facts {
    struct sbx_poll_set polled; /* what the call looks at */
    struct sbx_poll_set always; /* what the loop has looked at in every turn so far */
    uint64_t ready;             /* ready in its last turn; a nested turn may leave such sources out, as GLib does */
    bool is_same_machinery;     /* polled by the same functions as the loop, called in the same places */
    bool is_inside;             /* the loop's own function is still on the stack */
    bool awaits_key;            /* and the call waits for the user at a terminal */
};

SBX_HOOK_SAFE enum sbx_poll_role sbx_poll_role(const struct sbx_poll_facts *facts);

/* The stack does not show which of two places lies inside the other, and they take turns. Is `place` where a handler of
 * the loop at `loop` waits for a reply? The loop's place is where the thread waits for work, which is most of the time.
 * If that is not clear, both places count as turns; this may miss a stall, but never reports a false one. */
SBX_HOOK_SAFE bool sbx_place_is_inner(const struct sbx_poll_place *place, const struct sbx_poll_place *loop);

/* The facts about a thread that polls and pauses. */
struct sbx_pace {
    uint64_t waited_ns; /* waits for work, all together */
    uint64_t paused_ns; /* the sum of long pauses, including a present one */
    uint32_t messages;  /* messages so far, including the open one */
    uint32_t paused;    /* messages with a long pause, including the open one */
    bool pauses;        /* the thread has paused, for any time */
};

/* Does the thread get its pace from its pauses, and not from its poll calls? `watch`, xargs and shells poll only to
 * look. They do their work by sleeping and by waiting for children. What they do between two polls is not a message. */
SBX_HOOK_SAFE bool sbx_pace_is_its_own(const struct sbx_pace *pace);

#endif
