/* SPDX-License-Identifier: Apache-2.0 */
/* record_encode.c - one record as delta-coded bytes: in hooks and handlers. */
#include "record_form.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are stored lowest byte first");

struct unaligned_word {
    uint64_t value;
} __attribute__((packed, may_alias));

/* For numbers that usually take one byte. */
static inline uint8_t *put_short_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* For times, counts and ids. Their lengths vary from record to record, so a loop over the bytes would be mispredicted
 * at most fields: measured 17 against 25 ns for a record. The 7-bit groups are spread over the bytes of one word, which
 * is stored whole. Bytes beyond the length are overwritten by the next field or never read. The store stays within the
 * 10 bytes that SBX_RECORD_BYTES_MAX has for each field. */
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

/* Store `length` bytes of a number. The whole word is stored; the next field overwrites the bytes beyond. */
static inline uint8_t *put_bytes(uint8_t *at, uint64_t value, unsigned length)
{
    ((struct unaligned_word *)(void *)at)->value = value;
    return at + length;
}

static inline uint64_t in_units(uint64_t ns)
{
    return ns / SBX_TIME_UNIT_NS;
}

/* All ones or none: selects by a condition without a branch. Consecutive samples rarely have the same fields, and a
 * mispredicted branch costs as much as half of the rest of a record. Compilers make branches of "? :" here. */
static inline uint64_t mask_of(bool condition)
{
    return 0 - (uint64_t)condition;
}

static inline uint64_t not_below_zero(uint64_t difference)
{
    return difference & ~(uint64_t)((int64_t)difference >> 63);
}

/* The numbers of a sample in the short form. */
struct short_numbers {
    uint64_t on, off;      /* sample units of growth */
    uint64_t count, bytes; /* growth; bytes in SBX_ALLOC_UNIT */
    uint64_t message;      /* growth */
    uint32_t index;        /* index of the stack's node */
    unsigned kind;         /* enum short_kind; 0: none */
    unsigned recent;       /* place of the stack; SBX_RECENT_STACKS: a new one */
    unsigned code;
};

/* Fill `numbers`. False: the record needs the long form in any case. */
__attribute__((always_inline)) static inline bool
find_numbers(const struct sbx_codec_state *state, const struct sbx_record *record, struct short_numbers *numbers)
{
    uint64_t end = in_units(record->end_ns), begin = in_units(record->begin_ns);
    uint64_t off = end - in_units(record->cpu_ns) - state->last_off; /* sometimes a little below 0 */
    uint64_t grown = (end - state->last_end) / SAMPLE_UNIT, off_grown = not_below_zero(off) / SAMPLE_UNIT;
    numbers->on = not_below_zero(grown - off_grown);
    numbers->off = grown - numbers->on;
    numbers->count = record->alloc_count - state->last_alloc_count;
    numbers->bytes = (record->alloc_bytes - state->last_alloc_bytes) / SBX_ALLOC_UNIT;
    numbers->message = record->message - state->last_message;
    numbers->index = record->stack & STACK_INDEX_MASK;
    numbers->kind = short_kind(record->kind);
    numbers->recent = find_recent(state, record->stack);
    unsigned delay = 63 - DELAY_SHIFT - (unsigned)__builtin_clzll(record->amount | 1);
    delay &= (unsigned)mask_of(delay <= CODE_MASK); /* else the code has no value for its power of two */
    unsigned is_async = (unsigned)mask_of(numbers->kind == SHORT_ASYNC_KIND);
    numbers->code = (delay & is_async) | (record->op & CODE_MASK & ~is_async);
    /* A run begins where its first sample was recorded. Any other sample is a moment. */
    uint64_t is_run = mask_of(record->repeats != 0), slack = SAMPLE_UNIT & is_run;
    bool has_begin = begin - end + ((end - state->last_end) & is_run) + slack <= 2 * slack;
    bool has_stack = (numbers->recent != SBX_RECENT_STACKS) | (record->stack >> 24 == state->stack_epoch);
    uint64_t wrong = (numbers->count | numbers->bytes) / ROUGH_LIMIT | (record->repeats | numbers->message) >> 8 |
                     (off + SBX_CPU_SLACK) >> 63 | (grown + 1 - off_grown) >> 63 | (record->op & is_async) |
                     record->object | record->peer | record->wait | record->fd_class | (record->thread ^ state->thread);
    return (wrong == 0) & (numbers->index != 0) & (record->cpu_ns != 0) & has_begin & has_stack;
}

/* The rare fields of a sample, checked together so that other samples do not check them one by one. */
static inline bool is_plain(const struct sbx_codec_state *state, const struct sbx_record *record,
                            const struct short_numbers *numbers)
{
    uint64_t is_async = mask_of(numbers->kind == SHORT_ASYNC_KIND);
    uint64_t rare = numbers->on >> ON_BITS | numbers->off >> 16 | record->flags | numbers->index >> 16 |
                    (uint64_t)((record->op >> CODE_BITS) ^ state->last_family[numbers->kind]) |
                    (record->amount & ~(is_async & mask_of(numbers->code != 0)));
    return (rare == 0) & (numbers->kind != 0);
}

static inline uint8_t head_of(const struct short_numbers *numbers, unsigned off_bytes, bool has_alloc, bool has_more)
{
    return (uint8_t)(1 + (numbers->kind - 1) * SHORT_OFFS * SHORT_STACKS + off_bytes * SHORT_STACKS + numbers->recent +
                     has_alloc * SHORT_ALLOC + has_more * SHORT_MORE);
}

/* Put both counters. The state continues from the stored values. */
static inline uint8_t *put_allocations(uint8_t *at, struct sbx_codec_state *state, const struct short_numbers *numbers,
                                       bool has_alloc)
{
    const uint32_t count = (uint32_t)numbers->count, bytes = (uint32_t)numbers->bytes;
    const unsigned count_shift = rough_shift(count), bytes_shift = rough_shift(bytes);
    const uint32_t told_count = count >> count_shift, told_bytes = bytes >> bytes_shift;
    state->last_alloc_count += told_count << count_shift;
    state->last_alloc_bytes += (uint64_t)(told_bytes << bytes_shift) * SBX_ALLOC_UNIT;
    at = put_bytes(at, (count_shift << 4) + told_count + (((bytes_shift << 4) + told_bytes) << 8), has_alloc * 2u);
    return at;
}

static inline void keep_times(struct sbx_codec_state *state, const struct short_numbers *numbers)
{
    state->last_end += (numbers->on + numbers->off) * SAMPLE_UNIT;
    state->last_off += numbers->off * SAMPLE_UNIT;
}

/* A sample without rare fields: no branch. */
static inline size_t encode_plain(struct sbx_codec_state *state, const struct sbx_record *record,
                                  const struct short_numbers *numbers, uint8_t *out)
{
    const bool is_run = record->repeats != 0, is_new = numbers->recent == SBX_RECENT_STACKS;
    const bool has_alloc = (numbers->count | numbers->bytes) != 0, has_message = numbers->message != 0;
    const unsigned off_bytes = (numbers->off != 0) + (numbers->off > 0xff);
    out[0] = head_of(numbers, off_bytes, has_alloc, is_run | has_message);
    out[1] = (uint8_t)(is_run * MORE_RUN | has_message * MORE_MESSAGE);
    uint8_t *at = put_bytes(out + 1 + (is_run | has_message), numbers->on << CODE_BITS | numbers->code, 2);
    at = put_bytes(at, numbers->off, off_bytes);
    at = put_bytes(at, numbers->index, is_new * 2u);
    at = put_allocations(at, state, numbers, has_alloc);
    at = put_bytes(at, record->repeats, is_run);
    at = put_bytes(at, numbers->message, has_message);
    state->last_message = record->message;
    keep_times(state, numbers);
    keep_recent(state, record->stack, is_new);
    return (size_t)(at - out);
}

/* Differences of faults and switches, which every 64th sample has. */
static uint8_t *put_usage(uint8_t *at, struct sbx_codec_state *state, const struct sbx_record *record)
{
    const uint32_t usage[] = {record->minor_faults, record->major_faults, record->voluntary_switches,
                              record->involuntary_switches};
    for (unsigned i = 0; i < SBX_COUNT_OF(usage); i++) {
        at = put_varint(at, usage[i] - state->last_usage[i]);
        state->last_usage[i] = usage[i];
    }
    return at;
}

static size_t encode_short(struct sbx_codec_state *state, const struct sbx_record *record,
                           const struct short_numbers *numbers, uint8_t *out)
{
    const bool is_async = numbers->kind == SHORT_ASYNC_KIND, is_new = numbers->recent == SBX_RECENT_STACKS;
    const bool has_alloc = (numbers->count | numbers->bytes) != 0, is_far = numbers->index > 0xffff;
    const unsigned off_bytes = (numbers->off != 0) + (numbers->off > 0xff);
    const unsigned is_wide = numbers->on >> ON_BITS != 0 || numbers->off > 0xffff;
    const uint8_t family = record->op >> CODE_BITS;
    unsigned more = is_wide ? MORE_WIDE : 0;
    more |= record->repeats != 0 ? MORE_RUN : 0;
    more |= family != state->last_family[numbers->kind] ? MORE_OP : 0;
    more |= numbers->message != 0 ? MORE_MESSAGE : 0;
    more |= record->amount != 0 && (!is_async || numbers->code == 0) ? MORE_AMOUNT : 0;
    more |= record->flags != 0 ? MORE_USAGE : 0;
    more |= is_new && is_far ? MORE_FAR : 0;

    out[0] = head_of(numbers, off_bytes, has_alloc, more != 0);
    out[1] = (uint8_t)more;
    uint8_t *at = out + 1 + (more != 0);
    at = put_bytes(at, numbers->on << CODE_BITS | numbers->code, 2 + is_wide);
    at = put_bytes(at, numbers->off, off_bytes == 2 ? 2 + is_wide : off_bytes);
    at = put_bytes(at, numbers->index, is_new ? 2u + is_far : 0);
    at = put_allocations(at, state, numbers, has_alloc);
    at = put_bytes(at, record->repeats, record->repeats != 0);
    at = put_bytes(at, numbers->message, numbers->message != 0);
    if (more & MORE_OP) {
        *at++ = record->op;
        state->last_family[numbers->kind] = family;
    }
    if (more & MORE_AMOUNT) {
        at = put_varint(at, record->amount);
    }
    if (more & MORE_USAGE) {
        at = put_usage(at, state, record);
    }
    keep_times(state, numbers);
    keep_recent(state, record->stack, is_new);
    state->last_message = record->message;
    return (size_t)(at - out);
}

static size_t encode_long(struct sbx_codec_state *state, const struct sbx_record *record, uint8_t *out)
{
    const uint64_t end = in_units(record->end_ns);
    const uint64_t count = record->alloc_count - state->last_alloc_count,
                   bytes = record->alloc_bytes - state->last_alloc_bytes;
    uint32_t head = (uint32_t)record->kind << LONG_KIND_SHIFT;
    uint8_t *at = put_varint(out + LONG_HEAD_BYTES, zigzag_of(end, state->last_end));
    at = put_nonzero(at, &head, FIELD_LENGTH, (end - in_units(record->begin_ns)) & UNITS_MASK);
    if (record->stack != 0) {
        at = put_nonzero(at, &head, FIELD_STACK, record->stack);
        keep_recent(state, record->stack, find_recent(state, record->stack) == SBX_RECENT_STACKS);
    }
    /* 0 is "not read": the next difference is taken to the last time that was read. */
    if (record->cpu_ns != 0) {
        const uint64_t off = end - in_units(record->cpu_ns);
        head |= FIELD_OFF;
        at = put_varint(at, zigzag_of(off, state->last_off));
        state->last_off = off;
    }
    if ((count | bytes) != 0) {
        head |= FIELD_ALLOC;
        at = put_varint(at, zigzag_of(count, 0));
        at = put_varint(at, zigzag_of(bytes, 0));
    }
    at = put_nonzero(at, &head, FIELD_MESSAGE, zigzag_of(record->message, state->last_message));
    if (record->op != 0) {
        head |= FIELD_OP;
        at = put_short_varint(at, record->op);
    }
    at = put_nonzero(at, &head, FIELD_OBJECT, record->object);
    at = put_nonzero(at, &head, FIELD_AMOUNT, record->amount);
    at = put_nonzero(at, &head, FIELD_PEER, record->peer);
    uint32_t flags = record->flags | (uint32_t)record->fd_class << 8;
    if (flags != 0) {
        head |= FIELD_FLAGS;
        at = put_short_varint(at, flags);
    }
    if (record->thread != state->thread) { /* present also for thread 0 */
        head |= FIELD_THREAD;
        at = put_varint(at, record->thread);
    }
    at = put_nonzero(at, &head, FIELD_REPEATS, record->repeats);
    at = put_nonzero(at, &head, FIELD_WAIT, record->wait);
    if ((record->flags & SBX_FLAG_USAGE) != 0) {
        at = put_usage(at, state, record);
    }
    state->last_end = end;
    state->last_alloc_count = record->alloc_count;
    state->last_alloc_bytes = record->alloc_bytes;
    state->last_message = record->message;
    out[0] = (uint8_t)head;
    out[1] = (uint8_t)(head >> 8);
    out[2] = (uint8_t)(head >> 16);
    return (size_t)(at - out);
}

/* A separate function that starts from the beginning, so that the values of plain samples stay in registers. */
SBX_NOINLINE static size_t encode_rare(struct sbx_codec_state *state, const struct sbx_record *record, uint8_t *out)
{
    struct short_numbers numbers;
    bool is_short = find_numbers(state, record, &numbers) && numbers.kind != 0 && numbers.on >> ON_WIDE_BITS == 0 &&
                    numbers.off >> OFF_WIDE_BITS == 0 && (record->flags & ~SBX_FLAG_USAGE) == 0;
    return is_short ? encode_short(state, record, &numbers, out) : encode_long(state, record, out);
}

SBX_SIGNAL_SAFE size_t sbx_record_encode(struct sbx_codec_state *state, const struct sbx_record *record, uint8_t *out)
{
    struct short_numbers numbers;
    /* One branch for both conditions. */
    if (SBX_LIKELY((int)find_numbers(state, record, &numbers) & (int)is_plain(state, record, &numbers))) {
        return encode_plain(state, record, &numbers, out);
    }
    return encode_rare(state, record, out);
}
