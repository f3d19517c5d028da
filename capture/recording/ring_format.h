/* SPDX-License-Identifier: Apache-2.0 */
/* ring_format.h - the parts of a recording's ring: records, and the chunks that hold them. */
#ifndef SBX_RING_FORMAT_H
#define SBX_RING_FORMAT_H

#include <assert.h>
#include <stdint.h>

enum {
    SBX_CHUNK_BYTES = 4096,
};

/* One record as a value. The ring stores it delta-coded, and some numbers of samples roughly (record_codec.h). */
struct sbx_record {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t cpu_ns;           /* the thread's CPU time at end; 0: not read */
    uint64_t alloc_count;      /* the thread's counters at end */
    uint64_t alloc_bytes;
    uint64_t message; /* message sequence number at begin; 0: none */
    uint64_t object;  /* lock or wait object's address, descriptor + 1; 0: none */
    uint64_t amount;  /* bytes moved, merged messages, syscall number: see kind */
    uint32_t thread;  /* index of the thread that the record is about */
    uint32_t stack;   /* callstack id */
    uint32_t peer;    /* tid of the other side, if known: the holder of a lock when the wait began; the thread that
                         ended the wait, if a WAKE record has the same `wait` */
    uint32_t wait;    /* joins a wait with the WAKE record of the thread that ended it; 0: none */
    uint32_t repeats; /* for a sample: how often the same was seen again; see enum sbx_record_kind */
    /* with SBX_FLAG_USAGE: since the thread began (getrusage(2), RUSAGE_THREAD) */
    uint32_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
    uint8_t kind, op, fd_class, flags;
};

/* REVOKED: taken back from an owner that has been silent for long, but that may still be in the middle of a record.
 * Such a chunk can be read, but not claimed yet. */
enum sbx_chunk_state {
    SBX_CHUNK_FREE = 0,
    SBX_CHUNK_OPENING = 1,
    SBX_CHUNK_OPEN = 2,
    SBX_CHUNK_CLOSED = 3,
    SBX_CHUNK_REVOKED = 4
};

/* A piece of the ring, owned by one thread while open: plain stores below, and one release of `committed` for each
 * record.
 *   state word: bits 0..2 enum sbx_chunk_state, bits 3..63 turn (the ticket it was opened with, plus 1; never 0 once used).
 *   A reader copies bytes below `committed` and then checks that the turn did not change. */
struct sbx_chunk {
    uint64_t state;
    uint32_t thread; /* index of the writing thread's entry */
    uint32_t thread_generation;
    uint32_t tid;
    uint32_t committed; /* how many of `bytes` hold whole records */
    uint64_t base_ns;   /* the codec's starting values */
    uint64_t base_cpu_ns;
    uint64_t base_alloc_count;
    uint64_t base_alloc_bytes;
    uint64_t base_message;
    uint8_t bytes[SBX_CHUNK_BYTES - 64];
};
static_assert(sizeof(struct sbx_chunk) == SBX_CHUNK_BYTES, "a chunk is one page");

static inline uint64_t sbx_chunk_word(uint64_t turn, enum sbx_chunk_state state)
{
    return turn << 3 | (uint64_t)state;
}

static inline enum sbx_chunk_state sbx_chunk_state_of(uint64_t word)
{
    return (enum sbx_chunk_state)(word & 7);
}

static inline uint64_t sbx_chunk_turn_of(uint64_t word)
{
    return word >> 3;
}

/* Whether a chunk with this state word holds records. */
static inline int sbx_chunk_is_readable(uint64_t word)
{
    enum sbx_chunk_state state = sbx_chunk_state_of(word);
    return (state == SBX_CHUNK_OPEN || state == SBX_CHUNK_CLOSED || state == SBX_CHUNK_REVOKED) &&
           sbx_chunk_turn_of(word) != 0;
}

#endif
