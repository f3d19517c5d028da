/* SPDX-License-Identifier: Apache-2.0 */
/* frame_pace.c - where a presenting thread's frames begin and end. */
#include "frame_pace.h"

#include <errno.h>

#include "clock.h"

enum {
    /* Frames shorter than this are merged into one record: what keeps 60 a second explains no stall. */
    SHORT_FRAME_NS = 20000000,
    MERGE_NS = 100000000, /* so far at most do merged frames reach */
};

static void put_frame(struct sbx_thread *thread, struct sbx_record *record)
{
    thread->inside = 1;
    sbx_order_with_handler();
    record->cpu_ns = sbx_thread_times(thread).cpu_ns;
    sbx_capture_put(thread, record);
    sbx_order_with_handler();
    thread->inside = 0;
}

/* Put the short frames merged so far. They ended a while ago: the CPU time of then was not asked for. */
static void flush_merged(struct sbx_thread *thread)
{
    struct sbx_record *merged = &thread->frame.merged;
    if (merged->amount == 0) {
        return;
    }
    thread->inside = 1;
    sbx_order_with_handler();
    sbx_ring_put(&sbx_the_capture.ring, &thread->writer, thread->index, thread->generation, thread->tid, merged);
    sbx_order_with_handler();
    thread->inside = 0;
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

/* Leave the numbers of a slow frame where the watch thread takes them, as message_loop.c does with slow messages. One
 * at a time: until it took the last, the next is recorded but not told. */
static void tell_slow(struct sbx_thread *thread, uint64_t begin_ns, uint64_t end_ns)
{
    struct sbx_frame_pace *pace = &thread->frame;
    uint32_t limit_ms = sbx_load_relaxed(&sbx_the_capture.control->in_force.slow_frame_ms);
    if (limit_ms == 0 || end_ns - begin_ns < (uint64_t)limit_ms * 1000000u ||
        sbx_load_acquire(&pace->slow_frame) != 0) { /* order: acquire frame.slow_frame - the last was taken */
        return;
    }
    pace->slow_begin_ns = begin_ns;
    pace->slow_end_ns = end_ns;
    /* order: release frame.slow_frame - the watch thread reads the times above */
    sbx_store_release(&pace->slow_frame, pace->count);
    sbx_capture_ring_bell();
}

SBX_HOOK_SAFE void sbx_present_begin(struct sbx_blocking *call, uint8_t op)
{
    sbx_blocking_begin(call, SBX_GROUP_FRAME, SBX_RECORD_WAIT, op, 0, 0);
}

SBX_HOOK_SAFE void sbx_present_end(struct sbx_blocking *call, bool failed)
{
    struct sbx_thread *thread = call->thread;
    bool is_inner = false;
    for (const struct sbx_blocking *outer = call->outer; thread != NULL && outer != NULL; outer = outer->outer) {
        is_inner |= outer->group == SBX_GROUP_FRAME;
    }
    sbx_blocking_end(call, 0, failed, -1);
    if (thread == NULL || is_inner || !sbx_capture_is_open()) {
        return;
    }
    int saved_errno = errno;
    struct sbx_frame_pace *pace = &thread->frame;
    uint64_t begin_ns = pace->begin_ns, now_ns = sbx_thread_wall_ns(thread);
    pace->begin_ns = now_ns;
    if (begin_ns != 0) {
        pace->count++;
        if (now_ns - begin_ns < SHORT_FRAME_NS) {
            merge_frame(thread, call->op, begin_ns, now_ns);
        } else {
            flush_merged(thread);
            struct sbx_record record = {
                .kind = SBX_RECORD_FRAME, .op = call->op, .begin_ns = begin_ns, .end_ns = now_ns, .amount = 1};
            put_frame(thread, &record);
        }
        tell_slow(thread, begin_ns, now_ns);
    }
    errno = saved_errno;
}
