/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h - two spans of stalls, compared: for a page, and for alerts. */
#ifndef SBX_COMPARISON_H
#define SBX_COMPARISON_H

#include "page_compare.h"

struct sbx_comparison {
    struct sbx_compare_row *rows; /* changed rows first, the most certain first; then by machines */
    size_t count, changed, shown;
    int64_t machines[SBX_COMPARED_SIDES];
    struct sbx_change_row whole;  /* all stalls together, by penetration only */
    struct sbx_issue_row *issues; /* of the first `shown` rows */
};

/* `alarms`: as for sbx_changes_judge(). `today`: a day whose machine-days are not complete. Returns 0 and a comparison
 * (given: finish), or -errno. */
int sbx_comparison_make(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                        double alarms, int64_t today, struct sbx_comparison *comparison_out);
/* Read what pages show of the first `shown` rows. An issue that was removed meanwhile is taken out. Returns 0 or
 * -errno. */
int sbx_comparison_read_issues(const struct sbx_store_view *view, struct sbx_comparison *comparison, size_t shown);
void sbx_comparison_finish(struct sbx_comparison *comparison); /* a zeroed value is fine */

#endif
