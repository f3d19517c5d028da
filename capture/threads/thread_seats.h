/* SPDX-License-Identifier: Apache-2.0 */
/* thread_seats.h - the seats in the recording, SBX_THREADS_MAX of them, and what happens when there are more threads.
 *
 * A seat is a thread's entry in the recording and the private block that goes with it. The seats there are now use 0.5
 * MiB of the recording; 10,000 seats would use ten times that, and each block in use takes some 30 KiB besides. So when
 * there are more threads than seats, threads take turns:
 *
 *   - A bitmap has the free seats of dead threads, and an index by thread number has the seat of each thread. So no
 *     thread searches the table for a free seat or its own.
 *   - A thread that finds no seat counts into a scratch entry shared with others, and asks again at its next hooked
 *     call, or after SBX_SEATLESS_STRIDE allocations. Asking costs a look at one word that sums up the bitmap.
 *   - While seats are scarce (three quarters of them are taken), threads that pass no hook get none.
 *   - While seats are short (seven eighths), a thread that begins to wait gives its seat back (seat_turns.h).
 *
 * A seat is its owner's until that thread gives it back itself. Seats were once lent to others for the time of a wait.
 * Then a signal handler of the host that ran meanwhile, on the alternate stack that lies in the block, met another
 * thread there. */
#ifndef SBX_THREAD_SEATS_H
#define SBX_THREAD_SEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"
#include "thread_block.h"

enum {
    SBX_SEATLESS_STRIDE = 128, /* allocations between two looks for a seat; a look is a call */
};

/* ---- free seats ---- */

/* Is one of the seats that were used before free? */
SBX_HOOK_SAFE bool sbx_seats_have_free(void);
/* A candidate for a free seat, in turns; UINT32_MAX: there is none. It belongs to the caller once the caller has moved
 * entry.state on from DEAD. */
SBX_HOOK_SAFE uint32_t sbx_seat_candidate(void);
SBX_HOOK_SAFE void sbx_seat_is_free(uint32_t index, bool is_free);

/* ---- which thread has which seat ---- */

SBX_HOOK_SAFE void sbx_seat_note(uint32_t tid, uint32_t index);
SBX_HOOK_SAFE void sbx_seat_unnote(uint32_t tid, uint32_t index);
/* The block of the living thread `tid`; NULL: it has none. */
SBX_HOOK_SAFE struct sbx_thread *sbx_seat_of(uint32_t tid);

/* The seat is now that of the thread with this life. To be called before entry.state says so. */
SBX_HOOK_SAFE void sbx_seat_is_taken(struct sbx_thread *thread, uint32_t life);
/* The seat is not that of this life any more. Returns true for one caller, which cleans up the seat. A life belongs to
 * one thread and ends with it, so a life that was seen to be over cannot have come back. */
SBX_HOOK_SAFE SBX_MUST_CHECK bool sbx_seat_is_left(struct sbx_thread *thread, uint32_t life);

/* 1: seats are scarce. Updated by sbx_thread_registry_scan(). sbx_capture_is_short_of_seats() says whether they are
 * short, by a word that each call that may wait reads anyway. */
extern uint32_t sbx_seats_are_scarce;

/* The recording has this many seats. To be called before any thread registers. */
void sbx_seats_begin(uint32_t count);

/* For tests: use no more than this many seats, and lift the limits by time. To be called before any thread
 * registers. */
void sbx_seats_allow(uint32_t most);
extern uint32_t sbx_seats_most;
extern bool sbx_seats_are_few;

/* The scratch entry of a thread without a seat. */
SBX_HOOK_SAFE struct sbx_thread_entry *sbx_seatless_entry(uint32_t tid);
SBX_SIGNAL_SAFE bool sbx_is_seatless(const struct sbx_thread_entry *entry);

#endif
