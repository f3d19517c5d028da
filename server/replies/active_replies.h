/* SPDX-License-Identifier: Apache-2.0 */
/* active_replies.h - a machine reports that an application runs on it today. */
#ifndef SBX_ACTIVE_REPLIES_H
#define SBX_ACTIVE_REPLIES_H

#include "active_days.h"
#include "reply.h"
#include "store_active.h"

#define SBX_ACTIVE_PATH "/v1/active"

enum {
    SBX_ACTIVE_BODY_MAX = 64
};

/* Read the untrusted body "app=HEX&version=1.2.3": ten hex digits of sbx_app_what(), and a version that may be empty.
 * Returns false when the body is anything else. Pure. */
bool sbx_active_request_read(const char *body, size_t bytes, uint64_t *app_out,
                             char version_out[SBX_ACTIVE_VERSION_BYTES]);

/* `token_app`: the application of the token; 0: all. */
void sbx_active_reply(struct sbx_active_days *days, const struct sbx_byte_buffer *body, uint64_t token_app,
                      struct sbx_reply *reply);

#endif
