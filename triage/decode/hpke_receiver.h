/* SPDX-License-Identifier: Apache-2.0 */
/* hpke_receiver.h - the receiver side of HPKE (RFC 9180): base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
 * ChaCha20-Poly1305. The sender side is uploader/seal/hpke_sender.h; both implement the standard and share no code.
 *
 * All functions depend only on their arguments; any thread. A derivation takes some 2 ms of CPU. */
#ifndef SBX_HPKE_RECEIVER_H
#define SBX_HPKE_RECEIVER_H

#include <stddef.h>
#include <stdint.h>

#include "envelope_format.h"

/* A key pair that messages are sealed to. Secret, except `key` and `id`. */
struct sbx_unseal_key {
    uint8_t secret[SBX_SEAL_KEY_BYTES];
    uint8_t key[SBX_SEAL_KEY_BYTES];
    uint8_t id[SBX_SEAL_KEY_ID_BYTES]; /* as in envelopes */
};

/* The keys that open the messages of one sender's context. */
struct sbx_hpke_open {
    uint8_t key[32];
    uint8_t nonce[12];
};

/* Fill in the key pair from the secret. Returns 0 or -ENOMEM. */
int sbx_unseal_key_init(const uint8_t secret[SBX_SEAL_KEY_BYTES], struct sbx_unseal_key *key_out);

/* SetupBaseR. Returns 0, -EINVAL if `enc` is not a valid key (a point of low order gives a shared secret that anybody
 * knows), or -ENOMEM; after an error *open_out has no secret. The caller wipes it. */
int sbx_hpke_open_derive(const struct sbx_unseal_key *key, const uint8_t enc[SBX_SEAL_KEY_BYTES], const void *info,
                         size_t info_bytes, struct sbx_hpke_open *open_out);

/* Open the first message. `bytes` bytes are ciphertext and tag; `out` has room for SBX_SEAL_TAG_BYTES less. Returns 0,
 * -EBADMSG if it was not sealed with this context and `aad` (then `out` is zeroed), or -ENOMEM. */
int sbx_hpke_open_message(const struct sbx_hpke_open *open, const void *aad, size_t aad_bytes, const uint8_t *sealed,
                          size_t bytes, uint8_t *out);

#endif
