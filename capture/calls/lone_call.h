/* SPDX-License-Identifier: Apache-2.0 */
/* lone_call.h - begin and end of a call that may block with no other around it, on a thread of which nothing is out of the ordinary:
 * nearly every one. Inline, for who has more to do at both (blocking_call.c, client_message.c of messages/): what is written once and
 * lies on few cache lines is cheap.
 *
 * Where it is not that simple, sbx_blocking_enter() and sbx_blocking_end() find out what it is.
 *
 * A call that is followed lightly has no look at the clock at its end, if it was over before a tick of the watch thread met the thread in it: the kernel
 * leaves the caches cold, and what need not be done behind it is cheap. So a wait that is longer than a tick is told as any other, with its begin and its end,
 * and of shorter ones some. It is for calls that are part of no message, while the governor has nothing else left to give up
 * (docs/GOVERNOR.md). Who begins one looks once more whether the watch thread ticks, when the call can be seen: so either that is seen to be over,
 * or the watch thread, which looks at all calls before it lies down, sees the call (Dekker's pattern, as with `resting`). */
#ifndef SBX_LONE_CALL_H
#define SBX_LONE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture_sample.h"
#include "logical_points.h"
#include "marks.h"
#include "open_calls.h"
#include "order.h"
#include "the_capture.h"
#include "thread_block.h"

static inline uint8_t sbx_call_op_of(uint32_t what)
{
    return (uint8_t)(what >> 8);
}

static inline uint8_t sbx_call_group_of(uint32_t what)
{
    return (uint8_t)(what >> 16);
}

/* What waits for a handler to be called, or makes signals itself while it waits, and cannot be made once more when ours was (sbx_call_was_cut()). */
static inline uint32_t sbx_call_how_of(uint8_t op)
{
    return op == SBX_OP_PAUSE || op == SBX_OP_SIGSUSPEND || op == SBX_OP_IO_URING_WAIT ? SBX_BLOCKING_ALWAYS
                                                                                       : SBX_BLOCKING_CALL;
}

/* Is the calling thread, `thread`, as a lone call wants it that SBX_BLOCKING_CALL is enough for? Then it is told when the call begins. */
__attribute__((always_inline)) static inline bool sbx_lone_call_may_begin(struct sbx_thread *thread, uint32_t what,
                                                                          uint64_t *begin_ns_out)
{
    /* relaxed: hints, and see begin_unrecorded() and keep_signal_away() of blocking_call.c */
    return SBX_LIKELY(sbx_thread_is_registered(thread) && sbx_capture_is_open() &&
                      sbx_load_relaxed(&sbx_the_capture.seats_are_short) == 0 &&
                      (sbx_load_relaxed(&sbx_the_capture.quiet_groups) >> sbx_call_group_of(what) & 1) == 0 &&
                      sbx_load_relaxed(&sbx_the_capture.calls_are_safe) != 0 && thread->inside == 0 &&
                      thread->call_depth == 0 && sbx_thread_clock_wall_at_once(&thread->clock, begin_ns_out) &&
                      !sbx_logical_note_is_due(thread, *begin_ns_out));
}

/* The order of the members of struct sbx_blocking that are stored together. */
static inline void sbx_call_say_what(struct sbx_blocking *call, uint32_t what)
{
    _Static_assert(offsetof(struct sbx_blocking, op) == offsetof(struct sbx_blocking, kind) + 1 &&
                       offsetof(struct sbx_blocking, group) == offsetof(struct sbx_blocking, kind) + 2 &&
                       offsetof(struct sbx_blocking, depth) == offsetof(struct sbx_blocking, kind) + 3 &&
                       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                   "as SBX_CALL_WHAT() has them");
    __builtin_memcpy(&call->kind, &what, sizeof what);
}

/* The call is the innermost of the thread's list from here on: at `depth`, which has room. */
__attribute__((always_inline)) static inline void sbx_call_push(struct sbx_thread *thread, struct sbx_blocking *call,
                                                                uint32_t what, uint32_t depth)
{
    struct sbx_open_call *entry = &thread->calls[depth];
    uint64_t place = (uint64_t)(uintptr_t)call;
    uint32_t serial = ++thread->call_serial;
    if (SBX_UNLIKELY(serial == 0)) {
        serial = ++thread->call_serial;
    }
    /* A handler may come between any two of these, take the same entry and give it back: so these are stored once more
     * when the entry is ours for sure. */
    call->serial = serial; /* before it is in the list: see is_overwritten() of open_calls.c */
    entry->place = place;
    entry->serial = serial;
    sbx_order_with_handler();
    thread->call_depth = depth + 1;
    sbx_order_with_handler();
    entry->place = place;
    entry->serial = serial;
    entry->inner = 0;
    __builtin_memcpy(&entry->kind, &what, sizeof what);
}

/* The call begins. `pc` and `sp` are where its hook goes on. */
__attribute__((always_inline)) static inline void sbx_call_begin_at(struct sbx_thread *thread,
                                                                    struct sbx_blocking *call, uint32_t what,
                                                                    uint64_t object, uint32_t peer, uint64_t begin_ns,
                                                                    uint32_t depth, uint64_t pc, uint64_t sp)
{
    call->thread = thread;
    call->shield = NULL;
    call->begin_ns = begin_ns;
    call->object = object;
    call->peer = peer;
    sbx_call_say_what(call, SBX_CALL_WHAT_WITH_DEPTH(what, depth));
    call->is_loop = false;
    call->is_nested = false;
    call->is_rest = false;
    call->reserved = false;
    call->wait = 0;
    sbx_call_push(thread, call, what, depth);
    sbx_thread_clock_disarm(&thread->clock);
    sbx_call_is_at(thread, pc, sp);
}

/* And all can see it. */
__attribute__((always_inline)) static inline void sbx_call_show(struct sbx_thread_entry *entry, uint32_t what,
                                                                uint64_t object, uint32_t peer, uint64_t begin_ns)
{
    entry->call_op = sbx_call_op_of(what);
    entry->call_object = object;
    entry->call_peer = peer;
    entry->call_begin_ns = begin_ns;
    entry->call_wait = 0;
    sbx_store_release(&entry->call_kind, what & 0xff); /* order: release entry.call - the fields above are whole */
}

__attribute__((always_inline)) static inline void sbx_lone_call_begin(struct sbx_thread *thread,
                                                                      struct sbx_blocking *call, uint32_t what,
                                                                      uint64_t object, uint32_t peer, uint64_t begin_ns,
                                                                      uint64_t pc, uint64_t sp)
{
    sbx_call_begin_at(thread, call, what, object, peer, begin_ns, 0, pc, sp);
    sbx_call_show(sbx_own_entry, what, object, peer, begin_ns); /* it is the thread's, by the same line as sbx_self */
}

/* The thread that began the call, if it is the calling one. What is loaded from it then waits for the frame's line alone, and not for those that lead to
 * the thread's own pointer besides: behind a system call none is in a near cache. */
__attribute__((always_inline)) static inline struct sbx_thread *sbx_call_thread(const struct sbx_blocking *call)
{
    struct sbx_thread *thread = call->thread;
    bool is_callers = thread == sbx_self;
    __asm__("" : "+r"(thread)); /* the compiler does not know that they are the same */
    return SBX_LIKELY(is_callers) ? thread : NULL;
}

/* Is the call one that ends as a lone one: the one in the list (K2), alone there, with no seat among the waiters to be given back? Then it
 * is told when it ended. `thread`: of sbx_call_thread(). */
__attribute__((always_inline)) static inline bool sbx_lone_call_may_end(const struct sbx_blocking *call,
                                                                        struct sbx_thread *thread, uint64_t *end_ns_out)
{
    return SBX_LIKELY(sbx_thread_is_registered(thread) && sbx_capture_is_ours() && thread->call_depth == 1 &&
                      thread->wait_depth == 0 && thread->calls[0].serial == call->serial &&
                      sbx_thread_clock_wall_at_once(&thread->clock, end_ns_out));
}

/* Was it too short to be told? */
__attribute__((always_inline)) static inline bool sbx_call_was_short(const struct sbx_blocking *call, uint64_t end_ns)
{
    uint64_t took_ns = end_ns - call->begin_ns;
    return SBX_LIKELY(took_ns < sbx_load_relaxed(&sbx_the_capture.threshold_least_ns)) || /* relaxed: a number */
           took_ns < sbx_load_relaxed(&sbx_the_capture.threshold_ns[call->group]);
}

/* The only call that is open is over. */
__attribute__((always_inline)) static inline void sbx_lone_call_end(struct sbx_thread *thread)
{
    thread->call_depth = 0;
    sbx_store_relaxed(&thread->blocking, 0);                       /* relaxed: a late look only spares us one signal */
    sbx_store_release(&sbx_own_entry->call_kind, SBX_RECORD_NONE); /* order: release entry.call */
}

/* A lone call is about to begin: may it be followed lightly? Then its sample is taken now, if one is due. */
__attribute__((always_inline)) static inline bool sbx_light_call_may_begin(struct sbx_thread *thread, uint32_t what)
{
    if (sbx_load_relaxed(&sbx_the_capture.follows_lightly) == 0) { /* relaxed: looked at again below */
        return false;
    }
    sbx_leaf(thread, SBX_RECORD_LEAF, sbx_call_op_of(what), sbx_call_group_of(what));
    sbx_store_relaxed(&thread->ends_by_clock, 0); /* relaxed: before entry.call, which the watch thread acquires */
    return true;
}

/* It has begun. */
__attribute__((always_inline)) static inline void sbx_light_call_began(struct sbx_thread *thread)
{
    sbx_order_with_handler();
    /* order: barrier entry.call - Dekker with follows_lightly: either we see that no tick comes, or who lies down sees the call */
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_the_capture.follows_lightly) == 0)) {
        sbx_store_relaxed(&thread->ends_by_clock, 1); /* relaxed: own */
    }
}

/* Is the call, which is followed lightly, over with nothing to be told of it? `entry` is its thread's. None has begun in it, and it is in the list (K2). Else
 * sbx_blocking_end() ends it. */
__attribute__((always_inline)) static inline bool sbx_light_call_ends(const struct sbx_blocking *call,
                                                                      struct sbx_thread_entry *entry)
{
    struct sbx_thread *thread = sbx_call_thread(call);
    if (SBX_UNLIKELY(thread == NULL || thread->call_serial != call->serial || thread->call_depth != 1 ||
                     sbx_load_relaxed(&thread->ends_by_clock) != 0)) { /* relaxed: stored a tick ago, or not at all */
        return false;
    }
    thread->call_depth = 0;
    sbx_store_release(&entry->call_kind, SBX_RECORD_NONE); /* order: release entry.call */
    return true;
}

#endif
