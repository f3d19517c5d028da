/* SPDX-License-Identifier: Apache-2.0 */
/* loop_turn.h - is a poll call away from the loop's place a turn of the loop, or a wait of the handler that makes it?
 *
 * Pure functions of facts that were gathered before, so that each case is a line in a test. docs/ATTRIBUTION.md has the
 * rule in words. */
#ifndef SBX_LOOP_TURN_H
#define SBX_LOOP_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "poll_place.h"

enum sbx_poll_role {
    SBX_POLL_IS_TURN,   /* the loop turns: its program answers */
    SBX_POLL_IS_WAIT,   /* for something of the handler's own, a reply as a rule */
    SBX_POLL_IS_UNKNOWN /* what is polled does not tell; the loop may have been replaced by another */
};

/* What is known of the call and of the loop it may belong to. */
struct sbx_poll_facts {
    struct sbx_poll_set polled; /* what the call looks at */
    struct sbx_poll_set always; /* what the loop has looked at in every turn so far */
    uint64_t ready;             /* what was ready in its last turn: a source that is being handled may be left out of
                                    a nested turn, as GLib does with all that cannot recurse */
    bool is_same_machinery;     /* polled by the same functions, called in the same places, as the loop */
    bool is_inside;             /* the loop's own function is still on the stack */
    bool awaits_key;            /* and it waits for the user, at a terminal */
};

SBX_HOOK_SAFE enum sbx_poll_role sbx_poll_role(const struct sbx_poll_facts *facts);

/* Nothing on the stack tells which of two places lies in the other, and they take turns. Is `place` where a handler of the loop at `loop` waits for a reply? A loop is where the thread waits for
 * work, which is most of the time; where it does not, both are taken for turns, which misses a stall and invents none. */
SBX_HOOK_SAFE bool sbx_place_is_inner(const struct sbx_poll_place *place, const struct sbx_poll_place *loop);

/* What is known of a thread that polls, and pauses. */
struct sbx_pace {
    uint64_t waited_ns; /* at the loop's place, all together */
    uint64_t paused_ns; /* in long pauses, with the one that is still going on */
    uint32_t messages;  /* so far, with the open one */
    uint32_t paused;    /* those with a long pause, with the open one */
    bool pauses;        /* it has paused, however shortly */
};

/* Has the thread its pace from its pauses, and not from its poll calls? `watch`, xargs, a shell: they poll to look, and do
 * their work by sleeping and by waiting for children. What they do between two polls is no message. */
SBX_HOOK_SAFE bool sbx_pace_is_its_own(const struct sbx_pace *pace);

#endif
