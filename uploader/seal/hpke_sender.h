/* SPDX-License-Identifier: Apache-2.0 */
/* hpke_sender.h - the sender's half of HPKE (RFC 9180): base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
 * ChaCha20-Poly1305. The other half is triage/decode/hpke_receiver.h. They share the standard, not code.
 *
 * There are two steps. Deriving is public-key work (some 2 ms, 8,000 allocations in mbedTLS 2.28). Sealing with the
 * result is one pass of ChaCha20-Poly1305 that allocates nothing. The second step follows the first one at once. If a
 * context were derived in advance, it would exist twice when a virtual machine is started twice from one snapshot, and
 * two messages with the same key and nonce are practically not encrypted. Randomness comes from getrandom(2), and is
 * mixed with the message. The kernel's generator may repeat itself, too, in such a machine, until it is notified
 * (VMGENID, Linux 5.18). Even then, different messages get different keys. */
#ifndef SBX_HPKE_SENDER_H
#define SBX_HPKE_SENDER_H

#include <stddef.h>
#include <stdint.h>

#include "envelope_format.h"
#include "marks.h"

/* The key material for one message to one recipient. Secret, except `enc`. Never used twice, because there is only one
 * nonce. */
struct sbx_hpke_seal {
    uint8_t enc[SBX_SEAL_KEY_BYTES]; /* the ephemeral public key; sent with the message */
    uint8_t key[32];
    uint8_t nonce[12];
};

/* Computes the public key of a secret key. Any 32 bytes are a secret key (RFC 7748). Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_x25519_public(const uint8_t secret[SBX_SEAL_KEY_BYTES], uint8_t key_out[SBX_SEAL_KEY_BYTES]);

/* Computes the shared secret of a Diffie-Hellman exchange. Returns 0, -ENOMEM, or -EINVAL if the key is of low order:
 * then the result would be zero or one of a few values for any peer. */
SBX_MUST_CHECK int sbx_x25519_shared(const uint8_t secret[SBX_SEAL_KEY_BYTES], const uint8_t key[SBX_SEAL_KEY_BYTES],
                                     uint8_t shared_out[32]);

/* A key pair from the kernel's randomness. Returns 0, -ENOMEM or -EIO. The caller wipes the secret. */
SBX_MUST_CHECK int sbx_x25519_make(uint8_t secret_out[SBX_SEAL_KEY_BYTES], uint8_t key_out[SBX_SEAL_KEY_BYTES]);

/* The short name of a public key, as used in envelopes. Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_seal_key_id(const uint8_t key[SBX_SEAL_KEY_BYTES], uint8_t id_out[SBX_SEAL_KEY_ID_BYTES]);

/* Makes the ephemeral secret key for a message from random bytes. Pure. It is HMAC-SHA256 of the message, keyed with
 * the random bytes. So it is as good as they are if they are random, and otherwise still different for every message.
 * Returns 0 or -EIO. */
SBX_MUST_CHECK int sbx_hpke_ephemeral(const uint8_t random[SBX_SEAL_KEY_BYTES], const void *message, size_t bytes,
                                      uint8_t secret_out[SBX_SEAL_KEY_BYTES]);

/* SetupBaseS with a new ephemeral key, for this message only. Returns 0, -EINVAL if `recipient` is not a valid key,
 * -ENOMEM or -EIO; then nothing secret is left in *seal_out. The caller wipes it. */
SBX_MUST_CHECK int sbx_hpke_seal_derive(const uint8_t recipient[SBX_SEAL_KEY_BYTES], const void *info,
                                        size_t info_bytes, const void *message, size_t bytes,
                                        struct sbx_hpke_seal *seal_out);

/* The same with the caller's ephemeral key, for published test vectors. */
SBX_MUST_CHECK int sbx_hpke_seal_derive_with(const uint8_t ephemeral[SBX_SEAL_KEY_BYTES],
                                             const uint8_t recipient[SBX_SEAL_KEY_BYTES], const void *info,
                                             size_t info_bytes, struct sbx_hpke_seal *seal_out);

/* Seal `bytes` bytes into `out`, and wipe *seal. `out` has room for SBX_SEAL_TAG_BYTES more bytes, and may be `plain`
 * itself. Returns 0 or -EIO; then `out` contains nothing that may be sent. Allocates nothing. */
SBX_MUST_CHECK int sbx_hpke_seal_message(struct sbx_hpke_seal *seal, const void *aad, size_t aad_bytes,
                                         const uint8_t *plain, size_t bytes, uint8_t *out);

#endif
