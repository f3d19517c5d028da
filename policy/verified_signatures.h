/* SPDX-License-Identifier: Apache-2.0 */
/* verified_signatures.h - signatures that were found to be right, so that they need not be found so again.
 *
 * Whether a signature is a key's over a digest does not change with time: it is the one step of trust that may be
 * remembered, and the one that costs milliseconds. Everything else (validity, rollback, which keys count) is decided
 * anew each time, of bytes read each time. What is remembered is SHA-256 of key, digest and signature together, of the
 * last few that were right; what was wrong is not. In memory only: no file can claim that something was verified. */
#ifndef SBX_VERIFIED_SIGNATURES_H
#define SBX_VERIFIED_SIGNATURES_H

#include <stdint.h>

#include "marks.h"
#include "signature.h"

enum {
    SBX_VERIFIED_MAX = 64
}; /* a chain of sixteen KEYSETs and what they vouch for */

/* All zeroes: nothing is known. One thread at a time. */
struct sbx_verified_signatures {
    uint8_t proofs[SBX_VERIFIED_MAX][SBX_DIGEST_BYTES];
    uint32_t count, next;   /* the oldest gives way */
    uint64_t verifications; /* how often a key was really used */
};

/* As sbx_signature_verify(); `verified` may be NULL. */
SBX_MUST_CHECK int sbx_verified_signatures_check(struct sbx_verified_signatures *verified,
                                                 const uint8_t key[SBX_PUBLIC_KEY_BYTES],
                                                 const uint8_t digest[SBX_DIGEST_BYTES],
                                                 const uint8_t signature[SBX_SIGNATURE_BYTES]);

#endif
