/* SPDX-License-Identifier: Apache-2.0 */
/* change_replies.h - what changed, as a feed for readers and a list for programs. */
#ifndef SBX_CHANGE_REPLIES_H
#define SBX_CHANGE_REPLIES_H

#include "change_log.h"
#include "issue_replies.h"

/* `/feed.atom` and `/v1/changes`, of issues that the view may see, by argument before. 0; -EINVAL and the refusal is in `reply`; or -errno. */
int sbx_change_reply(struct sbx_change_log *log, const struct sbx_store_view *view,
                     const struct sbx_arguments *arguments, bool as_feed, struct sbx_reply *reply);

#endif
