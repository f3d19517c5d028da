/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - opens the file, runs the privacy check over it, prints the body, and prints the verdict. */
#include "show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "durable_file.h"
#include "encode.h"
#include "envelope.h"
#include "payload_verify.h"
#include "policy.h"
#include "show_payload.h"
#include "snapshot.h"

enum {
    FILE_BYTES_MAX = 256 << 20
};

static const struct sbx_show_style coloured = {"\033[1m", "\033[2m", "\033[32m", "\033[1;31m", "\033[0m"};
static const struct sbx_show_style uncoloured = {"", "", "", "", ""};

static bool is_recording(const uint8_t *bytes, size_t byte_count)
{
    return byte_count >= 8 && memcmp(bytes, SBX_RECORDING_MAGIC, 8) == 0;
}

/* Encodes a raw snapshot into an envelope, which replaces *bytes. Takes *bytes. */
static int encode_raw(uint8_t **bytes, size_t *byte_count, char *why, size_t why_bytes)
{
    struct sbx_snapshot *snapshot;
    int result = sbx_snapshot_read(*bytes, *byte_count, &snapshot, why, why_bytes);
    if (result != 0) {
        return result;
    }
    struct sbx_redaction redaction;
    sbx_policy_redaction(sbx_policy_default(), &redaction);
    uint8_t *envelope;
    size_t envelope_bytes;
    result = sbx_encode(snapshot, &redaction, &envelope, &envelope_bytes, why, why_bytes);
    sbx_snapshot_destroy(snapshot);
    if (result == 0) {
        free(*bytes);
        *bytes = envelope;
        *byte_count = envelope_bytes;
    }
    return result;
}

static void print_hex(FILE *out, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%02x", bytes[i]);
    }
}

/* Prints what can be seen of a sealed envelope without a key. */
static void print_seal(FILE *out, const struct sbx_envelope *sealed)
{
    fprintf(out, "envelope: %zu bytes leave, sealed to key ", SBX_ENVELOPE_HEADER_BYTES + sealed->body_bytes);
    print_hex(out, sealed->key_id, sizeof sealed->key_id);
    fprintf(out, ": on the way can be seen: its id, that key, and a size that is padded to a power of two\n");
}

static int print(FILE *out, const struct sbx_show_style *style, const struct sbx_envelope *envelope, bool was_sealed,
                 const uint8_t *payload, size_t payload_bytes, bool what_leaves)
{
    char why[256] = "";
    struct sbx_payload_survey survey;
    bool passed = sbx_payload_verify(payload, payload_bytes, &survey, why, sizeof why) == 0;
    const struct sbx_field_survey *inner_id = &survey.fields[sbx_payload_field_find(SBX_IN_PAYLOAD, 2)];
    if (passed && memcmp(inner_id->at, envelope->id, SBX_PAYLOAD_ID_BYTES) != 0) {
        passed = false;
        snprintf(why, sizeof why, "field payload.payload_id: differs from the one on the envelope");
    }
    fprintf(out, "%spayload ", style->bold);
    print_hex(out, envelope->id, sizeof envelope->id);
    fprintf(out, "%s\n", style->plain);
    fprintf(out, "%s: %zu bytes%s: header %d + body %zu (one zstd frame, %.1f x smaller than its %zu bytes)%s\n\n",
            was_sealed ? "inside" : "envelope", SBX_ENVELOPE_HEADER_BYTES + envelope->body_bytes,
            was_sealed ? "" : " leave", SBX_ENVELOPE_HEADER_BYTES, envelope->body_bytes,
            (double)payload_bytes / (double)envelope->body_bytes, payload_bytes, was_sealed ? "" : ", not sealed");
    int result = 0;
    if (what_leaves || !passed) { /* a payload that did not pass is not decoded; its fields are only counted */
        sbx_show_fields(out, style, &survey, payload_bytes);
    } else {
        result = sbx_show_tables(out, style, payload, payload_bytes);
    }
    sbx_show_redactions(out, style, &survey);
    if (passed) {
        fprintf(out, "%sprivacy: passed, no strings, no addresses, no paths%s\n", style->good, style->plain);
    } else {
        fprintf(out, "%sprivacy: FAILED: %s%s\n", style->bad, why, style->plain);
    }
    return passed && result == 0 && fflush(out) == 0 ? 0 : 1;
}

/* Opens a sealed envelope and replaces it, after printing what can be seen of it. Returns 0, or -errno with `why`. */
static int open_seal(FILE *out, const struct sbx_show_opener *opener, uint8_t **bytes, size_t *byte_count,
                     struct sbx_envelope *envelope, char *why, size_t why_bytes)
{
    uint8_t *plain;
    size_t plain_bytes;
    print_seal(out, envelope);
    if (opener == NULL) {
        snprintf(why, why_bytes, "sealed: only with the key it is sealed to can anybody look inside");
        return -ENOKEY;
    }
    int result = opener->open(opener->context, *bytes, *byte_count, &plain, &plain_bytes, why, why_bytes);
    if (result != 0) {
        return result;
    }
    free(*bytes);
    *bytes = plain;
    *byte_count = plain_bytes;
    return sbx_envelope_read(plain, plain_bytes, envelope, why, why_bytes);
}

int sbx_show(FILE *out, const char *path, const struct sbx_show_opener *opener, bool what_leaves, bool colour)
{
    char why[256] = "";
    uint8_t *bytes = NULL, *payload = NULL;
    size_t byte_count = 0, payload_bytes = 0;
    int result = sbx_durable_file_read(AT_FDCWD, path, FILE_BYTES_MAX, &bytes, &byte_count);
    if (result != 0) {
        fprintf(stderr, "stallbox show: %s: %s\n", path,
                result == -EINVAL  ? "not a regular file; of a spool, name one of its *.sbx or raw/*.raw"
                : result == -ELOOP ? "a symbolic link, which is not followed"
                                   : strerror(-result));
        return 1;
    }
    struct sbx_envelope envelope;
    bool was_raw = is_recording(bytes, byte_count);
    if (was_raw) {
        result = encode_raw(&bytes, &byte_count, why, sizeof why);
    }
    if (result == 0) {
        result = sbx_envelope_read(bytes, byte_count, &envelope, why, sizeof why);
    }
    bool was_sealed = result == 0 && envelope.is_sealed;
    if (was_sealed) {
        result = open_seal(out, opener, &bytes, &byte_count, &envelope, why, sizeof why);
    }
    if (result == 0) {
        result = sbx_envelope_payload(&envelope, &payload, &payload_bytes, why, sizeof why);
    }
    if (result != 0) {
        fprintf(stderr, "stallbox show: %s: %s\n", path, why);
        result = 1;
        goto free_bytes;
    }
    if (was_raw) {
        fprintf(out, "a raw snapshot, which stays here; below is what would leave under the default policy\n");
    }
    result = print(out, colour ? &coloured : &uncoloured, &envelope, was_sealed, payload, payload_bytes, what_leaves);

free_bytes:
    free(payload);
    free(bytes);
    return result;
}
