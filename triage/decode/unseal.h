/* SPDX-License-Identifier: Apache-2.0 */
/* unseal.h - from a sealed envelope to the plain one it was made of (proto/envelope_format.h).
 *
 * Apart from decoding, because whoever receives payloads need not have the key: such a collector looks at the header,
 * keeps the bytes, and another process opens them. */
#ifndef SBX_UNSEAL_H
#define SBX_UNSEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "erasure_format.h"
#include "hpke_receiver.h"

enum {
    SBX_UNSEAL_KEYS_MAX = 16, /* more than a rotation ever has in use */
    SBX_SEALED_DIGEST_BYTES = 32,
};

/* The keys of a process. Plain data; whoever fills it wipes it with sbx_unseal_keys_wipe(). */
struct sbx_unseal_keys {
    uint32_t count;
    struct sbx_unseal_key keys[SBX_UNSEAL_KEYS_MAX];
};

/* What the outside of a sealed envelope tells. */
struct sbx_sealed {
    uint8_t id[SBX_PAYLOAD_ID_BYTES];
    uint8_t key_id[SBX_SEAL_KEY_ID_BYTES];
};

/* Do these bytes say that they are a sealed envelope? Nothing else of them is looked at. */
bool sbx_sealed_is(const void *envelope, size_t bytes);

/* Check header and checksum of a sealed envelope. Returns 0, or -EPROTO or -ENOTSUP with the reason in `why`. */
int sbx_sealed_look(const void *envelope, size_t bytes, struct sbx_sealed *sealed_out, char *why, size_t why_bytes);

/* Open it. Returns 0 and the plain envelope (given: free), -ENOKEY when none of `keys` is the one it is sealed to,
 * -EPROTO when it is no sealed envelope or was changed, or -ENOMEM. A stranger learns nothing from `why` but that. */
int sbx_sealed_open(const struct sbx_unseal_keys *keys, const void *envelope, size_t bytes, uint8_t **plain_out,
                    size_t *plain_bytes_out, char *why, size_t why_bytes);

/* SHA-256 of an envelope as it came: what tells whether the same bytes came before. Returns 0 or -EIO. */
int sbx_sealed_digest(const void *envelope, size_t bytes, uint8_t digest_out[SBX_SEALED_DIGEST_BYTES]);

/* The rotating id that a proof is of (proto/erasure_format.h). Returns 0 or -EIO. */
int sbx_rotating_id_of_proof(const uint8_t proof[SBX_ERASURE_PROOF_BYTES], uint8_t id_out[SBX_ROTATING_ID_BYTES]);

void sbx_unseal_keys_wipe(struct sbx_unseal_keys *keys);

#endif
