/* SPDX-License-Identifier: Apache-2.0 */
/* issue_replies.h - answers about issues: lists, one issue with its sums, and changes that people make to an issue. */
#ifndef SBX_ISSUE_REPLIES_H
#define SBX_ISSUE_REPLIES_H

#include <stdbool.h>

#include "arguments.h"
#include "byte_buffer.h"
#include "reply.h"
#include "store_issues.h"

/* The list, as a page or as JSON. Returns 0, -EINVAL with the refusal in `reply`, or -errno of the store. */
int sbx_issue_reply_list(const struct sbx_store_view *view, const struct sbx_arguments *arguments, bool as_page,
                         int64_t now_ms, struct sbx_reply *reply);

/* Which stalls are summed, by arguments app, version, since and until; other arguments of the path (routes.c) are
 * ignored here. `words` is the same for people. Returns as above. */
struct sbx_span_text {
    char version[40], app[80], since[16], until[16], words[120];
    struct sbx_issue_span span; /* its `version` points to the member above */
};
int sbx_issue_reply_span(const struct sbx_arguments *arguments, struct sbx_span_text *text_out,
                         struct sbx_reply *reply);

/* Is it the path of an issue where people post changes? Then also its id. */
bool sbx_issue_reply_is_issue(const char *path, uint8_t id_out[SBX_ID_BYTES]);

/* Do what a form asks for: set `state`, `until`, `owner` and `note`; or merge the issue into `into`; or `split` it. */
void sbx_issue_reply_words(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES], bool as_page,
                           const struct sbx_byte_buffer *form, int64_t now_ms, struct sbx_reply *reply);

enum {
    SBX_ISSUE_FORM_MAX = 8192
};

#endif
