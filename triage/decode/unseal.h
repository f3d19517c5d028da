/* SPDX-License-Identifier: Apache-2.0 */
/* unseal.h - from a sealed envelope to the plain one that it was made from (proto/envelope_format.h).
 *
 * Separate from decoding, because a receiver of payloads need not have the key: such a collector checks the header and
 * keeps the bytes, and another process opens them. */
#ifndef SBX_UNSEAL_H
#define SBX_UNSEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "erasure_format.h"
#include "hpke_receiver.h"

enum {
    SBX_UNSEAL_KEYS_MAX = 16, /* more than a rotation ever needs */
    SBX_SEALED_DIGEST_BYTES = 32,
};

/* The keys of a process. Plain data; the code that fills it wipes it with sbx_unseal_keys_wipe(). */
struct sbx_unseal_keys {
    uint32_t count;
    struct sbx_unseal_key keys[SBX_UNSEAL_KEYS_MAX];
};

/* The public header of a sealed envelope. */
struct sbx_sealed {
    uint8_t id[SBX_PAYLOAD_ID_BYTES];
    uint8_t key_id[SBX_SEAL_KEY_ID_BYTES];
};

/* Do these bytes claim to be a sealed envelope? Nothing else is checked. */
bool sbx_sealed_is(const void *envelope, size_t bytes);

/* Check header and checksum of a sealed envelope. Returns 0, or -EPROTO or -ENOTSUP with the reason in `why`. */
int sbx_sealed_look(const void *envelope, size_t bytes, struct sbx_sealed *sealed_out, char *why, size_t why_bytes);

/* Open it. Returns 0 and the plain envelope (given: free), -ENOKEY if it is sealed to none of `keys`, -EPROTO if it is
 * not a sealed envelope or was changed, or -ENOMEM. `why` tells a stranger no more than that. */
int sbx_sealed_open(const struct sbx_unseal_keys *keys, const void *envelope, size_t bytes, uint8_t **plain_out,
                    size_t *plain_bytes_out, char *why, size_t why_bytes);

/* SHA-256 of an envelope as received; it identifies bytes that were received before. Returns 0 or -EIO. */
int sbx_sealed_digest(const void *envelope, size_t bytes, uint8_t digest_out[SBX_SEALED_DIGEST_BYTES]);

/* The rotating id that a proof belongs to (proto/erasure_format.h). Returns 0 or -EIO. */
int sbx_rotating_id_of_proof(const uint8_t proof[SBX_ERASURE_PROOF_BYTES], uint8_t id_out[SBX_ROTATING_ID_BYTES]);

void sbx_unseal_keys_wipe(struct sbx_unseal_keys *keys);

#endif
