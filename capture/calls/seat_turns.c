/* SPDX-License-Identifier: Apache-2.0 */
/* seat_turns.c - seats given back for the time of a wait.
 *
 * Apart from thread_registry.c because it is about threads that go on: everything here is done by the thread itself. */
#include "seat_turns.h"

#include <errno.h>
#include <sys/syscall.h>

#include "the_capture.h"
#include "clock.h"
#include "handler_frames.h"
#include "raw_syscall.h"
#include "thread_timer.h"
#include "waiter_table.h"

#define GIFT_NS        UINT64_C(400000) /* T5: a thread's own */
#define GIFTS_AHEAD_NS UINT64_C(50000000)
#define TURN_NS        UINT64_C(10000000) /* T5: everybody's */
#define TURNS_AHEAD_NS UINT64_C(500000000)

__thread struct sbx_former_seat sbx_former_seat;
static uint64_t next_turn_ns; /* T5: when all that sat down on another's seat have been paid for */

/* ---- giving ---- */

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

/* What others know of the thread by its index. */
static bool is_known_by_its_seat(const struct sbx_thread *thread)
{
    return thread->has_loop || thread->keeps_seat || (thread->entry->flags & (uint32_t)SBX_THREAD_FLAG_LOOP) != 0 ||
           thread->loop.entered != 0 || thread->frame.entered != 0 || thread->frame.is_told ||
           thread->frame.begin_ns != 0 || thread->entry->message_begin_ns != 0;
}

/* The thread whose block this is, and no child of vfork() that runs on its TLS; nor one in another namespace, whose number is the same. */
static bool is_process_itself(void)
{
    return sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) == (long)sbx_the_capture.header->pid;
}

/* T1: signals are blocked. */
static bool leave_seat(struct sbx_thread *thread, uint64_t now_ns)
{
    struct sbx_former_seat *former = &sbx_former_seat;
    struct sbx_thread_entry *entry = thread->entry;
    uint32_t index = thread->index, tid = thread->tid;
    sbx_thread_become(SBX_THREAD_GONE);
    if (!sbx_thread_give_back_signal_stack(thread)) { /* not the thread itself, or the kernel does not let it go */
        sbx_thread_become(thread);
        return false;
    }
    if (!sbx_seat_is_left(thread, thread->generation)) { /* taken for one that had ended */
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
    sbx_thread_clock_disarm(&thread->clock);
    sbx_thread_enter(thread);
    sbx_waiter_leave(index);
    thread->wait_depth = 0;
    sbx_capture_end_run(thread);
    sbx_thread_leave(thread);
    sbx_add_relaxed(&sbx_the_capture.header->captures_sync, entry->captures); /* relaxed: statistics */
    entry->captures = 0;
    entry->call_kind = SBX_RECORD_NONE;
    sbx_store_relaxed(&thread->blocking, 0); /* relaxed: nobody asks it any more */
    entry->away_ns = now_ns;
    sbx_seat_unnote(tid, index);
    sbx_store_release(&entry->state, SBX_THREAD_DEAD); /* order: release entry.state - the entry may be taken again */
    sbx_seat_is_free(index, true);
    sbx_thread_become(NULL); /* its next allocation asks whether it may sit down again */
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
    bool is_given = thread == sbx_self && thread->call_depth == 0 && thread->inside == 0 && is_process_itself() &&
                    leave_seat(thread, now_ns);
    sbx_raw_set_signals(mask);
    return is_given;
}

/* ---- sitting down again ---- */

/* Does the seat that the thread gave back look as it left it? */
static bool is_still_free(const struct sbx_former_seat *former)
{
    if (former->place == 0) {
        return false;
    }
    const struct sbx_thread_entry *entry = &sbx_the_capture.threads[former->place - 1];
    return sbx_load_relaxed(&entry->generation) == former->life && /* relaxed: hints; sbx_seat_resume() makes sure */
           sbx_load_relaxed(&entry->state) == SBX_THREAD_DEAD;
}

/* T5. */
static bool is_a_turn_left(void)
{
    uint64_t now_ns = sbx_now_ns(), next_ns = sbx_load_relaxed(&next_turn_ns), from_ns;
    do {
        from_ns = next_ns > now_ns ? next_ns : now_ns;
        if (from_ns - now_ns > TURNS_AHEAD_NS) {
            return false;
        }
    } while (!sbx_cas_acq_rel(&next_turn_ns, &next_ns, from_ns + TURN_NS)); /* order: acq_rel seats.turn - a sum */
    return true;
}

SBX_HOOK_SAFE bool sbx_seat_may_be_taken(void)
{
    const struct sbx_former_seat *former = &sbx_former_seat;
    if (!sbx_seats_have_free() ||
        (former->life != 0 && sbx_may_be_in_handler(former->stack_low, former->stack_high, 0))) {
        return false;
    }
    return sbx_seats_are_few || is_still_free(former) || is_a_turn_left();
}

/* The former seat, claimed: nobody else has it, and it is as it was left. NULL: somebody sat there meanwhile, or does. */
static struct sbx_thread_entry *claim_former(uint32_t tid)
{
    struct sbx_former_seat *former = &sbx_former_seat;
    if (!is_still_free(former)) {
        return NULL;
    }
    uint32_t index = former->place - 1, expected = SBX_THREAD_DEAD;
    struct sbx_thread_entry *entry = &sbx_the_capture.threads[index];
    /* order: acq_rel entry.state - pairs with leave_seat() and retire(): the last owner's writes are done */
    if (!sbx_cas_acq_rel(&entry->state, &expected, SBX_THREAD_FREE)) {
        return NULL;
    }
    if (sbx_load_relaxed(&entry->generation) == former->life && sbx_load_relaxed(&entry->tid) == tid &&
        entry->away_ns != 0) {
        return entry;
    }
    sbx_store_release(&entry->state, SBX_THREAD_DEAD); /* order: release entry.state */
    sbx_seat_is_free(index, true);
    return NULL;
}

SBX_HOOK_SAFE struct sbx_thread *sbx_seat_resume(uint32_t tid)
{
    struct sbx_thread_entry *entry = claim_former(tid);
    uint32_t place = sbx_former_seat.place;
    sbx_former_seat.place = 0;
    if (entry == NULL) {
        return NULL;
    }
    struct sbx_thread *thread = sbx_thread_blocks[place - 1];
    sbx_seat_is_free(place - 1, false);
    entry->away_ns = 0;
    sbx_seat_is_taken(thread, thread->generation);
    sbx_store_release(&entry->state,
                      SBX_THREAD_LIVE); /* order: release entry.state - entry and block are this thread's */
    sbx_seat_note(tid, place - 1);
    return thread;
}

SBX_HOOK_SAFE void sbx_seat_forget(uint32_t tid)
{
    struct sbx_thread_entry *entry = claim_former(tid);
    if (entry != NULL) {
        entry->died_ns = sbx_now_ns();
        entry->away_ns = 0;
        sbx_store_release(&entry->state,
                          SBX_THREAD_DEAD); /* order: release entry.state - the entry may be taken again */
        sbx_seat_is_free(sbx_former_seat.place - 1, true);
    }
    sbx_former_seat.place = 0;
}
