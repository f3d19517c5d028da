/* SPDX-License-Identifier: Apache-2.0 */
/* encode.c - redacts, encodes, verifies and compresses. If the result is too large, it does so again with fewer
 * records. */
#include "encode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "function_starts.h"
#include "payload_encode.h"
#include "payload_verify.h"
#include "platform.h"
#include "redacted.h"

enum {
    CUTS_MAX = 64
}; /* each removes a fifth: enough to go from the largest ring to nothing */

/* One attempt with the newest `records_max` records. *record_count_out: how many records it had. -E2BIG: too large. */
static int encode_once(const struct sbx_snapshot *snapshot, const struct sbx_redaction *redaction,
                       const struct sbx_platform *platform, const struct sbx_sampled *sampled, size_t records_max,
                       uint8_t **envelope_out, size_t *bytes_out, size_t *record_count_out, char *why, size_t why_bytes)
{
    struct sbx_redacted *redacted;
    int result = sbx_redacted_create(snapshot, redaction, records_max, &redacted);
    if (result != 0) {
        snprintf(why, why_bytes, "%s", result == -EPERM ? "detail level 0: nothing may leave" : strerror(-result));
        return result;
    }
    *record_count_out = redacted->record_count;
    sbx_function_starts_fill(snapshot, redacted);
    uint8_t *payload;
    size_t payload_bytes;
    result =
        sbx_payload_encode(redacted, snapshot, redaction->detail_level, platform, sampled, &payload, &payload_bytes);
    sbx_redacted_destroy(redacted);
    if (result != 0) {
        snprintf(why, why_bytes, "%s", strerror(-result));
        return result;
    }
    if (payload_bytes > SBX_PAYLOAD_BYTES_MAX) {
        result = -E2BIG;
        goto free_payload;
    }
    char reason[160];
    result = sbx_payload_verify(payload, payload_bytes, NULL, reason, sizeof reason);
    if (result != 0) {
        snprintf(why, why_bytes, "the privacy check refused it: %s", reason);
        goto free_payload;
    }
    result = sbx_envelope_write(snapshot->header.snapshot_id, payload, payload_bytes, envelope_out, bytes_out);
    if (result != 0 && result != -E2BIG) {
        snprintf(why, why_bytes, "%s", strerror(-result));
    }

free_payload:
    free(payload);
    return result;
}

static bool is_zero(const uint8_t *id, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (id[i] != 0) {
            return false;
        }
    }
    return true;
}

int sbx_encode(const struct sbx_snapshot *snapshot, const struct sbx_redaction *redaction, uint8_t **envelope_out,
               size_t *bytes_out, char *why, size_t why_bytes)
{
    return sbx_encode_sampled(snapshot, redaction, NULL, envelope_out, bytes_out, why, why_bytes);
}

int sbx_encode_sampled(const struct sbx_snapshot *snapshot, const struct sbx_redaction *redaction,
                       const struct sbx_sampled *sampled, uint8_t **envelope_out, size_t *bytes_out, char *why,
                       size_t why_bytes)
{
    char ignored[1];
    if (why == NULL || why_bytes == 0) {
        why = ignored;
        why_bytes = sizeof ignored;
    }
    if (is_zero(snapshot->header.snapshot_id, sizeof snapshot->header.snapshot_id)) {
        snprintf(why, why_bytes, "a live recording, not a snapshot: it has no id");
        return -EINVAL;
    }
    struct sbx_platform platform;
    sbx_platform_read(&platform);
    size_t records_max = SIZE_MAX;
    for (int i = 0; i < CUTS_MAX; i++) {
        size_t record_count = 0;
        int result = encode_once(snapshot, redaction, &platform, sampled, records_max, envelope_out, bytes_out,
                                 &record_count, why, why_bytes);
        if (result != -E2BIG) {
            return result;
        }
        /* Drop the oldest fifth, because the stall is at the newest end. */
        size_t base = record_count < records_max ? record_count : records_max;
        if (base == 0) {
            break;
        }
        records_max = base - base / 5 - 1;
    }
    snprintf(why, why_bytes, "larger than %d bytes even without history", SBX_ENVELOPE_BYTES_MAX);
    return -E2BIG;
}
