/* SPDX-License-Identifier: Apache-2.0 */
/* sealer.h - seals plain envelopes to the key in force.
 *
 *   KEYSET's seal_keys --+
 *                        +--> keys --> a context for this envelope --> ChaCha20-Poly1305 over it (when a snapshot is packed)
 *   --seal-key FILE -----+
 *
 * None of this runs in the application. If an application hangs, perhaps in its allocator, its recording is copied to a
 * file, and the companion seals the envelope that it makes from this file. The public-key work of some 2 ms is done at
 * that time, and not in advance: a context that waits in memory would exist twice in a virtual machine that is started
 * twice from one snapshot (hpke_sender.h).
 *
 * It fails closed: if sealing is required and no key is valid now, nothing is sealed, and nothing may be sent plain.
 * Any thread. Secrets exist only during one call, and are then wiped. */
#ifndef SBX_SEALER_H
#define SBX_SEALER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "envelope_format.h"
#include "keyset.h"
#include "marks.h"

struct sbx_sealer;

struct sbx_sealer_counts {
    uint64_t sealed;
    uint64_t without_key; /* times that sealing was required and no key was valid */
};

/* A sealer that does not require sealing yet. NULL without memory. Given: destroy. */
struct sbx_sealer *sbx_sealer_create(void);
void sbx_sealer_destroy(struct sbx_sealer *sealer); /* NULL is fine */

/* Seal to this key from now on, whatever a KEYSET says, because a person has chosen it. -EINVAL: it is no valid key. */
SBX_MUST_CHECK int sbx_sealer_hold(struct sbx_sealer *sealer, const uint8_t key[SBX_SEAL_KEY_BYTES]);

/* A KEYSET is to be followed, but is not known yet. Until it is known, sealing is required and no key is valid. */
void sbx_sealer_await(struct sbx_sealer *sealer);

/* The KEYSET in force has these keys. One or more keys mean that sealing is required. `now_s` is the time as far as it
 * is known (sbx_trusted_now). A clock that is earlier is not used. */
void sbx_sealer_follow(struct sbx_sealer *sealer, const struct sbx_seal_key *keys, uint32_t count, uint64_t now_s);

bool sbx_sealer_is_demanded(struct sbx_sealer *sealer);

/* Can an envelope be sealed now? Returns 0, or -ENOKEY (counted) with `why`. */
SBX_MUST_CHECK int sbx_sealer_check(struct sbx_sealer *sealer, char *why, size_t why_bytes);

/* Seal a plain envelope. Returns 0 and malloc'ed bytes (given: free), or -EPROTO if it is no plain envelope, -ENOKEY
 * (counted), -ENOMEM or -EIO, with `why`. */
SBX_MUST_CHECK int sbx_sealer_seal(struct sbx_sealer *sealer, const uint8_t *envelope, size_t bytes,
                                   uint8_t **sealed_out, size_t *sealed_bytes_out, char *why, size_t why_bytes);

void sbx_sealer_read_counts(struct sbx_sealer *sealer, struct sbx_sealer_counts *counts_out);

/* Returns the size of the envelope into which a frame of `frame_bytes` is sealed: the next power of two. So the size
 * only shows between which two powers the frame's size is. 0: it does not fit. Pure. */
size_t sbx_sealed_bytes(size_t frame_bytes);

/* Returns which of the keys is valid at `now_s`. If several are, it is the newest, so that a rotation takes effect at
 * its time. -1: none. Pure. */
int sbx_seal_key_choose(const struct sbx_seal_key *keys, uint32_t count, uint64_t now_s);

#endif
