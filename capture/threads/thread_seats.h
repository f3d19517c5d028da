/* SPDX-License-Identifier: Apache-2.0 */
/* thread_seats.h - the seats in the recording, SBX_THREADS_MAX of them, and what more threads than that do.
 *
 * A seat is a thread's entry in the recording and the private block that goes with it. As many seats as there are now cost 0.5
 * MiB of the recording; 10,000 would cost ten times that, and each block that is used some 30 KiB besides. So threads beyond sit
 * there in turn:
 *
 *   - which seats of the dead are free is a bitmap, and where a thread sits an index by its number: nobody walks the table to
 *     find a seat or himself;
 *   - a thread that finds none counts into a scratch entry shared with others, and asks again at its next hooked call, which
 *     costs it the look at one word that sums that bitmap up, or after SBX_SEATLESS_STRIDE allocations;
 *   - while seats are scarce (three quarters of them are taken) none is given to threads that pass no hook;
 *   - while they are short (seven eighths) a thread that begins to wait gives its seat back (seat_turns.h).
 *
 * A seat is its owner's until that thread gives it back itself. Seats were once lent for the time of a wait: a signal handler of
 * the host's that ran meanwhile, on the alternate stack that lies in the block, met another thread there. */
#ifndef SBX_THREAD_SEATS_H
#define SBX_THREAD_SEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"
#include "thread_block.h"

enum {
    SBX_SEATLESS_STRIDE = 128, /* allocations between two looks for a seat, which is a call */
};

/* ---- free seats ---- */

/* Is a seat free, of those that were used before? */
SBX_HOOK_SAFE bool sbx_seats_have_free(void);
/* A candidate, by turns; UINT32_MAX: there is none. It is the caller's when it has moved entry.state on from DEAD. */
SBX_HOOK_SAFE uint32_t sbx_seat_candidate(void);
SBX_HOOK_SAFE void sbx_seat_is_free(uint32_t index, bool is_free);

/* ---- whose is it ---- */

SBX_HOOK_SAFE void sbx_seat_note(uint32_t tid, uint32_t index);
SBX_HOOK_SAFE void sbx_seat_unnote(uint32_t tid, uint32_t index);
/* The block of the living thread `tid`; NULL: it has none. */
SBX_HOOK_SAFE struct sbx_thread *sbx_seat_of(uint32_t tid);

/* The seat is that of the thread with this life now. Before entry.state says so. */
SBX_HOOK_SAFE void sbx_seat_is_taken(struct sbx_thread *thread, uint32_t life);
/* It is not any more: true for one caller, who clears it away. A life is of one thread and is over with it, so one that was seen to
 * be over cannot have come back. */
SBX_HOOK_SAFE SBX_MUST_CHECK bool sbx_seat_is_left(struct sbx_thread *thread, uint32_t life);

/* 1: seats are scarce. Kept by sbx_thread_registry_scan(). */
extern uint32_t sbx_seats_are_scarce; /* where they are short says the_capture.h: each call that may wait reads it */

/* The recording has so many seats. Before any thread registers. */
void sbx_seats_begin(uint32_t count);

/* For tests: no more than so many, and what is bounded by time is not. Before any thread registers. */
void sbx_seats_allow(uint32_t most);
extern uint32_t sbx_seats_most;
extern bool sbx_seats_are_few;

/* The scratch entry of a thread without a seat. */
SBX_HOOK_SAFE struct sbx_thread_entry *sbx_seatless_entry(uint32_t tid);
SBX_SIGNAL_SAFE bool sbx_is_seatless(const struct sbx_thread_entry *entry);

#endif
