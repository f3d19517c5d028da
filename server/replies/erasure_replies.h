/* SPDX-License-Identifier: Apache-2.0 */
/* erasure_replies.h - a machine asks to be forgotten: POST /v1/erasures. Any thread. */
#ifndef SBX_ERASURE_REPLIES_H
#define SBX_ERASURE_REPLIES_H

#include "eraser.h"
#include "metrics.h"
#include "renderings.h"
#include "reply.h"
#include "store.h"

struct sbx_erasure_places { /* where something of it may lie; all borrowed */
    struct sbx_store *store;
    struct sbx_renderings *renderings;
    struct sbx_metrics *metrics;
    struct sbx_eraser *eraser; /* of what is too much for one answer */
};

/* Do it: `body` has proofs, one a line (proto/erasure_format.h). The answer does not tell whether there was anything; only that there is much left. */
void sbx_erasure_reply(const struct sbx_erasure_places *places, const struct sbx_byte_buffer *body,
                       struct sbx_reply *reply);

#endif
