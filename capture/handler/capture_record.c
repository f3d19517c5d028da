/* SPDX-License-Identifier: Apache-2.0 */
/* capture_record.c - a record of the calling thread: find readable stack, walk, intern, put.
 *
 * In the handler's house because the sample handler does exactly this; the points do it too. Nothing allocates, locks
 * or waits; tests/lint compares the symbols this folder needs with the list of docs/SIGNAL_SAFETY.md. */
#include "capture.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"

SBX_SIGNAL_SAFE size_t sbx_copy_stack(uint64_t from, size_t bytes, uint8_t *to)
{
    /* Page by page: the copy ends at the first page that is not there, and what came before counts. */
    struct iovec pages[2 + SBX_STACK_COPY_BYTES / 4096];
    unsigned count = 0;
    uint64_t at = from, end = from + (bytes < SBX_STACK_COPY_BYTES ? bytes : SBX_STACK_COPY_BYTES);
    while (at < end && count < SBX_COUNT_OF(pages)) {
        uint64_t next = (at | 4095) + 1;
        pages[count].iov_base = (void *)at;
        pages[count].iov_len = (next < end ? next : end) - at;
        count++;
        at = next;
    }
    struct iovec whole = {to, SBX_STACK_COPY_BYTES};
    long got = syscall(SYS_process_vm_readv, (long)sbx_the_capture.header->pid, &whole, 1, pages, count, 0);
    return got > 0 ? (size_t)got : 0;
}

/* The memory a walk from `sp` may read, the red zone below it included: in an epilogue the rows still name the slot a
 * frame pointer was just popped from. A stack we know is read in place. On another one (alternate signal stack,
 * coroutine, a thread whose bounds nobody has asked for yet) it is copied first: one system call, which fails where a
 * load would fault. */
static bool find_window(struct sbx_thread *thread, uint64_t sp, struct sbx_stack_window *window)
{
    uint64_t low = sp - SBX_RED_ZONE_BYTES;
    if (low >= thread->stack_low && sp < thread->stack_high) {
        window->lo = low;
        window->hi = thread->stack_high;
        window->delta = 0;
        return true;
    }
    size_t got = sbx_copy_stack(low, SBX_STACK_COPY_BYTES, thread->stack_copy);
    if (got < SBX_RED_ZONE_BYTES + 16) {
        return false;
    }
    window->lo = low;
    window->hi = low + (uint64_t)got;
    window->delta = (int64_t)((uint64_t)thread->stack_copy - low);
    return true;
}

SBX_SIGNAL_SAFE uint32_t sbx_capture_intern_walk(struct sbx_walk *walk)
{
    /* Our own frames in the middle of a stack (a hook under a blocked call) tell the reader nothing. */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < walk->count; i++) {
        if (walk->pcs[i] - sbx_the_capture.agent_begin < sbx_the_capture.agent_end - sbx_the_capture.agent_begin) {
            continue;
        }
        walk->frame_ids[kept] = walk->frame_ids[i];
        walk->pcs[kept] = walk->pcs[i];
        walk->slots[kept] = walk->slots[i];
        kept++;
    }
    walk->count = kept;
    return sbx_callstack_intern(&sbx_the_capture.table, walk->frame_ids, kept);
}

/* After a walk on the loop thread: was the function that polls still on the stack? (points/message_loop.c) */
SBX_SIGNAL_SAFE static void learn_loop(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    const struct sbx_walk *walk = &thread->walk;
    if (loop->poller_returns || loop->slot_count == 0 || thread->entry->message_begin_ns == 0 ||
        walk->end != SBX_WALK_COMPLETE) {
        return;
    }
    for (uint32_t i = 0; i + 1 < walk->count; i++) {
        if (walk->slots[i] == loop->slots[0] && walk->pcs[i + 1] == loop->callers[0]) {
            return;
        }
    }
    loop->poller_gone_in = thread->entry->message;
}

SBX_SIGNAL_SAFE uint32_t sbx_capture_stack(struct sbx_thread *thread, const struct sbx_walk_registers *start)
{
    /* order: acquire code_map - pairs with publish() in module_map.c */
    const struct sbx_code_map *map = sbx_load_acquire(&sbx_the_capture.map);
    struct sbx_stack_window window;
    if (map == NULL || !find_window(thread, start->sp, &window)) {
        sbx_count_drop(SBX_DROP_TRUNCATED);
        return SBX_STACK_NONE;
    }
    struct sbx_walk *walk = &thread->walk;
    sbx_walk_stack(map, &thread->cache, &sbx_the_capture.table, &window, start, walk);
    if (walk->end != SBX_WALK_COMPLETE) {
        sbx_count_drop(SBX_DROP_TRUNCATED);
    }
    uint32_t stack = sbx_capture_intern_walk(walk);
    if (thread->has_loop) {
        learn_loop(thread);
    }
    return stack;
}

SBX_SIGNAL_SAFE void sbx_capture_put(struct sbx_thread *thread, struct sbx_record *record)
{
    struct sbx_thread_entry *entry = thread->entry;
    record->thread = thread->index;
    record->alloc_count = entry->alloc_count;
    record->alloc_bytes = entry->alloc_bytes;
    record->message = entry->message;
    record->cpu_ns = sbx_own_cpu_ns();
    if (record->stack != SBX_STACK_NONE) { /* boundaries of messages have none: they are no sample */
        entry->last_stack = record->stack;
        entry->last_record_ns = record->end_ns;
        entry->last_cpu_ns = record->cpu_ns;
        thread->last_tick = sbx_load_relaxed(&sbx_the_tick.now);
    }
    sbx_ring_put(&sbx_the_capture.ring, &thread->writer, thread->index, thread->generation, thread->tid, record);
}
