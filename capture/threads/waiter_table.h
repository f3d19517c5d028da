/* SPDX-License-Identifier: Apache-2.0 */
/* waiter_table.h - which thread waits for which object, so that a thread that ends a wait can say so.
 *
 * The waiting side enters its wait before it sleeps. The releasing side checks whether a thread waits for the object
 * that it is about to release. If so, it leaves its tid with the waiter (a stamp), and writes a record of its own with
 * the same wait id (calls/wake.h).
 *
 * Every thread entry of the recording has one seat here, by index, so any number of threads may wait, also for one
 * object. A bucket of the table is a bitmap of seats, and one word that says which parts of the bitmap are not empty.
 * When no thread waits, a release reads only that word.
 *
 * Invariants:
 *   I1  A thread sets and clears only the bit of its own seat. A bit says only "look at that seat": a reader
 *       of it compares the object, and never follows a pointer. Seats are static memory; a stale bit costs a
 *       look.
 *   I2  A seat's fields belong to one wait: `wait` is 0 while they change and read again after they were copied.
 *   I3  A stamp holds the wait id it is meant for. A late stamp has another wait's id and is ignored.
 *   I4  leave() puts a bit back that it should not have removed from an occupied word. A bit too many is removed by
 *       the next leave() or look.
 *
 * The release looks before it releases, not after. After the release the waiter may run at once and leave, and the hook
 * could not be a tail call. So a waiter that enters between the look and the release is missed. Such a wait is too
 * short to be recorded, unless the releasing thread itself is held up there. Its record then has no waker, which means
 * "not known", and never a wrong one. So no order is needed between the two sides: a wait that matters was entered a
 * threshold ago (200 us by default), and a store is seen long before that.
 *
 * Synchronization:      [1] [2] [3]      [1] enter, leave, forget (the waiting thread, or a thread that retires it)
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
    SBX_WAITER_BUCKET_BITS = 11, /* when a thread waits for hours, one object in 2,048 pays for the closer look */
    SBX_WAITER_BUCKETS = 1 << SBX_WAITER_BUCKET_BITS,
    SBX_WAITER_GROUP_SEATS = 64, /* seats for each bit of the occupied word */
    SBX_WAITER_LOOK_MOST = 256,  /* seats that one release looks at: bounds its time; waiters beyond get no waker */
};
static_assert(SBX_THREADS_MAX <= 16 * SBX_WAITER_GROUP_SEATS, "the occupied word has a bit for each part");

/* By bucket: which parts of its bitmap are not empty. All together this is one page, mostly zero; every release reads
 * it. */
extern uint16_t sbx_waiter_occupied[SBX_WAITER_BUCKETS];

/* Multiplicative hashing by the golden ratio (Knuth, TAOCP vol. 3, 6.4). It spreads addresses that differ by a power of
 * two. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_waiter_bucket(uint64_t object)
{
    return (uint32_t)(object * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SBX_WAITER_BUCKET_BITS));
}

/* May a thread wait for `object`? This is the whole cost of a release when no thread waits for it. */
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

/* A new wait id. Not 0, and not used again for the next four thousand million waits. */
SBX_SIGNAL_SAFE uint32_t sbx_waiter_new_id(void);

/* This many wait ids at a time, consecutive: returns the first. One of them may be 0, which is not a wait id. */
SBX_SIGNAL_SAFE uint32_t sbx_waiter_new_ids(uint32_t count);

/* The thread with entry index `waiter->seat` is about to wait. Its seat must be empty. */
SBX_SIGNAL_SAFE void sbx_waiter_enter(const struct sbx_waiter *waiter);

/* The wait is over. Returns the tid of the thread that has stamped it; 0: none. */
SBX_SIGNAL_SAFE uint32_t sbx_waiter_leave(uint32_t seat);

/* Is a wait in this seat? Only for the owner. */
SBX_SIGNAL_SAFE bool sbx_waiter_is_in(uint32_t seat);

/* Copy the waits for `object` that began first to waiters_out, longest first, at most `most` of them (1..). Returns how
 * many it copied; *seen_out is how many it found. */
SBX_SIGNAL_SAFE uint32_t sbx_waiter_find(uint64_t object, struct sbx_waiter *waiters_out, uint32_t most,
                                         uint32_t *seen_out);

/* Thread `tid` ends this wait. The last stamp counts. */
SBX_SIGNAL_SAFE void sbx_waiter_stamp(const struct sbx_waiter *waiter, uint32_t tid);

/* Thread `tid` ends every wait for `object` that began at `begun_ns` or before. */
SBX_SIGNAL_SAFE void sbx_waiter_stamp_all(uint64_t object, uint32_t tid, uint64_t begun_ns);

#endif
