/* SPDX-License-Identifier: Apache-2.0 */
/* waiter_table.c - seats, the bitmaps that lead to them, and the stamps of threads that end a wait.
 *
 * This file knows nothing of records or hooks, so that a test can drive it alone, also under ThreadSanitizer. */
#include "waiter_table.h"

#include "process_state.h"

enum {
    PARTS = SBX_THREADS_MAX / SBX_WAITER_GROUP_SEATS
};

/* One cache line per thread: its owner writes it when it waits, and a release reads it when it looks closer. */
struct seat {
    uint32_t wait; /* wait id of the wait in progress; 0: none (I2) */
    uint32_t tid;
    uint64_t object;
    uint64_t begin_ns;
    uint32_t group;
    uint32_t bucket; /* where the seat's bit is set; used by the owner only */
    uint64_t stamp;  /* wait id << 32 | tid of the thread that ended it (I3) */
    uint64_t spare[3];
} __attribute__((aligned(64)));
static_assert(sizeof(struct seat) == 64, "a seat is one line");

uint16_t sbx_waiter_occupied[SBX_WAITER_BUCKETS] __attribute__((aligned(64)));
/* Pages of buckets that were never used stay untouched: this is 256 KiB of addresses. */
static uint64_t bitmaps[SBX_WAITER_BUCKETS][PARTS] __attribute__((aligned(64)));
static struct seat seats[SBX_THREADS_MAX];
SBX_OF_ONE_PROCESS(sbx_waiter_occupied);
SBX_OF_ONE_PROCESS(bitmaps);
SBX_OF_ONE_PROCESS(seats);
static uint32_t last_id;

SBX_SIGNAL_SAFE uint32_t sbx_waiter_new_id(void)
{
    uint32_t id = sbx_add_relaxed(&last_id, 1) + 1; /* relaxed: it only has to be different */
    return id != 0 ? id : sbx_add_relaxed(&last_id, 1) + 1;
}

SBX_SIGNAL_SAFE uint32_t sbx_waiter_new_ids(uint32_t count)
{
    return sbx_add_relaxed(&last_id, count) + 1; /* relaxed: as above */
}

SBX_SIGNAL_SAFE void sbx_waiter_enter(const struct sbx_waiter *waiter)
{
    struct seat *seat = &seats[waiter->seat];
    uint32_t bucket = sbx_waiter_bucket(waiter->object);
    uint32_t part = waiter->seat / SBX_WAITER_GROUP_SEATS;
    sbx_store_relaxed(&seat->wait, 0); /* keeps I2 */
    sbx_fence_release();               /* order: release seat.fields - a reader of a new field sees `wait` changed */
    sbx_store_relaxed(&seat->tid, waiter->tid);
    sbx_store_relaxed(&seat->object, waiter->object);
    sbx_store_relaxed(&seat->begin_ns, waiter->begin_ns);
    sbx_store_relaxed(&seat->group, waiter->group);
    seat->bucket = bucket;
    sbx_store_release(&seat->wait, waiter->wait); /* order: release seat.wait - the fields above are whole */
    /* order: seq_cst waiter.bits - bit first, then the word; with leave() this is Dekker's pattern, so that of two
     * threads, one leaving and one entering the same part, either sees the other */
    sbx_or_seq_cst(&bitmaps[bucket][part], UINT64_C(1) << waiter->seat % SBX_WAITER_GROUP_SEATS);
    sbx_or_seq_cst(&sbx_waiter_occupied[bucket], (uint16_t)(1u << part));
}

/* The part looked empty: take its bit out of the occupied word, and put it back if the part was not empty. */
static void settle(uint32_t bucket, uint32_t part)
{
    uint16_t bit = (uint16_t)(1u << part);
    sbx_and_seq_cst(&sbx_waiter_occupied[bucket], (uint16_t)~bit); /* order: seq_cst waiter.bits */
    if (sbx_load_seq_cst(&bitmaps[bucket][part]) != 0) {           /* order: seq_cst waiter.bits */
        sbx_or_seq_cst(&sbx_waiter_occupied[bucket], bit);         /* order: seq_cst waiter.bits - keeps I4 */
    }
}

SBX_SIGNAL_SAFE uint32_t sbx_waiter_leave(uint32_t index)
{
    struct seat *seat = &seats[index];
    uint32_t part = index / SBX_WAITER_GROUP_SEATS;
    uint32_t wait = sbx_load_relaxed(&seat->wait); /* relaxed: own */
    if (wait == 0) {
        return 0;
    }
    uint64_t own = UINT64_C(1) << index % SBX_WAITER_GROUP_SEATS;
    /* order: seq_cst waiter.bits */
    if ((sbx_and_seq_cst(&bitmaps[seat->bucket][part], ~own) & ~own) == 0) {
        settle(seat->bucket, part);
    }
    sbx_store_relaxed(&seat->wait, 0);                /* relaxed: a reader still copying gets the fields of one wait */
    uint64_t stamp = sbx_load_acquire(&seat->stamp);  /* order: acquire seat.stamp */
    return stamp >> 32 == wait ? (uint32_t)stamp : 0; /* keeps I3 */
}

SBX_SIGNAL_SAFE bool sbx_waiter_is_in(uint32_t index)
{
    return sbx_load_relaxed(&seats[index].wait) != 0; /* relaxed: own */
}

static bool copy_seat(uint32_t index, uint64_t object, struct sbx_waiter *waiter_out)
{
    const struct seat *seat = &seats[index];
    uint32_t wait = sbx_load_acquire(&seat->wait); /* order: acquire seat.wait */
    if (wait == 0 || sbx_load_relaxed(&seat->object) != object) {
        return false;
    }
    *waiter_out = (struct sbx_waiter){.object = object,
                                      .begin_ns = sbx_load_relaxed(&seat->begin_ns),
                                      .seat = index,
                                      .wait = wait,
                                      .tid = sbx_load_relaxed(&seat->tid),
                                      .group = sbx_load_relaxed(&seat->group)};
    sbx_fence_acquire(); /* order: acquire seat.fields */
    return sbx_load_relaxed(&seat->wait) == wait;
}

/* A search through the waits for an object: each step returns one of them. */
struct look {
    uint64_t object, bits;
    uint32_t bucket, part, parts, looked;
};

static struct look begin_look(uint64_t object)
{
    uint32_t bucket = sbx_waiter_bucket(object);
    /* relaxed: a hint, like the caller's look before */
    return (struct look){.object = object, .bucket = bucket, .parts = sbx_load_relaxed(&sbx_waiter_occupied[bucket])};
}

static bool step(struct look *look, struct sbx_waiter *waiter_out)
{
    while (look->looked < SBX_WAITER_LOOK_MOST) {
        if (look->bits == 0) {
            if (look->parts == 0) {
                return false;
            }
            look->part = (uint32_t)__builtin_ctz(look->parts);
            look->parts &= look->parts - 1;
            /* relaxed: the seat's fields are checked */
            look->bits = sbx_load_relaxed(&bitmaps[look->bucket][look->part]);
            if (look->bits == 0) {
                settle(look->bucket, look->part);
            }
            continue;
        }
        uint32_t index = look->part * SBX_WAITER_GROUP_SEATS + (uint32_t)__builtin_ctzll(look->bits);
        look->bits &= look->bits - 1;
        look->looked++;
        if (copy_seat(index, look->object, waiter_out)) {
            return true;
        }
    }
    return false;
}

SBX_SIGNAL_SAFE uint32_t sbx_waiter_find(uint64_t object, struct sbx_waiter *waiters_out, uint32_t most,
                                         uint32_t *seen_out)
{
    struct look look = begin_look(object);
    struct sbx_waiter waiter;
    uint32_t count = 0, seen = 0;
    while (step(&look, &waiter)) {
        seen++;
        uint32_t place = count;
        while (place > 0 && waiters_out[place - 1].begin_ns > waiter.begin_ns) {
            place--; /* insertion keeps them in order: few are kept */
        }
        if (place == most) {
            continue;
        }
        count += count < most;
        for (uint32_t i = count - 1; i > place; i--) {
            waiters_out[i] = waiters_out[i - 1];
        }
        waiters_out[place] = waiter;
    }
    *seen_out = seen;
    return count;
}

SBX_SIGNAL_SAFE void sbx_waiter_stamp(const struct sbx_waiter *waiter, uint32_t tid)
{
    uint64_t *stamp = &seats[waiter->seat].stamp;
    uint64_t wanted = (uint64_t)waiter->wait << 32 | tid;
    /* relaxed: no write if the stamp is ours already: when a thread releases a lock again and again while another
     * starves, the waiter's line stays untouched */
    if (sbx_load_relaxed(stamp) != wanted) {
        sbx_store_release(stamp, wanted); /* order: release seat.stamp */
    }
}

SBX_SIGNAL_SAFE void sbx_waiter_stamp_all(uint64_t object, uint32_t tid, uint64_t begun_ns)
{
    struct look look = begin_look(object);
    struct sbx_waiter waiter;
    while (step(&look, &waiter)) {
        if (waiter.begin_ns <= begun_ns) {
            sbx_waiter_stamp(&waiter, tid);
        }
    }
}
