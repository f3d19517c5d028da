/* SPDX-License-Identifier: Apache-2.0 */
/* compare_replies.h - answers about two versions, or two spans of days, side by side. */
#ifndef SBX_COMPARE_REPLIES_H
#define SBX_COMPARE_REPLIES_H

#include "issue_replies.h"

/* `/compare` and `/v1/compare`, by arguments app; version, since, until; base, base_since, base_until. Without a
 * version it is the latest, and without a base the version before. Returns 0, -EINVAL with the refusal in `reply`, or
 * -errno. */
int sbx_compare_reply(const struct sbx_store_view *view, const struct sbx_arguments *arguments, bool as_page,
                      struct sbx_reply *reply);

#endif
