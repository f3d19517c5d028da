/* SPDX-License-Identifier: Apache-2.0 */
/* erasure_replies.c - a machine asks for its data to be erased. */
#include "erasure_replies.h"

#include "erasure_request.h"
#include "request.h"
#include "wall_clock.h"

enum {
    /* stalls; most machines have fewer, so all is erased before the answer. The rest is erased after it */
    ERASED_AT_ONCE = 200,
    AGAIN_S = 30, /* by then the rest may be erased */
};

/* Erase some of the data with this id: at most *left rows, which is then reduced. Returns 1 when all is erased, 0 when
 * there may be more, or -errno. */
static int erase_some(const struct sbx_erasure_places *places, const uint8_t *id, size_t *left)
{
    struct sbx_eraser_boxes boxes = {places->store, places->renderings, places->metrics, NULL};
    size_t before = *left;
    int went = 1;
    while (went > 0 && *left > 0) {
        went = sbx_store_erase_some(places->store, id, *left, sbx_eraser_forget, &boxes);
        *left -= went > 0 ? (size_t)went : 0;
    }
    if (went == 0)
        went = sbx_store_end_erasure(places->store, id, sbx_wall_clock_ms(), before - *left);
    else if (went > 0)
        return 0;
    return went < 0 ? went : 1;
}

/* Returns 1 when all data with one of the ids is erased, 0 when not yet, or -errno. */
static int erase(const struct sbx_erasure_places *places, const uint8_t (*ids)[SBX_ROTATING_ID_BYTES], size_t count)
{
    size_t left = ERASED_AT_ONCE;
    bool is_all = true;
    int result = sbx_store_want_erased(places->store, ids, count, sbx_wall_clock_ms());
    for (size_t i = 0; i < count && result >= 0; i++) {
        result = erase_some(places, ids[i], &left);
        is_all = is_all && result > 0;
    }
    return result < 0 ? result : is_all;
}

void sbx_erasure_reply(const struct sbx_erasure_places *places, const struct sbx_byte_buffer *body,
                       struct sbx_reply *reply)
{
    uint8_t proofs[SBX_ERASURES_MAX][SBX_ERASURE_PROOF_BYTES], ids[SBX_ERASURES_MAX][SBX_ROTATING_ID_BYTES];
    size_t count = body->failed ? 0 : sbx_erasure_request_read(body->data, body->used, proofs);
    if (count == 0) { /* the whole request is checked before anything is erased */
        sbx_reply_text(reply, 400, "a request to delete is 1 to %d lines of 64 hex digits", SBX_ERASURES_MAX);
        return;
    }
    sbx_metrics_add(places->metrics, SBX_METRIC_ERASURES, 1);
    int result = 0;
    for (size_t i = 0; i < count && result >= 0; i++)
        result = sbx_rotating_id_of_proof(proofs[i], ids[i]);
    if (result >= 0)
        result = erase(places, (const uint8_t(*)[SBX_ROTATING_ID_BYTES])ids, count);
    if (result < 0) {
        sbx_reply_text(reply, 503, "not all could be deleted; ask again");
        reply->retry_after_s = SBX_STORE_AGAIN_S;
        return;
    }
    if (result == 0) {
        sbx_eraser_wake(places->eraser);
        reply->retry_after_s = AGAIN_S;
    }
    reply->status = result > 0 ? 200 : 202;
    reply->content_type = SBX_TEXT_PLAIN;
    sbx_byte_buffer_text(&reply->body, result > 0 ? SBX_ERASED_ANSWER : SBX_ERASING_ANSWER);
}
