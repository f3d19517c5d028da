/* SPDX-License-Identifier: Apache-2.0 */
/* record_form.h - shared by the encoder and the decoder of records: heads, units, recent stacks (record_codec.h).
 *
 * The lengths in the head are the idea of group varint (J. Dean, WSDM 2009): no byte must be read to find where a
 * number ends. A rough number is a floating-point number with four bits of mantissa and four of exponent. */
#ifndef SBX_RECORD_FORM_H
#define SBX_RECORD_FORM_H

#include <stdbool.h>

#include "record_codec.h"

/* The long form's first three bytes. */
enum long_head {
    LONG_HEAD_BYTES = 3,
    LONG_KIND_SHIFT = 6,
    LONG_KIND_MASK = 31,
    FIELD_LENGTH = 1 << 11,
    FIELD_STACK = 1 << 12,
    FIELD_OFF = 1 << 13,
    FIELD_ALLOC = 1 << 14,
    FIELD_MESSAGE = 1 << 15,
    FIELD_OP = 1 << 16,
    FIELD_OBJECT = 1 << 17,
    FIELD_AMOUNT = 1 << 18,
    FIELD_PEER = 1 << 19,
    FIELD_FLAGS = 1 << 20,
    FIELD_THREAD = 1 << 21,
    FIELD_REPEATS = 1 << 22,
    FIELD_WAIT = 1 << 23,
};
static_assert(SBX_RECORD_KINDS <= LONG_KIND_MASK + 1, "a kind has five bits in the long form");

/* The short form. */
enum short_head {
    SHORT_FORM_MASK = 63, /* 0: the long form */
    SHORT_STACKS = SBX_RECENT_STACKS + 1,
    SHORT_OFFS = 3,
    SHORT_ALLOC = 1 << 6,
    SHORT_MORE = 1 << 7,
    /* the second byte */
    MORE_OP = 1 << 0,
    MORE_RUN = 1 << 1,
    MORE_MESSAGE = 1 << 2,
    MORE_WIDE = 1 << 3,
    MORE_AMOUNT = 1 << 4,
    MORE_FAR = 1 << 5,
    MORE_USAGE = 1 << 6,
    MORE_MASK = 127,
    CODE_BITS = 4, /* the lowest bits of on-CPU time */
    CODE_MASK = 15,
    ON_BITS = 12,
    ON_WIDE_BITS = 20,
    OFF_WIDE_BITS = 24,
    DELAY_SHIFT = 15, /* code 1 is 65 us, code 15 a second */
    STACK_INDEX_MASK = 0xffffff,
    SAMPLE_UNIT = SBX_SAMPLE_UNIT_NS / SBX_TIME_UNIT_NS,
    ROUGH_LIMIT = 1 << 19, /* rough numbers are below this */
};
static_assert(3 * SHORT_OFFS * SHORT_STACKS <= SHORT_FORM_MASK, "kind, off-CPU time and stack have six bits");

#define UNITS_MASK (UINT64_MAX / SBX_TIME_UNIT_NS) /* units of a time, modulo 2^64 ns */

/* The kinds that have a short form, from 1 on; 0: none. */
enum short_kind {
    SHORT_ALLOC_KIND = 1,
    SHORT_LEAF_KIND = 2,
    SHORT_ASYNC_KIND = 3,
};

static inline unsigned short_kind(unsigned kind)
{
    const uint64_t codes = (uint64_t)SHORT_ALLOC_KIND << 2 * SBX_RECORD_ALLOC |
                           (uint64_t)SHORT_LEAF_KIND << 2 * SBX_RECORD_LEAF |
                           (uint64_t)SHORT_ASYNC_KIND << 2 * SBX_RECORD_ASYNC;
    return kind < 32 ? codes >> 2 * kind & 3 : 0;
}

/* A rough number keeps the five highest bits of a number below ROUGH_LIMIT. Returns how many bits are left out. */
static inline unsigned rough_shift(uint32_t value)
{
    return 27 - (unsigned)__builtin_clz(value | 16);
}

static inline uint32_t from_rough(unsigned rough)
{
    return rough < 32 ? rough : (16 + (rough & 15)) << ((rough >> 4) - 1);
}

/* The place of a stack among the recent ones; SBX_RECENT_STACKS when it is not there. */
static inline unsigned find_recent(const struct sbx_codec_state *state, uint32_t stack)
{
    const uint32_t *recent = state->recent;
    static_assert(SBX_RECENT_STACKS == 6, "one line for each");
    /* Written out, so that these become conditional moves: the place cannot be predicted. */
    unsigned place = SBX_RECENT_STACKS;
    place = recent[0] == stack ? 0 : place;
    place = recent[1] == stack ? 1 : place;
    place = recent[2] == stack ? 2 : place;
    place = recent[3] == stack ? 3 : place;
    place = recent[4] == stack ? 4 : place;
    place = recent[5] == stack ? 5 : place;
    return place;
}

/* Put a stack among the recent ones in place of the oldest, unless it is there already. Conditional moves again: three
 * samples of five have a new stack, and which ones cannot be predicted. */
static inline void keep_recent(struct sbx_codec_state *state, uint32_t stack, bool is_new)
{
    unsigned place = state->next_recent, next = place + is_new;
    state->recent[place] = is_new ? stack : state->recent[place];
    state->next_recent = (uint8_t)(next == SBX_RECENT_STACKS ? 0 : next);
    state->stack_epoch = is_new ? (uint8_t)(stack >> 24) : state->stack_epoch;
}

#endif
