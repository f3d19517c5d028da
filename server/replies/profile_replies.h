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

/* `/profile` and `/v1/profile...`, by arguments issue, or app; version, since, until; of the page find, function, at and full too. 0;
 * -EINVAL and the refusal is in `reply`; or -errno, -ENOENT of an issue that there is not. */
int sbx_profile_reply(const struct sbx_store_view *view, const struct sbx_arguments *arguments,
                      enum sbx_profile_form form, struct sbx_reply *reply);

/* The profiles of an issue (NULL: of all of the span) added up on one side; what is no profile is left out. The profile is
 * initialized and not settled. Returns 0 or -errno. */
int sbx_profile_read(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                     enum sbx_merged_side side, struct sbx_merged_profile *profile);

#endif
