/* SPDX-License-Identifier: Apache-2.0 */
/* former_seat.c - how a thread that gave its seat back gets a seat again: the former one, or another. */
#include "former_seat.h"

#include "clock.h"
#include "handler_frames.h"
#include "order.h"
#include "process_state.h"
#include "task_table.h"
#include "the_capture.h"
#include "thread_seats.h"

#define TURN_NS        UINT64_C(10000000) /* T5: shared by all threads */
#define TURNS_AHEAD_NS UINT64_C(500000000)

__thread struct sbx_former_seat sbx_former_seat;
static uint64_t next_turn_ns; /* T5: when every seat taken over from another thread is paid for */
SBX_OF_ONE_PROCESS(next_turn_ns);

/* Is the seat that the thread gave back still as it left it? */
static bool is_still_free(const struct sbx_former_seat *former)
{
    if (former->place == 0) {
        return false;
    }
    const struct sbx_thread_entry *entry = &sbx_the_capture.threads[former->place - 1];
    return sbx_load_relaxed(&entry->generation) == former->life && /* relaxed: hints; sbx_seat_resume() checks again */
           sbx_load_relaxed(&entry->state) == SBX_THREAD_DEAD;
}

/* T5: may this thread take a seat that it did not have before? */
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

/* Claim the former seat. It is then this thread's alone, and as it was left. NULL: another thread has it, or had it
 * meanwhile. */
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

SBX_HOOK_SAFE void sbx_former_note_tasks(const struct sbx_thread_tasks *tasks)
{
    struct sbx_former_seat *former = &sbx_former_seat;
    uint32_t kept = tasks->depth < SBX_TASKS_KEPT ? tasks->depth : SBX_TASKS_KEPT;
    for (uint32_t i = 0; i < SBX_TASKS_KEPT; i++) {
        former->tasks[i] = i < kept ? tasks->open[tasks->depth - kept + i] : (struct sbx_open_task){0};
    }
    former->popped = tasks->popped;
    former->popped_from = tasks->popped_from;
}

static bool is_running(uint64_t id)
{
    const struct sbx_task_entry *entry = id != 0 ? sbx_task_entry_of(id) : NULL;
    return entry != NULL && sbx_load_acquire(&entry->word) == /* order: acquire task.word - it is that task */
                                sbx_task_word(sbx_task_hop_of_id(id), SBX_TASK_RUNNING);
}

SBX_HOOK_SAFE void sbx_former_resume_tasks(struct sbx_thread *thread)
{
    struct sbx_thread_tasks *tasks = &thread->tasks;
    const struct sbx_former_seat *former = &sbx_former_seat;
    for (uint32_t i = 0; i < SBX_TASKS_KEPT; i++) {
        /* The task may have ended while the thread had no seat. */
        if (tasks->depth < SBX_TASKS_KEPT && is_running(former->tasks[i].id)) {
            tasks->open[tasks->depth++] = former->tasks[i];
            thread->has_turns |= former->tasks[i].is_turn != 0;
        }
    }
    tasks->popped = former->popped;
    tasks->popped_from = former->popped_from;
}

SBX_HOOK_SAFE void sbx_seat_forget(uint32_t tid)
{
    for (uint32_t i = 0; i < SBX_TASKS_KEPT; i++) {
        uint64_t id = sbx_former_seat.tasks[i].id;
        if (is_running(id)) {
            (void)sbx_task_move(sbx_task_entry_of(id), sbx_task_hop_of_id(id), SBX_TASK_RUNNING, SBX_TASK_FREE);
        }
    }
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
