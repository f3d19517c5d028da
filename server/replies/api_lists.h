/* SPDX-License-Identifier: Apache-2.0 */
/* api_lists.h - rows of the store as JSON documents, for programs. */
#ifndef SBX_API_LISTS_H
#define SBX_API_LISTS_H

#include <stddef.h>

#include "reply.h"
#include "store.h"
#include "store_issues.h"
#include "store_symbols.h"

/* {"snapshots":[...],"before":SEQ}: ask again with ?before=SEQ for older ones. "before" is absent when there are
 * none. */
void sbx_api_snapshots(const struct sbx_snapshot_row *rows, size_t count, uint32_t min_machines,
                       struct sbx_reply *reply);
void sbx_api_snapshot(const struct sbx_snapshot_row *row, struct sbx_reply *reply);
/* {"issues":[...]} */
/* `next` above 0: the cursor of the next part. */
void sbx_api_issues(const struct sbx_issue_row *rows, size_t count, int64_t next, uint32_t min_machines,
                    struct sbx_reply *reply);
/* The issue's members and "snapshots", newest first. */
void sbx_api_issue(const struct sbx_issue_row *issue, const struct sbx_issue_sums *sums,
                   const struct sbx_snapshot_row *rows, size_t count, struct sbx_reply *reply);
/* {"sums":{...}} of all issues, or of one application. */
void sbx_api_sums(const struct sbx_issue_sums *sums, struct sbx_reply *reply);
/* {"apps":[...],"withheld":BOOL} */
void sbx_api_apps(const struct sbx_app_sum *rows, size_t count, bool is_withheld, struct sbx_reply *reply);
/* {"moved_to":[{"id","hits"}]} with status 300: the issue was divided into several others when symbols came. */
void sbx_api_moved(const struct sbx_issue_after *rows, size_t count, struct sbx_reply *reply);

#endif
