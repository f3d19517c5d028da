/* SPDX-License-Identifier: Apache-2.0 */
/* shared_hands.h - of things that processes share and wait for: who took each last, and who let it go last.
 *
 * A semaphore, a condition or a read-write lock in shared memory does not say whose it is, and a release in one process finds no waiter of
 * another (waiter_table.h). So the threads of a family note in one page, which fork() hands down (agent/family/family.h), what they take
 * and let go. Each address has one place in it; two things whose addresses meet there push each other out.
 *
 * All of it is hints, and every word is relaxed: any process of the family may write anything there, and the words of a place may be of two
 * moments. Whoever names somebody by them asks first whether that address is the same memory in both processes
 * (agent/family/shared_memory.h). */
#ifndef SBX_SHARED_HANDS_H
#define SBX_SHARED_HANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

enum {
    SBX_HANDS_PLACES = 64,
    SBX_HANDS_BYTES = 64 * SBX_HANDS_PLACES
};

/* Process << 32 | thread; 0: nobody, as far as is known. */
struct sbx_hands {
    uint64_t taken_by, let_go_by;
    uint32_t turns;   /* how often it was let go */
    bool is_returned; /* who let it go last had taken it: it is used as a lock */
};

/* The page, SBX_HANDS_BYTES of zeroes at first, for as long as this process and its children live. */
void sbx_hands_use(void *page);

/* Thread `who` has taken `object`, or lets it go now: some twenty instructions. Nothing without a page. */
SBX_SIGNAL_SAFE void sbx_hands_taken(uint64_t object, uint64_t who);
SBX_SIGNAL_SAFE void sbx_hands_let_go(uint64_t object, uint64_t who);

/* What is known of `object`; false: nothing. */
SBX_SIGNAL_SAFE bool sbx_hands_find(uint64_t object, struct sbx_hands *hands_out);

/* Who is to let it go next, by that: who has it where it is a lock, else who let it go before. 0: nobody knows. Pure. */
uint64_t sbx_hands_next(const struct sbx_hands *hands);

#endif
