/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - the secret that a spool's rotating ids are made from (proto/erasure_format.h).
 *
 *   SPOOL/identity               32 random bytes, and in which periods they were used; made with the first payload
 *   SPOOL/identity.XXXXXXXX.erase  one whose payloads the server has yet to be asked to delete
 *
 * Never sent. When the user says no, the first becomes one of the second (agent/shared/consent.c), so that whatever he says
 * later begins with another secret, which has nothing to do with the one before. */
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
    uint32_t first_period, last_period; /* of payloads that carry its ids */
};

/* The rotating id of this spool for `period`, making the secret when there is none and writing down that the period is
 * used. Durable when it returns 0; else -errno, and no payload may carry an id of it. */
SBX_MUST_CHECK int sbx_identity_rotating_id(struct sbx_spool *spool, uint32_t period,
                                            uint8_t id_out[SBX_ROTATING_ID_BYTES]);

/* Read `name` of the spool's root. Returns 0, -ENOENT, -EPROTO when it is none, or another -errno. The caller wipes it.
 */
SBX_MUST_CHECK int sbx_identity_read(struct sbx_spool *spool, const char *name, struct sbx_identity *identity_out);

/* Pure: proof, and id of a proof. Return 0, -EIO or -ENOMEM. */
SBX_MUST_CHECK int sbx_identity_proof(const struct sbx_identity *identity, uint32_t period,
                                      uint8_t proof_out[SBX_ERASURE_PROOF_BYTES]);
SBX_MUST_CHECK int sbx_identity_id_of_proof(const uint8_t proof[SBX_ERASURE_PROOF_BYTES],
                                            uint8_t id_out[SBX_ROTATING_ID_BYTES]);

#endif
