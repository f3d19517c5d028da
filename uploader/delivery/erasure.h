/* SPDX-License-Identifier: Apache-2.0 */
/* erasure.h - asks the server to delete its data of this spool, after the user said no.
 *
 * The pending requests are in the spool (identity.h) until the server has confirmed them. They survive restarts and a
 * later yes, are independent of the policy, and are never pruned. A request contains only proofs of rotating ids. */
#ifndef SBX_ERASURE_H
#define SBX_ERASURE_H

#include <stddef.h>
#include <stdint.h>

#include "spool.h"

struct sbx_erasure_pace { /* zero to begin */
    uint32_t fails;       /* failures in a row */
    uint64_t due_ms;      /* no request before this time */
};

/* Make the requests that are due. `now_ms` and `random` are the caller's clock and 64 random bits. Returns the
 * milliseconds until the next request is due, UINT64_MAX if none is left. `why` gets the last failure (untouched if
 * there was none). Blocks for at most one exchange for each identity. */
uint64_t sbx_erasures_step(struct sbx_spool *spool, const char *server_url, const char *token,
                           struct sbx_erasure_pace *pace, uint64_t now_ms, uint64_t random, char *why,
                           size_t why_bytes);

#endif
