/* SPDX-License-Identifier: Apache-2.0 */
/* hpke_sender.h - the sender's half of HPKE (RFC 9180): base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
 * ChaCha20-Poly1305. The other half is triage/decode/hpke_receiver.h; they share the standard, not code.
 *
 * Two steps: deriving is public-key work (some 2 ms, 8,000 allocations in mbedTLS 2.28); sealing with what was derived is one
 * pass of ChaCha20-Poly1305 that allocates nothing. They follow each other at once: what is derived ahead is twice there when
 * a virtual machine is snapshotted and started twice, and two messages with one key and nonce are as good as open. Randomness
 * comes from getrandom(2), and is mixed with the message: should the kernel's generator repeat itself too, as it does in such
 * a machine until it is told (VMGENID, Linux 5.18), different messages still get different keys. */
#ifndef SBX_HPKE_SENDER_H
#define SBX_HPKE_SENDER_H

#include <stddef.h>
#include <stdint.h>

#include "envelope_format.h"
#include "marks.h"

/* What seals one message to one recipient. Secret, but for `enc`. Never used twice: there is one nonce. */
struct sbx_hpke_seal {
    uint8_t enc[SBX_SEAL_KEY_BYTES]; /* the ephemeral public key; goes with the message */
    uint8_t key[32];
    uint8_t nonce[12];
};

/* The public key of a secret one. Any 32 bytes are a secret key (RFC 7748). Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_x25519_public(const uint8_t secret[SBX_SEAL_KEY_BYTES], uint8_t key_out[SBX_SEAL_KEY_BYTES]);

/* What both sides of a Diffie-Hellman get. Returns 0, -EINVAL when the key is of low order, so that the result would be
 * zero or one of a few values whoever the other side is, or -ENOMEM. */
SBX_MUST_CHECK int sbx_x25519_shared(const uint8_t secret[SBX_SEAL_KEY_BYTES], const uint8_t key[SBX_SEAL_KEY_BYTES],
                                     uint8_t shared_out[32]);

/* A key pair from the kernel's randomness. Returns 0, -ENOMEM or -EIO. The caller wipes the secret. */
SBX_MUST_CHECK int sbx_x25519_make(uint8_t secret_out[SBX_SEAL_KEY_BYTES], uint8_t key_out[SBX_SEAL_KEY_BYTES]);

/* The short name of a public key, as envelopes have it. Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_seal_key_id(const uint8_t key[SBX_SEAL_KEY_BYTES], uint8_t id_out[SBX_SEAL_KEY_ID_BYTES]);

/* Pure: the ephemeral secret key for a message, out of random bytes. HMAC-SHA256 of the message, keyed with them: as good as
 * they are where they are random, and another for every message where they are not. Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_hpke_ephemeral(const uint8_t random[SBX_SEAL_KEY_BYTES], const void *message, size_t bytes,
                                      uint8_t secret_out[SBX_SEAL_KEY_BYTES]);

/* SetupBaseS with a fresh ephemeral key, for this message and no other. Returns 0, -EINVAL when `recipient` is no key to seal to, -ENOMEM or -EIO;
 * then nothing secret is left in *seal_out. The caller wipes it. */
SBX_MUST_CHECK int sbx_hpke_seal_derive(const uint8_t recipient[SBX_SEAL_KEY_BYTES], const void *info,
                                        size_t info_bytes, const void *message, size_t bytes,
                                        struct sbx_hpke_seal *seal_out);

/* The same with an ephemeral key of the caller's, for published vectors. */
SBX_MUST_CHECK int sbx_hpke_seal_derive_with(const uint8_t ephemeral[SBX_SEAL_KEY_BYTES],
                                             const uint8_t recipient[SBX_SEAL_KEY_BYTES], const void *info,
                                             size_t info_bytes, struct sbx_hpke_seal *seal_out);

/* Seal `bytes` bytes into `out`, which has room for SBX_SEAL_TAG_BYTES more and may be `plain` itself, and wipe *seal.
 * Returns 0 or -EIO; then `out` holds nothing that may be sent. Allocates nothing. */
SBX_MUST_CHECK int sbx_hpke_seal_message(struct sbx_hpke_seal *seal, const void *aad, size_t aad_bytes,
                                         const uint8_t *plain, size_t bytes, uint8_t *out);

#endif
