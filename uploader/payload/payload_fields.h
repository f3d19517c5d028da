/* SPDX-License-Identifier: Apache-2.0 */
/* payload_fields.h - payload.proto as a table: each field's type, its allowed values, and its meaning for a person.
 *
 * The table is written by hand and not generated, because it is an independent check. The verifier refuses every field
 * that is not in it, and `stallbox show` prints its explanations. A unit test compares it with the generated
 * descriptors, so that neither can be changed alone. */
#ifndef SBX_PAYLOAD_FIELDS_H
#define SBX_PAYLOAD_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sbx_payload_message {
    SBX_IN_PAYLOAD = 0,
    SBX_IN_PLATFORM,
    SBX_IN_POLICY,
    SBX_IN_TRIGGER,
    SBX_IN_MODULES,
    SBX_IN_THREADS,
    SBX_IN_FRAMES,
    SBX_IN_CALLSTACKS,
    SBX_IN_RECORDS,
    SBX_IN_REDACTIONS,
    SBX_IN_WATCHES,
    SBX_IN_FUNCTIONS,
    SBX_IN_OVERHEAD,
    SBX_IN_SAMPLING,
    SBX_IN_PROCESSES,
    SBX_IN_QUEUES,
    SBX_IN_RUNTIMES,
    SBX_PAYLOAD_MESSAGES
};

enum sbx_payload_type {
    SBX_FIELD_UINT,     /* varint */
    SBX_FIELD_SINT,     /* zigzag varint */
    SBX_FIELD_BOOL,     /* varint 0 or 1 */
    SBX_FIELD_ID,       /* exactly 16 bytes; a row of a table may have 0 */
    SBX_FIELD_BUILD_ID, /* 8..32 bytes; a row of a table may have 0 */
    SBX_FIELD_FUNCTION, /* exactly 8 bytes, one entry per row */
    SBX_FIELD_MESSAGE,
};

struct sbx_payload_field {
    uint8_t message; /* enum sbx_payload_message: the message that contains it */
    uint8_t number;
    uint8_t type;  /* enum sbx_payload_type */
    uint8_t child; /* if it is a message: which one */
    bool repeated; /* numbers: packed, once; build-ids: one entry per row */
    bool row;      /* a column that has one entry for each row of its table */
    uint64_t max;  /* largest value; of a signed number, largest absolute value, also of its running sum */
    const char *name;
    const char *meaning;
};

enum {
    SBX_PAYLOAD_FIELDS_MAX = 160
};

extern const struct sbx_payload_field sbx_payload_fields[];
extern const size_t sbx_payload_field_count; /* <= SBX_PAYLOAD_FIELDS_MAX */

/* Index of a field, or -1. */
int sbx_payload_field_find(enum sbx_payload_message message, uint64_t number);
/* Returns "payload", "records" ... */
const char *sbx_payload_message_name(enum sbx_payload_message message);

#endif
