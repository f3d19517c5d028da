/* SPDX-License-Identifier: Apache-2.0 */
/* policy_wire.h - the part of protobuf's wire format that flat messages of numbers need, without allocation or
 * recursion.
 *
 * protobuf-c is not used: it allocates for every repeated and every unknown field and has no depth limit, and the bytes
 * read here come from outside. Two readers of one message must agree: a number with more bytes than necessary is
 * accepted, and the caller must refuse a field that occurs twice but may occur only once. Groups are refused. */
#ifndef SBX_POLICY_WIRE_H
#define SBX_POLICY_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sbx_wire_type {
    SBX_WIRE_NUMBER = 0,
    SBX_WIRE_FIXED64 = 1,
    SBX_WIRE_BYTES = 2,
    SBX_WIRE_FIXED32 = 5
};

/* The unread part of a message. */
struct sbx_wire_reader {
    const uint8_t *at, *end;
};

struct sbx_wire_field {
    uint32_t number;      /* 1..2^29-1 */
    uint32_t type;        /* enum sbx_wire_type */
    uint64_t value;       /* for a number */
    const uint8_t *bytes; /* for bytes, else `count` is 0; borrowed from the message, never NULL */
    size_t count;
};

/* The next field. Returns 1; 0 at the end of the message; -1 when the bytes are no valid message. Pure. */
int sbx_wire_next(struct sbx_wire_reader *reader, struct sbx_wire_field *field_out);

/* Was a field of this number seen before? Numbers above `last` (at most 63) are unknown and may be repeated. *seen must
 * be 0 at first. */
bool sbx_wire_repeats(uint64_t *seen, uint32_t number, uint32_t last);

/* A message that is written into the caller's bytes. A field that does not fit sets `is_full` and is dropped. */
struct sbx_wire_writer {
    uint8_t *bytes;
    size_t used, room;
    bool is_full;
};

void sbx_wire_put_number(struct sbx_wire_writer *writer, uint32_t number, uint64_t value);
void sbx_wire_put_bytes(struct sbx_wire_writer *writer, uint32_t number, const void *bytes, size_t count);

#endif
