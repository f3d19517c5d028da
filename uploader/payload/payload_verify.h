/* SPDX-License-Identifier: Apache-2.0 */
/* payload_verify.h - the privacy check: code that did not write the encoded bytes checks them once more.
 *
 * It fails closed. A payload passes only if all of this is true. Every byte belongs to a field of payload_fields.c.
 * Every number is within that field's bounds and in its shortest form. No number can be an address. Bytes are
 * identifiers of the right length. Columns are as long as their tables. References point inside the payload. Items
 * called "other" contain no information.
 *
 *   V1  no unknown field, no other wire type, no field twice, nothing after the last one, no group missing
 *   V2  varints in shortest form and in bounds; sums of deltas, too
 *   V3  identifiers have 16 bytes, build-ids 8..32
 *   V4  columns of a table have the same length; the sum of thread_rows is right
 *   V5  references (module, frame, callstack, thread, object, name) exist
 *   V6  a module of kind "other" has no build-id and no name; its frames, and those of generated code, have no offset
 *   V7  the end of a stall refers to its stall, and has no table but the program's module; no other payload refers to
 *       one
 *
 * It also counts the bytes of each field, for `stallbox show`. Pure; any thread. */
#ifndef SBX_PAYLOAD_VERIFY_H
#define SBX_PAYLOAD_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "payload_fields.h"

/* The bytes and values of one field, over the whole payload. */
struct sbx_field_survey {
    uint64_t bytes;    /* tag, length and content; of a message, tag and length only: all fields add up to the total */
    uint64_t values;   /* numbers or entries in it; 0: it is absent */
    int64_t min, max;  /* of the numbers; in delta columns, of the deltas */
    const uint8_t *at; /* content of its last entry, in the payload */
    size_t at_bytes;
};

struct sbx_payload_survey {
    struct sbx_field_survey fields[SBX_PAYLOAD_FIELDS_MAX]; /* by index into sbx_payload_fields */
    uint64_t bytes;                                         /* of all fields */
};

/* Check. Returns 0, or -EPERM with the field and the reason in `why`. `survey_out` (may be NULL) is filled up to the
 * point where the check ended. It points into `payload`. */
SBX_MUST_CHECK int sbx_payload_verify(const void *payload, size_t bytes, struct sbx_payload_survey *survey_out,
                                      char *why, size_t why_bytes);

#endif
