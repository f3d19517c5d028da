/* SPDX-License-Identifier: Apache-2.0 */
/* payload_verify.h - the privacy check: the encoded bytes, looked at once more by code that did not write them.
 *
 * It fails closed. A payload passes only if every byte of it is part of a field of payload_fields.c, every number is in
 * that field's bounds and in its shortest form, no number can be an address, bytes are identifiers of the right length,
 * columns are as long as their tables, references point inside the payload, and what is called "other" says nothing.
 *
 *   V1  no unknown field, no other wire type, no field twice, nothing behind the last one, no group missing
 *   V2  varints in shortest form and in bounds; sums of deltas too
 *   V3  identifiers are 16 bytes, build-ids 8..32
 *   V4  columns of a table are equally long; thread_rows add up
 *   V5  references (module, frame, callstack, thread, object, name) exist
 *   V6  a module of kind "other" has no build-id and no name, its frames and those of generated code no offset
 *   V7  the end of a stall names its stall and has no table but the program's module; nothing else names another payload
 *
 * Also counts where the bytes are, for `stallbox show`. Pure; any thread. */
#ifndef SBX_PAYLOAD_VERIFY_H
#define SBX_PAYLOAD_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "payload_fields.h"

/* What one field takes and holds, over the whole payload. */
struct sbx_field_survey {
    uint64_t bytes;   /* tag, length and content; of a message, tag and length only: so all bytes add up to the total */
    uint64_t values;  /* numbers in it, or entries; 0: it is not there */
    int64_t min, max; /* of the numbers; of delta columns, of the deltas */
    const uint8_t *at; /* content of its last entry, in the payload */
    size_t at_bytes;
};

struct sbx_payload_survey {
    struct sbx_field_survey fields[SBX_PAYLOAD_FIELDS_MAX]; /* by index into sbx_payload_fields */
    uint64_t bytes;                                         /* of all fields */
};

/* Check. Returns 0, or -EPERM with the field and the reason in `why`. `survey_out` (may be NULL) is filled as far as
 * the walk came; it points into `payload`. */
SBX_MUST_CHECK int sbx_payload_verify(const void *payload, size_t bytes, struct sbx_payload_survey *survey_out,
                                      char *why, size_t why_bytes);

#endif
