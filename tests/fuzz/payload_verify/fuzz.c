/* SPDX-License-Identifier: Apache-2.0 */
/* payload_verify/fuzz.c - any bytes as an envelope, and as a bare payload.
 *
 * The property: every byte of a payload that passes the privacy check belongs to a known field. A fuzzer does not get
 * past the checksum, so the bytes are also used as the content. */
#include <stdint.h>
#include <stdlib.h>

#include "envelope.h"
#include "fuzz_target.h"
#include "payload_verify.h"

static void check(const uint8_t *payload, size_t bytes)
{
    struct sbx_payload_survey survey;
    char why[200];
    if (sbx_payload_verify(payload, bytes, &survey, why, sizeof why) != 0) {
        if (why[0] == '\0') {
            abort();
        }
        return;
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < sbx_payload_field_count; i++) {
        sum += survey.fields[i].bytes;
    }
    if (sum != bytes || survey.bytes != bytes) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check(data, bytes);
    struct sbx_envelope envelope;
    char why[200];
    uint8_t *payload;
    size_t payload_bytes;
    if (sbx_envelope_read(data, bytes, &envelope, why, sizeof why) == 0 &&
        sbx_envelope_payload(&envelope, &payload, &payload_bytes, why, sizeof why) == 0) {
        check(payload, payload_bytes);
        free(payload);
    }
    /* The body alone, without the checksum. */
    envelope = (struct sbx_envelope){.body = data, .body_bytes = bytes};
    if (sbx_envelope_payload(&envelope, &payload, &payload_bytes, why, sizeof why) == 0) {
        check(payload, payload_bytes);
        free(payload);
    }
    return 0;
}
