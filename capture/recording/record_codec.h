/* SPDX-License-Identifier: Apache-2.0 */
/* record_codec.h - one record as delta-coded bytes, and back.
 *
 * Times are stored in units of SBX_TIME_UNIT_NS, rounded down. So begin <= end and the order of a thread's records do
 * not change, and the error of a duration is less than one unit. A CPU time that was read (not 0) never becomes 0.
 * Differences are taken modulo 2^64, so counters may wrap and times may go backwards. In the long form all other fields
 * are exact.
 *
 * Nine records of ten are samples. They take the short form, which stores some numbers roughly:
 *   times         rounded down to SBX_SAMPLE_UNIT_NS after the last record, CPU time likewise and to SBX_CPU_SLACK
 *   alloc_count   its growth rounded down by less than a sixteenth
 *   alloc_bytes   its growth rounded down by less than a sixteenth, or by less than SBX_ALLOC_UNIT where that is more
 *   amount        of an ASYNC record, how long the signal waited: rounded down to a power of two
 * Both sides continue from the stored value, not from the true one. So the next record also has what a sample left out
 * of a time or a counter, and errors do not add up. Counters and wall time never go backwards because of this (CPU time
 * by a unit at most; the reader corrects it). The next long record (a wait, a message, a frame: the base of a
 * judgement) is exact again. The idea is that of differential pulse code modulation (C. Cutler, US patent 2605361,
 * 1952).
 *
 * The short form: a head of one byte, then the fields that it names. Numbers have a stated length and are plain
 * little-endian bytes, so that neither side loops over them.
 *
 *   bits 0..5   1 + 21 * kind + 7 * off + stack
 *                 kind     0 ALLOC, 1 LEAF, 2 ASYNC
 *                 off      bytes of the off-CPU time: 0, 1 or 2
 *                 stack    0..5: that of the recent stacks; 6: 2 bytes of a new one, with the epoch of the last one
 *   bit 6       allocations: a byte each for the growth of alloc_count and of alloc_bytes: rough numbers, see below
 *   bit 7       more: a second byte of the head follows
 *      bit 0    op           1 byte; else its upper four bits are those of the last short record of the kind
 *      bit 1    run          1 byte: repeats, not 0; begin is the end of the last record
 *      bit 2    message      1 byte, growth
 *      bit 3    wide         on-CPU time has 3 bytes, and so has off-CPU time where it has 2 else
 *      bit 4    amount       varint, exactly; else 0 or, of ASYNC, as its code says
 *      bit 5    far          a new stack has 3 bytes
 *      bit 6    usage        four varints: growth, modulo 2^32, of minor_faults, major_faults, voluntary_switches,
 *                            involuntary_switches; flags is SBX_FLAG_USAGE, else 0
 *      bit 7    0
 * Their order is on-CPU time, off-CPU time, stack, allocations, run, message, op, amount, usage. On-CPU time has 2
 * bytes. Its bits 4 and up are the growth of CPU time since the last record, in units of SBX_SAMPLE_UNIT_NS. Off-CPU
 * time is how much more the wall clock has grown; it is near 0 while a thread computes. Bits 0..3 are a code. For ASYNC
 * it is 0 when amount is 0, else c for an amount from 2^(c+15) to the next power of two. For the other kinds it is the
 * lower four bits of op.
 *
 * A rough number is a byte. Up to 31 it is the number itself, else the number is (16 + (byte & 15)) << e with e = (byte
 * >> 4) - 1. It is below 2^19. For alloc_bytes it counts units of SBX_ALLOC_UNIT.
 *
 * The short form is used when all fields without a place in it are 0, the thread is the chunk's, CPU time was read, and
 * every number fits. All other records use the long form:
 *
 *   3 bytes     little endian: bits 0..5 are 0, bits 6..10 kind, bits 11..23 which of these are present besides `end`
 *   varints     (LEB128, 7 bits a byte; "zigzag" where a difference may be negative)
 *               end              zigzag units against the last record
 *       bit 11  end - begin      units
 *       bit 12  stack            plain
 *       bit 13  off-CPU time     end - cpu, zigzag growth in units; absent: CPU time was not read (0)
 *       bit 14  alloc_count, alloc_bytes     zigzag growth of each; absent: neither has
 *       bit 15  message          zigzag growth; absent: unchanged
 *       bit 16  op
 *       bit 17  object
 *       bit 18  amount
 *       bit 19  peer
 *       bit 20  flags | fd_class << 8; with SBX_FLAG_USAGE the four of usage, as above, follow at the end
 *       bit 21  thread           absent: the chunk's
 *       bit 22  repeats
 *       bit 23  wait
 * Other fields are 0 when absent. The encoder and the decoder keep a state, which begins with the chunk's base
 * values. */
#ifndef SBX_RECORD_CODEC_H
#define SBX_RECORD_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "recording_format.h"

/* 128 ns: an eighth of the unit of a payload, and five clock reads. */
#define SBX_TIME_UNIT_NS UINT64_C(128)

/* For samples: 2 us is a thousandth of the time between two of them. 12 bits of this unit are 8 ms, more than the
 * default interval. */
#define SBX_SAMPLE_UNIT_NS UINT64_C(2048)

enum {
    SBX_RECORD_BYTES_MAX = 3 + 19 * 10,
    SBX_RECENT_STACKS = 6, /* what one byte can hold beside the rest of the head */
    SBX_ALLOC_UNIT = 64,   /* bytes; 2^19 units are 32 MiB, more than most threads allocate between two samples */
    SBX_CPU_SLACK = 32,    /* units by which off-CPU time may seem to shrink in a sample, because the clocks are read
                              one after the other. A larger step takes the long form, which is exact */
};

struct sbx_codec_state {
    uint64_t last_end, last_off; /* units, as stored; off: end minus CPU time when that was last read */
    uint64_t last_alloc_count, last_alloc_bytes, last_message; /* as stored */
    uint32_t recent[SBX_RECENT_STACKS]; /* the newest different stacks, replaced in turn; 0: none yet */
    uint32_t thread;                    /* the thread of the chunk */
    uint8_t stack_epoch;                /* bits 24..31 of the last stack */
    uint8_t next_recent;
    uint8_t reserved[6];    /* 0, so that states can be compared as bytes */
    uint8_t last_family[4]; /* op >> 4, by kind in the short form */
    uint32_t last_usage[4]; /* faults and switches, in the order of the record; 0 at the begin of a chunk */
};
static_assert(sizeof(struct sbx_codec_state) == 96, "no padding");

/* The state at the begin of a chunk: from its base values only. */
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

/* Encode into out[0..SBX_RECORD_BYTES_MAX). Returns the bytes used and updates the state. Never fails. */
SBX_SIGNAL_SAFE size_t sbx_record_encode(struct sbx_codec_state *state, const struct sbx_record *record, uint8_t *out);

/* Decode one record from bytes[0..available). Returns the bytes used, or 0 when the bytes are no record (unknown kind
 * or mask bit, a varint over 64 bits, a recent stack that does not exist, end of bytes): the rest of the chunk is then
 * unreadable. Bounded; reads nothing beyond. */
size_t sbx_record_decode(struct sbx_codec_state *state, const uint8_t *bytes, size_t available,
                         struct sbx_record *record_out);

#endif
