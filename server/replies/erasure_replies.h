/* SPDX-License-Identifier: Apache-2.0 */
/* erasure_replies.h - a machine asks for its data to be erased: POST /v1/erasures. Any thread. */
#ifndef SBX_ERASURE_REPLIES_H
#define SBX_ERASURE_REPLIES_H

#include "eraser.h"
#include "metrics.h"
#include "renderings.h"
#include "reply.h"
#include "store.h"

struct sbx_erasure_places { /* the places that may have data of the machine; all borrowed */
    struct sbx_store *store;
    struct sbx_renderings *renderings;
    struct sbx_metrics *metrics;
    struct sbx_eraser *eraser; /* erases what is too much for one answer */
};

/* Erase. `body` has proofs, one per line (proto/erasure_format.h). The answer does not tell whether there was any data.
 * It tells only that much is left. */
void sbx_erasure_reply(const struct sbx_erasure_places *places, const struct sbx_byte_buffer *body,
                       struct sbx_reply *reply);

#endif
