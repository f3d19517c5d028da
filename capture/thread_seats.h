/* SPDX-License-Identifier: Apache-2.0 */
/* thread_seats.h - the seats in the recording, SBX_THREADS_MAX of them, and how more threads than that sit in them in turn.
 *
 * A seat is a thread's entry in the recording and the private block that goes with it. As many seats as there are now cost 0.5
 * MiB of the recording; 10,000 would cost ten times that, and each block that is used some 30 KiB besides. So threads beyond are
 * recorded in turn:
 *
 *   - which seats of the dead are free is a bitmap, and where a thread sits an index by its number: nobody walks the table to
 *     find a seat or himself;
 *   - a thread that finds none counts into a scratch entry shared with others, and asks again at its next hooked call, which
 *     costs it the look at that bitmap (16 words), or after SBX_SEATLESS_STRIDE allocations;
 *   - while seats are scarce (three quarters of them are taken), a thread lends its seat for the time of each call that may
 *     block. Who sleeps longer than a turn loses it to one who waits, and finds that out when it wakes; a thread that never
 *     sleeps gives its seat up after a turn by itself. A thread with a loop, an open message or a frame keeps its own.
 *
 * The word `lent` of a block is the serial number of the call for whose time the seat is lent, 0 while it is held, SEAT_TAKEN
 * between the watch thread's taking it and the next owner. Serials are never used again (K2 of blocking_call.h), so each lending
 * has one end: by the owner or by the watch thread, by one compare-and-swap. While it is lent the thread's own TLS does not lead to
 * the block: a handler that runs meanwhile finds a stranger, who finds his seat by his number and takes it back. Nor is it asked
 * for samples: the alternate stack that ours would run on lies in the block, and is taken from the thread before. */
#ifndef SBX_THREAD_SEATS_H
#define SBX_THREAD_SEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_registry.h"

enum {
    SBX_SEATLESS_STRIDE = 4096, /* allocations between two looks for a seat: 40 us of nothing else */
};
#define SBX_SEAT_TURN_NS UINT64_C(1000000000)

/* ---- free seats ---- */

/* Is a seat free, of those that were used before? */
SBX_HOOK_SAFE bool sbx_seats_have_free(void);
/* A candidate, by turns; UINT32_MAX: there is none. It is the caller's when it has moved entry.state on from DEAD. */
SBX_HOOK_SAFE uint32_t sbx_seat_candidate(void);
SBX_HOOK_SAFE void sbx_seat_is_free(uint32_t index, bool is_free);

/* ---- whose is it ---- */

SBX_HOOK_SAFE void sbx_seat_note(uint32_t tid, uint32_t index);
SBX_HOOK_SAFE void sbx_seat_unnote(uint32_t tid, uint32_t index);
/* The block of the living thread `tid`, lent or not; NULL: it has none. */
SBX_HOOK_SAFE struct sbx_thread *sbx_seat_of(uint32_t tid);

/* ---- lending ---- */

/* 1: seats are scarce. Kept by sbx_thread_registry_scan(). */
extern uint32_t sbx_seats_are_scarce;
/* 1: somebody found none since the watch thread looked. */
extern uint32_t sbx_seats_are_wanted;

/* The calling thread's call that is in progress alone and blocks: lend the seat for its time. Nothing of the block may be touched
 * afterwards, until the call's end. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_seat_lend(struct sbx_blocking *call);
SBX_HOOK_SAFE static inline void sbx_seat_lend_for(struct sbx_blocking *call)
{
    if (SBX_UNLIKELY(sbx_load_relaxed(&sbx_seats_are_scarce) != 0) && call->thread != NULL) { /* relaxed: a hint */
        sbx_seat_lend(call);
    }
}
/* It returned: where nobody took the seat, it is the calling thread's again, and TLS leads to it. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_seat_comes_back(const struct sbx_blocking *call);
/* Take it from who sleeps since before `before_ns`. Watch thread. True: the seat is nobody's, to be retired. */
bool sbx_seat_take(struct sbx_thread *thread, uint64_t before_ns);
/* Should the calling thread, at a sample of its own, give its seat to one that waits? */
SBX_HOOK_SAFE bool sbx_seat_turn_is_over(const struct sbx_thread *thread, uint64_t now_ns);

/* The scratch entry of a thread without a seat. */
SBX_HOOK_SAFE struct sbx_thread_entry *sbx_seatless_entry(uint32_t tid);
SBX_SIGNAL_SAFE bool sbx_is_seatless(const struct sbx_thread_entry *entry);

#endif
