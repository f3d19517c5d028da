/* SPDX-License-Identifier: Apache-2.0 */
/* verified_signatures.c - a short list of digests. */
#include "verified_signatures.h"

#include <string.h>

int sbx_verified_signatures_check(struct sbx_verified_signatures *verified, const uint8_t key[SBX_PUBLIC_KEY_BYTES],
                                  const uint8_t digest[SBX_DIGEST_BYTES], const uint8_t signature[SBX_SIGNATURE_BYTES])
{
    uint8_t proof[SBX_DIGEST_BYTES];
    const struct sbx_digest_piece pieces[] = {
        {key, SBX_PUBLIC_KEY_BYTES}, {digest, SBX_DIGEST_BYTES}, {signature, SBX_SIGNATURE_BYTES}};
    if (verified == NULL || sbx_digest(pieces, 3, proof) != 0) {
        return sbx_signature_verify(key, digest, signature);
    }
    for (uint32_t i = 0; i < verified->count; i++) {
        if (memcmp(verified->proofs[i], proof, sizeof proof) == 0) {
            return 0;
        }
    }
    verified->verifications++;
    int result = sbx_signature_verify(key, digest, signature);
    if (result == 0) {
        memcpy(verified->proofs[verified->next], proof, sizeof proof);
        verified->next = (verified->next + 1) % SBX_VERIFIED_MAX;
        verified->count += verified->count < SBX_VERIFIED_MAX;
    }
    return result;
}
