/* SPDX-License-Identifier: Apache-2.0 */
/* signed_fixture.c - test keys and signed documents; the secret of a key is the digest of its name. */
#include "signed_fixture.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_MAX = 32
};
static struct {
    char name[32];
    uint8_t secret[SBX_SECRET_KEY_BYTES], key[SBX_PUBLIC_KEY_BYTES];
} made[NAMES_MAX];
static int made_count;

static int find(const char *name)
{
    for (int i = 0; i < made_count; i++) {
        if (strcmp(made[i].name, name) == 0) {
            return i;
        }
    }
    if (made_count == NAMES_MAX) {
        abort();
    }
    snprintf(made[made_count].name, sizeof made[0].name, "%s", name);
    if (sbx_digest(&(struct sbx_digest_piece){name, strlen(name)}, 1, made[made_count].secret) != 0 ||
        sbx_key_of_secret(made[made_count].secret, made[made_count].key) != 0) {
        abort();
    }
    return made_count++;
}

const uint8_t *fixture_secret(const char *name)
{
    return made[find(name)].secret;
}

const uint8_t *fixture_key(const char *name)
{
    return made[find(name)].key;
}

struct sbx_keyset fixture_keyset(void)
{
    struct sbx_keyset keyset = {.version = 1,
                                .epoch = 1,
                                .issued_at_s = FIXTURE_NOW_S - 86400,
                                .expires_at_s = FIXTURE_NOW_S + 365 * 86400,
                                .root_key_count = 3,
                                .root_threshold = 2,
                                .policy_key_count = 1,
                                .policy_threshold = 1,
                                .kill_key_count = 1};
    memcpy(keyset.app_id, "fixture-app-id-0", SBX_APP_ID_BYTES);
    memcpy(keyset.root_keys[0], fixture_key("root-a"), SBX_PUBLIC_KEY_BYTES);
    memcpy(keyset.root_keys[1], fixture_key("root-b"), SBX_PUBLIC_KEY_BYTES);
    memcpy(keyset.root_keys[2], fixture_key("root-c"), SBX_PUBLIC_KEY_BYTES);
    memcpy(keyset.policy_keys[0], fixture_key("policy"), SBX_PUBLIC_KEY_BYTES);
    memcpy(keyset.kill_keys[0], fixture_key("kill"), SBX_PUBLIC_KEY_BYTES);
    return keyset;
}

struct sbx_policy_document fixture_policy(uint64_t seq)
{
    struct sbx_policy_document document = {.issued_at_s = FIXTURE_NOW_S, .expires_at_s = FIXTURE_NOW_S + 10 * 86400};
    memcpy(document.app_id, "fixture-app-id-0", SBX_APP_ID_BYTES);
    document.policy = *sbx_policy_default();
    document.policy.epoch = 1;
    document.policy.seq = seq;
    return document;
}

void fixture_sign(enum sbx_signed_role role, const void *payload, size_t bytes, const char *names,
                  struct fixture_document *document_out)
{
    uint8_t whole[SBX_SIGNED_BYTES_MAX], slots[SBX_SIGNED_SIGNATURES_MAX * SBX_SIGNED_SLOT_BYTES];
    uint32_t count = 0;
    char name[32];
    int used, written = 0;
    for (; sscanf(names, "%31s%n", name, &used) == 1; names += used) {
        written =
            sbx_signed_document_write(role, payload, bytes, slots, count, fixture_secret(name), whole, sizeof whole);
        if (written < 0) {
            abort();
        }
        count++;
        memcpy(slots, whole + SBX_SIGNED_HEADER_BYTES + bytes, count * (size_t)SBX_SIGNED_SLOT_BYTES);
    }
    memcpy(document_out->bytes + document_out->count, whole, (size_t)written);
    document_out->count += (size_t)written;
}

void fixture_sign_keyset(const struct sbx_keyset *keyset, const char *names, struct fixture_document *document_out)
{
    uint8_t payload[4096];
    fixture_sign(SBX_ROLE_KEYSET, payload, sbx_keyset_encode(keyset, payload, sizeof payload), names, document_out);
}

void fixture_sign_policy(const struct sbx_policy_document *policy, struct fixture_document *document_out)
{
    uint8_t payload[4096];
    fixture_sign(SBX_ROLE_POLICY, payload, sbx_policy_document_encode(policy, false, payload, sizeof payload), "policy",
                 document_out);
}

void fixture_sign_kill(const struct sbx_policy_document *policy, const char *names,
                       struct fixture_document *document_out)
{
    uint8_t payload[4096];
    fixture_sign(SBX_ROLE_KILL, payload, sbx_policy_document_encode(policy, true, payload, sizeof payload), names,
                 document_out);
}

/* Made only once, because its keyset has two signatures and some tests need it a thousand times. */
struct sbx_policy_trust fixture_trust(void)
{
    static struct sbx_policy_trust trust;
    static bool is_made;
    if (!is_made) {
        struct sbx_keyset keyset = fixture_keyset();
        struct fixture_document document = {.count = 0};
        struct sbx_policy_report report;
        fixture_sign_keyset(&keyset, "root-a root-b", &document);
        if (sbx_policy_trust_begin(document.bytes, document.count, NULL, &trust, &report) != SBX_POLICY_ACCEPTED) {
            abort();
        }
        is_made = true;
    }
    return trust;
}

enum sbx_policy_verdict fixture_take(struct sbx_policy_trust *trust, const struct fixture_document *document,
                                     uint64_t now_s)
{
    struct sbx_policy_moment moment = {.wall_s = now_s, .build_s = FIXTURE_NOW_S - 100 * 86400};
    struct sbx_bundle_outcome outcome;
    return sbx_policy_trust_take_bundle(trust, document->bytes, document->count, &moment, &outcome);
}
