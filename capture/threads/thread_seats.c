/* SPDX-License-Identifier: Apache-2.0 */
/* thread_seats.c - free seats, and which thread has which seat.
 *
 * This is apart from thread_registry.c because it is about places, not about threads that begin and end. */
#include "thread_seats.h"

#include <sys/syscall.h>

#include "process_state.h"
#include "raw_syscall.h"
#include "the_capture.h"
#include "thread_block.h"

enum {
    WORDS = SBX_THREADS_MAX / 64,
    INDEX_BITS = 10,
    BUCKETS = 256,     /* by the last bits of the thread's number, because a process's numbers are consecutive */
    BUCKET_SEATS = 16, /* one cache line; four are used when all seats are taken */
    SEATLESS = 64,     /* scratch entries; threads that share an entry write to the same cache line */
};
static_assert(SBX_THREADS_MAX <= 1 << INDEX_BITS,
              "an index has 10 bits, and a thread's number the other 22 (PID_MAX_LIMIT)");

static uint64_t free_seats[WORDS] __attribute__((aligned(64)));
/* Word 0: 0 when no seat is free. It has a cache line for itself, because threads without a seat read it at each
 * call. */
static uint32_t may_be_free[16] __attribute__((aligned(64)));
static uint32_t hand; /* where the search for the next candidate begins */
static uint32_t seats_by_tid[BUCKETS][BUCKET_SEATS] __attribute__((aligned(64)));
static uint8_t has_overflowed[BUCKETS]; /* never reset: a thread of that bucket may have any seat */
static struct sbx_thread_entry seatless[SEATLESS] __attribute__((aligned(64)));
static uint32_t taken; /* number of seats of living threads */
uint32_t sbx_seats_are_scarce;
SBX_OF_ONE_PROCESS(free_seats);
SBX_OF_ONE_PROCESS(may_be_free);
SBX_OF_ONE_PROCESS(hand);
SBX_OF_ONE_PROCESS(seats_by_tid);
SBX_OF_ONE_PROCESS(has_overflowed);
SBX_OF_ONE_PROCESS(taken);
SBX_OF_ONE_PROCESS(sbx_seats_are_scarce);
static uint32_t allowed = SBX_THREADS_MAX;
uint32_t sbx_seats_most = SBX_THREADS_MAX;
bool sbx_seats_are_few;

/* ---- free seats ---- */

static bool is_any_free(void)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < WORDS; i++) {
        any |= sbx_load_seq_cst(&free_seats[i]); /* order: seq_cst seats.free */
    }
    return any != 0;
}

/* While all seats are taken, hundreds of threads may ask at each of their calls. So one word sums up the others. A
 * thread that frees a seat sets the word, if it is not set. A thread that was sent here by the word and finds no free
 * seat clears it. Taking a seat does not touch it. When another thread frees a seat at the same time, it writes
 * free_seats and then looks at this word, while this function writes this word and then looks at free_seats (Dekker's
 * pattern). So one of the two sets the word again. */
SBX_HOOK_SAFE bool sbx_seats_have_free(void)
{
    if (SBX_LIKELY(sbx_load_relaxed(&may_be_free[0]) == 0)) { /* relaxed: a hint, entry.state decides */
        return false;
    }
    if (is_any_free()) {
        return true;
    }
    /* order: seq_cst seats.any - Dekker with seats.free. Not a plain store, because qemu-user 7.2 reorders a later load
     * before an aarch64 store */
    sbx_and_seq_cst(&may_be_free[0], 0);
    if (!is_any_free()) {
        return false;
    }
    sbx_store_relaxed(&may_be_free[0], 1); /* relaxed: a thread that sees it late asks again at its next call */
    return true;
}

SBX_HOOK_SAFE uint32_t sbx_seat_candidate(void)
{
    uint32_t from = sbx_load_relaxed(&hand); /* relaxed: it does no harm when two threads begin at the same place */
    for (uint32_t i = 0; i <= WORDS; i++) {
        uint32_t word = (from / 64 + i) % WORDS;
        uint64_t bits = sbx_load_relaxed(&free_seats[word]); /* relaxed: a hint, entry.state decides */
        if (i == 0) {
            bits &= UINT64_MAX << from % 64;
        }
        if (bits != 0) {
            uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);
            sbx_store_relaxed(&hand, (index + 1) % SBX_THREADS_MAX);
            return index;
        }
    }
    return UINT32_MAX;
}

SBX_HOOK_SAFE void sbx_seat_is_free(uint32_t index, bool is_free)
{
    uint64_t bit = UINT64_C(1) << index % 64;
    if (is_free) {
        sbx_or_seq_cst(&free_seats[index / 64], bit); /* order: seq_cst seats.free - Dekker with seats.any */
        /* order: seq_cst seats.any - read first, because many threads read the line and few should write it */
        if (sbx_load_seq_cst(&may_be_free[0]) == 0) {
            sbx_store_relaxed(&may_be_free[0], 1); /* relaxed: a thread that misses it finds it at the next call */
        }
    } else {
        sbx_and_seq_cst(&free_seats[index / 64], ~bit); /* order: seq_cst seats.free */
    }
}

/* ---- which thread has which seat ---- */

SBX_HOOK_SAFE void sbx_seat_note(uint32_t tid, uint32_t index)
{
    uint32_t *bucket = seats_by_tid[tid % BUCKETS], word = tid << INDEX_BITS | index;
    for (uint32_t i = 0; i < BUCKET_SEATS; i++) {
        uint32_t expected = 0;
        if (sbx_load_relaxed(&bucket[i]) == 0 &&
            sbx_cas_acq_rel(&bucket[i], &expected, word)) { /* order: acq_rel seats.by_tid - one writer per place */
            return;
        }
    }
    sbx_store_relaxed(&has_overflowed[tid % BUCKETS], 1); /* relaxed: a late look finds the seat a call later */
}

SBX_HOOK_SAFE void sbx_seat_unnote(uint32_t tid, uint32_t index)
{
    uint32_t *bucket = seats_by_tid[tid % BUCKETS], word = tid << INDEX_BITS | index;
    for (uint32_t i = 0; i < BUCKET_SEATS; i++) {
        uint32_t expected = word;
        if (sbx_load_relaxed(&bucket[i]) == word) {
            (void)sbx_cas_acq_rel(&bucket[i], &expected, 0); /* order: acq_rel seats.by_tid */
        }
    }
}

SBX_HOOK_SAFE struct sbx_thread *sbx_seat_of(uint32_t tid)
{
    const uint32_t *bucket = seats_by_tid[tid % BUCKETS];
    for (uint32_t i = 0; i < BUCKET_SEATS; i++) {
        uint32_t word = sbx_load_relaxed(&bucket[i]); /* relaxed: the block and the entry say whose it is */
        struct sbx_thread *thread =
            word >> INDEX_BITS == tid ? sbx_thread_at(word & ((UINT32_C(1) << INDEX_BITS) - 1)) : NULL;
        if (thread != NULL && thread->tid == tid) {
            return thread;
        }
    }
    uint32_t count = sbx_load_relaxed(&has_overflowed[tid % BUCKETS]) != 0 ? sbx_thread_count() : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL && thread->tid == tid) {
            return thread;
        }
    }
    return NULL;
}

static void count_taken(uint32_t change)
{
    uint32_t now = sbx_add_relaxed(&taken, change) + change; /* relaxed: it is used for a hint only */
    sbx_capture_say_unusual(SBX_UNUSUAL_SEATS, now >= sbx_seats_most - sbx_seats_most / 8);
}

SBX_HOOK_SAFE void sbx_seat_is_taken(struct sbx_thread *thread, uint32_t life)
{
    sbx_store_relaxed(&thread->owner, life); /* relaxed: entry.state, released later, says that there is an owner */
    count_taken(1);
}

SBX_HOOK_SAFE bool sbx_seat_is_left(struct sbx_thread *thread, uint32_t life)
{
    if (life == 0 || !sbx_cas_acq_rel(&thread->owner, &life, 0)) { /* order: acq_rel seat.owner - a life ends once */
        return false;
    }
    count_taken(UINT32_MAX);
    return true;
}

void sbx_seats_begin(uint32_t count)
{
    sbx_seats_most = count < allowed ? count : allowed;
}

void sbx_seats_allow(uint32_t most)
{
    sbx_seats_most = allowed = most < SBX_THREADS_MAX ? most : SBX_THREADS_MAX;
    sbx_seats_are_few = true;
}

SBX_HOOK_SAFE struct sbx_thread_entry *sbx_seatless_entry(uint32_t tid)
{
    struct sbx_thread_entry *entry = &seatless[tid % SEATLESS];
    sbx_store_relaxed(&entry->countdown, SBX_SEATLESS_STRIDE); /* relaxed: scratch */
    return entry;
}

SBX_SIGNAL_SAFE bool sbx_is_seatless(const struct sbx_thread_entry *entry)
{
    return entry >= seatless && entry < seatless + SEATLESS;
}
