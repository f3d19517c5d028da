/* SPDX-License-Identifier: Apache-2.0 */
/* capture_record.c - a record of the calling thread: find the readable stack, walk it, intern it, put the record.
 *
 * This is in handler/ because the sample handler does exactly this; the points use it too. Nothing allocates, locks or
 * waits. tests/lint compares the symbols this folder needs with the list of docs/SIGNAL_SAFETY.md. */
#include "capture_record.h"

#include "awaits.h"
#include "clock.h"
#include "frame_walker.h"
#include "logical_stack.h"
#include "raw_syscall.h"
#include "sample_run.h"
#include "seen_work.h"
#include "stack_copy.h"
#include "the_capture.h"
#include "thread_block.h"

/* One sample in 64 has the counts of faults and context switches, and so have the first sample of a message and the one
 * at a trigger, but no more than one sample in 64 ms. Where samples come in quick succession, the system call (some 250
 * ns) would cost more than all the rest; where they are few, its numbers would double their size. Waits and messages
 * have these counts too. A stall in progress is described by its first and its last sample: a thread that touches pages
 * is found at one instruction again and again, which is one run. */
#define USAGE_EVERY_NS UINT64_C(64000000)
enum {
    USAGE_EVERY = 64
};

/* A helper that polls returns sooner than this: uv__io_poll() reads the clock once more and returns. */
#define POLLER_RETURNS_NS UINT64_C(500000)

/* After a walk on the loop thread: was the function that polls still on the stack? (messages/message_loop.c) */
static void learn_loop(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_replay *replay = &thread->replay;
    if (replay->changed_from < replay->depth && replay->changed_from < loop->poller_holds) {
        loop->poller_asked = false;
    }
    if (loop->poller_returns || loop->slot_count == 0 || thread->entry->message_begin_ns == 0 || loop->root_sp == 0 ||
        sbx_replay_root_sp(replay) != loop->root_sp) {
        return;
    }
    if (!loop->poller_asked) {
        loop->poller_asked = true;
        loop->poller_is_gone =
            !sbx_replay_looks_for_frame(replay, loop->slots[0], loop->callers[0], &loop->poller_holds);
    }
    uint64_t message = thread->entry->message;
    if (loop->poller_is_gone) {
        sbx_store_relaxed(&loop->poller_gone_in, message); /* relaxed: the watch thread only looks */
        loop->is_plain = false;                            /* learned again when the loop polls again */
    } else if (loop->poller_kept_in != message && loop->poller_kept < SBX_POLLER_KEPT_ENOUGH &&
               sbx_thread_wall_ns(thread) - thread->entry->message_begin_ns >= POLLER_RETURNS_NS) {
        loop->poller_kept_in = message;
        sbx_store_relaxed(&loop->poller_kept, loop->poller_kept + 1); /* relaxed: the watch thread only looks */
    }
}

/* A stack that cannot be read in place is copied, walked and interned. The replay remains that of the thread's own
 * stack. */
SBX_NOINLINE static uint32_t capture_copy(struct sbx_thread *thread, const struct sbx_code_map *map,
                                          const struct sbx_walk_registers *start)
{
    uint64_t low = start->sp - SBX_RED_ZONE_BYTES;
    size_t got = sbx_copy_stack(low, SBX_STACK_COPY_BYTES, thread->stack_copy);
    if (got < SBX_RED_ZONE_BYTES + 16) {
        sbx_count_drop(SBX_DROP_TRUNCATED);
        return SBX_STACK_NONE;
    }
    struct sbx_stack_window window = {low, low + (uint64_t)got, (int64_t)((uint64_t)thread->stack_copy - low)};
    uint32_t epoch = sbx_callstack_epoch(&sbx_the_capture.table);
    sbx_walk_stack(map, &thread->cache, &sbx_the_capture.table, epoch, &window, start, &thread->walk);
    if (thread->walk.end != SBX_WALK_COMPLETE) {
        sbx_count_drop(SBX_DROP_TRUNCATED);
    }
    return sbx_walk_intern(&thread->walk, &sbx_the_capture.table, epoch);
}

static void put_seen(struct sbx_thread *thread, struct sbx_seen_records *told)
{
    for (uint32_t i = 0; i < told->count; i++) {
        sbx_capture_put_of_others(thread, &told->records[i]);
    }
}

SBX_SIGNAL_SAFE void sbx_capture_end_seen_work(struct sbx_thread *thread, uint64_t end_ns)
{
    struct sbx_seen_records told;
    sbx_seen_work_end(thread, end_ns, &told);
    put_seen(thread, &told);
}

/* The memory that a walk may read begins a red zone below sp, because in an epilogue the unwind rows still name the
 * slot from which a frame pointer was just popped. A stack with known bounds is read in place. Any other stack
 * (alternate signal stack, coroutine, a thread whose bounds were not looked up yet) is copied first. That costs one
 * system call, which fails where a load would fault. */
SBX_SIGNAL_SAFE uint32_t sbx_capture_stack(struct sbx_thread *thread, const struct sbx_walk_registers *start)
{
    /* order: acquire code_map - pairs with sbx_module_map_publish() */
    const struct sbx_code_map *map = sbx_load_acquire(&sbx_the_capture.map);
    if (SBX_UNLIKELY(map == NULL)) {
        sbx_count_drop(SBX_DROP_TRUNCATED);
        return SBX_STACK_NONE;
    }
    bool has_providers = sbx_load_relaxed(&sbx_the_capture.provider_count) != 0; /* relaxed: a hint; read again */
    if (SBX_UNLIKELY(has_providers)) {
        sbx_page_probe_begin(&thread->probe);
    }
    struct sbx_stack_window window = {start->sp - SBX_RED_ZONE_BYTES, thread->stack_high, 0};
    if (SBX_UNLIKELY(window.lo < thread->stack_low || start->sp >= thread->stack_high)) {
        return capture_copy(thread, map, start);
    }
    uint32_t stack =
        sbx_replay_stack(&thread->replay, map, &thread->cache, &sbx_the_capture.table, &window, start, &thread->walk);
    if (SBX_UNLIKELY(thread->replay.end != SBX_WALK_COMPLETE)) {
        sbx_count_drop(SBX_DROP_TRUNCATED);
    }
    if (thread->has_loop) {
        learn_loop(thread);
    }
    if (SBX_UNLIKELY(has_providers) && !thread->logical.asks_nobody) {
        stack = sbx_logical_append(thread, start, stack);
        struct sbx_record record;
        if (SBX_UNLIKELY(sbx_awaits_ask(thread, start, thread->logical.is_note, &record))) {
            sbx_capture_put_of_others(thread, &record);
        }
        struct sbx_seen_records told;
        sbx_seen_work_ask(thread, start, stack, &told);
        put_seen(thread, &told);
    }
    return stack;
}

SBX_SIGNAL_SAFE uint32_t sbx_capture_native_stack(struct sbx_thread *thread, const struct sbx_walk_registers *start)
{
    thread->logical.asks_nobody = true;
    uint32_t stack = sbx_capture_stack(thread, start);
    thread->logical.asks_nobody = false;
    return stack;
}

static bool is_sample(const struct sbx_record *record)
{
    return record->kind == SBX_RECORD_ALLOC || record->kind == SBX_RECORD_LEAF || record->kind == SBX_RECORD_ASYNC;
}

SBX_SIGNAL_SAFE void sbx_capture_read_usage(struct sbx_record *record)
{
    struct rusage usage;
    if (sbx_raw_getrusage_thread(&usage) == 0) {
        record->flags |= SBX_FLAG_USAGE;
        record->minor_faults = (uint32_t)usage.ru_minflt;
        record->major_faults = (uint32_t)usage.ru_majflt;
        record->voluntary_switches = (uint32_t)usage.ru_nvcsw;
        record->involuntary_switches = (uint32_t)usage.ru_nivcsw;
    }
}

static void put(struct sbx_thread *thread, const struct sbx_record *record)
{
    sbx_ring_put(&sbx_the_capture.ring, &thread->writer, thread->index, thread->generation, thread->tid, record);
}

SBX_SIGNAL_SAFE void sbx_capture_end_run(struct sbx_thread *thread)
{
    struct sbx_record record;
    if (sbx_run_tell(&thread->entry->own, thread->index, &record)) {
        put(thread, &record);
    }
    sbx_run_end(&thread->entry->own);
}

SBX_SIGNAL_SAFE void sbx_capture_put(struct sbx_thread *thread, struct sbx_record *record)
{
    struct sbx_thread_entry *entry = thread->entry;
    record->thread = thread->index;
    record->alloc_count = entry->alloc_count;
    record->alloc_bytes = entry->alloc_bytes;
    record->message = entry->message;
    if (record->stack != SBX_STACK_NONE) { /* message boundaries have no stack and are no samples */
        sbx_store_release(&entry->last_stack,
                          record->stack); /* order: release entry.last_stack - its nodes are there */
        entry->last_record_ns = record->end_ns;
        entry->last_cpu_ns = record->cpu_ns;
        entry->captures++;
        thread->sampled_ns = record->end_ns;
    }
    if (SBX_LIKELY(is_sample(record))) {
        if (sbx_run_extend(&entry->own, record)) {
            return;
        }
        struct sbx_record told;
        if (SBX_UNLIKELY(sbx_run_tell(&entry->own, thread->index, &told))) {
            put(thread, &told); /* the run stays open; readers handle a run that is recorded twice */
        }
        bool is_wanted = ++thread->samples >= USAGE_EVERY || record->message != thread->usage_message;
        if (SBX_UNLIKELY((is_wanted && record->end_ns - thread->usage_ns >= USAGE_EVERY_NS) ||
                         (record->flags & SBX_FLAG_AT_TRIGGER) != 0)) {
            thread->samples = 0;
            thread->usage_message = record->message;
            thread->usage_ns = record->end_ns;
            sbx_capture_read_usage(record);
        }
        put(thread, record);
        sbx_run_begin(&entry->own, record);
        return;
    }
    sbx_capture_end_run(thread);
    put(thread, record);
}

SBX_SIGNAL_SAFE void sbx_capture_put_of_others(struct sbx_thread *thread, struct sbx_record *record)
{
    record->thread = thread->index;
    record->alloc_count = thread->entry->alloc_count;
    record->alloc_bytes = thread->entry->alloc_bytes;
    sbx_capture_end_run(thread);
    put(thread, record);
}
