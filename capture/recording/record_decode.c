/* SPDX-License-Identifier: Apache-2.0 */
/* record_decode.c - decodes a record from delta-coded bytes: for readers of a recording, which may hold any bytes. */
#include "record_form.h"

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

static void take_off(struct sbx_codec_state *state, uint64_t growth, struct sbx_record *record)
{
    state->last_off += growth;
    record->cpu_ns = ns_of(state->last_end - state->last_off);
    record->cpu_ns += record->cpu_ns == 0; /* 0 means "not read", and it was read */
}

static void take_code(const struct sbx_codec_state *state, unsigned code, unsigned kind, struct sbx_record *record)
{
    static const uint8_t kinds[] = {SBX_RECORD_NONE, SBX_RECORD_ALLOC, SBX_RECORD_LEAF, SBX_RECORD_ASYNC};
    record->kind = kinds[kind];
    if (kind != SHORT_ASYNC_KIND) {
        record->op = (uint8_t)(state->last_family[kind] << CODE_BITS | code);
    } else if (code != 0) {
        record->amount = UINT64_C(1) << (code + DELAY_SHIFT);
    }
}

static void take_usage(struct cursor *cursor, struct sbx_codec_state *state, struct sbx_record *record)
{
    uint32_t *const fields[] = {&record->minor_faults, &record->major_faults, &record->voluntary_switches,
                                &record->involuntary_switches};
    for (unsigned i = 0; i < SBX_COUNT_OF(fields); i++) {
        uint64_t growth = take_varint(cursor);
        cursor->failed |= growth > UINT32_MAX;
        *fields[i] = state->last_usage[i] += (uint32_t)growth;
    }
}

static void decode_short(struct cursor *cursor, struct sbx_codec_state *state, uint32_t head, struct sbx_record *record)
{
    unsigned more = head & SHORT_MORE ? (unsigned)take_bytes(cursor, 1) : 0;
    unsigned packed = (head & SHORT_FORM_MASK) - 1, place = packed % SHORT_STACKS;
    unsigned off_bytes = packed / SHORT_STACKS % SHORT_OFFS, wide = more & MORE_WIDE ? 1 : 0;
    uint64_t begin = state->last_end;
    cursor->failed |= (head & SHORT_MORE) != 0 && (more == 0 || more > MORE_MASK);
    uint64_t on = take_bytes(cursor, 2 + wide), off = take_bytes(cursor, off_bytes + (off_bytes == 2 ? wide : 0));
    unsigned kind = packed / SHORT_STACKS / SHORT_OFFS + 1;
    take_code(state, on & CODE_MASK, kind, record);
    take_end(state, ((on >> CODE_BITS) + off) * SAMPLE_UNIT, record);
    take_off(state, off * SAMPLE_UNIT, record);
    if (place < SBX_RECENT_STACKS) {
        record->stack = state->recent[place];
        cursor->failed |= record->stack == 0;
    } else {
        record->stack = (uint32_t)take_bytes(cursor, more & MORE_FAR ? 3 : 2);
        cursor->failed |= record->stack == 0;
        record->stack |= (uint32_t)state->stack_epoch << 24;
        keep_recent(state, record->stack, true);
    }
    if ((head & SHORT_ALLOC) != 0) {
        state->last_alloc_count += from_rough((unsigned)take_bytes(cursor, 1));
        state->last_alloc_bytes += (uint64_t)from_rough((unsigned)take_bytes(cursor, 1)) * SBX_ALLOC_UNIT;
    }
    record->alloc_count = state->last_alloc_count;
    record->alloc_bytes = state->last_alloc_bytes;
    if ((more & MORE_RUN) != 0) {
        record->repeats = (uint32_t)take_bytes(cursor, 1);
        cursor->failed |= record->repeats == 0;
    }
    record->message = state->last_message += take_bytes(cursor, more & MORE_MESSAGE ? 1 : 0);
    if ((more & MORE_OP) != 0) {
        record->op = (uint8_t)take_bytes(cursor, 1);
        state->last_family[kind] = record->op >> CODE_BITS;
        cursor->failed |= kind == SHORT_ASYNC_KIND;
    }
    record->begin_ns = more & MORE_RUN ? ns_of(begin) : record->end_ns;
    if ((more & MORE_AMOUNT) != 0) {
        record->amount = take_varint(cursor);
    }
    if ((more & MORE_USAGE) != 0) {
        record->flags = SBX_FLAG_USAGE;
        take_usage(cursor, state, record);
    }
}

static void decode_long(struct cursor *cursor, struct sbx_codec_state *state, uint32_t head, struct sbx_record *record)
{
    record->kind = (uint8_t)(head >> LONG_KIND_SHIFT & LONG_KIND_MASK);
    cursor->failed |= record->kind == SBX_RECORD_NONE || record->kind >= SBX_RECORD_KINDS;
    take_end(state, unzigzag(take_varint(cursor)), record);
    record->begin_ns = ns_of(state->last_end - take_field(cursor, head, FIELD_LENGTH, UNITS_MASK));
    record->stack = (uint32_t)take_field(cursor, head, FIELD_STACK, UINT32_MAX);
    if (record->stack != 0) {
        keep_recent(state, record->stack, find_recent(state, record->stack) == SBX_RECENT_STACKS);
    }
    if ((head & FIELD_OFF) != 0) {
        take_off(state, unzigzag(take_varint(cursor)), record);
    }
    state->last_alloc_count += unzigzag(take_field(cursor, head, FIELD_ALLOC, UINT64_MAX));
    state->last_alloc_bytes += unzigzag(take_field(cursor, head, FIELD_ALLOC, UINT64_MAX));
    state->last_message += unzigzag(take_field(cursor, head, FIELD_MESSAGE, UINT64_MAX));
    record->alloc_count = state->last_alloc_count;
    record->alloc_bytes = state->last_alloc_bytes;
    record->message = state->last_message;
    record->op = (uint8_t)take_field(cursor, head, FIELD_OP, UINT8_MAX);
    record->object = take_field(cursor, head, FIELD_OBJECT, UINT64_MAX);
    record->amount = take_field(cursor, head, FIELD_AMOUNT, UINT64_MAX);
    record->peer = (uint32_t)take_field(cursor, head, FIELD_PEER, UINT32_MAX);
    uint32_t flags = (uint32_t)take_field(cursor, head, FIELD_FLAGS, UINT16_MAX);
    record->flags = (uint8_t)flags;
    record->fd_class = (uint8_t)(flags >> 8);
    if ((head & FIELD_THREAD) != 0) {
        record->thread = (uint32_t)take_field(cursor, head, FIELD_THREAD, UINT32_MAX);
    }
    record->repeats = (uint32_t)take_field(cursor, head, FIELD_REPEATS, UINT32_MAX);
    record->wait = (uint32_t)take_field(cursor, head, FIELD_WAIT, UINT32_MAX);
    if ((record->flags & SBX_FLAG_USAGE) != 0) {
        take_usage(cursor, state, record);
    }
}

size_t sbx_record_decode(struct sbx_codec_state *state, const uint8_t *bytes, size_t available,
                         struct sbx_record *record_out)
{
    struct sbx_codec_state next = *state; /* updated only by a whole record */
    struct sbx_record record = {.thread = state->thread};
    struct cursor cursor = {bytes, bytes + available, false};
    uint32_t head = (uint32_t)take_bytes(&cursor, 1);
    if ((head & SHORT_FORM_MASK) != 0) {
        decode_short(&cursor, &next, head, &record);
    } else {
        head |= (uint32_t)take_bytes(&cursor, LONG_HEAD_BYTES - 1) << 8;
        decode_long(&cursor, &next, head, &record);
    }
    if (cursor.failed) {
        return 0;
    }
    *state = next;
    *record_out = record;
    return (size_t)(cursor.at - bytes);
}
