/* SPDX-License-Identifier: Apache-2.0 */
/* rollout.c - computes a bucket from key and salt. */
#include "rollout.h"

#include <string.h>

#include "signature.h"

int sbx_rollout_key(const uint8_t secret[SBX_INSTALL_SECRET_BYTES], uint8_t key_out[SBX_ROLLOUT_KEY_BYTES])
{
    uint8_t digest[SBX_DIGEST_BYTES];
    int result = sbx_keyed_digest(secret, SBX_INSTALL_SECRET_BYTES, "rollout", 7, digest);
    if (result == 0) {
        memcpy(key_out, digest, SBX_ROLLOUT_KEY_BYTES);
    }
    return result;
}

int sbx_rollout_bucket(const uint8_t key[SBX_ROLLOUT_KEY_BYTES], const uint8_t *salt, size_t salt_bytes,
                       uint32_t *bucket_out)
{
    static const char domain[] = "stallbox-rollout-v1"; /* including its NUL */
    uint8_t length[2] = {(uint8_t)salt_bytes, (uint8_t)(salt_bytes >> 8)}, digest[SBX_DIGEST_BYTES];
    const struct sbx_digest_piece pieces[] = {
        {domain, sizeof domain}, {length, sizeof length}, {salt, salt_bytes}, {key, SBX_ROLLOUT_KEY_BYTES}};
    int result = sbx_digest(pieces, sizeof pieces / sizeof pieces[0], digest);
    if (result != 0) {
        return result;
    }
    uint64_t u = 0;
    for (int i = 0; i < 8; i++) {
        u = u << 8 | digest[i];
    }
    /* The upper half of a 64 by 64 bit product, computed in two steps because u * 10000 has 78 bits. */
    uint64_t low = (u & UINT32_MAX) * SBX_ROLLOUT_BUCKETS, high = (u >> 32) * SBX_ROLLOUT_BUCKETS;
    *bucket_out = (uint32_t)((high + (low >> 32)) >> 32);
    return 0;
}
