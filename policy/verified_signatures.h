/* SPDX-License-Identifier: Apache-2.0 */
/* verified_signatures.h - signatures that were verified, so that they need not be verified again.
 *
 * Whether a signature is valid for a key and a digest does not change with time. So this is the only trust step that
 * may be remembered, and it is the one that costs milliseconds. Everything else (validity, rollback, which keys count)
 * is decided again each time, from bytes that are read again each time. An entry is the SHA-256 of key, digest and
 * signature together. The last few valid signatures are kept, and no invalid ones. They are kept in memory only: no
 * file can claim that a signature was verified. */
#ifndef SBX_VERIFIED_SIGNATURES_H
#define SBX_VERIFIED_SIGNATURES_H

#include <stdint.h>

#include "marks.h"
#include "signature.h"

enum {
    SBX_VERIFIED_MAX = 64
}; /* a chain of sixteen KEYSETs and their signatures */

/* All zeroes: empty. One thread at a time. */
struct sbx_verified_signatures {
    uint8_t proofs[SBX_VERIFIED_MAX][SBX_DIGEST_BYTES];
    uint32_t count, next;   /* the oldest one is replaced */
    uint64_t verifications; /* how often a key was really used */
};

/* Like sbx_signature_verify(); `verified` may be NULL. */
SBX_MUST_CHECK int sbx_verified_signatures_check(struct sbx_verified_signatures *verified,
                                                 const uint8_t key[SBX_PUBLIC_KEY_BYTES],
                                                 const uint8_t digest[SBX_DIGEST_BYTES],
                                                 const uint8_t signature[SBX_SIGNATURE_BYTES]);

#endif
