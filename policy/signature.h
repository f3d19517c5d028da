/* SPDX-License-Identifier: Apache-2.0 */
/* signature.h - the few public-key operations that signed documents need; nothing else of the library is used.
 *
 * ECDSA on P-256 over SHA-256 with raw 64-byte signatures (r and s, big-endian, IEEE P1363), not DER: the library's DER
 * reader accepts invalid encodings (9 of Wycheproof's 484 cases). s must be at most n/2, so that a signature has one
 * form. A key is its 65-byte uncompressed point. Only this module uses mbedTLS (2.28, libmbedcrypto only).
 *
 * One verification costs some 3 ms of CPU time and 8,000 allocations: it must never run in a hook, a signal handler, or
 * on an application's thread. */
#ifndef SBX_SIGNATURE_H
#define SBX_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"

enum {
    SBX_PUBLIC_KEY_BYTES = 65, /* 0x04, x, y */
    SBX_SECRET_KEY_BYTES = 32, /* the scalar, big-endian */
    SBX_SIGNATURE_BYTES = 64,  /* r, s */
    SBX_KEY_ID_BYTES = 8,      /* first bytes of the public key's SHA-256 */
    SBX_DIGEST_BYTES = 32,
};

/* A piece of the hashed data: several pieces are hashed like one concatenated string. */
struct sbx_digest_piece {
    const void *bytes;
    size_t count;
};

/* SHA-256 of the pieces. Returns 0, or -EIO when the library reports an error (there is no known reason for one). Any
 * thread. */
SBX_MUST_CHECK int sbx_digest(const struct sbx_digest_piece *pieces, size_t piece_count,
                              uint8_t digest_out[SBX_DIGEST_BYTES]);

/* HMAC-SHA-256 (RFC 2104). Returns 0 or -ENOMEM. Any thread. */
SBX_MUST_CHECK int sbx_keyed_digest(const void *key, size_t key_bytes, const void *bytes, size_t count,
                                    uint8_t digest_out[SBX_DIGEST_BYTES]);

/* The short name of a key. It is a hint for finding the key, never a proof. Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_key_id(const uint8_t key[SBX_PUBLIC_KEY_BYTES], uint8_t id_out[SBX_KEY_ID_BYTES]);

/* Is the key a point of the curve? Returns 0; -EINVAL when it is not; -ENOMEM when this could not be checked now. */
SBX_MUST_CHECK int sbx_key_check(const uint8_t key[SBX_PUBLIC_KEY_BYTES]);

/* Returns 0 when the signature is valid for key and digest and has the one allowed form; -EBADMSG when it is not;
 * -ENOMEM when this could not be checked now: then it says nothing about the signature, and must be tried again later.
 * Any thread. */
SBX_MUST_CHECK int sbx_signature_verify(const uint8_t key[SBX_PUBLIC_KEY_BYTES], const uint8_t digest[SBX_DIGEST_BYTES],
                                        const uint8_t signature[SBX_SIGNATURE_BYTES]);

/* Sign deterministically (RFC 6979), with low s, and verify the result. Returns 0; -EINVAL when the secret is no key;
 * -ENOMEM; -EIO when the result did not verify. */
SBX_MUST_CHECK int sbx_signature_make(const uint8_t secret[SBX_SECRET_KEY_BYTES],
                                      const uint8_t digest[SBX_DIGEST_BYTES],
                                      uint8_t signature_out[SBX_SIGNATURE_BYTES]);

/* Get `count` bytes from getrandom(2), as a callback of mbedTLS; also used for keys to seal to
 * (uploader/seal/hpke_sender.c). `context` is unused. Returns 0 or MBEDTLS_ERR_ECP_RANDOM_FAILED. Any thread; may block
 * early in the boot. */
int sbx_random_bytes(void *context, unsigned char *bytes, size_t count);

/* Make a key pair from the kernel's random bytes. Returns 0, -ENOMEM or -EIO. The caller must wipe the secret. */
SBX_MUST_CHECK int sbx_key_make(uint8_t secret_out[SBX_SECRET_KEY_BYTES], uint8_t key_out[SBX_PUBLIC_KEY_BYTES]);

/* The public key of a secret key. Returns 0; -EINVAL when the secret is no key; -ENOMEM. */
SBX_MUST_CHECK int sbx_key_of_secret(const uint8_t secret[SBX_SECRET_KEY_BYTES], uint8_t key_out[SBX_PUBLIC_KEY_BYTES]);

#endif
