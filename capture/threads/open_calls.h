/* SPDX-License-Identifier: Apache-2.0 */
/* open_calls.h - the hooked calls a thread is in, one inside the other, and which of them are still there.
 *
 * A hook's frame lies on a stack of the host. A jump may leave that stack; the program may switch away from it in the
 * middle of the call, continue it on another thread, or unmap it. So the data of a call that others need lies in the
 * thread's block, by depth. The data in the frame is only for the end of that call:
 *
 *   K1  No pointer leads into a stack. `place` is an address to compare. It is followed for one look only, by a thread
 *       that runs further in on the stack it was made with, because that memory is mapped. When the frame's serial
 *       number is not the call's, a jump has left the call, and the frame has been overwritten.
 *   K2  A call is in progress if its thread is the caller, its depth is below the thread's, and the serial number at
 *       that depth is its own. An end that finds something else belongs to a call that was left and came back (a
 *       coroutine), or that ended on another thread. Such an end changes no list, ends no wait, and is counted
 *       (SBX_DROP_CALL_MOVED).
 *   K3  Each call in the list contains the calls after it, as far as places can tell. Code at a place that a call
 *       cannot contain, or that finds the call's frame overwritten (K1), removes that call: the next call to begin, a
 *       jump whose target is known, a sample at a leaf.
 *
 * Can a call contain a place? On one stack it can when the place lies further in, which is lower. On two stacks it can
 * when a signal handler runs on the alternate stack; the kernel says whether one does (sigaltstack(2), asked only in
 * that case). Of two places outside of the thread's own stack it is not known whether they lie on one stack or on two.
 * There the call that lies higher is kept. It is given up when SBX_CALLS_INNER_MOST calls have begun and ended in it,
 * because a handler makes few calls, and a scheduler of coroutines makes many.
 *
 * All of this belongs to the thread and its handlers. The watch thread sees entry.call and `blocking`. */
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

/* A call in one word: the kind and op that it is recorded as, and the group of its point. */
#define SBX_CALL_WHAT(kind, op, group)    ((uint32_t)(kind) | (uint32_t)(op) << 8 | (uint32_t)(group) << 16)
#define SBX_CALL_WHAT_WITH_DEPTH(what, d) ((what) | (uint32_t)(d) << 24)

/* A call in progress, in the thread's block. Most calls have no other call in them. So the data of entry.call is saved
 * here only when another call begins further in. */
struct sbx_open_call {
    uint64_t place;  /* place of the hook's frame: K1 */
    uint32_t serial; /* K2; never 0 */
    uint8_t kind, op, group, reserved;
    uint32_t inner; /* calls that ended in it although it is not known whether they were inside */
    /* used when the call has others in it: */
    uint32_t shown_kind, shown_op; /* entry.call_kind and call_op; another kind when a loop waits for work */
    uint32_t peer;
    uint32_t wait; /* wait id; 0: no releasing thread can be asked to say who ended it */
    uint64_t begin_ns;
    uint64_t object;
    uint64_t pc, sp; /* see call_pc of struct sbx_thread */
};

/* The same call in the frame of its hook, for the end of the call. */
struct sbx_blocking {
    struct sbx_thread *thread; /* compared with the caller, not followed; NULL: not recorded */
    struct sbx_thread *shield; /* only when `thread` is NULL. Not NULL: shielded from our signal until it ends */
    uint64_t begin_ns;
    uint64_t object;
    uint64_t open_ns; /* for a read from a client: begin of the message set aside meanwhile; 0: none */
    uint32_t serial;
    uint32_t peer;
    uint8_t kind, op, group; /* in the order of SBX_CALL_WHAT(): stored as one word */
    uint8_t depth;           /* number of calls around it */
    bool is_loop;            /* the loop waits for work */
    bool is_nested;          /* in a turn that a handler of the loop makes */
    bool is_rest;            /* it may be a wait of the loop for work: messages/rest_place.h */
    bool reserved;
    uint32_t wait; /* 0: none. Follows the flags, which are false when it is 0: stored together as one word */
};

/* May a call with its frame at `place` contain a caller at `here`? See above. Asks the kernel where the addresses do
 * not tell. Only for the calling thread itself. */
SBX_HOOK_SAFE bool sbx_place_may_be_around(const struct sbx_thread *thread, uint64_t place, uint64_t here);

/* A call is about to begin at `place` while others are in the thread's list. Keeps K3, and saves the data of entry.call
 * for the innermost call that is left. False: there is no room, so the new call is not recorded, and the calls around
 * it shield it. */
SBX_HOOK_SAFE SBX_NOINLINE bool sbx_calls_make_room(struct sbx_thread *thread, uint64_t place);

/* The entry of a call that is in progress on the calling thread; NULL: it is not in progress any more (K2). */
SBX_HOOK_SAFE struct sbx_open_call *sbx_call_entry(const struct sbx_blocking *call);

/* Did only our signal cut the call short, and no signal that the program handles? Where signals are made outside of
 * calls, our signal can interrupt a call that the kernel would have continued by itself after another interruption that
 * the program does not handle: a stop, a tracer, a signal that another thread takes. The hook then makes the call once
 * more. Asked once for each interruption. */
SBX_HOOK_SAFE bool sbx_call_was_cut(const struct sbx_blocking *call);

/* The rest of `whole`, the time that the call was to take; zero when that time is over. */
SBX_HOOK_SAFE uint64_t sbx_call_ns_left(const struct sbx_blocking *call, uint64_t whole_ns);
SBX_HOOK_SAFE const struct timespec *sbx_call_left(const struct sbx_blocking *call, const struct timespec *whole,
                                                   struct timespec *left_out);

/* The wait of `call`, which is in progress on this thread, is over, recorded or not. Gives the seat among the waiters
 * back, and learns which thread ended the wait. */
SBX_HOOK_SAFE void sbx_call_end_wait(struct sbx_blocking *call);

/* The call is over: entry.call describes the call around it again, if there is one. Calls further in were left
 * behind. */
SBX_HOOK_SAFE void sbx_calls_pop(struct sbx_thread *thread, const struct sbx_blocking *call);

/* The thread runs, or continues, at `here`: calls that cannot contain that place are over (K3). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_calls_forget(struct sbx_thread *thread, uint64_t here);

#endif
