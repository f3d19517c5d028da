/* SPDX-License-Identifier: Apache-2.0 */
/* waiter_table.h - who waits for what, so that who ends a wait can say so.
 *
 * The waiting side enters its wait before it sleeps; the releasing side asks whether somebody waits for what it is
 * about to release, and if so leaves its name with the waiter (a stamp) and a record of its own with the same wait id
 * (calls/wake.h).
 *
 * Every thread entry of the recording has one seat here, by index, so any number of threads may wait, also for one
 * object. A bucket of the table is a bitmap of seats, and one word that says which parts of the bitmap are not empty:
 * that word is all a release looks at when nobody waits.
 *
 * Invariants:
 *   I1  A thread sets and clears only the bit of its own seat. A bit says "look at that seat", nothing more: who
 *       follows it compares the object, and never follows a pointer. Seats are static memory; a stale one costs a
 *       look.
 *   I2  A seat's fields belong to one wait: `wait` is 0 while they change and read again after they were copied.
 *   I3  A stamp holds the wait id it is meant for. One that comes late is of another id and says nothing.
 *   I4  An occupied word with a bit missing is put right by whoever made it so (leave()); one with a bit too many, by
 *       the next leave() or look.
 *
 * The release looks before it releases, not after: afterwards the waiter may run at once and leave, and the hook could
 * not be a tail call. What is missed: a waiter that enters between the look and the release. It has then not waited
 * for as long as a wait must last to be recorded, unless the releasing thread itself is held up there; its record then
 * has no waker, which is not known, rather than a wrong one. So no order is needed between the two sides: a wait that
 * matters was entered a threshold ago (200 us by default), and a store is seen long before that.
 *
 * Synchronization:      [1] [2] [3]      [1] enter, leave, forget (the waiting thread, or who buries it)
 *     [1] enter, leave   X   -   -       [2] find (any thread)
 *     [2] find           -   -   -       [3] stamp (any thread)
 *     [3] stamp          -   -   -       X: one seat has one owner at a time; different seats: nothing needed */
#ifndef SBX_WAITER_TABLE_H
#define SBX_WAITER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"
#include "recording_format.h"

enum {
    SBX_WAITER_BUCKET_BITS = 11, /* a thread that waits for hours makes one object in 2,048 pay the closer look */
    SBX_WAITER_BUCKETS = 1 << SBX_WAITER_BUCKET_BITS,
    SBX_WAITER_GROUP_SEATS = 64, /* seats a bit of the occupied word stands for */
    SBX_WAITER_LOOK_MOST = 256,  /* seats one release looks at: bounds its time; those beyond learn of no waker */
};
static_assert(SBX_THREADS_MAX <= 16 * SBX_WAITER_GROUP_SEATS, "the occupied word has a bit for each part");

/* By bucket: which parts of its bitmap are not empty. All together one page, mostly zero: read by every release. */
extern uint16_t sbx_waiter_occupied[SBX_WAITER_BUCKETS];

/* Multiplicative hashing by the golden ratio (Knuth, TAOCP vol. 3, 6.4): addresses that differ by a power of two
 * spread. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_waiter_bucket(uint64_t object)
{
    return (uint32_t)(object * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SBX_WAITER_BUCKET_BITS));
}

/* May somebody wait for `object`? The whole cost of a release that nobody waits for. */
SBX_SIGNAL_SAFE static inline bool sbx_waiter_is_likely(uint64_t object)
{
    /* relaxed: a hint; see above why late is good enough */
    return sbx_load_relaxed(&sbx_waiter_occupied[sbx_waiter_bucket(object)]) != 0;
}

/* One wait, as the releasing side sees it. */
struct sbx_waiter {
    uint64_t object;
    uint64_t begin_ns;
    uint32_t seat; /* index of the waiting thread's entry */
    uint32_t wait; /* wait id, never 0 */
    uint32_t tid;
    uint32_t group; /* enum sbx_point_group of the wait: its threshold applies */
};

/* A wait id, not 0, not given to anybody else for the next four thousand million waits. */
SBX_SIGNAL_SAFE uint32_t sbx_waiter_new_id(void);

/* So many at a time, one behind the other: the first of them. One of them may be 0, which is none. */
SBX_SIGNAL_SAFE uint32_t sbx_waiter_new_ids(uint32_t count);

/* The thread with entry index `waiter->seat` is about to wait. Its seat must be empty. */
SBX_SIGNAL_SAFE void sbx_waiter_enter(const struct sbx_waiter *waiter);

/* The wait is over. Returns the tid of the thread that said it ended it; 0: nobody did. */
SBX_SIGNAL_SAFE uint32_t sbx_waiter_leave(uint32_t seat);

/* Is a wait in this seat? For the owner only. */
SBX_SIGNAL_SAFE bool sbx_waiter_is_in(uint32_t seat);

/* Copy the waits for `object` that began first, at most `most` of them (1..), longest first, to waiters_out. Returns
 * how many it copied; *seen_out is how many there are, as far as was looked. */
SBX_SIGNAL_SAFE uint32_t sbx_waiter_find(uint64_t object, struct sbx_waiter *waiters_out, uint32_t most,
                                         uint32_t *seen_out);

/* Thread `tid` ends this wait. The last to say so counts. */
SBX_SIGNAL_SAFE void sbx_waiter_stamp(const struct sbx_waiter *waiter, uint32_t tid);

/* Thread `tid` ends every wait for `object` that began at `begun_ns` or before. */
SBX_SIGNAL_SAFE void sbx_waiter_stamp_all(uint64_t object, uint32_t tid, uint64_t begun_ns);

#endif
