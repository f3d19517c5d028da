/* SPDX-License-Identifier: Apache-2.0 */
/* proto_reader.h - reads protobuf without a schema, for tests of writers. Test code: damaged bytes abort. */
#ifndef SBX_PROTO_READER_H
#define SBX_PROTO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto_reader {
    const uint8_t *at, *end;
};

struct proto_field {
    uint32_t number, wire;
    uint64_t value;       /* of varint and fixed64 */
    const uint8_t *bytes; /* of a length-delimited field; borrowed */
    size_t count;
};

/* Read the next field; false at the end. */
bool proto_reader_next(struct proto_reader *reader, struct proto_field *field);
uint64_t proto_reader_varint(struct proto_reader *reader);

static inline struct proto_reader proto_reader_of(const void *bytes, size_t count)
{
    return (struct proto_reader){bytes, (const uint8_t *)bytes + count};
}

/* The first field of this number in a message; number 0 in the result when there is none. */
struct proto_field proto_find(const void *bytes, size_t count, uint32_t number);

#endif
