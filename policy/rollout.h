/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.h - selects a part of the machines, always the same ones, without the server knowing which.
 *
 *   u      = first 8 bytes, big-endian, of SHA-256("stallbox-rollout-v1" NUL, LE16(salt bytes), salt, key)
 *   bucket = u * 10000 / 2^64
 *   inside = bucket < threshold
 *
 * `key` is 16 bytes that a machine derives from its own secret and never sends. Another salt makes another, independent
 * selection. A larger threshold with the same salt includes the machines of the smaller one. docs/POLICY.md has test
 * vectors. */
#ifndef SBX_ROLLOUT_H
#define SBX_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"

enum {
    SBX_ROLLOUT_KEY_BYTES = 16,
    SBX_ROLLOUT_SALT_MAX = 32,
    SBX_ROLLOUT_BUCKETS = 10000,
    SBX_INSTALL_SECRET_BYTES = 32,
};

/* What a rollout switches off on machines that it does not include. */
enum sbx_rollout_effect {
    SBX_ROLLOUT_COLLECT = 1, /* recording at all */
    SBX_ROLLOUT_UPLOAD = 2,  /* sending */
    SBX_ROLLOUT_EFFECTS_ALL = 3,
};

struct sbx_rollout {
    uint32_t id; /* for people: the number in the text that was signed */
    uint32_t salt_bytes;
    uint8_t salt[SBX_ROLLOUT_SALT_MAX];
    uint32_t threshold; /* of 10,000 */
    uint32_t effects;   /* enum sbx_rollout_effect */
    uint64_t points;    /* SBX_POINT_BIT()s: these groups of points are only on on included machines */
};

/* The machine's key for rollouts: HMAC-SHA256(secret, "rollout")[0..16). Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_rollout_key(const uint8_t secret[SBX_INSTALL_SECRET_BYTES],
                                   uint8_t key_out[SBX_ROLLOUT_KEY_BYTES]);

/* The bucket, 0..9999. Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_rollout_bucket(const uint8_t key[SBX_ROLLOUT_KEY_BYTES], const uint8_t *salt, size_t salt_bytes,
                                      uint32_t *bucket_out);

#endif
