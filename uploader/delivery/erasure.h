/* SPDX-License-Identifier: Apache-2.0 */
/* erasure.h - asking the server to delete what it has of this spool, after its user said no.
 *
 * What is to be asked lies in the spool (identity.h) until the server has said that it is done: over restarts, over a
 * yes that follows, whatever the policy says, and never pruned. The request names nothing but proofs of rotating ids.
 */
#ifndef SBX_ERASURE_H
#define SBX_ERASURE_H

#include <stddef.h>
#include <stdint.h>

#include "spool.h"

struct sbx_erasure_pace { /* zero to begin */
    uint32_t fails;       /* in a row */
    uint64_t due_ms;      /* nothing is asked before */
};

/* Ask for what is to be asked, when it is due. `now_ms` and `random` are the caller's clock and 64 random bits. Returns
 * the milliseconds until it is due again, UINT64_MAX when nothing is left to ask; `why` says what the last failure was
 * (untouched when there was none). Blocks at most one exchange for each identity. */
uint64_t sbx_erasures_step(struct sbx_spool *spool, const char *server_url, const char *token,
                           struct sbx_erasure_pace *pace, uint64_t now_ms, uint64_t random, char *why,
                           size_t why_bytes);

#endif
