/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - the secret from which a spool's rotating ids are made (proto/erasure_format.h).
 *
 *   SPOOL/identity                 32 random bytes, and the periods in which they were used; made with the first
 *                                  payload
 *   SPOOL/identity.XXXXXXXX.erase  a former identity; the server must still be asked to delete its payloads
 *
 * The secret is never sent. When the user says no, the first file is renamed to one of the second kind
 * (agent/shared/consent.c). So a later yes begins with a new secret, which is independent of the former one. */
#ifndef SBX_IDENTITY_H
#define SBX_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include "erasure_format.h"
#include "marks.h"
#include "spool.h"

enum {
    SBX_IDENTITY_SECRET_BYTES = 32
};

struct sbx_identity {
    uint8_t secret[SBX_IDENTITY_SECRET_BYTES];
    uint32_t first_period, last_period; /* periods of payloads that carry its ids */
};

/* Gets this spool's rotating id for `period`. Makes the secret if there is none, and stores that the period is used.
 * Durable if it returns 0. Else it returns -errno, and no payload may carry an id of this secret. */
SBX_MUST_CHECK int sbx_identity_rotating_id(struct sbx_spool *spool, uint32_t period,
                                            uint8_t id_out[SBX_ROTATING_ID_BYTES]);

/* Read `name` of the spool's root. Returns 0, -ENOENT, -EPROTO if it is no identity, or another -errno. The caller
 * wipes the value. */
SBX_MUST_CHECK int sbx_identity_read(struct sbx_spool *spool, const char *name, struct sbx_identity *identity_out);

/* The proof for a period, and the id for a proof. Pure. Return 0, -EIO or -ENOMEM. */
SBX_MUST_CHECK int sbx_identity_proof(const struct sbx_identity *identity, uint32_t period,
                                      uint8_t proof_out[SBX_ERASURE_PROOF_BYTES]);
SBX_MUST_CHECK int sbx_identity_id_of_proof(const uint8_t proof[SBX_ERASURE_PROOF_BYTES],
                                            uint8_t id_out[SBX_ROTATING_ID_BYTES]);

#endif
