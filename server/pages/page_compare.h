/* SPDX-License-Identifier: Apache-2.0 */
/* page_compare.h - two versions, or two spans of days, side by side. */
#ifndef SBX_PAGE_COMPARE_H
#define SBX_PAGE_COMPARE_H

#include "merged_profile.h"
#include "regression.h"
#include "store_compare.h"

/* What was asked for, as it stands in an address; "" any. */
struct sbx_compare_ask {
    char app[80], version[40], since[16], until[16], base[40], base_since[16], base_until[16];
};

/* One issue on both sides, judged. */
struct sbx_compare_row {
    struct sbx_compared_issue met;
    struct sbx_change_row judged;
    const struct sbx_issue_row *issue; /* NULL: not read */
};

struct sbx_compare_page {
    struct sbx_compare_ask ask;
    char names[SBX_COMPARED_SIDES][120];      /* "version 2.3.0 since 2026-11-01" */
    const struct sbx_issue_sums *sums;        /* by side: durations and days */
    int64_t machines[SBX_COMPARED_SIDES];     /* that had any stall */
    struct sbx_change_row whole;              /* all stalls together, by machine-days */
    const struct sbx_compare_row *rows;       /* what changed first */
    size_t changed, shown, count;             /* rows that changed; rows to show, those included; issues in all */
    const struct sbx_merged_profile *profile; /* settled, both sides */
    bool is_withheld;
};
void sbx_page_compare(const struct sbx_compare_page *compare, struct sbx_byte_buffer *page);

#endif
