/* SPDX-License-Identifier: Apache-2.0 */
/* policy_replies.h - reading and replacing the policy of an application. */
#ifndef SBX_POLICY_REPLIES_H
#define SBX_POLICY_REPLIES_H

#include "policy_shelf.h"
#include "request.h"

/* Open to everyone: a policy is signed, not secret, and the client sends nothing about itself. */
void sbx_policy_reply_read(struct sbx_policy_shelf *shelf, const struct sbx_request *request,
                           const uint8_t app_id[SBX_ID_BYTES], struct sbx_reply *reply);

/* Replace an application's policy with the body. */
void sbx_policy_reply_put(struct sbx_policy_shelf *shelf, const uint8_t app_id[SBX_ID_BYTES],
                          const struct sbx_byte_buffer *body, struct sbx_reply *reply);

#endif
