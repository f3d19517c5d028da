/* SPDX-License-Identifier: Apache-2.0 */
/* lone_call.h - begin and end of a call that may block, with no other call around it, on a thread with nothing unusual.
 * Nearly every call is of this kind. The functions are inline, because their callers have more to do at both ends
 * (blocking_call.c, client_message.c of messages/). They are cheap because they store each word once, in few cache
 * lines.
 *
 * For all other calls, sbx_blocking_enter() and sbx_blocking_end() find out which case it is. */
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

/* SBX_BLOCKING_ALWAYS is for a call that waits for a signal handler, or that makes signals itself while it waits, and
 * that cannot be made once more after the sample signal has cut it short (sbx_call_was_cut()). */
static inline uint32_t sbx_call_how_of(uint8_t op)
{
    return op == SBX_OP_PAUSE || op == SBX_OP_SIGSUSPEND || op == SBX_OP_IO_URING_WAIT ? SBX_BLOCKING_ALWAYS
                                                                                       : SBX_BLOCKING_CALL;
}

/* Is there nothing unusual about the calling thread `thread`, and no call in progress? */
__attribute__((always_inline)) static inline bool sbx_call_may_be_alone(const struct sbx_thread *thread)
{
    return SBX_LIKELY(sbx_thread_is_registered(thread) && sbx_capture_is_open() && sbx_capture_is_usual() &&
                      (thread->inside | thread->call_depth) == 0);
}

/* May a call of the calling thread `thread` begin as a lone call, if SBX_BLOCKING_CALL is enough for it? If so,
 * *begin_ns_out is set to the time when the call begins. */
__attribute__((always_inline)) static inline bool sbx_lone_call_may_begin(struct sbx_thread *thread,
                                                                          uint64_t *begin_ns_out)
{
    return SBX_LIKELY(sbx_call_may_be_alone(thread) && sbx_thread_clock_wall_at_once(&thread->clock, begin_ns_out) &&
                      !sbx_logical_note_is_due(thread, *begin_ns_out));
}

/* The assertion checks the order of those members of struct sbx_blocking that are stored together. */
static inline void sbx_call_say_what(struct sbx_blocking *call, uint32_t what)
{
    _Static_assert(offsetof(struct sbx_blocking, op) == offsetof(struct sbx_blocking, kind) + 1 &&
                       offsetof(struct sbx_blocking, group) == offsetof(struct sbx_blocking, kind) + 2 &&
                       offsetof(struct sbx_blocking, depth) == offsetof(struct sbx_blocking, kind) + 3 &&
                       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
                   "as SBX_CALL_WHAT() has them");
    __builtin_memcpy(&call->kind, &what, sizeof what);
}

/* From here on the call is the innermost of the thread's list, at `depth`. The caller has checked that there is
 * room. */
__attribute__((always_inline)) static inline void sbx_call_push(struct sbx_thread *thread, struct sbx_blocking *call,
                                                                uint32_t what, uint32_t depth)
{
    struct sbx_open_call *entry = &thread->calls[depth];
    uint64_t place = (uint64_t)(uintptr_t)call;
    uint32_t serial = ++thread->call_serial;
    if (SBX_UNLIKELY(serial == 0)) {
        serial = ++thread->call_serial;
    }
    /* A signal handler may run between any two of these stores, take the same entry and give it back. So they are
     * stored once more when the entry is certainly this call's. */
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

/* The call begins. `pc` and `sp` are those at which its hook continues. */
__attribute__((always_inline)) static inline void sbx_call_begin_at(struct sbx_thread *thread,
                                                                    struct sbx_blocking *call, uint32_t what,
                                                                    uint64_t object, uint32_t peer, uint64_t begin_ns,
                                                                    uint32_t depth, uint64_t pc, uint64_t sp)
{
    call->thread = thread;
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

/* Make the call visible to other threads. */
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
    sbx_call_show(sbx_own_entry, what, object, peer, begin_ns); /* its own: on sbx_self's cache line */
}

/* Returns the thread that began the call, if it is the calling thread. What the caller loads through the result then
 * depends only on the cache line of the frame, and not on the lines that lead to sbx_self. After a system call none of
 * these lines is in a near cache. */
__attribute__((always_inline)) static inline struct sbx_thread *sbx_call_thread(const struct sbx_blocking *call)
{
    struct sbx_thread *thread = call->thread;
    bool is_callers = thread == sbx_self;
    __asm__("" : "+r"(thread)); /* keep the compiler from seeing that both pointers are equal */
    return SBX_LIKELY(is_callers) ? thread : NULL;
}

/* Does the call end as a lone one: it is the only call in the list (K2), and it has no seat among the waiters to give
 * back? If so, *end_ns_out is set to the time when it ended. `thread` is the result of sbx_call_thread(). */
__attribute__((always_inline)) static inline bool sbx_lone_call_may_end(const struct sbx_blocking *call,
                                                                        struct sbx_thread *thread, uint64_t *end_ns_out)
{
    return SBX_LIKELY(sbx_thread_is_registered(thread) && sbx_capture_is_ours() && thread->call_depth == 1 &&
                      thread->wait_depth == 0 && thread->calls[0].serial == call->serial &&
                      sbx_thread_clock_wall_at_once(&thread->clock, end_ns_out));
}

/* Was the call too short to be recorded? */
__attribute__((always_inline)) static inline bool sbx_call_was_short(const struct sbx_blocking *call, uint64_t end_ns)
{
    uint64_t took_ns = end_ns - call->begin_ns;
    return SBX_LIKELY(took_ns < sbx_load_relaxed(&sbx_the_capture.threshold_least_ns)) || /* relaxed: a number */
           took_ns < sbx_load_relaxed(&sbx_the_capture.threshold_ns[call->group]);
}

/* The only open call is over. */
__attribute__((always_inline)) static inline void sbx_lone_call_end(struct sbx_thread *thread)
{
    thread->call_depth = 0;
    sbx_store_relaxed(&thread->blocking, 0);                       /* relaxed: a late look only spares us one signal */
    sbx_store_release(&sbx_own_entry->call_kind, SBX_RECORD_NONE); /* order: release entry.call */
}

#endif
