/* SPDX-License-Identifier: Apache-2.0 */
/* change_replies.h - changes as a feed for feed readers, and as a list for programs. */
#ifndef SBX_CHANGE_REPLIES_H
#define SBX_CHANGE_REPLIES_H

#include "change_log.h"
#include "issue_replies.h"

/* `/feed.atom` and `/v1/changes`: changes that the view may see, by argument before. Returns 0, -EINVAL with the
 * refusal in `reply`, or -errno. */
int sbx_change_reply(struct sbx_change_log *log, const struct sbx_store_view *view,
                     const struct sbx_arguments *arguments, bool as_feed, struct sbx_reply *reply);

#endif
