/* SPDX-License-Identifier: Apache-2.0 */
/* open_calls.c - the list of a thread's calls in progress.
 *
 * This is apart from calls/blocking_call.c because it is about stacks, not about records. */
#include "open_calls.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "raw_syscall.h"
#include "signal_frame.h"
#include "the_capture.h"
#include "thread_block.h"
#include "waiter_table.h"

SBX_HOOK_SAFE bool sbx_place_may_be_around(const struct sbx_thread *thread, uint64_t place, uint64_t here)
{
    if (sbx_thread_is_on_own_stack(thread, place) == sbx_thread_is_on_own_stack(thread, here) && here < place) {
        return true;
    }
    stack_t alternate;
    memset(&alternate, 0, sizeof alternate);
    long result = sbx_raw_syscall(SYS_sigaltstack, 0, (long)(uintptr_t)&alternate, 0, 0, 0, 0);
    uint64_t low = (uint64_t)(uintptr_t)alternate.ss_sp, bytes = alternate.ss_size;
    bool is_handlers = result == 0 && (alternate.ss_flags & SS_ONSTACK) != 0 && here - low < bytes;
    return is_handlers && place - low >= bytes;
}

/* Cut the list to `depth`. entry.call then describes the call that is now the innermost. */
static void go_back_to(struct sbx_thread *thread, uint32_t depth)
{
    struct sbx_thread_entry *entry = thread->entry;
    if (SBX_UNLIKELY(thread->wait_depth > depth)) { /* the seat among the waiters was that of a removed call */
        thread->wait_depth = 0;
        sbx_waiter_leave(thread->index);
    }
    thread->call_depth = depth;
    if (SBX_LIKELY(depth == 0)) {
        sbx_store_relaxed(&thread->blocking, 0);               /* relaxed: a late reader saves one signal less */
        sbx_store_release(&entry->call_kind, SBX_RECORD_NONE); /* order: release entry.call */
        return;
    }
    const struct sbx_open_call *outer = &thread->calls[depth - 1];
    entry->call_op = outer->shown_op;
    entry->call_object = outer->object;
    entry->call_peer = outer->peer;
    entry->call_begin_ns = outer->begin_ns;
    entry->call_wait = outer->wait;
    thread->call_pc = outer->pc;
    thread->call_sp = outer->sp;
    sbx_store_release(&entry->call_kind, outer->shown_kind); /* order: release entry.call */
}

/* A call inside the innermost one ends, or is refused. It is counted if it is not certain that it is inside. */
static void count_inner(struct sbx_thread *thread)
{
    struct sbx_open_call *outer = &thread->calls[thread->call_depth - 1];
    if (!sbx_thread_is_on_own_stack(thread, outer->place) && ++outer->inner > SBX_CALLS_INNER_MOST) {
        sbx_count_drop(SBX_DROP_CALL_MOVED);
        go_back_to(thread, thread->call_depth - 1);
    }
}

/* Has the call's frame been overwritten? The caller runs further in on the thread's own stack, so the memory in between
 * is mapped. */
SBX_READS_FOREIGN_STACKS static bool is_overwritten(const struct sbx_thread *thread, const struct sbx_open_call *call,
                                                    uint64_t here)
{
    const struct sbx_blocking *frame = (const struct sbx_blocking *)(uintptr_t)call->place;
    return here < call->place && sbx_thread_is_on_own_stack(thread, here) &&
           sbx_thread_is_on_own_stack(thread, call->place) && frame->serial != call->serial;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_calls_forget(struct sbx_thread *thread, uint64_t here)
{
    uint32_t depth = thread->call_depth;
    while (depth != 0 && (!sbx_place_may_be_around(thread, thread->calls[depth - 1].place, here) ||
                          is_overwritten(thread, &thread->calls[depth - 1], here))) {
        depth--;
    }
    if (depth != thread->call_depth) {
        go_back_to(thread, depth);
    }
}

SBX_HOOK_SAFE SBX_NOINLINE bool sbx_calls_make_room(struct sbx_thread *thread, uint64_t place)
{
    sbx_calls_forget(thread, place);
    if (SBX_UNLIKELY(thread->call_depth == SBX_CALLS_NESTED)) {
        count_inner(thread);
        return false;
    }
    if (SBX_UNLIKELY(thread->call_depth != 0)) {
        /* A handler that interrupts here finds this half stored, and puts it back as it was; the rest is stored after
         * the handler. */
        const struct sbx_thread_entry *entry = thread->entry;
        struct sbx_open_call *outer = &thread->calls[thread->call_depth - 1];
        outer->shown_kind = sbx_load_relaxed(&entry->call_kind); /* relaxed: own thread, as all here */
        outer->shown_op = entry->call_op;
        outer->peer = entry->call_peer;
        outer->wait = entry->call_wait;
        outer->begin_ns = entry->call_begin_ns;
        outer->object = entry->call_object;
        outer->pc = thread->call_pc;
        outer->sp = thread->call_sp;
    }
    return true;
}

SBX_HOOK_SAFE struct sbx_open_call *sbx_call_entry(const struct sbx_blocking *call)
{
    struct sbx_thread *thread = sbx_self;
    if (thread != call->thread || !sbx_thread_is_registered(thread) || call->depth >= thread->call_depth ||
        thread->calls[call->depth].serial != call->serial) {
        return NULL;
    }
    return &thread->calls[call->depth];
}

SBX_HOOK_SAFE void sbx_calls_pop(struct sbx_thread *thread, const struct sbx_blocking *call)
{
    go_back_to(thread, call->depth);
    if (SBX_UNLIKELY(call->depth != 0)) {
        count_inner(thread);
    }
}

SBX_HOOK_SAFE void sbx_call_end_wait(struct sbx_blocking *call)
{
    struct sbx_thread *thread = call->thread;
    if (thread->wait_depth != call->depth + 1u) { /* a wait further in took the seat */
        return;
    }
    uint32_t waker = sbx_waiter_leave(thread->index);
    thread->wait_depth = 0;
    if (waker != 0 && call->kind != SBX_RECORD_LOCK) { /* the peer of a lock is its holder at the begin of the wait */
        call->peer = waker;
    }
}

/* ---- calls that our signal cut short ---- */

SBX_HOOK_SAFE bool sbx_call_was_cut(const struct sbx_blocking *call)
{
    struct sbx_thread *thread = sbx_self;
    if (call->thread == NULL || call->thread != thread || !sbx_capture_is_ours() ||
        sbx_load_relaxed(&thread->cut_call) != call->serial) {
        return false;
    }
    sbx_store_relaxed(&thread->cut_call, 0); /* relaxed: own thread and its handler */
    return true;
}

SBX_HOOK_SAFE uint64_t sbx_call_ns_left(const struct sbx_blocking *call, uint64_t whole_ns)
{
    uint64_t past_ns = sbx_thread_wall_ns(call->thread) - call->begin_ns;
    return past_ns < whole_ns ? whole_ns - past_ns : 0;
}

SBX_HOOK_SAFE const struct timespec *sbx_call_left(const struct sbx_blocking *call, const struct timespec *whole,
                                                   struct timespec *left_out)
{
    enum {
        MOST_S = 1000000000 /* longer does not matter, and would overflow nanoseconds */
    };
    if (whole == NULL || whole->tv_sec > MOST_S) {
        return whole;
    }
    uint64_t left_ns = sbx_call_ns_left(call, (uint64_t)whole->tv_sec * 1000000000 + (uint64_t)whole->tv_nsec);
    left_out->tv_sec = (time_t)(left_ns / 1000000000);
    left_out->tv_nsec = (long)(left_ns % 1000000000);
    return left_out;
}
