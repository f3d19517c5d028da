/* SPDX-License-Identifier: Apache-2.0 */
/* record_codec.c - one record as delta-coded bytes, and back.
 *
 * Apart from the ring because both sides of the file need it: the writer in hooks and handlers, the reader in tools.
 * The lengths in the head are the idea of group varint (J. Dean, WSDM 2009): no byte is looked at to find where a number
 * ends. */
#include "record_codec.h"

#include <stdbool.h>

enum field_bit {
    FIELD_END = 1 << 0,
    FIELD_LENGTH = 1 << 1,
    FIELD_STACK = 1 << 2,
    FIELD_OFF = 1 << 3,
    FIELD_ALLOC_COUNT = 1 << 4,
    FIELD_ALLOC_BYTES = 1 << 5,
    FIELD_MESSAGE = 1 << 6,
    FIELD_OP = 1 << 7,
    FIELD_OBJECT = 1 << 8,
    FIELD_AMOUNT = 1 << 9,
    FIELD_PEER = 1 << 10,
    FIELD_FLAGS = 1 << 11,
    FIELD_THREAD = 1 << 12,
    FIELD_REPEATS = 1 << 13,
    FIELD_WAIT = 1 << 14,
    FIELD_USAGE = 1 << 15,
};

/* The head of the short form. */
enum short_head {
    SHORT_KIND_MASK = 3,
    SHORT_OP = 1 << 2,
    SHORT_END_3 = 1 << 3,
    SHORT_OFF_SHIFT = 4,
    SHORT_STACK_SHIFT = 6,
    SHORT_STACK_2 = SBX_RECENT_STACKS,
    SHORT_STACK_3 = SBX_RECENT_STACKS + 1,
    SHORT_COUNT_SHIFT = 9,
    SHORT_BYTES_SHIFT = 11,
    SHORT_MESSAGE = 1 << 13,
    SHORT_RUN = 1 << 14,
    SHORT_AMOUNT = 1 << 15,
    SHORT_BITS = 24, /* numbers of the short form are smaller than 1 << SHORT_BITS */
    STACK_INDEX_MASK = 0xffffff,
};

enum {
    LONG_HEAD_BYTES = 3, /* kind and field mask */
    LONG_KIND_SHIFT = 2,
};
static_assert(SBX_RECORD_KINDS <= 64, "a kind has six bits in the long form");

#define UNITS_MASK (UINT64_MAX / SBX_TIME_UNIT_NS) /* units of a time, modulo 2^64 ns */

/* Codes of the kinds that have a short form; 0: none. */
static inline unsigned short_kind(unsigned kind)
{
    const uint64_t codes = UINT64_C(1) << 2 * SBX_RECORD_ALLOC | UINT64_C(2) << 2 * SBX_RECORD_LEAF |
                           UINT64_C(3) << 2 * SBX_RECORD_ASYNC;
    return kind < 32 ? codes >> 2 * kind & 3 : 0;
}

/* The place of a stack among the recent ones; SBX_RECENT_STACKS when it is not there. */
static inline unsigned find_recent(const struct sbx_codec_state *state, uint32_t stack)
{
    const uint32_t *recent = state->recent;
    static_assert(SBX_RECENT_STACKS == 6, "one line for each");
    unsigned place = SBX_RECENT_STACKS; /* written out, so that they become moves: where it is cannot be predicted */
    place = recent[0] == stack ? 0 : place;
    place = recent[1] == stack ? 1 : place;
    place = recent[2] == stack ? 2 : place;
    place = recent[3] == stack ? 3 : place;
    place = recent[4] == stack ? 4 : place;
    place = recent[5] == stack ? 5 : place;
    return place;
}

static inline void keep_recent(struct sbx_codec_state *state, uint32_t stack)
{
    state->recent[state->next_recent] = stack;
    state->next_recent = state->next_recent == SBX_RECENT_STACKS - 1 ? 0 : state->next_recent + 1;
    state->stack_epoch = (uint8_t)(stack >> 24);
}

/* ---- encode ---- */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are stored lowest byte first");

struct unaligned_word {
    uint64_t value;
} __attribute__((packed, may_alias));

/* For what mostly takes one byte. */
static inline uint8_t *put_short_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* For times, counts and ids, whose lengths vary from record to record, so that a loop over the bytes would be
 * mispredicted at most fields: measured 17 against 25 ns a record. The 7-bit groups are spread over the bytes of one
 * word, which is stored whole; what lies beyond the length is overwritten by the next field or never read. The store
 * stays within the 10 bytes SBX_RECORD_BYTES_MAX grants each field. */
static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    if (SBX_UNLIKELY(value >> 56 != 0)) {
        return put_short_varint(at, value); /* more than 8 groups: a time that jumped */
    }
    uint32_t bits = 64 - (uint32_t)__builtin_clzll(value | 1);
    uint32_t length = ((bits + 6) * 37) >> 8; /* bits / 7 rounded up, for 1..56 */
    uint64_t spread = (value & 0x0fffffff) | (value & UINT64_C(0x00fffffff0000000)) << 4;
    spread = (spread & UINT64_C(0x00003fff00003fff)) | (spread & UINT64_C(0x0fffc0000fffc000)) << 2;
    spread = (spread & UINT64_C(0x007f007f007f007f)) | (spread & UINT64_C(0x3f803f803f803f80)) << 1;
    uint64_t more = UINT64_C(0x8080808080808080) & ((UINT64_C(1) << (8 * (length - 1))) - 1);
    ((struct unaligned_word *)(void *)at)->value = spread | more;
    return at + length;
}

/* A small difference of either sign becomes a small number. */
static inline uint64_t zigzag_of(uint64_t now, uint64_t last)
{
    uint64_t difference = now - last;
    return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint8_t *put_nonzero(uint8_t *at, uint32_t *mask, uint32_t bit, uint64_t value)
{
    if (value != 0) {
        *mask |= bit;
        at = put_varint(at, value);
    }
    return at;
}

/* `length` bytes of a number; the word is stored whole, what lies beyond is overwritten by the next field. */
static inline uint8_t *put_bytes(uint8_t *at, uint64_t value, unsigned length)
{
    ((struct unaligned_word *)(void *)at)->value = value;
    return at + length;
}

/* Bytes of a number; 0 for 0. */
static inline unsigned bytes_of(uint64_t value)
{
    return (63 - (unsigned)__builtin_clzll(value << 1 | 1) + 7) / 8;
}

/* What of a record is relative to the ones before it. */
struct growth {
    uint64_t end, length; /* units */
    uint64_t off;         /* zigzag; 0 when CPU time was not read */
    uint64_t alloc_count, alloc_bytes, message;
};

static inline struct growth grow(const struct sbx_codec_state *state, const struct sbx_record *record)
{
    uint64_t end = record->end_ns / SBX_TIME_UNIT_NS, off = end - record->cpu_ns / SBX_TIME_UNIT_NS;
    return (struct growth){.end = end - state->last_end,
                           .length = (end - record->begin_ns / SBX_TIME_UNIT_NS) & UNITS_MASK,
                           .off = record->cpu_ns != 0 ? zigzag_of(off, state->last_off) : 0,
                           .alloc_count = record->alloc_count - state->last_alloc_count,
                           .alloc_bytes = record->alloc_bytes - state->last_alloc_bytes,
                           .message = record->message - state->last_message};
}

static inline void keep_last(struct sbx_codec_state *state, const struct sbx_record *record)
{
    state->last_end = record->end_ns / SBX_TIME_UNIT_NS;
    if (record->cpu_ns != 0) { /* 0 is "not read": the next difference is taken to the last one read */
        state->last_off = state->last_end - record->cpu_ns / SBX_TIME_UNIT_NS;
    }
    state->last_alloc_count = record->alloc_count;
    state->last_alloc_bytes = record->alloc_bytes;
    state->last_message = record->message;
}

static inline bool is_short(const struct sbx_codec_state *state, const struct sbx_record *record,
                            const struct growth *growth, unsigned kind, unsigned recent)
{
    uint64_t large = (growth->end | growth->off | growth->alloc_count | growth->alloc_bytes) >> SHORT_BITS |
                     growth->message >> 8;
    uint64_t others = record->object | record->peer | record->wait | record->flags | record->fd_class |
                      (record->thread ^ state->thread);
    bool has_stack = recent != SBX_RECENT_STACKS ||
                     (record->stack >> 24 == state->stack_epoch && (record->stack & STACK_INDEX_MASK) != 0);
    return kind != 0 && (large | others) == 0 && record->stack != 0 && has_stack;
}

static inline size_t encode_short(struct sbx_codec_state *state, const struct sbx_record *record,
                                  const struct growth *growth, unsigned kind, unsigned recent, uint8_t *out)
{
    uint8_t *at = out + 2;
    uint32_t head = kind;
    if (record->op != state->last_op[kind]) {
        head |= SHORT_OP;
        state->last_op[kind] = record->op;
        *at++ = record->op;
    }
    unsigned length = 2 + (growth->end > 0xffff);
    head |= growth->end > 0xffff ? SHORT_END_3 : 0;
    at = put_bytes(at, growth->end, length);
    if (record->cpu_ns != 0) {
        length = bytes_of(growth->off | 1);
        head |= length << SHORT_OFF_SHIFT;
        at = put_bytes(at, growth->off, length);
    }
    if (recent == SBX_RECENT_STACKS) {
        uint32_t index = record->stack & STACK_INDEX_MASK;
        length = 2 + (index > 0xffff);
        head |= (length == 2 ? SHORT_STACK_2 : SHORT_STACK_3) << SHORT_STACK_SHIFT;
        at = put_bytes(at, index, length);
        keep_recent(state, record->stack);
    } else {
        head |= recent << SHORT_STACK_SHIFT;
    }
    length = bytes_of(growth->alloc_count);
    head |= length << SHORT_COUNT_SHIFT;
    at = put_bytes(at, growth->alloc_count, length);
    length = bytes_of(growth->alloc_bytes);
    head |= length << SHORT_BYTES_SHIFT;
    at = put_bytes(at, growth->alloc_bytes, length);
    if (growth->message != 0) {
        head |= SHORT_MESSAGE;
        *at++ = (uint8_t)growth->message;
    }
    if ((growth->length | record->repeats) != 0) {
        head |= SHORT_RUN;
        at = put_varint(at, growth->length);
        at = put_varint(at, record->repeats);
    }
    at = put_nonzero(at, &head, SHORT_AMOUNT, record->amount);
    out[0] = (uint8_t)head;
    out[1] = (uint8_t)(head >> 8);
    return (size_t)(at - out);
}

/* Takes its own differences: handing them over would put them into memory for the short form too. */
SBX_NOINLINE static size_t encode_long(struct sbx_codec_state *state, const struct sbx_record *record, uint8_t *out)
{
    struct growth growth = grow(state, record);
    uint32_t mask = FIELD_END;
    keep_last(state, record);
    uint8_t *at = put_varint(out + LONG_HEAD_BYTES, zigzag_of(growth.end, 0));
    at = put_nonzero(at, &mask, FIELD_LENGTH, growth.length);
    if (record->stack != 0) {
        at = put_nonzero(at, &mask, FIELD_STACK, record->stack);
        if (find_recent(state, record->stack) == SBX_RECENT_STACKS) {
            keep_recent(state, record->stack);
        }
    }
    if (record->cpu_ns != 0) {
        mask |= FIELD_OFF;
        at = put_varint(at, growth.off);
    }
    at = put_nonzero(at, &mask, FIELD_ALLOC_COUNT, zigzag_of(growth.alloc_count, 0));
    at = put_nonzero(at, &mask, FIELD_ALLOC_BYTES, zigzag_of(growth.alloc_bytes, 0));
    at = put_nonzero(at, &mask, FIELD_MESSAGE, zigzag_of(growth.message, 0));
    if (record->op != 0) {
        mask |= FIELD_OP;
        at = put_short_varint(at, record->op);
    }
    at = put_nonzero(at, &mask, FIELD_OBJECT, record->object);
    at = put_nonzero(at, &mask, FIELD_AMOUNT, record->amount);
    at = put_nonzero(at, &mask, FIELD_PEER, record->peer);
    uint32_t flags = record->flags | (uint32_t)record->fd_class << 8;
    if (flags != 0) {
        mask |= FIELD_FLAGS;
        at = put_short_varint(at, flags);
    }
    if (record->thread != state->thread) { /* present also when it is thread 0 */
        mask |= FIELD_THREAD;
        at = put_varint(at, record->thread);
    }
    at = put_nonzero(at, &mask, FIELD_REPEATS, record->repeats);
    at = put_nonzero(at, &mask, FIELD_WAIT, record->wait);
    if ((record->flags & SBX_FLAG_USAGE) != 0) {
        mask |= FIELD_USAGE;
        at = put_varint(at, record->minor_faults);
        at = put_varint(at, record->major_faults);
        at = put_varint(at, record->voluntary_switches);
        at = put_varint(at, record->involuntary_switches);
    }
    out[0] = (uint8_t)(record->kind << LONG_KIND_SHIFT);
    out[1] = (uint8_t)mask;
    out[2] = (uint8_t)(mask >> 8);
    return (size_t)(at - out);
}

SBX_SIGNAL_SAFE size_t sbx_record_encode(struct sbx_codec_state *state, const struct sbx_record *record, uint8_t *out)
{
    unsigned kind = short_kind(record->kind), recent = find_recent(state, record->stack);
    struct growth growth = grow(state, record);
    if (SBX_UNLIKELY(!is_short(state, record, &growth, kind, recent))) {
        return encode_long(state, record, out);
    }
    keep_last(state, record);
    return encode_short(state, record, &growth, kind, recent, out);
}

/* ---- decode ---- */

struct cursor {
    const uint8_t *at, *end;
    bool failed; /* once set, every further take gives 0 */
};

static uint64_t take_varint(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !cursor->failed && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        if (shift == 63 && byte > 1) {
            break; /* over 64 bits */
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    cursor->failed = true;
    return 0;
}

static uint64_t take_bytes(struct cursor *cursor, unsigned length)
{
    uint64_t value = 0;
    if (cursor->failed || (size_t)(cursor->end - cursor->at) < length) {
        cursor->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < length; i++) {
        value |= (uint64_t)cursor->at[i] << (8 * i);
    }
    cursor->at += length;
    return value;
}

static uint64_t take_field(struct cursor *cursor, uint32_t mask, uint32_t bit, uint64_t max)
{
    if ((mask & bit) == 0) {
        return 0;
    }
    uint64_t value = take_varint(cursor);
    if (value > max) {
        cursor->failed = true;
        return 0;
    }
    return value;
}

static uint64_t unzigzag(uint64_t zigzag)
{
    return zigzag >> 1 ^ (0 - (zigzag & 1));
}

static uint64_t ns_of(uint64_t units)
{
    return (units & UNITS_MASK) * SBX_TIME_UNIT_NS;
}

static void take_end(struct sbx_codec_state *state, uint64_t growth, struct sbx_record *record)
{
    state->last_end += growth;
    record->end_ns = ns_of(state->last_end);
}

static void take_off(struct sbx_codec_state *state, uint64_t zigzag, struct sbx_record *record)
{
    state->last_off += unzigzag(zigzag);
    record->cpu_ns = ns_of(state->last_end - state->last_off);
    record->cpu_ns += record->cpu_ns == 0; /* it was read */
}

static void decode_short(struct cursor *cursor, struct sbx_codec_state *state, uint32_t head, struct sbx_record *record)
{
    static const uint8_t kinds[] = {SBX_RECORD_NONE, SBX_RECORD_ALLOC, SBX_RECORD_LEAF, SBX_RECORD_ASYNC};
    unsigned kind = head & SHORT_KIND_MASK, off_bytes = head >> SHORT_OFF_SHIFT & 3;
    unsigned place = head >> SHORT_STACK_SHIFT & 7;
    record->kind = kinds[kind];
    if (head & SHORT_OP) {
        state->last_op[kind] = (uint8_t)take_bytes(cursor, 1);
    }
    record->op = state->last_op[kind];
    take_end(state, take_bytes(cursor, head & SHORT_END_3 ? 3 : 2), record);
    if (off_bytes != 0) {
        take_off(state, take_bytes(cursor, off_bytes), record);
    }
    if (place < SBX_RECENT_STACKS) {
        record->stack = state->recent[place];
        cursor->failed |= record->stack == 0;
    } else {
        record->stack = (uint32_t)take_bytes(cursor, place == SHORT_STACK_2 ? 2 : 3);
        cursor->failed |= record->stack == 0;
        record->stack |= (uint32_t)state->stack_epoch << 24;
        keep_recent(state, record->stack);
    }
    record->alloc_count = state->last_alloc_count += take_bytes(cursor, head >> SHORT_COUNT_SHIFT & 3);
    record->alloc_bytes = state->last_alloc_bytes += take_bytes(cursor, head >> SHORT_BYTES_SHIFT & 3);
    record->message = state->last_message += take_bytes(cursor, head & SHORT_MESSAGE ? 1 : 0);
    record->begin_ns = ns_of(state->last_end - take_field(cursor, head, SHORT_RUN, UNITS_MASK));
    record->repeats = (uint32_t)take_field(cursor, head, SHORT_RUN, UINT32_MAX);
    record->amount = take_field(cursor, head, SHORT_AMOUNT, UINT64_MAX);
}

static void decode_long(struct cursor *cursor, struct sbx_codec_state *state, uint32_t mask, struct sbx_record *record)
{
    take_end(state, unzigzag(take_varint(cursor)), record);
    record->begin_ns = ns_of(state->last_end - take_field(cursor, mask, FIELD_LENGTH, UNITS_MASK));
    record->stack = (uint32_t)take_field(cursor, mask, FIELD_STACK, UINT32_MAX);
    if (record->stack != 0 && find_recent(state, record->stack) == SBX_RECENT_STACKS) {
        keep_recent(state, record->stack);
    }
    if ((mask & FIELD_OFF) != 0) {
        take_off(state, take_varint(cursor), record);
    }
    state->last_alloc_count += unzigzag(take_field(cursor, mask, FIELD_ALLOC_COUNT, UINT64_MAX));
    state->last_alloc_bytes += unzigzag(take_field(cursor, mask, FIELD_ALLOC_BYTES, UINT64_MAX));
    state->last_message += unzigzag(take_field(cursor, mask, FIELD_MESSAGE, UINT64_MAX));
    record->alloc_count = state->last_alloc_count;
    record->alloc_bytes = state->last_alloc_bytes;
    record->message = state->last_message;
    record->op = (uint8_t)take_field(cursor, mask, FIELD_OP, UINT8_MAX);
    record->object = take_field(cursor, mask, FIELD_OBJECT, UINT64_MAX);
    record->amount = take_field(cursor, mask, FIELD_AMOUNT, UINT64_MAX);
    record->peer = (uint32_t)take_field(cursor, mask, FIELD_PEER, UINT32_MAX);
    uint32_t flags = (uint32_t)take_field(cursor, mask, FIELD_FLAGS, UINT16_MAX);
    record->flags = (uint8_t)flags;
    record->fd_class = (uint8_t)(flags >> 8);
    if ((mask & FIELD_THREAD) != 0) {
        record->thread = (uint32_t)take_field(cursor, mask, FIELD_THREAD, UINT32_MAX);
    }
    record->repeats = (uint32_t)take_field(cursor, mask, FIELD_REPEATS, UINT32_MAX);
    record->wait = (uint32_t)take_field(cursor, mask, FIELD_WAIT, UINT32_MAX);
    record->minor_faults = (uint32_t)take_field(cursor, mask, FIELD_USAGE, UINT32_MAX);
    record->major_faults = (uint32_t)take_field(cursor, mask, FIELD_USAGE, UINT32_MAX);
    record->voluntary_switches = (uint32_t)take_field(cursor, mask, FIELD_USAGE, UINT32_MAX);
    record->involuntary_switches = (uint32_t)take_field(cursor, mask, FIELD_USAGE, UINT32_MAX);
    bool has_usage = (mask & FIELD_USAGE) != 0; /* a record says twice that it has one: both, or neither */
    cursor->failed |= has_usage != ((record->flags & SBX_FLAG_USAGE) != 0);
}

size_t sbx_record_decode(struct sbx_codec_state *state, const uint8_t *bytes, size_t available,
                         struct sbx_record *record_out)
{
    struct sbx_codec_state next = *state; /* moves on only with a whole record */
    struct sbx_record record = {.thread = state->thread};
    struct cursor cursor = {bytes, bytes + available, false};
    uint32_t first = (uint32_t)take_bytes(&cursor, 1);
    if ((first & SHORT_KIND_MASK) != 0) {
        uint32_t head = first | (uint32_t)take_bytes(&cursor, 1) << 8;
        decode_short(&cursor, &next, head, &record);
    } else {
        uint32_t mask = (uint32_t)take_bytes(&cursor, LONG_HEAD_BYTES - 1);
        record.kind = (uint8_t)(first >> LONG_KIND_SHIFT);
        cursor.failed |= record.kind == SBX_RECORD_NONE || record.kind >= SBX_RECORD_KINDS || (mask & FIELD_END) == 0;
        decode_long(&cursor, &next, mask, &record);
    }
    if (cursor.failed) {
        return 0;
    }
    *state = next;
    *record_out = record;
    return (size_t)(cursor.at - bytes);
}
