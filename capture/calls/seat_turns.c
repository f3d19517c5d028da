/* SPDX-License-Identifier: Apache-2.0 */
/* seat_turns.c - gives seats back for the time of a wait.
 *
 * The thread itself does all of it. former_seat.c describes how the thread gets a seat again; the registry calls it. */
#include "seat_turns.h"

#include "capture_record.h"
#include "clock.h"
#include "handler_frames.h"
#include "left_code.h"
#include "open_calls.h"
#include "raw_syscall.h"
#include "signal_stack.h"
#include "the_capture.h"
#include "thread_seats.h"
#include "thread_timer.h"
#include "waiter_table.h"

#define GIFT_NS        UINT64_C(400000) /* T5: a thread's own */
#define GIFTS_AHEAD_NS UINT64_C(50000000)

/* T5. */
static bool is_paid(struct sbx_former_seat *former, uint64_t now_ns)
{
    if (sbx_seats_are_few) {
        return true;
    }
    uint64_t from_ns = former->next_ns > now_ns ? former->next_ns : now_ns;
    if (from_ns - now_ns > GIFTS_AHEAD_NS) {
        return false;
    }
    former->next_ns = from_ns + GIFT_NS;
    return true;
}

/* Is the thread known to others by its seat's index? */
static bool is_known_by_its_seat(const struct sbx_thread *thread)
{
    return thread->has_loop || thread->keeps_seat || (thread->entry->flags & (uint32_t)SBX_THREAD_FLAG_LOOP) != 0 ||
           thread->loop.entered != 0 || thread->frame.entered != 0 || thread->frame.is_told ||
           thread->frame.begin_ns != 0 || thread->entry->message_begin_ns != 0;
}

/* T1: signals are blocked. */
static bool leave_seat(struct sbx_thread *thread, uint64_t now_ns)
{
    struct sbx_former_seat *former = &sbx_former_seat;
    struct sbx_thread_entry *entry = thread->entry;
    uint32_t index = thread->index, tid = thread->tid;
    sbx_thread_become(SBX_THREAD_GONE);
    if (!sbx_thread_give_back_signal_stack(thread)) { /* not the caller, or the kernel keeps the stack */
        sbx_thread_become(thread);
        return false;
    }
    if (!sbx_seat_is_left(thread, thread->generation)) { /* others believed the thread had ended */
        former->place = 0;
        sbx_thread_become(NULL);
        return true;
    }
    *former = (struct sbx_former_seat){.life = thread->generation,
                                       .place = index + 1,
                                       .next_ns = former->next_ns,
                                       .stack_low = thread->stack_low,
                                       .stack_high = thread->stack_high,
                                       .alloc_count = entry->alloc_count,
                                       .alloc_bytes = entry->alloc_bytes,
                                       .free_count = entry->free_count,
                                       .map_count = entry->map_count,
                                       .map_bytes = entry->map_bytes};
    sbx_former_note_tasks(&thread->tasks);
    sbx_thread_clock_disarm(&thread->clock);
    sbx_thread_enter(thread);
    sbx_waiter_leave(index);
    thread->wait_depth = 0;
    if (thread->seen_work.key != 0) {
        sbx_capture_end_seen_work(thread, now_ns);
    }
    sbx_capture_end_run(thread);
    sbx_thread_leave(thread);
    sbx_add_relaxed(&sbx_the_capture.header->captures_sync, entry->captures); /* relaxed: statistics */
    entry->captures = 0;
    entry->call_kind = SBX_RECORD_NONE;
    sbx_store_relaxed(&thread->blocking, 0); /* relaxed: nobody reads it any more */
    entry->away_ns = now_ns;
    sbx_seat_unnote(tid, index);
    sbx_store_release(&entry->state, SBX_THREAD_DEAD); /* order: release entry.state - the entry may be taken again */
    sbx_seat_is_free(index, true);
    sbx_thread_become(NULL); /* the thread's next allocation asks for a seat again */
    return true;
}

SBX_HOOK_SAFE SBX_NOINLINE bool sbx_seat_give(struct sbx_thread *thread, uint64_t here, uint64_t now_ns)
{
    if (thread->tid == sbx_the_capture.header->pid || is_known_by_its_seat(thread) || sbx_thread_is_inside(thread) ||
        sbx_load_relaxed(&thread->logical.wanted) != 0) {
        return false;
    }
    if (thread->call_depth != 0) {
        sbx_calls_forget(thread, here);
    }
    if (thread->call_depth != 0 || !is_paid(&sbx_former_seat, now_ns) ||
        sbx_may_be_in_handler(thread->stack_low, thread->stack_high, here + sizeof(struct sbx_blocking))) {
        return false;
    }
    uint64_t mask = sbx_raw_block_signals();
    bool is_given = thread == sbx_self && thread->call_depth == 0 && thread->inside == 0 && sbx_capture_is_callers() &&
                    leave_seat(thread, now_ns);
    sbx_raw_set_signals(mask);
    return is_given;
}
