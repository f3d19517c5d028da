/* SPDX-License-Identifier: Apache-2.0 */
/* message_loop.c - where the main thread's loop begins and ends a message. */
#include "message_loop.h"

#include <errno.h>

#include "clock.h"
#include "frame_pace.h"

enum {
    /* Messages shorter than this are merged into one record: a busy loop runs 100,000 a second, and the ring is
     * for what could explain a stall. */
    SHORT_MESSAGE_NS = 1000000,
    MERGE_NS = 5000000, /* so far at most do merged messages reach, and idle time goes untold */
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

/* Remember this poll call as the loop's: place and innermost activations. An activation is named by the stack slot of
 * its return address and what that slot holds. `main` and what called it do not count unless the loop is in main
 * itself: they are alive whatever the program does.
 *
 * Whether a poll call from elsewhere is nested hangs on the function that polls: is it still on the stack? Where the
 * loop itself polls (redis, libuv) that is the whole answer. Where a helper polls and returns before the message is
 * handled (GLib), its callers are asked instead, but only once that habit is proven: a sample in a message found the
 * helper gone, and the helper polled again after it. Otherwise connect_to_server() of a start-up, which polls and
 * returns for good, would make every later loop of its caller look like a handler of it. */
static void adopt_site(struct sbx_thread *thread, uint64_t pc, uint64_t sp)
{
    struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_replay *replay = &thread->replay;
    loop->site_pc = pc;
    loop->site_sp = sp;
    loop->hits = 0;
    loop->slot_count = 0;
    loop->poller_gone_in = 0;
    loop->poller_asked = false;
    loop->poller_returns = false;
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

/* Is one of the loop's innermost activations on the stack just walked? */
static bool loop_is_alive(const struct sbx_thread *thread)
{
    const struct sbx_message_loop *loop = &thread->loop;
    uint32_t asked = loop->poller_returns || loop->slot_count == 0 ? loop->slot_count : 1;
    for (uint32_t k = 0; k < asked; k++) {
        if (sbx_replay_has_frame(&thread->replay, loop->slots[k], loop->callers[k])) {
            return true;
        }
    }
    return false;
}

/* Put the short messages merged so far. They ended a while ago: the counters are those of then, and the CPU time of
 * then was not asked for. */
static void flush_merged(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    if (loop->merged.amount == 0) {
        return;
    }
    thread->inside = 1;
    sbx_order_with_handler();
    sbx_ring_put(&sbx_the_capture.ring, &thread->writer, thread->index, thread->generation, thread->tid, &loop->merged);
    sbx_order_with_handler();
    thread->inside = 0;
    loop->merged.amount = 0;
}

static void put_message(struct sbx_thread *thread, uint64_t begin_ns, uint64_t end_ns)
{
    struct sbx_record record = {.kind = SBX_RECORD_MESSAGE, .begin_ns = begin_ns, .end_ns = end_ns, .amount = 1};
    thread->inside = 1;
    sbx_order_with_handler();
    record.cpu_ns = sbx_thread_times(thread).cpu_ns;
    sbx_capture_read_usage(&record);
    sbx_capture_put(thread, &record);
    sbx_order_with_handler();
    thread->inside = 0;
}

static void merge_message(struct sbx_thread *thread, uint64_t begin_ns, uint64_t end_ns)
{
    struct sbx_message_loop *loop = &thread->loop;
    /* Only what follows hot on the heels is merged: idle time between messages is none of theirs. */
    if (loop->merged.amount != 0 &&
        (end_ns - loop->merged.begin_ns >= MERGE_NS || begin_ns - loop->merged.end_ns >= SHORT_MESSAGE_NS)) {
        flush_merged(thread);
    }
    if (loop->merged.amount == 0) {
        loop->merged = (struct sbx_record){.kind = SBX_RECORD_MESSAGE, .begin_ns = begin_ns, .thread = thread->index};
    }
    loop->merged.amount++;
    loop->merged.end_ns = end_ns;
    loop->merged.message = thread->entry->message;
    loop->merged.alloc_count = thread->entry->alloc_count;
    loop->merged.alloc_bytes = thread->entry->alloc_bytes;
}

static void end_message(struct sbx_thread *thread, uint64_t now_ns)
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
    if (took_ns >= SHORT_MESSAGE_NS) {
        flush_merged(thread);
        put_message(thread, begin_ns, now_ns);
    } else {
        merge_message(thread, begin_ns, now_ns);
    }
    uint32_t limit_ms = sbx_load_relaxed(&sbx_the_capture.control->in_force.slow_message_ms);
    if (limit_ms != 0 && took_ns >= (uint64_t)limit_ms * 1000000u) {
        loop->slow_begin_ns = begin_ns;
        loop->slow_end_ns = now_ns;
        /* order: release loop.slow_message - the watch thread reads the times above */
        sbx_store_release(&loop->slow_message, entry->message);
        sbx_capture_ring_bell();
    }
}

/* Decide whether this poll call is the outermost loop's. */
static bool is_loop_call(struct sbx_thread *thread, uint64_t pc, uint64_t sp)
{
    struct sbx_message_loop *loop = &thread->loop;
    if (loop->site_pc == pc && loop->site_sp == sp) {
        loop->poller_returns |= loop->poller_gone_in != 0 && loop->poller_gone_in == thread->entry->message;
        return true;
    }
    thread->inside = 1;
    sbx_order_with_handler();
    walk_here(thread);
    bool nested = loop->site_pc != 0 && sp < loop->site_sp && loop->hits >= 1 && loop_is_alive(thread);
    if (!nested) {
        sbx_store_release(&thread->entry->message_begin_ns, 0); /* what was open belonged to a loop that is no more */
        adopt_site(thread, pc, sp);
    }
    sbx_order_with_handler();
    thread->inside = 0;
    return !nested;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_poll_begin(struct sbx_blocking *call, uint8_t op, uint64_t pc, uint64_t sp)
{
    sbx_blocking_begin(call, SBX_GROUP_POLL, SBX_RECORD_POLL, op, 0, 0);
    struct sbx_thread *thread = call->thread;
    if (thread != NULL) { /* the hook is our caller, not that of the function above */
        thread->call_pc = call->pc = (uint64_t)__builtin_return_address(0);
        thread->call_sp = call->sp = (uint64_t)__builtin_dwarf_cfa();
    }
    if (thread == NULL || !thread->has_loop || call->outer != NULL) {
        return;
    }
    int saved_errno = errno;
    if (is_loop_call(thread, pc, sp)) {
        call->is_loop = true;
        call->kind = SBX_RECORD_IDLE;
        sbx_store_release(&thread->entry->call_kind, SBX_RECORD_IDLE);
        end_message(thread, call->begin_ns);
        thread->loop.hits++;
        thread->entry->flags |= 2;
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE void sbx_poll_end(struct sbx_blocking *call, bool failed)
{
    struct sbx_thread *thread = call->thread;
    if (thread == NULL || !call->is_loop) {
        sbx_blocking_end(call, 0, failed, -1);
        return;
    }
    int saved_errno = errno;
    uint64_t now_ns = sbx_thread_wall_ns(thread);
    struct sbx_thread_entry *entry = thread->entry;
    if (now_ns - thread->loop.idle_ns >= MERGE_NS || now_ns - call->begin_ns >= SHORT_MESSAGE_NS) {
        /* Idle time is no stall, and needs no stack; its record tells the CPU time at which the message began. */
        thread->loop.idle_ns = now_ns;
        call->thread = NULL; /* the record is made here, not by sbx_blocking_end() */
        thread->inside = 1;
        sbx_order_with_handler();
        struct sbx_record record = {.kind = SBX_RECORD_IDLE, .op = call->op, .begin_ns = call->begin_ns,
                                    .end_ns = now_ns, .cpu_ns = sbx_thread_times(thread).cpu_ns};
        sbx_capture_put(thread, &record);
        sbx_order_with_handler();
        thread->inside = 0;
    }
    sbx_leave_call(thread, call);
    if (now_ns - call->begin_ns >= SHORT_MESSAGE_NS) { /* a loop that only looks, as games do, has not rested */
        sbx_frame_rested(thread, now_ns);
    }
    if (sbx_capture_is_open()) {
        entry->message++;
        /* A loop is judged from its second pass on: a program that never loops is never judged. */
        if (thread->loop.hits >= 2) {
            /* order: seq_cst message_begin_ns - Dekker with `resting`: either we see that the watch thread rests, or it
             * sees the open message and does not */
            sbx_store_seq_cst(&entry->message_begin_ns, now_ns);
        }
        if (sbx_load_seq_cst(&sbx_the_capture.resting) != 0) {
            sbx_capture_ring_bell();
        }
    }
    errno = saved_errno;
}
