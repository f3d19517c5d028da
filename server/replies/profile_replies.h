/* SPDX-License-Identifier: Apache-2.0 */
/* profile_replies.h - where the time of many stalls went: a page, a document, and files for other tools. */
#ifndef SBX_PROFILE_REPLIES_H
#define SBX_PROFILE_REPLIES_H

#include "issue_replies.h"
#include "merged_profile.h"

enum sbx_profile_form {
    SBX_PROFILE_PAGE,
    SBX_PROFILE_JSON,
    SBX_PROFILE_FOLDED,
    SBX_PROFILE_PPROF,
    SBX_PROFILE_SPEEDSCOPE,
    SBX_PROFILE_FORMS,
};

/* `/profile` and `/v1/profile...`, by arguments issue, or app; version, since, until. The page also takes find,
 * function, at and full. Returns 0, -EINVAL with the refusal in `reply`, -ENOENT for an unknown issue, or another
 * -errno. */
int sbx_profile_reply(const struct sbx_store_view *view, const struct sbx_arguments *arguments,
                      enum sbx_profile_form form, struct sbx_reply *reply);

/* Add up the profiles of an issue (NULL: of all issues of the span) on one side. Invalid profiles are left out. The
 * result is initialized but not settled. Returns 0 or -errno. */
int sbx_profile_read(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                     enum sbx_merged_side side, struct sbx_merged_profile *profile);

#endif
