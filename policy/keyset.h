/* SPDX-License-Identifier: Apache-2.0 */
/* keyset.h - the keys that may sign the documents of one application: the payload of a KEYSET document as a value.
 *
 * Root keys sign KEYSETs and are kept offline. A KEYSET contains the keys that sign policies and kills, the keys to
 * which payloads are sealed, the server's certificate pins, and caps that further limit a policy. */
#ifndef SBX_KEYSET_H
#define SBX_KEYSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy.h"
#include "policy_verdict.h"
#include "signature.h"

enum {
    SBX_APP_ID_BYTES = 16,
    SBX_ROOT_KEYS_MAX = 6,
    SBX_POLICY_KEYS_MAX = 4,
    SBX_KILL_KEYS_MAX = 2,
    SBX_SEAL_KEYS_MAX = 4,
    SBX_PINS_MAX = 4,
    SBX_CAPS_MAX = 32,
    SBX_KEYSET_DAYS_MAX = 1830, /* a KEYSET is valid for five years at most */
};

/* An X25519 key to which payloads are sealed. */
struct sbx_seal_key {
    uint8_t key[32];
    uint64_t not_before_s, not_after_s; /* Unix seconds; used only between them */
};

/* The range of a policy's field, in addition to the compiled limits. For a mask, `max` has the bits that may be set.
 * The caps of interval_us and wait_min_us also apply to the values of single point groups. */
struct sbx_field_cap {
    uint32_t field; /* number of the policy's field */
    uint64_t min, max;
};

struct sbx_keyset {
    uint8_t app_id[SBX_APP_ID_BYTES];
    uint32_t version;                   /* 1, 2, 3 ...: only the next number may follow */
    uint32_t epoch;                     /* a policy must have the same; with a higher one `seq` begins anew */
    uint64_t issued_at_s, expires_at_s; /* Unix seconds */
    uint32_t root_key_count, root_threshold;
    uint32_t policy_key_count, policy_threshold;
    uint32_t kill_key_count; /* one signature is enough */
    uint32_t seal_key_count, pin_count, cap_count;
    uint8_t root_keys[SBX_ROOT_KEYS_MAX][SBX_PUBLIC_KEY_BYTES];
    uint8_t policy_keys[SBX_POLICY_KEYS_MAX][SBX_PUBLIC_KEY_BYTES];
    uint8_t kill_keys[SBX_KILL_KEYS_MAX][SBX_PUBLIC_KEY_BYTES];
    struct sbx_seal_key seal_keys[SBX_SEAL_KEYS_MAX];
    uint8_t pins[SBX_PINS_MAX][32]; /* SHA-256 of the server's public key (SPKI) */
    struct sbx_field_cap caps[SBX_CAPS_MAX];
};

/* Decode a payload. Returns SBX_POLICY_ACCEPTED, PARSE, RANGE or LATER; the report contains the reason. It checks that
 * the keys are points of their curve, but not the signatures. */
enum sbx_policy_verdict sbx_keyset_decode(const uint8_t *payload, size_t bytes, struct sbx_keyset *keyset_out,
                                          struct sbx_policy_report *report);

/* Encode it. Returns the bytes, or 0 when there is not enough room. Pure. */
size_t sbx_keyset_encode(const struct sbx_keyset *keyset, uint8_t *bytes_out, size_t room);

/* Does a number of a policy keep the caps? Pure. */
bool sbx_keyset_allows(const struct sbx_keyset *keyset, uint32_t field_number, uint64_t value, bool is_mask);

#endif
