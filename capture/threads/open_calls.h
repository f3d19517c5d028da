/* SPDX-License-Identifier: Apache-2.0 */
/* open_calls.h - the hooked calls a thread is in, one inside the other, and which of them are still there.
 *
 * A hook's frame lies on a stack of the host, which may be left by a jump, switched away in the middle of the call, go on on
 * another thread, or be unmapped. So what anybody else needs of a call lies in the thread's block, by depth, and what lies in
 * the frame is for that call's own end alone:
 *
 *   K1  No pointer leads into a stack. `place` is an address to compare. It is followed for one look only, by a thread that runs
 *       further in on the stack it was made with: that is mapped, and where the frame's serial number is not the call's, a jump
 *       has left the call, and others have written there.
 *   K2  A call is in progress if its thread is the caller, its depth is below the thread's, and the serial number at that depth
 *       is its own. An end that finds it otherwise was left behind and came back (a coroutine), or runs on another thread: it
 *       touches nobody's list, tells no wait, and is counted (SBX_DROP_CALL_MOVED).
 *   K3  Each call in the list lies around those behind it, as far as places tell. Whoever comes from a place that a call cannot
 *       lie around, or finds its frame written over (K1), forgets that call: the next call to begin, a jump whose target is
 *       known, a sample at a leaf.
 *
 * Can a call lie around a place? On one stack, when the place lies further in, which is lower. On two, when a signal handler runs
 * on the alternate stack: the kernel says whether one does (sigaltstack(2), asked only in that case). Of two places that both
 * lie outside of the thread's own stack nobody knows whether it is one stack or two: there a call is kept that lies higher, and
 * given up when SBX_CALLS_INNER_MOST calls have begun and ended in it: a handler makes few, a scheduler of coroutines many.
 *
 * All of it is the thread's own and its handlers'; the watch thread sees entry.call and `blocking`. */
#ifndef SBX_OPEN_CALLS_H
#define SBX_OPEN_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "marks.h"

struct sbx_thread;

enum {
    SBX_CALLS_NESTED = 4,
    SBX_CALLS_INNER_MOST = 64,
};

/* What a call is, in one word: what it is recorded as, which call it is, and the group of its point. */
#define SBX_CALL_WHAT(kind, op, group)    ((uint32_t)(kind) | (uint32_t)(op) << 8 | (uint32_t)(group) << 16)
#define SBX_CALL_WHAT_WITH_DEPTH(what, d) ((what) | (uint32_t)(d) << 24)

/* A call in progress, as the thread's block has it. Most calls have none in them, so what the thread's entry tells of it (entry.call)
 * is put away only when another begins further in. */
struct sbx_open_call {
    uint64_t place;  /* of the hook's frame: K1 */
    uint32_t serial; /* K2; never 0 */
    uint8_t kind, op, group, reserved;
    uint32_t inner; /* calls that ended in it, where nobody knows whether it is really around them */
    /* of a call that has others in it: */
    uint32_t shown_kind, shown_op; /* entry.call_kind and call_op: another kind where a loop waits for work */
    uint32_t peer;
    uint32_t wait; /* wait id; 0: nobody could be asked to tell who ended it */
    uint64_t begin_ns;
    uint64_t object;
    uint64_t pc, sp; /* see call_pc of struct sbx_thread */
};

/* The same in the frame of the hook that makes it, for its own end. */
struct sbx_blocking {
    struct sbx_thread *thread; /* compared with the caller's, not followed; NULL: not recorded */
    struct sbx_thread *shield; /* not NULL: not recorded, but kept from our signal until it ends */
    uint64_t begin_ns;
    uint64_t object;
    uint64_t open_ns; /* of a read from a client: begin of the message that is put aside meanwhile; 0: none */
    uint32_t serial;
    uint32_t peer;
    uint8_t kind, op, group; /* in the order of SBX_CALL_WHAT(): stored as one word */
    uint8_t depth;           /* calls around it */
    bool is_loop;            /* the loop waits for work */
    bool is_nested;          /* in a turn that a handler of it makes */
    bool is_rest;            /* it may do so: messages/rest_place.h */
    bool reserved;
    uint32_t wait; /* 0: none. Behind the flags, which are false when it is 0: both are stored as one word */
};

/* May what lies at `place` of the thread's stacks be around a caller at `here`? See above. Asks the kernel where addresses do
 * not tell. For the thread itself. */
SBX_HOOK_SAFE bool sbx_place_may_be_around(const struct sbx_thread *thread, uint64_t place, uint64_t here);

/* A call is about to begin at `place` while others are in the thread's list: keeps K3, and puts away what entry.call tells of the
 * innermost that is left. False: there is no room, the calls around it shield it. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_calls_make_room(struct sbx_thread *thread, uint64_t place);

/* The entry of a call that is in progress on the calling thread; NULL: it is not any more (K2). */
SBX_HOOK_SAFE struct sbx_open_call *sbx_call_entry(const struct sbx_blocking *call);

/* Was it our signal that cut the call short, and none that the program handles? Where signals are made outside of calls, ours
 * cuts one that the kernel would have gone on with by itself when something else interrupts it that nobody handles: a stop, a
 * tracer, a signal that another thread takes. Its hook then makes it once more. Asked once for each time it was cut. */
SBX_HOOK_SAFE bool sbx_call_was_cut(const struct sbx_blocking *call);

/* What is left by now of `whole`, the time that the call was to take; nothing when it is over. */
SBX_HOOK_SAFE uint64_t sbx_call_ns_left(const struct sbx_blocking *call, uint64_t whole_ns);
SBX_HOOK_SAFE const struct timespec *sbx_call_left(const struct sbx_blocking *call, const struct timespec *whole,
                                                   struct timespec *left_out);

/* The wait of `call`, which is in progress on this thread, is over, recorded or not: give the seat among the waiters back, learn
 * who ended it. */
SBX_HOOK_SAFE void sbx_call_end_wait(struct sbx_blocking *call);

/* The call is over: entry.call goes back to the call around it, if there is one. Those further in were left behind. */
SBX_HOOK_SAFE void sbx_calls_pop(struct sbx_thread *thread, const struct sbx_blocking *call);

/* The thread is, or goes on, at `here`: calls that cannot lie around that place are over (K3). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_calls_forget(struct sbx_thread *thread, uint64_t here);

#endif
