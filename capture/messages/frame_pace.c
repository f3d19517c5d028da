/* SPDX-License-Identifier: Apache-2.0 */
/* frame_pace.c - where a thread's frames begin and end. */
#include "frame_pace.h"

#include <errno.h>

#include "blocking_call.h"
#include "capture_record.h"
#include "clock.h"
#include "left_code.h"
#include "message.h"
#include "open_calls.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_registry.h"

enum {
    /* Frames shorter than this are merged into one record: frames at 60 a second explain no stall. */
    SHORT_FRAME_NS = 20000000,
    MERGE_NS = 100000000, /* merged frames cover at most this time */
};

static void put_frame(struct sbx_thread *thread, struct sbx_record *record)
{
    sbx_thread_enter(thread);
    record->cpu_ns = sbx_thread_times(thread).cpu_ns;
    sbx_capture_put(thread, record);
    sbx_thread_leave(thread);
}

/* Put the short frames merged so far. They ended a while ago, and their CPU time was not read then. */
static void flush_merged(struct sbx_thread *thread)
{
    struct sbx_record *merged = &thread->frame.merged;
    if (merged->amount == 0) {
        return;
    }
    sbx_thread_enter(thread);
    sbx_ring_put(&sbx_the_capture.ring, &thread->writer, thread->index, thread->generation, thread->tid, merged);
    sbx_thread_leave(thread);
    merged->amount = 0;
}

static void merge_frame(struct sbx_thread *thread, uint8_t op, uint64_t begin_ns, uint64_t end_ns)
{
    struct sbx_record *merged = &thread->frame.merged;
    if (merged->amount != 0 && (end_ns - merged->begin_ns >= MERGE_NS || begin_ns - merged->end_ns >= SHORT_FRAME_NS)) {
        flush_merged(thread);
    }
    if (merged->amount == 0) {
        *merged =
            (struct sbx_record){.kind = SBX_RECORD_FRAME, .op = op, .begin_ns = begin_ns, .thread = thread->index};
    }
    merged->amount++;
    merged->end_ns = end_ns;
    merged->message = thread->entry->message;
    merged->alloc_count = thread->entry->alloc_count;
    merged->alloc_bytes = thread->entry->alloc_bytes;
}

/* Leave the numbers of a slow frame, or of a burst of dropped ones, for the watch thread, as message.c does with slow
 * messages. There is room for one: until the watch thread has taken it, the next one is recorded but not reported. */
static void tell_slow(struct sbx_thread *thread, uint64_t begin_ns, uint64_t end_ns, uint32_t burst)
{
    struct sbx_frame_pace *pace = &thread->frame;
    uint32_t limit_ms = sbx_load_relaxed(&sbx_the_capture.control->in_force.slow_frame_ms);
    bool is_slow = end_ns - begin_ns >= (uint64_t)limit_ms * 1000000u;
    if (limit_ms == 0 || (!is_slow && burst == 0) ||
        sbx_load_acquire(&pace->slow_frame) != 0) { /* order: acquire frame.slow_frame - the last was taken */
        return;
    }
    pace->slow_begin_ns = begin_ns;
    pace->slow_end_ns = end_ns;
    pace->slow_dropped = 0;
    if (!is_slow) { /* the report reaches back to the first dropped frame */
        uint32_t oldest = 31 - (uint32_t)__builtin_clz(pace->dropped);
        pace->slow_begin_ns = pace->begins_ns[(pace->count - oldest) % SBX_BURST_FRAMES];
        pace->slow_dropped = burst;
        pace->dropped = 0;
    }
    /* order: release frame.slow_frame - the watch thread reads the times above */
    sbx_store_release(&pace->slow_frame, pace->count);
    sbx_add_acq_rel(&sbx_the_capture.news, 1); /* order: release capture.news */
    sbx_capture_ring_bell();
}

/* A present of `thread` ended, possibly in the middle of a message. */
static void count_shown(struct sbx_thread *thread, uint64_t now_ns)
{
    struct sbx_frame_pace *pace = &thread->frame;
    if (!thread->has_loop || thread->loop.is_entered || thread->entry->message_begin_ns == 0) {
        return;
    }
    if (pace->shown_in != thread->entry->message) {
        pace->shown_in = thread->entry->message;
        pace->shown = 0;
    }
    pace->shown += pace->shown < SBX_FRAME_ANIMATION;
    if (pace->shown == SBX_FRAME_ANIMATION) {
        sbx_message_turn(thread, now_ns);
        pace->shown_in = thread->entry->message;
    }
}

static void end_frame(struct sbx_thread *thread, uint8_t op, uint64_t begin_ns, uint64_t end_ns)
{
    struct sbx_frame_pace *pace = &thread->frame;
    uint64_t took_ns = end_ns - begin_ns;
    pace->count++;
    pace->begins_ns[pace->count % SBX_BURST_FRAMES] = begin_ns;
    pace->dropped = pace->dropped << 1 | sbx_frame_is_dropped(took_ns, pace->usual_ns);
    pace->usual_ns = sbx_frame_usual_ns(pace->usual_ns, pace->count, took_ns);
    if (took_ns < SHORT_FRAME_NS) {
        merge_frame(thread, op, begin_ns, end_ns);
    } else {
        flush_merged(thread);
        struct sbx_record record = {
            .kind = SBX_RECORD_FRAME, .op = op, .begin_ns = begin_ns, .end_ns = end_ns, .amount = 1};
        put_frame(thread, &record);
    }
    tell_slow(thread, begin_ns, end_ns, sbx_frame_burst(pace->dropped, pace->count));
}

SBX_HOOK_SAFE void sbx_present_begin(struct sbx_blocking *call, uint8_t op)
{
    sbx_blocking_begin(call, SBX_GROUP_FRAME, SBX_RECORD_WAIT, op, 0, 0);
}

SBX_HOOK_SAFE void sbx_present_end(struct sbx_blocking *call, bool failed)
{
    struct sbx_thread *thread = call->thread != NULL && sbx_call_entry(call) != NULL ? call->thread : NULL;
    bool is_inner = false;
    for (uint32_t i = 0; thread != NULL && i < call->depth; i++) {
        is_inner |= thread->calls[i].group == SBX_GROUP_FRAME;
    }
    sbx_blocking_end(call, 0, failed, -1);
    if (thread == NULL || is_inner || !sbx_capture_is_open()) {
        return;
    }
    int saved_errno = errno;
    struct sbx_frame_pace *pace = &thread->frame;
    uint64_t begin_ns = pace->begin_ns, now_ns = sbx_thread_wall_ns(thread);
    if (!failed) {
        count_shown(thread, now_ns);
    }
    pace->begin_ns = pace->is_told ? 0 : now_ns;
    if (begin_ns != 0 && !pace->is_told) {
        end_frame(thread, call->op, begin_ns, now_ns);
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_frame_enter(void)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_UNLIKELY(thread == NULL)) {
        thread = sbx_thread_register_self();
    }
    if (!sbx_thread_is_registered(thread) || sbx_thread_is_inside(thread) || thread->frame.entered++ != 0) {
        return;
    }
    int saved_errno = errno;
    struct sbx_frame_pace *pace = &thread->frame;
    if (!pace->is_told) {
        flush_merged(thread); /* frames seen from presents so far */
        pace->is_told = true;
        sbx_store_seq_cst(&sbx_the_capture.has_frames, 1); /* order: seq_cst has_frames - before the first entered_ns */
        pace->begin_ns = 0;
    }
    uint64_t now_ns = sbx_thread_wall_ns(thread);
    /* order: seq_cst frame.entered_ns - Dekker with `resting`, as message_begin_ns */
    sbx_store_seq_cst(&pace->entered_ns, now_ns);
    if (sbx_load_seq_cst(&sbx_the_capture.resting) != 0) {
        sbx_capture_ring_for(now_ns);
    }
    errno = saved_errno;
}

SBX_HOOK_SAFE SBX_NOINLINE void sbx_frame_leave(void)
{
    struct sbx_thread *thread = sbx_self;
    if (!sbx_thread_is_registered(thread) || sbx_thread_is_inside(thread) || SBX_UNLIKELY(!sbx_capture_is_ours())) {
        return;
    }
    struct sbx_frame_pace *pace = &thread->frame;
    if (pace->entered == 0 || --pace->entered != 0) {
        return;
    }
    int saved_errno = errno;
    uint64_t begin_ns = sbx_load_relaxed(&pace->entered_ns);
    sbx_store_release(&pace->entered_ns, 0); /* order: release frame.entered_ns - closed before it is judged */
    if (begin_ns != 0 && sbx_capture_is_open()) {
        end_frame(thread, SBX_OP_NONE, begin_ns, sbx_thread_wall_ns(thread));
    }
    errno = saved_errno;
}
