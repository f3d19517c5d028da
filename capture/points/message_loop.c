/* SPDX-License-Identifier: Apache-2.0 */
/* message_loop.c - where a message begins and ends. */
#include "message_loop.h"

#include <errno.h>

#include "blocking_call.h"
#include "capture_record.h"
#include "clock.h"
#include "fd_class.h"
#include "frame_pace.h"
#include "left_code.h"
#include "loop_call.h"
#include "loop_turn.h"
#include "open_calls.h"
#include "process_barrier.h"
#include "registers.h"
#include "stack_copy.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"
#include "thread_stack.h"

enum {
    /* Messages shorter than this are merged into one record: a busy loop runs 100,000 a second, and the ring is
     * for what could explain a stall. */
    SHORT_MESSAGE_NS = 1000000,
    MERGE_NS = 5000000, /* so far at most do merged messages reach, and idle time goes untold */
};

/* While the thread is in a call that may be the first of another loop, nobody knows whether the message goes on.
 *
 * Else the stack is not walked for it: the watch thread asks, and the place of the return address tells. It has been left when
 * it lies beyond the stack pointer of the call that the thread is in, or holds something else. */
SBX_HOOK_SAFE bool sbx_message_loop_was_left(const struct sbx_thread *thread)
{
    const struct sbx_message_loop *loop = &thread->loop;
    if (sbx_load_relaxed(&loop->maybe_pc) != 0 &&
        sbx_load_relaxed(&thread->entry->call_kind) == SBX_RECORD_POLL) { /* relaxed: it may be wrong by one look */
        return true;
    }
    if (loop->slot_count == 0 || loop->poller_returns || loop->is_entered ||
        sbx_load_relaxed(&loop->poller_kept) < SBX_POLLER_KEPT_ENOUGH) {
        return false;
    }
    if (sbx_load_relaxed(&loop->poller_gone_in) == thread->entry->message) {
        return true;
    }
    /* order: acquire entry.call - the call's place is that of this call or of a later one */
    bool is_in_call = sbx_load_acquire(&thread->entry->call_kind) != SBX_RECORD_NONE;
    uint64_t sp = sbx_load_relaxed(&thread->call_sp), slot = loop->slots[0], word = 0;
    if (!is_in_call || sp < thread->stack_low || sp >= thread->stack_high) {
        return false;
    }
    return slot < sp || (sbx_copy_stack(slot, sizeof word, (uint8_t *)&word) == sizeof word &&
                         sbx_plain_address(word) != loop->callers[0]);
}

SBX_HOOK_SAFE bool sbx_message_is_paced(const struct sbx_thread *thread, uint64_t now_ns)
{
    const struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_thread_entry *entry = thread->entry;
    if (!thread->has_loop || loop->is_entered) { /* who says what a message is knows it */
        return false;
    }
    struct sbx_pace pace = {.waited_ns = loop->places[loop->place].waited_ns,
                            .paused_ns = sbx_load_relaxed(&loop->paused_ns),
                            .messages = loop->hits != 0 ? loop->hits - 1 : 0,
                            .paused = loop->paused,
                            .pauses = loop->pauses};
    /* order: acquire entry.call - the fields of that call or of a later one */
    if (now_ns != 0 && sbx_is_pause(sbx_load_acquire(&entry->call_kind), entry->call_op)) {
        uint64_t begin_ns = entry->call_begin_ns;
        pace.paused_ns += now_ns > begin_ns ? now_ns - begin_ns : 0;
        pace.paused += sbx_load_relaxed(&loop->paused_in) != entry->message;
        pace.pauses = true;
    }
    return sbx_pace_is_its_own(&pace);
}

SBX_HOOK_SAFE uint64_t sbx_message_awaited_ns(const struct sbx_thread *thread, uint64_t now_ns)
{
    const struct sbx_thread_entry *entry = thread->entry;
    const struct sbx_message_loop *loop = &thread->loop;
    uint64_t sum_ns = sbx_load_relaxed(&loop->key_in) == entry->message ? sbx_load_relaxed(&loop->key_ns) : 0;
    /* order: acquire entry.call - the fields of that call or of a later one */
    bool is_read = sbx_load_acquire(&entry->call_kind) == SBX_RECORD_FILE && entry->call_op == SBX_OP_READ;
    uint64_t begin_ns = entry->call_begin_ns;
    if (is_read && now_ns > begin_ns && entry->call_object != 0 &&
        sbx_is_terminal_of(thread->tid, (int)(entry->call_object - 1))) {
        sum_ns += now_ns - begin_ns;
    }
    return sum_ns;
}

/* Put the short messages merged so far. They ended a while ago: the counters are those of then, and the CPU time of
 * then was not asked for. */
static void flush_merged(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    if (loop->merged.amount == 0) {
        return;
    }
    sbx_thread_enter(thread);
    sbx_ring_put(&sbx_the_capture.ring, &thread->writer, thread->index, thread->generation, thread->tid, &loop->merged);
    sbx_thread_leave(thread);
    loop->merged.amount = 0;
}

static void put_message(struct sbx_thread *thread, uint64_t begin_ns, uint64_t end_ns)
{
    struct sbx_record record = {
        .kind = SBX_RECORD_MESSAGE, .op = thread->loop.kind, .begin_ns = begin_ns, .end_ns = end_ns, .amount = 1};
    sbx_thread_enter(thread);
    record.cpu_ns = sbx_thread_times(thread).cpu_ns;
    sbx_capture_read_usage(&record);
    sbx_capture_put(thread, &record);
    sbx_thread_leave(thread);
}

static void merge_message(struct sbx_thread *thread, uint64_t begin_ns, uint64_t end_ns)
{
    struct sbx_message_loop *loop = &thread->loop;
    /* Only what follows hot on the heels is merged: idle time between messages is none of theirs. */
    if (loop->merged.amount != 0 && (loop->merged.op != loop->kind || end_ns - loop->merged.begin_ns >= MERGE_NS ||
                                     begin_ns - loop->merged.end_ns >= SHORT_MESSAGE_NS)) {
        flush_merged(thread);
    }
    if (loop->merged.amount == 0) {
        loop->merged = (struct sbx_record){
            .kind = SBX_RECORD_MESSAGE, .op = loop->kind, .begin_ns = begin_ns, .thread = thread->index};
    }
    loop->merged.amount++;
    loop->merged.end_ns = end_ns;
    loop->merged.message = thread->entry->message;
    loop->merged.alloc_count = thread->entry->alloc_count;
    loop->merged.alloc_bytes = thread->entry->alloc_bytes;
}

/* Leave the numbers of a slow message where the watch thread takes them. */
static void tell_slow(struct sbx_message_loop *loop, uint64_t message, uint8_t kind, uint64_t begin_ns, uint64_t end_ns)
{
    if (sbx_load_acquire(&loop->slow_message) !=
        0) { /* order: acquire loop.slow_message - the last was not taken yet */
        return;
    }
    loop->slow_kind = kind;
    loop->slow_begin_ns = begin_ns;
    loop->slow_end_ns = end_ns;
    /* order: release loop.slow_message - the watch thread reads the times above */
    sbx_store_release(&loop->slow_message, message);
    sbx_add_acq_rel(&sbx_the_capture.news, 1); /* order: release capture.news */
    sbx_capture_ring_bell();
}

/* It was a message: its loop polls from two places. */
static void tell_doubted(struct sbx_message_loop *loop)
{
    tell_slow(loop, loop->doubt_message, loop->doubt_kind, loop->doubt_begin_ns, loop->doubt_end_ns);
    loop->doubt_message = 0;
}

/* The message that has just been closed was told while it went on: its end is news, and at once. */
static void tell_end(struct sbx_thread *thread, uint64_t end_ns)
{
    struct sbx_message_loop *loop = &thread->loop;
    /* order: acquire loop.anr_message - the end of another is not overwritten any more */
    if (SBX_LIKELY(sbx_load_acquire(&loop->anr_message) != thread->entry->message)) {
        return;
    }
    sbx_store_release(&loop->anr_end_ns, end_ns); /* order: release loop.anr_end_ns - the message is closed */
    sbx_capture_ring_bell();
}

/* is_in_doubt: whether it was a message is not known yet. */
static void end_message(struct sbx_thread *thread, uint64_t now_ns, bool is_in_doubt)
{
    struct sbx_message_loop *loop = &thread->loop;
    struct sbx_thread_entry *entry = thread->entry;
    uint64_t begin_ns = entry->message_begin_ns;
    if (begin_ns == 0) {
        return;
    }
    sbx_store_release(&entry->message_begin_ns,
                      0); /* order: release entry.message_begin_ns - closed before it is judged */
    uint64_t took_ns = now_ns - begin_ns;
    tell_end(thread, now_ns);
    if (took_ns >= SHORT_MESSAGE_NS) {
        flush_merged(thread);
        put_message(thread, begin_ns, now_ns);
    } else {
        merge_message(thread, begin_ns, now_ns);
    }
    uint8_t kind = loop->kind;
    sbx_store_relaxed(&loop->kind, 0); /* relaxed: the watch thread reads what it can get */
    uint32_t limit_ms = sbx_load_relaxed(&sbx_the_capture.control->in_force.slow_message_ms);
    uint64_t key_ns = SBX_UNLIKELY(loop->key_in == entry->message) ? loop->key_ns : 0;
    if (limit_ms == 0 || took_ns < (uint64_t)limit_ms * 1000000u + key_ns || sbx_message_is_paced(thread, 0)) {
        return;
    }
    if (is_in_doubt) {
        loop->doubt_begin_ns = begin_ns;
        loop->doubt_kind = kind;
        loop->doubt_end_ns = now_ns;
        loop->doubt_message = entry->message;
    } else {
        tell_slow(loop, entry->message, kind, begin_ns, now_ns);
    }
}

/* Count a message and, where it is judged, open it: now_ns 0 leaves it closed. */
static void begin_message(struct sbx_thread *thread, uint64_t now_ns)
{
    thread->entry->message++;
    if (now_ns != 0) {
        /* order: barrier message_begin_ns - Dekker with `resting`: either we see that the watch thread rests, or it
         * sees the open message and does not */
        sbx_store_before_look(&thread->entry->message_begin_ns, now_ns);
    }
    if (sbx_load_seq_cst(&sbx_the_capture.resting) != 0) {
        sbx_capture_ring_bell();
    }
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_poll_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp,
                                               const struct sbx_polled *polled)
{
    uint8_t kind = sbx_polled_has_fds(polled) ? SBX_RECORD_POLL : SBX_RECORD_SLEEP;
    sbx_blocking_begin(call, SBX_GROUP_POLL, kind, op, 0, 0);
    struct sbx_thread *thread = call->thread;
    if (thread != NULL) { /* the hook is our caller, not that of the function above */
        sbx_call_is_at(thread, call, (uint64_t)__builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa());
    }
    if (thread == NULL || !thread->has_loop || call->depth != 0 || thread->loop.is_entered) {
        return;
    }
    int saved_errno = errno;
    bool was_open = thread->entry->message_begin_ns != 0;
    enum sbx_loop_call role = sbx_loop_call(thread, pc, sp, polled);
    if (was_open && thread->entry->message_begin_ns == 0) {
        tell_end(thread, call->begin_ns); /* it belonged to a loop that is no more */
    }
    if (role != SBX_LOOP_CALL_NONE) {
        call->is_loop = true;
        call->is_nested = role == SBX_LOOP_CALL_NESTED;
        call->kind = SBX_RECORD_IDLE;
        thread->calls[call->depth].kind = SBX_RECORD_IDLE;
        sbx_store_release(&thread->entry->call_kind, SBX_RECORD_IDLE);
        if (SBX_UNLIKELY(role == SBX_LOOP_CALL_SITE && thread->loop.doubt_message != 0)) {
            tell_doubted(&thread->loop);
        }
        end_message(thread, call->begin_ns, role == SBX_LOOP_CALL_IN_DOUBT);
        thread->loop.hits++;
        thread->entry->flags |= SBX_THREAD_FLAG_LOOP;
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE void sbx_poll_end(struct sbx_blocking *call, const struct sbx_polled *polled, bool failed, int fd)
{
    struct sbx_thread *thread = call->thread;
    if (thread == NULL || !call->is_loop || SBX_UNLIKELY(sbx_call_entry(call) == NULL)) {
        sbx_blocking_end(call, 0, failed, fd);
        return;
    }
    int saved_errno = errno;
    uint64_t now_ns = sbx_thread_wall_ns(thread);
    if (now_ns - thread->loop.idle_ns >= MERGE_NS || now_ns - call->begin_ns >= SHORT_MESSAGE_NS) {
        /* Idle time is no stall, and needs no stack; its record tells the CPU time at which the message began. */
        thread->loop.idle_ns = now_ns;
        sbx_thread_enter(thread);
        struct sbx_record record = {.kind = SBX_RECORD_IDLE,
                                    .op = call->op,
                                    .begin_ns = call->begin_ns,
                                    .end_ns = now_ns,
                                    .cpu_ns = sbx_thread_times(thread).cpu_ns};
        sbx_capture_put(thread, &record);
        sbx_thread_leave(thread);
    }
    sbx_loop_call_ended(thread, call, polled, now_ns - call->begin_ns, failed);
    sbx_calls_pop(thread, call);                       /* the record was made here, not by sbx_blocking_end() */
    if (now_ns - call->begin_ns >= SHORT_MESSAGE_NS) { /* a loop that only looks, as games do, has not rested */
        sbx_frame_rested(thread, now_ns);
    }
    if (sbx_capture_is_open()) {
        /* A loop is judged from its second pass on: a program that never loops is never judged. */
        begin_message(thread, thread->loop.hits >= 2 ? now_ns : 0);
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_message_enter(uint32_t kind)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_UNLIKELY(thread == NULL)) {
        thread = sbx_thread_register_self();
    }
    if (!sbx_thread_is_registered(thread) || sbx_thread_is_inside(thread)) {
        return;
    }
    struct sbx_message_loop *loop = &thread->loop;
    if (loop->entered++ != 0) {
        return;
    }
    uint8_t known_kind = kind <= SBX_MESSAGE_KIND_MAX ? (uint8_t)kind : 0;
    if (sbx_load_relaxed(&thread->entry->message_begin_ns) != 0) {
        if (loop->kind == 0) {
            sbx_store_relaxed(&loop->kind, known_kind); /* part of what a poll call began: that has a name now */
        }
        return;
    }
    int saved_errno = errno;
    sbx_store_relaxed(&loop->kind, known_kind);
    loop->is_entered = true;
    thread->entry->flags |= 2;
    begin_message(thread, sbx_thread_wall_ns(thread));
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_message_leave(void)
{
    struct sbx_thread *thread = sbx_self;
    if (!sbx_thread_is_registered(thread) || sbx_thread_is_inside(thread) || SBX_UNLIKELY(!sbx_capture_is_ours())) {
        return;
    }
    struct sbx_message_loop *loop = &thread->loop;
    if (loop->entered == 0 || --loop->entered != 0 || !loop->is_entered) {
        return;
    }
    int saved_errno = errno;
    end_message(thread, sbx_thread_wall_ns(thread), false);
    loop->is_entered = false;
    errno = saved_errno;
}

SBX_HOOK_SAFE void sbx_message_exit(void)
{
    struct sbx_thread *thread = sbx_self;
    if (sbx_thread_is_registered(thread) && sbx_load_relaxed(&thread->entry->message_begin_ns) != 0 &&
        sbx_load_relaxed(&thread->loop.anr_message) == thread->entry->message) {
        sbx_store_release(&thread->entry->message_begin_ns, 0); /* order: release entry.message_begin_ns */
        tell_end(thread, sbx_thread_wall_ns(thread));
    }
}

SBX_HOOK_SAFE void sbx_message_set_name(uint32_t kind, const char *name)
{
    const struct sbx_section *section = &sbx_the_capture.header->kinds;
    uint32_t expected = SBX_KIND_FREE;
    if (kind == 0 || kind >= section->count) {
        return;
    }
    struct sbx_kind_entry *entry =
        (struct sbx_kind_entry *)(void *)((uint8_t *)sbx_the_capture.header + section->at) + kind;
    /* order: acq_rel kind.state - one writer a kind */
    if (!sbx_cas_acq_rel(&entry->state, &expected, SBX_KIND_FILLING)) {
        return;
    }
    for (uint32_t i = 0; i < sizeof entry->name - 1 && name[i] != 0; i++) {
        entry->name[i] = name[i];
    }
    sbx_store_release(&entry->state, SBX_KIND_SET); /* order: release kind.state - the name is whole */
}
