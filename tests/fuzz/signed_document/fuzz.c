/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a bundle, and any payload as if the right key had signed it.
 *
 * The container is parsed unchanged. The signature, which no mutation gets past, is not checked: each payload goes to
 * its reader, and an accepted payload must be the same after it is written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "keyset.h"
#include "policy_document.h"
#include "signed_document.h"

static void require(int holds)
{
    if (!holds) {
        abort();
    }
}

static void read_policy(const uint8_t *payload, size_t bytes, bool is_kill)
{
    static struct sbx_policy_document document, again;
    struct sbx_policy_report report;
    uint8_t written[SBX_SIGNED_PAYLOAD_MAX];
    struct sbx_policy policy;
    static const uint8_t key[SBX_ROLLOUT_KEY_BYTES];
    if (sbx_policy_document_decode(payload, bytes, &document, &report) != SBX_POLICY_ACCEPTED) {
        require(report.why[0] != '\0');
        return;
    }
    if (sbx_policy_document_check(&document, NULL, &report) == SBX_POLICY_ACCEPTED) {
        require(sbx_policy_check(&document.policy) == NULL);
        require(sbx_policy_document_apply(&document, key, &policy) == 0);
        require((policy.capture.points & ~document.policy.capture.points) == 0); /* a rollout only removes points */
        require(sbx_policy_check(&policy) == NULL);
    }
    if (!is_kill && document.overflown == NULL) {
        size_t count = sbx_policy_document_encode(&document, false, written, sizeof written);
        require(count != 0);
        require(sbx_policy_document_decode(written, count, &again, &report) == SBX_POLICY_ACCEPTED);
        require(memcmp(&document, &again, sizeof document) == 0);
    }
}

static void read_keyset(const uint8_t *payload, size_t bytes)
{
    static struct sbx_keyset keyset, again;
    struct sbx_policy_report report;
    uint8_t written[SBX_SIGNED_PAYLOAD_MAX];
    if (sbx_keyset_decode(payload, bytes, &keyset, &report) != SBX_POLICY_ACCEPTED) {
        require(report.why[0] != '\0');
        return;
    }
    size_t count = sbx_keyset_encode(&keyset, written, sizeof written);
    require(count != 0);
    require(sbx_keyset_decode(written, count, &again, &report) == SBX_POLICY_ACCEPTED);
    require(memcmp(&keyset, &again, sizeof keyset) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct sbx_bundle bundle;
    uint8_t *copy = calloc(1, bytes != 0 ? bytes : 1); /* exact size, so that a read past the end is found */
    require(copy != NULL);
    if (bytes != 0) {
        memcpy(copy, data, bytes);
    }
    if (sbx_bundle_parse(copy, bytes, &bundle) == NULL) {
        size_t whole = 0;
        for (uint32_t i = 0; i < bundle.count; i++) {
            const struct sbx_signed_document *document = &bundle.documents[i];
            uint8_t digest[SBX_DIGEST_BYTES];
            require(document->bytes == copy + whole);
            require(document->byte_count >= SBX_SIGNED_BYTES_MIN && document->byte_count <= SBX_SIGNED_BYTES_MAX);
            require(document->signatures + (size_t)document->signature_count * SBX_SIGNED_SLOT_BYTES ==
                    document->bytes + document->byte_count);
            require(sbx_signed_document_digest(document, digest) == 0);
            whole += document->byte_count;
            if (document->role == SBX_ROLE_KEYSET) {
                read_keyset(document->payload, document->payload_bytes);
            } else {
                read_policy(document->payload, document->payload_bytes, document->role == SBX_ROLE_KILL);
            }
        }
        require(whole == bytes);
    }
    if (bytes > 1) { /* the payloads alone, so that mutations need not keep the lengths of a container right */
        if ((copy[0] & 1) != 0) {
            read_keyset(copy + 1, bytes - 1);
        } else {
            read_policy(copy + 1, bytes - 1, false);
        }
    }
    free(copy);
    return 0;
}
