/* SPDX-License-Identifier: Apache-2.0 */
/* policy_replies.c - reads and replaces the policy of an application. */
#include "policy_replies.h"

#include <errno.h>
#include <string.h>

void sbx_policy_reply_read(struct sbx_policy_shelf *shelf, const struct sbx_request *request,
                           const uint8_t app_id[SBX_ID_BYTES], struct sbx_reply *reply)
{
    int result = sbx_policy_shelf_read(shelf, app_id, &reply->body, reply->tag);
    if (result < 0) {
        sbx_byte_buffer_finish(&reply->body);
        sbx_refuse_for(request, reply, result);
        return;
    }
    reply->status = 200;
    reply->content_type = "application/octet-stream";
    if (request->if_none_match && strcmp(request->if_none_match, reply->tag) == 0) {
        sbx_byte_buffer_finish(&reply->body);
        reply->status = 304;
    }
}

void sbx_policy_reply_put(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES],
                          const struct sbx_byte_buffer *body, struct sbx_reply *reply)
{
    int result = body->failed ? -EFBIG : sbx_policy_shelf_write(shelf, app_id, body->data, body->used);
    if (result == -EINVAL) {
        sbx_reply_text(reply, 400, "this is no signed document (stallbox policy sign makes one)");
    } else if (result == -EFBIG) {
        sbx_reply_text(reply, 413, "a policy has at most %d bytes", SBX_POLICY_FILE_MAX);
    } else if (result < 0) {
        sbx_reply_text(reply, 503, "the policy could not be kept: %s", strerror(-result));
        reply->retry_after_s = SBX_STORE_AGAIN_S;
    } else {
        sbx_reply_text(reply, 200, "kept");
    }
}
