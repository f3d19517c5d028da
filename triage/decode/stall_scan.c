/* SPDX-License-Identifier: Apache-2.0 */
/* stall_scan.c - checks a protobuf body before a parser allocates anything for it.
 *
 * protobuf-c allocates for each field and merges repeated sub-messages. Both are attack surface that the agent's
 * payloads never need. The schema has two levels, so this has two functions and no recursion. */
#include "stall_scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <stallbox/v1/payload.pb-c.h>

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
};

struct cursor {
    const uint8_t *at, *end;
};

/* One encoded field. */
struct field {
    uint32_t number;
    uint32_t wire_type;
    struct cursor content; /* WIRE_BYTES */
};

struct scan {
    char *why;
    size_t why_bytes;
    uint32_t unknown_count;
};

static int refuse(struct scan *scan, const char *what, const char *message, const char *field)
{
    snprintf(scan->why, scan->why_bytes, "%s.%s: %s", message, field, what);
    return -EPROTO;
}

static bool read_varint(struct cursor *cursor, uint64_t *value_out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (byte < 0x80) {
            *value_out = value;
            return true;
        }
    }
    return false;
}

static bool skip_bytes(struct cursor *cursor, uint64_t count)
{
    if (count > (uint64_t)(cursor->end - cursor->at)) {
        return false;
    }
    cursor->at += count;
    return true;
}

/* Read the next field from `cursor`; false if the bytes are not a field. */
static bool take_field(struct cursor *cursor, struct field *field_out)
{
    uint64_t tag, value;
    if (!read_varint(cursor, &tag) || tag > UINT32_MAX || tag >> 3 == 0) {
        return false;
    }
    field_out->number = (uint32_t)(tag >> 3);
    field_out->wire_type = (uint32_t)(tag & 7);
    field_out->content = (struct cursor){NULL, NULL};
    switch (field_out->wire_type) {
    case WIRE_VARINT:
        return read_varint(cursor, &value);
    case WIRE_FIXED64:
        return skip_bytes(cursor, 8);
    case WIRE_FIXED32:
        return skip_bytes(cursor, 4);
    case WIRE_BYTES:
        if (!read_varint(cursor, &value)) {
            return false;
        }
        field_out->content.at = cursor->at;
        if (!skip_bytes(cursor, value)) {
            return false;
        }
        field_out->content.end = cursor->at;
        return true;
    default: /* groups, and wire types without a meaning */
        return false;
    }
}

/* Number of varints in a packed column; SIZE_MAX if its end is not the end of one. */
static size_t count_varints(struct cursor column)
{
    size_t count = 0;
    unsigned length = 0;
    for (; column.at < column.end; column.at++) {
        length++;
        if (length > 10) {
            return SIZE_MAX;
        }
        if (*column.at < 0x80) {
            count++;
            length = 0;
        }
    }
    return length == 0 ? count : SIZE_MAX;
}

/* Maximum number of rows in a column of `message`. */
static size_t rows_max(const ProtobufCMessageDescriptor *message)
{
    static const struct {
        const ProtobufCMessageDescriptor *message;
        size_t rows;
    } limits[] = {
        {&stallbox__v1__modules__descriptor, SBX_STALL_MODULES_MAX},
        {&stallbox__v1__threads__descriptor, SBX_STALL_THREADS_MAX},
        {&stallbox__v1__frames__descriptor, SBX_STALL_FRAMES_MAX},
        {&stallbox__v1__functions__descriptor, SBX_STALL_FUNCTIONS_MAX},
        {&stallbox__v1__callstacks__descriptor, SBX_STALL_CALLSTACKS_MAX},
        {&stallbox__v1__records__descriptor, SBX_STALL_RECORDS_MAX},
        {&stallbox__v1__watches__descriptor, SBX_STALL_WATCHES_MAX},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (limits[i].message == message) {
            return limits[i].rows;
        }
    }
    return 64; /* short lists: drops, app_version */
}

/* Check one field against its descriptor. `seen` has a bit for each field number that was found; `items` counts
 * repeated bytes. */
static int check_field(struct scan *scan, const ProtobufCMessageDescriptor *message, const struct field *field,
                       uint64_t *seen, size_t *items)
{
    const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(message, field->number);
    if (known == NULL) {
        if (++scan->unknown_count > SBX_STALL_UNKNOWN_MAX) {
            return refuse(scan, "too many unknown fields", message->short_name, "?");
        }
        return 0;
    }
    bool repeated = known->label == PROTOBUF_C_LABEL_REPEATED;
    bool bytes = known->type == PROTOBUF_C_TYPE_BYTES;
    uint32_t expected = repeated || bytes || known->type == PROTOBUF_C_TYPE_MESSAGE ? WIRE_BYTES : WIRE_VARINT;
    if (field->wire_type != expected) {
        return refuse(scan, "wrong wire type", message->short_name, known->name);
    }
    if (repeated && bytes) {
        if (++*items > rows_max(message)) {
            return refuse(scan, "too many rows", message->short_name, known->name);
        }
    } else {
        if (field->number > 63 || (*seen >> field->number & 1) != 0) {
            return refuse(scan, "appears twice", message->short_name, known->name);
        }
        *seen |= UINT64_C(1) << field->number;
    }
    if (bytes && field->content.end - field->content.at > 32) {
        return refuse(scan, "too long", message->short_name, known->name);
    }
    if (repeated && !bytes) {
        size_t rows = count_varints(field->content);
        if (rows == SIZE_MAX) {
            return refuse(scan, "is no packed column", message->short_name, known->name);
        }
        if (rows > rows_max(message)) {
            return refuse(scan, "too many rows", message->short_name, known->name);
        }
    }
    return 0;
}

static int scan_table(struct scan *scan, const ProtobufCMessageDescriptor *message, struct cursor cursor)
{
    uint64_t seen = 0;
    size_t items = 0;
    while (cursor.at < cursor.end) {
        struct field field;
        if (!take_field(&cursor, &field)) {
            return refuse(scan, "not protobuf", "Payload", message->short_name);
        }
        int result = check_field(scan, message, &field, &seen, &items);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

int sbx_stall_scan(const uint8_t *body, size_t bytes, char *why, size_t why_bytes)
{
    const ProtobufCMessageDescriptor *payload = &stallbox__v1__payload__descriptor;
    struct scan scan = {why, why_bytes, 0};
    struct cursor cursor = {body, body + bytes};
    uint64_t seen = 0;
    size_t items = 0;
    while (cursor.at < cursor.end) {
        struct field field;
        if (!take_field(&cursor, &field)) {
            snprintf(why, why_bytes, "not protobuf at byte %zu of the body", (size_t)(cursor.at - body));
            return -EPROTO;
        }
        int result = check_field(&scan, payload, &field, &seen, &items);
        if (result != 0) {
            return result;
        }
        const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(payload, field.number);
        if (known != NULL && known->type == PROTOBUF_C_TYPE_MESSAGE) {
            result = scan_table(&scan, known->descriptor, field.content);
            if (result != 0) {
                return result;
            }
        }
    }
    return 0;
}
