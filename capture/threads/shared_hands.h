/* SPDX-License-Identifier: Apache-2.0 */
/* shared_hands.h - for objects that processes share and wait for: which thread took each object last, and which let it
 * go last.
 *
 * A semaphore, a condition or a read-write lock in shared memory does not say who holds it, and a release in one
 * process cannot find a waiter of another (waiter_table.h). So the threads of a family note in one page what they take
 * and let go. fork() passes that page on (agent/family/family.h). Each address has one place in the page; two objects
 * with the same place overwrite each other.
 *
 * All of it is hints, and every word is relaxed: any process of the family may write anything there, and the words of a
 * place may come from two moments. A reader that names a thread from them checks first whether the address is the same
 * memory in both processes (agent/family/shared_memory.h). */
#ifndef SBX_SHARED_HANDS_H
#define SBX_SHARED_HANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"

enum {
    SBX_HANDS_PLACES = 64,
    SBX_HANDS_BYTES = 64 * SBX_HANDS_PLACES
};

/* Process << 32 | thread; 0: none, as far as is known. */
struct sbx_hands {
    uint64_t taken_by, let_go_by;
    uint32_t turns;   /* how often it was let go */
    bool is_returned; /* the thread that let it go last had also taken it: it is used as a lock */
};

/* The page: SBX_HANDS_BYTES, all zero at first. It must stay mapped as long as this process and its children live. */
void sbx_hands_use(void *page);

/* Thread `who` has taken `object`, or lets it go now: some twenty instructions. Does nothing without a page. */
SBX_SIGNAL_SAFE void sbx_hands_taken(uint64_t object, uint64_t who);
SBX_SIGNAL_SAFE void sbx_hands_let_go(uint64_t object, uint64_t who);

/* What is known of `object`; false: nothing is known. */
SBX_SIGNAL_SAFE bool sbx_hands_find(uint64_t object, struct sbx_hands *hands_out);

/* The thread that should let it go next, according to `hands`: the holder if it is used as a lock, else the thread that
 * let it go before. 0: not known. Pure. */
uint64_t sbx_hands_next(const struct sbx_hands *hands);

#endif
