/* SPDX-License-Identifier: Apache-2.0 */
/* message_loop.c - where a message begins and ends. */
#include "message_loop.h"

#include <errno.h>

#include "clock.h"
#include "frame_pace.h"
#include "process_barrier.h"
#include "stack_copy.h"
#include "thread_seats.h"

enum {
    /* Messages shorter than this are merged into one record: a busy loop runs 100,000 a second, and the ring is
     * for what could explain a stall. */
    SHORT_MESSAGE_NS = 1000000,
    WALK_AGAIN_NS = 10000000, /* a loop whose activations are not known yet is walked so often */
    MERGE_NS = 5000000,       /* so far at most do merged messages reach, and idle time goes untold */
    /* After so many passes at one place a loop is taken for one that goes on; what connects at start-up polls less. */
    LOOP_PASSES = 4,
};

/* Walk the caller's stack into thread->replay. */
static void walk_here(struct sbx_thread *thread)
{
    struct sbx_walk_registers here;
    sbx_registers_here(&here);
    if (thread->stack_high == 0) {
        sbx_thread_find_stack(thread);
    }
    sbx_capture_stack(thread, &here);
}

static bool is_our_code(uint64_t pc)
{
    return pc - sbx_the_capture.agent_begin < sbx_the_capture.agent_end - sbx_the_capture.agent_begin;
}

/* Remember the innermost activations at the loop's poll call. An activation is named by the stack slot of
 * its return address and what that slot holds. `main` and what called it do not count unless the loop is in main
 * itself: they are alive whatever the program does.
 *
 * Whether a poll call from elsewhere is nested hangs on the function that polls: is it still on the stack? Where the
 * loop itself polls (redis, libuv) that is the whole answer. Where a helper polls and returns before the message is
 * handled (GLib), its callers are asked instead, but only once that habit is proven: a sample in a message found the
 * helper gone, and the helper polled again after it. Otherwise connect_to_server() of a start-up, which polls and
 * returns for good, would make every later loop of its caller look like a handler of it.
 *
 * A loop whose messages are too short for any sample never proves it. There a poll call from elsewhere is taken for a
 * handler's when the loop has gone on for some passes and a function that led to the poller is still active: for one
 * call. Is the loop's own place met next, that was right, and the habit is proven; is the new place met again, it is the
 * loop. */
static void name_activations(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_replay *replay = &thread->replay;
    loop->slot_count = 0;
    loop->walked_ns = sbx_thread_wall_ns(thread);
    loop->is_unclear = replay->end == SBX_WALK_ROWS_PENDING || replay->depth == 0; /* no modules yet */
    loop->poller_gone_in = 0;
    loop->poller_asked = false;
    loop->poller_returns = false;
    sbx_store_relaxed(&loop->poller_kept, 0); /* relaxed: the watch thread only looks */
    loop->poller_kept_in = 0;
    /* Frames are root first. A complete walk of the first thread begins _start, __libc_start_main,
     * __libc_start_call_main, main: the slot of main's own return address is where main's caller was read. With musl it
     * begins with the marker of code without rows, libc's, main. */
    uint32_t inmost = replay->depth;
    while (inmost > 0 && is_our_code(replay->frames[inmost - 1].pc)) {
        inmost--;
    }
    uint32_t main_at = replay->end == SBX_WALK_COMPLETE && inmost >= 4 ? 3 : 0;
    if (replay->end == SBX_WALK_NO_ROW && inmost >= 3) {
        main_at = 2;
    }
    loop->root_sp = sbx_replay_root_sp(replay);
    for (uint32_t i = 0; i < SBX_COUNT_OF(loop->slots) && i + 2 <= inmost; i++) {
        uint32_t frame = inmost - 1 - i; /* the activation; its caller is one further out */
        if (i > 0 && frame <= main_at) {
            break;
        }
        uint32_t check = frame >= 2 ? replay->frames[frame - 2].checks : 0; /* the first is of the return address */
        loop->slots[i] = replay->checks[check].address;
        loop->callers[i] = replay->frames[frame - 1].pc;
        loop->slot_count++;
    }
}

/* This poll call is the loop's from now on. */
static void adopt_site(struct sbx_thread *thread, uint64_t pc, uint64_t sp)
{
    thread->loop.site_pc = pc;
    thread->loop.site_sp = sp;
    thread->loop.hits = 0;
    thread->loop.other_pc = 0;
    thread->loop.doubt_message = 0;
    thread->loop.maybe_pc = 0;
    name_activations(thread);
}

/* Is one of the loop's innermost activations on the stack just walked: the poller, or with `callers` one of those that
 * led to it? */
static bool loop_is_alive(const struct sbx_thread *thread, bool callers)
{
    const struct sbx_message_loop *loop = &thread->loop;
    for (uint32_t k = 0; k < loop->slot_count && (k == 0 || callers); k++) {
        if (sbx_replay_has_frame(&thread->replay, loop->slots[k], loop->callers[k])) {
            return true;
        }
    }
    return false;
}

/* The stack is not walked for it: the watch thread asks, and the place of the return address tells. It has been left when
 * it lies beyond the stack pointer of the call that the thread is in, or holds something else. */
SBX_HOOK_SAFE bool sbx_message_loop_was_left(const struct sbx_thread *thread)
{
    const struct sbx_message_loop *loop = &thread->loop;
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
    if (limit_ms == 0 || took_ns < (uint64_t)limit_ms * 1000000u) {
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

/* Decide whether this poll call is the outermost loop's.
 *
 * A loop may poll from several places of its function: a compiler that sees a rare turn makes two loops of one. So a
 * call from another place of the same activation is the loop's as well. But it may also be the first of the function's
 * next loop, and what lay between the two then was no message: a slow one is told when the first place is met again. */
static bool is_loop_call(struct sbx_thread *thread, uint64_t pc, uint64_t sp, bool *in_doubt_out)
{
    struct sbx_message_loop *loop = &thread->loop;
    *in_doubt_out = false;
    if (loop->other_pc == pc && loop->site_sp == sp) {
        return true;
    }
    if (loop->site_pc == pc && loop->site_sp == sp) {
        if (SBX_UNLIKELY(loop->doubt_message != 0)) {
            tell_slow(loop, loop->doubt_message, loop->doubt_kind, loop->doubt_begin_ns, loop->doubt_end_ns);
            loop->doubt_message = 0;
        }
        /* A loop that begins as soon as the program does is met before there are rows to walk it with: once more then,
         * or else no poll call from a handler could be told from the loop's. */
        if (SBX_UNLIKELY(loop->is_unclear) && sbx_thread_wall_ns(thread) - loop->walked_ns >= WALK_AGAIN_NS) {
            sbx_thread_enter(thread);
            walk_here(thread);
            name_activations(thread);
            sbx_thread_leave(thread);
        }
        loop->poller_returns |= loop->poller_gone_in != 0 && loop->poller_gone_in == thread->entry->message;
        loop->poller_returns |= loop->maybe_pc != 0; /* what polled elsewhere meanwhile was a handler */
        loop->maybe_pc = 0;
        return true;
    }
    sbx_thread_enter(thread);
    walk_here(thread);
    if (sp == loop->site_sp && loop->hits >= 2 && loop->slot_count != 0 &&
        sbx_replay_has_frame(&thread->replay, loop->slots[0], loop->callers[0])) {
        loop->other_pc = pc;
        *in_doubt_out = true;
        sbx_thread_leave(thread);
        return true;
    }
    /* The stack pointer does not tell: a helper that polls may have had a larger frame than the handler has. */
    bool nested = loop->site_pc != 0 && loop->hits >= 1;
    if (nested && !loop_is_alive(thread, loop->poller_returns)) {
        nested = loop->hits >= LOOP_PASSES && (loop->maybe_pc != pc || loop->maybe_sp != sp) &&
                 (loop->is_unclear || loop_is_alive(thread, true));
        loop->maybe_pc = pc;
        loop->maybe_sp = sp;
    }
    if (!nested) {
        if (thread->entry->message_begin_ns != 0) {
            sbx_store_release(&thread->entry->message_begin_ns,
                              0); /* what was open belonged to a loop that is no more */
            tell_end(thread, sbx_thread_wall_ns(thread));
        }
        adopt_site(thread, pc, sp);
    }
    sbx_thread_leave(thread);
    return !nested;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_poll_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp,
                                               bool has_fds)
{
    sbx_blocking_begin(call, SBX_GROUP_POLL, has_fds ? SBX_RECORD_POLL : SBX_RECORD_SLEEP, op, 0, 0);
    struct sbx_thread *thread = call->thread;
    if (thread != NULL) { /* the hook is our caller, not that of the function above */
        sbx_call_is_at(thread, call, (uint64_t)__builtin_return_address(0), (uint64_t)__builtin_dwarf_cfa());
    }
    if (thread == NULL || !thread->has_loop || call->depth != 0 || thread->loop.is_entered) {
        return;
    }
    int saved_errno = errno;
    bool is_in_doubt;
    if (is_loop_call(thread, pc, sp, &is_in_doubt)) {
        call->is_loop = true;
        call->kind = SBX_RECORD_IDLE;
        thread->calls[call->depth].kind = SBX_RECORD_IDLE;
        sbx_store_release(&thread->entry->call_kind, SBX_RECORD_IDLE);
        end_message(thread, call->begin_ns, is_in_doubt);
        thread->loop.hits++;
        thread->entry->flags |= SBX_THREAD_FLAG_LOOP;
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE void sbx_poll_end(struct sbx_blocking *call, bool failed, int fd)
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
    loop->is_entered = false;
    end_message(thread, sbx_thread_wall_ns(thread), false);
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
