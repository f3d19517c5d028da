/* SPDX-License-Identifier: Apache-2.0 */
/* issue_replies.h - what is answered about issues: lists by what is asked for, one with its sums, and what people say of one. */
#ifndef SBX_ISSUE_REPLIES_H
#define SBX_ISSUE_REPLIES_H

#include <stdbool.h>

#include "arguments.h"
#include "byte_buffer.h"
#include "reply.h"
#include "store_issues.h"

/* The list, as a page or as JSON. 0; -EINVAL and the refusal is in `reply`; or -errno of the store. */
int sbx_issue_reply_list(const struct sbx_store_view *view, const struct sbx_arguments *arguments, bool as_page,
                         int64_t now_ms, struct sbx_reply *reply);

/* Which stalls are summed: by arguments app, version, since and until. What else the path takes (routes.c) is for others. `words` says it
 * to people. As above. */
struct sbx_span_text {
    char version[40], app[80], since[16], until[16], words[120];
    struct sbx_issue_span span; /* its version is the one above */
};
int sbx_issue_reply_span(const struct sbx_arguments *arguments, struct sbx_span_text *text_out,
                         struct sbx_reply *reply);

/* A path of an issue, that people's words are posted to; its id then. */
bool sbx_issue_reply_is_issue(const char *path, uint8_t id_out[SBX_ID_BYTES]);

/* Do what a form asks for: `state`, `until`, `owner` and `note`; or `into`, to merge; or `split`. */
void sbx_issue_reply_words(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES], bool as_page,
                           const struct sbx_byte_buffer *form, int64_t now_ms, struct sbx_reply *reply);

enum {
    SBX_ISSUE_FORM_MAX = 8192
};

#endif
