/* SPDX-License-Identifier: Apache-2.0 */
/* logical_points.c - asks embedded runtimes for their stacks when a call begins and at safepoints.
 *
 * This is apart from handler/logical_stack.c because none of it runs in a signal handler. */
#include "logical_points.h"

#include <errno.h>

#include "awaits.h"
#include "capture_record.h"
#include "fd_class.h"
#include "left_code.h"
#include "logical_stack.h"
#include "providers.h"
#include "registers.h"
#include "task.h"
#include "the_capture.h"
#include "thread_stack.h"

/* ---- sleeping threads, seen by the watch thread ---- */

/* A call on a socket or a pipe with O_NONBLOCK does not wait. A call on a file may wait even with O_NONBLOCK. */
static bool can_wait(const struct sbx_blocking *call)
{
    bool is_stream = (call->kind == SBX_RECORD_SOCKET && call->op != SBX_OP_SENDFILE) ||
                     (call->kind == SBX_RECORD_FILE && (call->op == SBX_OP_READ || call->op == SBX_OP_WRITE ||
                                                        call->op == SBX_OP_READV || call->op == SBX_OP_WRITEV));
    return !is_stream || call->object == 0 || sbx_fd_can_wait((int)(call->object - 1));
}

/* Is the logical stack of this call to be noted?
 *
 * Another thread cannot ask the runtime of a sleeping thread, because that thread may wake meanwhile. So the runtime is
 * asked when the call begins. That costs a walk and the provider's time in each call that may block, so calls that come
 * in quick succession are not all noted. Notes are limited like samples: one an interval, and the governor may make the
 * interval longer. A look whether there is a runtime and whether the call can wait costs only a part of a note. */
static bool take_turn(struct sbx_thread *thread, const struct sbx_blocking *call)
{
    uint64_t note_ns = sbx_load_relaxed(&sbx_the_capture.leaf_interval_ns[call->group]);
    bool is_noted = sbx_provider_is_entered() && can_wait(call);
    uint32_t parts = is_noted ? 1 : SBX_LOGICAL_LOOKS;
    (void)sbx_take_turn(&thread->next_note_ns, call->begin_ns, note_ns / parts, (uint64_t)SBX_LOGICAL_NOTES * parts);
    return is_noted;
}

/* The stack of a note is also the thread's sample of this interval, at the point of the call. If the thread has taken
 * that sample already, its next one waits for an interval from here on, so that the next note comes first. A quarter of
 * the interval is for the distance from the time when a note is due to the call. */
static void put_sample(struct sbx_thread *thread, const struct sbx_blocking *call, uint32_t stack)
{
    uint64_t interval_ns = sbx_load_relaxed(&sbx_the_capture.leaf_interval_ns[call->group]);
    if (thread->logical.not_now) {
        return;
    }
    if (call->begin_ns < thread->sampled_ns + interval_ns * 3 / 4) {
        thread->sampled_ns = call->begin_ns > thread->sampled_ns ? call->begin_ns : thread->sampled_ns;
        return;
    }
    struct sbx_times now = sbx_thread_times(thread);
    struct sbx_record record = {.kind = SBX_RECORD_LEAF,
                                .op = call->op,
                                .begin_ns = now.wall_ns,
                                .end_ns = now.wall_ns,
                                .cpu_ns = now.cpu_ns,
                                .stack = stack};
    sbx_capture_put(thread, &record);
    sbx_thread_clock_disarm(&thread->clock); /* the call is about to be made */
}

SBX_HOOK_SAFE void sbx_logical_note_call(struct sbx_thread *thread, const struct sbx_blocking *call)
{
    struct sbx_logical *logical = &thread->logical;
    if (!take_turn(thread, call)) {
        return;
    }
    sbx_thread_enter(thread);
    uint64_t begin_ns = sbx_cost_begin(thread, SBX_COST_CALL);
    if (thread->stack_high == 0) {
        sbx_thread_find_stack(thread);
    }
    struct sbx_walk_registers here;
    sbx_registers_here(&here);
    logical->is_note = true;
    uint32_t stack = sbx_capture_stack(thread, &here);
    logical->is_note = false;
    if (stack != SBX_STACK_NONE && stack != SBX_STACK_OVERFLOW && logical->stack == stack) {
        sbx_store_release(&logical->noted_ns, call->begin_ns); /* order: release logical.noted_ns - the walk is whole */
    }
    put_sample(thread, call, stack);
    uint32_t *captures = &thread->cost.group[call->group].captures;
    sbx_store_relaxed(captures, *captures + 1);
    sbx_cost_end(thread, SBX_COST_CALL, begin_ns);
    sbx_thread_leave(thread);
}

uint32_t sbx_logical_append_noted(const struct sbx_thread *thread, uint64_t call_begin_ns, uint32_t epoch,
                                  uint32_t native)
{
    const struct sbx_logical *logical = &thread->logical;
    static struct sbx_logical_walk copy; /* only the watch thread uses it; too large for that thread's stack */
    /* order: acquire logical.noted_ns - the walk is whole */
    if (call_begin_ns == 0 || native == SBX_STACK_NONE || native == SBX_STACK_OVERFLOW ||
        sbx_load_acquire(&logical->noted_ns) != call_begin_ns) {
        return native;
    }
    const struct sbx_logical_walk *walk = &logical->walks[sbx_load_relaxed(&logical->turn) & 1]; /* checked below */
    copy.count = sbx_load_relaxed(&walk->count);
    for (uint32_t i = 0; i < copy.count && i < SBX_COUNT_OF(copy.tags); i++) {
        copy.tags[i] = sbx_load_relaxed(&walk->tags[i]);
        copy.functions[i] = sbx_load_relaxed(&walk->functions[i]);
    }
    sbx_fence_acquire(); /* order: acquire logical.noted_ns - the second look comes after the copy */
    if (sbx_load_relaxed(&logical->noted_ns) != call_begin_ns || copy.count > SBX_COUNT_OF(copy.tags)) {
        return native; /* the thread has woken */
    }
    return sbx_logical_intern(&copy, epoch, native);
}

bool sbx_awaits_tell_noted(struct sbx_thread *thread, uint64_t call_begin_ns, uint64_t now_ns,
                           struct sbx_record *record_out)
{
    /* order: acquire logical.noted_ns - the await list was noted with the stack */
    if (call_begin_ns == 0 || sbx_load_acquire(&thread->logical.noted_ns) != call_begin_ns ||
        !sbx_awaits_tell(&thread->awaits, now_ns, record_out)) {
        return false;
    }
    sbx_fence_acquire(); /* order: acquire logical.noted_ns - the second look comes after the copy */
    return sbx_load_relaxed(&thread->logical.noted_ns) == call_begin_ns;
}

/* ---- safepoints ---- */

SBX_HOOK_SAFE void sbx_logical_safepoint(void)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_LIKELY(!sbx_thread_is_registered(thread) || sbx_load_relaxed(&thread->logical.wanted) == 0) ||
        sbx_thread_is_inside(thread) || !sbx_capture_is_ours()) { /* relaxed: this thread's own */
        return;
    }
    int saved_errno = errno;
    bool was_resting = false;
    sbx_thread_enter(thread);
    uint32_t wanted = thread->logical.wanted;
    sbx_store_relaxed(&thread->logical.wanted, 0);
    if (sbx_capture_is_open()) {
        if (thread->stack_high == 0) {
            sbx_thread_find_stack(thread);
        }
        struct sbx_times now = sbx_thread_times(thread);
        struct sbx_record record = {.kind = (uint8_t)(wanted >> 8),
                                    .op = (uint8_t)(wanted >> 16),
                                    .flags = (uint8_t)wanted,
                                    .begin_ns = now.wall_ns,
                                    .end_ns = now.wall_ns,
                                    .cpu_ns = now.cpu_ns};
        struct sbx_walk_registers here;
        sbx_registers_here(&here);
        thread->logical.drops_native = true;
        record.stack = sbx_capture_stack(thread, &here);
        thread->logical.drops_native = false;
        sbx_capture_put(thread, &record);
        if (record.kind == SBX_RECORD_ASYNC) {
            sbx_add_relaxed(&sbx_the_capture.header->captures_async, 1); /* relaxed: statistics */
        }
        was_resting = sbx_load_relaxed(&sbx_the_capture.resting) == SBX_RESTS; /* relaxed: may be late by one sample */
    }
    sbx_thread_leave(thread);
    if (was_resting) {
        sbx_capture_ring_bell();
    }
    errno = saved_errno;
}
