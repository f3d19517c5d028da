/* SPDX-License-Identifier: Apache-2.0 */
/* sealer.h - plain envelopes become sealed ones, to the key in force.
 *
 *   KEYSET's seal_keys --+
 *                        +--> keys --> a context for this envelope --> ChaCha20-Poly1305 over it (when a snapshot is packed)
 *   --seal-key FILE -----+
 *
 * Nothing of this runs in the application: an application that hangs, perhaps in its allocator, has its recording
 * copied to a file, and the companion seals what it makes of that. Its public-key work, some 2 ms, is done then and not ahead:
 * a context that waits in memory is there twice in a virtual machine that is started twice from one snapshot (hpke_sender.h).
 *
 * It fails closed: where sealing is demanded and no key holds now, nothing is sealed and nothing may be sent plain. Any
 * thread. Secrets live for the time of one call, and are wiped then. */
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
    uint64_t without_key; /* times that sealing was demanded and no key held */
};

/* One that demands nothing yet. NULL without memory. Given: destroy. */
struct sbx_sealer *sbx_sealer_create(void);
void sbx_sealer_destroy(struct sbx_sealer *sealer); /* NULL is fine */

/* Seal to this key from now on, whatever a KEYSET says: a person said so. -EINVAL: nobody can seal to it. */
SBX_MUST_CHECK int sbx_sealer_hold(struct sbx_sealer *sealer, const uint8_t key[SBX_SEAL_KEY_BYTES]);

/* A KEYSET is to be followed and is not known yet: until it is, sealing is demanded and no key holds. */
void sbx_sealer_await(struct sbx_sealer *sealer);

/* The KEYSET in force has these keys; one or more demand sealing. `now_s` is the time as far as that is known
 * (sbx_trusted_now): a clock that is earlier is not believed. */
void sbx_sealer_follow(struct sbx_sealer *sealer, const struct sbx_seal_key *keys, uint32_t count, uint64_t now_s);

bool sbx_sealer_is_demanded(struct sbx_sealer *sealer);

/* Could an envelope be sealed now? 0, or -ENOKEY (counted) with `why`. */
SBX_MUST_CHECK int sbx_sealer_check(struct sbx_sealer *sealer, char *why, size_t why_bytes);

/* Seal a plain envelope. Returns 0 and malloc'ed bytes (given: free), or -EPROTO when it is no plain envelope, -ENOKEY
 * (counted), -ENOMEM, -EIO, with `why`. */
SBX_MUST_CHECK int sbx_sealer_seal(struct sbx_sealer *sealer, const uint8_t *envelope, size_t bytes,
                                   uint8_t **sealed_out, size_t *sealed_bytes_out, char *why, size_t why_bytes);

void sbx_sealer_read_counts(struct sbx_sealer *sealer, struct sbx_sealer_counts *counts_out);

/* Pure: bytes of the envelope that a frame of `frame_bytes` is sealed into: the next power of two, so that its size
 * says only between which two the truth lies. 0: it does not fit. */
size_t sbx_sealed_bytes(size_t frame_bytes);

/* Pure: which of the keys holds at `now_s`, the newest when several do, so that a rotation takes effect when its time
 * comes. -1: none. */
int sbx_seal_key_choose(const struct sbx_seal_key *keys, uint32_t count, uint64_t now_s);

#endif
