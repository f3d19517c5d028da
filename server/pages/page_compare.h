/* SPDX-License-Identifier: Apache-2.0 */
/* page_compare.h - two versions, or two spans of days, side by side. */
#ifndef SBX_PAGE_COMPARE_H
#define SBX_PAGE_COMPARE_H

#include "merged_profile.h"
#include "regression.h"
#include "store_compare.h"

/* The request, as it stands in an address; "": any. */
struct sbx_compare_ask {
    char app[80], version[40], since[16], until[16], base[40], base_since[16], base_until[16];
};

/* One issue on both sides, with the verdict. */
struct sbx_compare_row {
    struct sbx_compared_issue met;
    struct sbx_change_row judged;
    const struct sbx_issue_row *issue; /* NULL: not read */
};

struct sbx_compare_page {
    struct sbx_compare_ask ask;
    char names[SBX_COMPARED_SIDES][120];      /* for example "version 2.3.0 since 2026-11-01" */
    const struct sbx_issue_sums *sums;        /* for each side: durations and days */
    int64_t machines[SBX_COMPARED_SIDES];     /* machines with any stall */
    struct sbx_change_row whole;              /* all stalls together, per machine-day */
    const struct sbx_compare_row *rows;       /* changed issues first */
    size_t changed, shown, count;             /* changed rows; rows to show, including these; all issues */
    const struct sbx_merged_profile *profile; /* settled, of both sides */
    bool is_withheld;
};
void sbx_page_compare(const struct sbx_compare_page *compare, struct sbx_byte_buffer *page);

#endif
