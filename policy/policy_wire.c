/* SPDX-License-Identifier: Apache-2.0 */
/* policy_wire.c - varints, tags and lengths. */
#include "policy_wire.h"

#include <string.h>

static bool read_varint(struct sbx_wire_reader *reader, uint64_t *value_out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;
        if (shift == 63 && byte > 1) {
            return false; /* more than 64 bits */
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            *value_out = value;
            return true;
        }
    }
    return false;
}

static bool skip_fixed(struct sbx_wire_reader *reader, size_t bytes, uint64_t *value_out)
{
    if ((size_t)(reader->end - reader->at) < bytes) {
        return false;
    }
    *value_out = 0;
    for (size_t i = 0; i < bytes; i++) {
        *value_out |= (uint64_t)reader->at[i] << 8 * i;
    }
    reader->at += bytes;
    return true;
}

int sbx_wire_next(struct sbx_wire_reader *reader, struct sbx_wire_field *field_out)
{
    uint64_t tag, length;
    if (reader->at == reader->end) {
        return 0;
    }
    if (!read_varint(reader, &tag) || tag >> 3 == 0 || tag >> 32 != 0) {
        return -1;
    }
    *field_out =
        (struct sbx_wire_field){.number = (uint32_t)(tag >> 3), .type = (uint32_t)(tag & 7), .bytes = reader->at};
    switch (field_out->type) {
    case SBX_WIRE_NUMBER:
        return read_varint(reader, &field_out->value) ? 1 : -1;
    case SBX_WIRE_FIXED64:
        return skip_fixed(reader, 8, &field_out->value) ? 1 : -1;
    case SBX_WIRE_FIXED32:
        return skip_fixed(reader, 4, &field_out->value) ? 1 : -1;
    case SBX_WIRE_BYTES:
        if (!read_varint(reader, &length) || length > (size_t)(reader->end - reader->at)) {
            return -1;
        }
        field_out->bytes = reader->at;
        field_out->count = (size_t)length;
        reader->at += length;
        return 1;
    default:
        return -1; /* groups, and invalid types */
    }
}

bool sbx_wire_repeats(uint64_t *seen, uint32_t number, uint32_t last)
{
    uint64_t bit = number <= last ? UINT64_C(1) << number : 0;
    bool repeats = (*seen & bit) != 0;
    *seen |= bit;
    return repeats;
}

static void put_varint(struct sbx_wire_writer *writer, uint64_t value)
{
    do {
        if (writer->used == writer->room) {
            writer->is_full = true;
            return;
        }
        writer->bytes[writer->used++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
}

void sbx_wire_put_number(struct sbx_wire_writer *writer, uint32_t number, uint64_t value)
{
    put_varint(writer, (uint64_t)number << 3 | SBX_WIRE_NUMBER);
    put_varint(writer, value);
}

void sbx_wire_put_bytes(struct sbx_wire_writer *writer, uint32_t number, const void *bytes, size_t count)
{
    put_varint(writer, (uint64_t)number << 3 | SBX_WIRE_BYTES);
    put_varint(writer, count);
    if (count > writer->room - writer->used) {
        writer->is_full = true;
        return;
    }
    if (count > 0) {
        memcpy(writer->bytes + writer->used, bytes, count);
    }
    writer->used += count;
}
