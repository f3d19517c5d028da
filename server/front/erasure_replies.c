/* SPDX-License-Identifier: Apache-2.0 */
/* erasure_replies.c - a machine asks to be forgotten. */
#include "erasure_replies.h"

#include "erasure_request.h"
#include "request.h"
#include "wall_clock.h"

static void forget_renderings(void *context, const uint8_t id[SBX_ID_BYTES])
{
    const struct sbx_erasure_places *places = context;
    sbx_renderings_remove(places->renderings,
                          id); /* what stays for want of a disk is of a snapshot that is found no more */
    sbx_metrics_add(places->metrics, SBX_METRIC_ERASED, 1);
}

void sbx_erasure_reply(const struct sbx_erasure_places *places, const struct sbx_byte_buffer *body,
                       struct sbx_reply *reply)
{
    uint8_t proofs[SBX_ERASURES_MAX][SBX_ERASURE_PROOF_BYTES], id[SBX_ROTATING_ID_BYTES];
    size_t count = body->failed ? 0 : sbx_erasure_request_read(body->data, body->used, proofs);
    if (count == 0) { /* all of it is looked at before any of it is done */
        sbx_reply_text(reply, 400, "a request to delete is 1 to %d lines of 64 hex digits", SBX_ERASURES_MAX);
        return;
    }
    sbx_metrics_add(places->metrics, SBX_METRIC_ERASURES, 1);
    int result = 0;
    for (size_t i = 0; i < count && result >= 0; i++) {
        result = sbx_rotating_id_of_proof(proofs[i], id);
        if (result == 0)
            result =
                sbx_store_erase(places->store, id, sbx_wall_clock_ms(), forget_renderings, (void *)(uintptr_t)places);
    }
    if (result < 0) {
        sbx_reply_text(reply, 503, "not all could be deleted; ask again");
        reply->retry_after_s = SBX_STORE_AGAIN_S;
        return;
    }
    reply->status = 200;
    reply->content_type = SBX_TEXT_PLAIN;
    sbx_byte_buffer_text(&reply->body, SBX_ERASED_ANSWER);
}
