/* SPDX-License-Identifier: Apache-2.0 */
/* record_codec.h - one record as delta-coded bytes, and back.
 *
 * Times are kept in units of SBX_TIME_UNIT_NS, rounded down: begin <= end and the order of a thread's records stay what
 * they were, and a duration is off by less than one unit. A CPU time that was read (not 0) never becomes 0. Everything
 * else comes back exactly. Differences are taken modulo 2^64, so counters may wrap and times go backwards.
 *
 * A sample, four records of five, takes the short form: a head of 16 bits (little endian), then what the head says,
 * numbers of a stated length as plain little-endian bytes, so that neither side loops over them.
 *
 *   bits 0..1   kind          1 ALLOC, 2 LEAF, 3 ASYNC (0: the long form)
 *   bit 2       op            1: a byte with the op follows; 0: that of the last short record of the kind
 *   bit 3       end           0: 2 bytes, 1: 3 bytes; units since the last record
 *   bits 4..5   off-CPU time  0: CPU time was not read; else so many bytes: how much end - cpu has grown since it was
 *                             last known, zigzag. Near 0 while a thread computes
 *   bits 6..8   stack         0..5: that of the recent stacks; 6: 2 bytes, 7: 3 bytes of a new one, whose epoch is that
 *                             of the last one
 *   bits 9..10  alloc_count   0..3 bytes, growth
 *   bits 11..12 alloc_bytes   0..3 bytes, growth
 *   bit 13      message       1 byte, growth
 *   bit 14      run           two varints: end - begin in units, repeats
 *   bit 15      amount        varint
 * in the order op, end, off-CPU, stack, alloc_count, alloc_bytes, message, run, amount. It is taken when all fields it
 * has no place for are 0, the thread is the chunk's, and every number fits; everything else takes the long form:
 *
 *   byte 0      kind << 2
 *   byte 1, 2   field mask, little endian: which of the following are present, in this order
 *   varints     (LEB128, 7 bits a byte; "zigzag" where a difference may be negative)
 *       bit 0   end              zigzag units against the last record; always present
 *       bit 1   end - begin      units
 *       bit 2   stack            plain
 *       bit 3   off-CPU time     zigzag; absent: CPU time was not read (0)
 *       bit 4   alloc_count      zigzag delta; absent: unchanged
 *       bit 5   alloc_bytes      zigzag delta; absent: unchanged
 *       bit 6   message          zigzag delta; absent: unchanged
 *       bit 7   op
 *       bit 8   object
 *       bit 9   amount
 *       bit 10  peer
 *       bit 11  flags | fd_class << 8
 *       bit 12  thread           absent: the chunk's
 *       bit 13  repeats
 *       bit 14  wait
 *       bit 15  minor_faults, major_faults, voluntary_switches, involuntary_switches (SBX_FLAG_USAGE)
 * Other fields are 0 when absent. Both directions keep a state, started from the chunk's base values. */
#ifndef SBX_RECORD_CODEC_H
#define SBX_RECORD_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

/* 128 ns: an eighth of what a payload tells, five readings of the clock, and 16 bits of it are 8 ms. */
#define SBX_TIME_UNIT_NS UINT64_C(128)

enum {
    SBX_RECORD_BYTES_MAX = 3 + 19 * 10,
    SBX_RECENT_STACKS = 6, /* what three bits of the head leave beside two lengths */
};

struct sbx_codec_state {
    uint64_t last_end, last_off; /* units; off: end minus CPU time where that was last read */
    uint64_t last_alloc_count, last_alloc_bytes, last_message;
    uint32_t recent[SBX_RECENT_STACKS]; /* the newest distinct stacks, replaced in turn; 0: none yet */
    uint32_t thread;                    /* the chunk's own */
    uint8_t stack_epoch;                /* bits 24..31 of the last stack */
    uint8_t next_recent;
    uint8_t last_op[4];                 /* by kind in the short form */
    uint8_t reserved[6];                /* 0: a state can be compared as bytes */
};
static_assert(sizeof(struct sbx_codec_state) == 80, "no padding");

/* The state in which a chunk begins: from its base values and nothing else. */
SBX_SIGNAL_SAFE static inline struct sbx_codec_state sbx_codec_begin(const struct sbx_chunk *chunk)
{
    uint64_t end = chunk->base_ns / SBX_TIME_UNIT_NS;
    return (struct sbx_codec_state){.last_end = end,
                                    .last_off = end - chunk->base_cpu_ns / SBX_TIME_UNIT_NS,
                                    .last_alloc_count = chunk->base_alloc_count,
                                    .last_alloc_bytes = chunk->base_alloc_bytes,
                                    .last_message = chunk->base_message,
                                    .thread = chunk->thread};
}

/* Encode into out[0..SBX_RECORD_BYTES_MAX); returns the bytes used and moves the state on. Never fails. */
SBX_SIGNAL_SAFE size_t sbx_record_encode(struct sbx_codec_state *state, const struct sbx_record *record, uint8_t *out);

/* Decode one record from bytes[0..available). Returns the bytes used, or 0 when they are no record (unknown kind or mask
 * bit, a varint over 64 bits, a recent stack there is none of, end of bytes): the rest of the chunk is then unreadable.
 * Bounded; reads nothing beyond. */
size_t sbx_record_decode(struct sbx_codec_state *state, const uint8_t *bytes, size_t available,
                         struct sbx_record *record_out);

#endif
