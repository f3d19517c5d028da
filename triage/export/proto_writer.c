/* SPDX-License-Identifier: Apache-2.0 */
/* proto_writer.c - writes protobuf fields into a growing buffer. */
#include "proto_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "clean_text.h"

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    VARINT_MAX = 10
};

void sbx_proto_writer_init(struct sbx_proto_writer *writer)
{
    *writer = (struct sbx_proto_writer){0};
}

void sbx_proto_writer_finish(struct sbx_proto_writer *writer)
{
    free(writer->bytes);
    *writer = (struct sbx_proto_writer){0};
}

void sbx_proto_writer_clear(struct sbx_proto_writer *writer)
{
    writer->count = 0;
}

/* Make room for `more` bytes. If it fails, returns false and sets `failed`. */
static bool reserve(struct sbx_proto_writer *writer, size_t more)
{
    if (writer->failed) {
        return false;
    }
    if (more <= writer->capacity - writer->count) {
        return true;
    }
    size_t capacity = writer->capacity == 0 ? 256 : writer->capacity;
    while (capacity - writer->count < more) {
        if (capacity > SIZE_MAX / 2) {
            writer->failed = true;
            return false;
        }
        capacity *= 2;
    }
    uint8_t *grown = realloc(writer->bytes, capacity);
    if (grown == NULL) {
        writer->failed = true;
        return false;
    }
    writer->bytes = grown;
    writer->capacity = capacity;
    return true;
}

static size_t encode_varint(uint8_t *out, uint64_t value)
{
    size_t count = 0;
    while (value >= 0x80) {
        out[count++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[count++] = (uint8_t)value;
    return count;
}

void sbx_proto_put_packed(struct sbx_proto_writer *writer, uint64_t value)
{
    if (reserve(writer, VARINT_MAX)) {
        writer->count += encode_varint(writer->bytes + writer->count, value);
    }
}

static void put_tag(struct sbx_proto_writer *writer, uint32_t field, uint32_t wire)
{
    sbx_proto_put_packed(writer, (uint64_t)field << 3 | wire);
}

void sbx_proto_put_varint(struct sbx_proto_writer *writer, uint32_t field, uint64_t value)
{
    put_tag(writer, field, WIRE_VARINT);
    sbx_proto_put_packed(writer, value);
}

void sbx_proto_put_fixed64(struct sbx_proto_writer *writer, uint32_t field, uint64_t value)
{
    put_tag(writer, field, WIRE_FIXED64);
    if (!reserve(writer, 8)) {
        return;
    }
    for (unsigned i = 0; i < 8; i++) {
        writer->bytes[writer->count++] = (uint8_t)(value >> (8 * i));
    }
}

void sbx_proto_put_double(struct sbx_proto_writer *writer, uint32_t field, double value)
{
    uint64_t bits;
    static_assert(sizeof bits == sizeof value, "an IEEE double");
    memcpy(&bits, &value, sizeof bits);
    sbx_proto_put_fixed64(writer, field, bits);
}

void sbx_proto_put_bytes(struct sbx_proto_writer *writer, uint32_t field, const void *bytes, size_t count)
{
    put_tag(writer, field, WIRE_BYTES);
    sbx_proto_put_packed(writer, count);
    if (count > 0 && reserve(writer, count)) {
        memcpy(writer->bytes + writer->count, bytes, count);
        writer->count += count;
    }
}

void sbx_proto_put_text(struct sbx_proto_writer *writer, uint32_t field, const char *text)
{
    char clean[SBX_CLEAN_TEXT_BYTES];
    size_t count = sbx_clean_text(text, clean, sizeof clean);
    sbx_proto_put_bytes(writer, field, clean, count);
}

size_t sbx_proto_message_begin(struct sbx_proto_writer *writer, uint32_t field)
{
    put_tag(writer, field, WIRE_BYTES);
    return writer->count; /* the length will be written here */
}

/* The length is known only now, so the content moves up by the one or more bytes that the length takes. This is shorter
 * than the four padded bytes that other writers reserve, and most messages here have a few dozen bytes. */
void sbx_proto_message_end(struct sbx_proto_writer *writer, size_t mark)
{
    if (writer->failed) {
        return;
    }
    size_t length = writer->count - mark;
    uint8_t encoded[VARINT_MAX];
    size_t count = encode_varint(encoded, length);
    if (!reserve(writer, count)) {
        return;
    }
    memmove(writer->bytes + mark + count, writer->bytes + mark, length);
    memcpy(writer->bytes + mark, encoded, count);
    writer->count += count;
}
