/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h - two spans of stalls, judged: what a page shows, and what an alert rests on. */
#ifndef SBX_COMPARISON_H
#define SBX_COMPARISON_H

#include "page_compare.h"

struct sbx_comparison {
    struct sbx_compare_row *rows; /* what changed first, the surest before; then by machines */
    size_t count, changed, shown;
    int64_t machines[SBX_COMPARED_SIDES];
    struct sbx_change_row whole;  /* all stalls together, by penetration alone */
    struct sbx_issue_row *issues; /* of the first `shown` rows */
};

/* `alarms`: as sbx_changes_judge() has it. `today`: a day of machine-days that is not over. Returns 0 and one (given: finish), or -errno. */
int sbx_comparison_make(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                        double alarms, int64_t today, struct sbx_comparison *comparison_out);
/* Read what is shown of the first `shown` rows; an issue that is gone meanwhile is taken out. 0 or -errno. */
int sbx_comparison_read_issues(const struct sbx_store_view *view, struct sbx_comparison *comparison, size_t shown);
void sbx_comparison_finish(struct sbx_comparison *comparison); /* a zeroed one is fine */

#endif
