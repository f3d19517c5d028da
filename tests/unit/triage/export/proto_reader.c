/* SPDX-License-Identifier: Apache-2.0 */
/* proto_reader.c - reads protobuf without a schema, for tests of writers. */
#include "proto_reader.h"

#include <stdio.h>
#include <stdlib.h>

static void require(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "proto_reader: %s\n", what);
        abort();
    }
}

uint64_t proto_reader_varint(struct proto_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        require(reader->at < reader->end, "varint cut off");
        uint8_t byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    require(false, "varint too long");
    return 0;
}

bool proto_reader_next(struct proto_reader *reader, struct proto_field *field)
{
    if (reader->at == reader->end) {
        return false;
    }
    uint64_t tag = proto_reader_varint(reader);
    *field = (struct proto_field){.number = (uint32_t)(tag >> 3), .wire = (uint32_t)(tag & 7)};
    require(field->number != 0, "field number 0");
    switch (field->wire) {
    case 0:
        field->value = proto_reader_varint(reader);
        break;
    case 1:
        require(reader->end - reader->at >= 8, "fixed64 cut off");
        for (unsigned i = 0; i < 8; i++) {
            field->value |= (uint64_t)*reader->at++ << (8 * i);
        }
        break;
    case 2:
        field->count = proto_reader_varint(reader);
        require((size_t)(reader->end - reader->at) >= field->count, "bytes cut off");
        field->bytes = reader->at;
        reader->at += field->count;
        break;
    default:
        require(false, "wire type that is never written");
    }
    return true;
}

struct proto_field proto_find(const void *bytes, size_t count, uint32_t number)
{
    struct proto_reader reader = proto_reader_of(bytes, count);
    struct proto_field field;
    while (proto_reader_next(&reader, &field)) {
        if (field.number == number) {
            return field;
        }
    }
    return (struct proto_field){0};
}
