/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_replies.h - answers about many stalls at once: of all applications, one application or one version. */
#ifndef SBX_FLEET_REPLIES_H
#define SBX_FLEET_REPLIES_H

#include "issue_replies.h"

/* `/overview`, by arguments app, version, since and until. Returns 0, -EINVAL with the refusal in `reply`, or -errno of
 * the store. */
int sbx_fleet_reply_overview(const struct sbx_store_view *view, const struct sbx_arguments *arguments, int64_t now_ms,
                             struct sbx_reply *reply);

/* `/function`, by arguments name, app, version, since and until. As above. */
int sbx_fleet_reply_function(const struct sbx_store_view *view, const struct sbx_arguments *arguments, int64_t now_ms,
                             struct sbx_reply *reply);

/* `/v1/apps`: applications, by arguments since and until. As above. */
int sbx_fleet_reply_apps(const struct sbx_store_view *view, const struct sbx_arguments *arguments,
                         struct sbx_reply *reply);

#endif
