/* SPDX-License-Identifier: Apache-2.0 */
/* page_sums.h - the sums of many stalls as parts of a page: of an issue, an application, a version. */
#ifndef SBX_PAGE_SUMS_H
#define SBX_PAGE_SUMS_H

#include "byte_buffer.h"
#include "store_issues.h"

/* Stalls, machines, durations, days. `span`: which stalls are summed, in words; "": all. */
void sbx_page_sum_numbers(struct sbx_byte_buffer *page, const struct sbx_issue_sums *sums, const char *span);

/* Tables of their labels and versions. `of`: the sums are of all issues of that application and version, which the
 * links need; NULL: of one issue, whose address the page has. */
void sbx_page_sum_tables(struct sbx_byte_buffer *page, const struct sbx_issue_sums *sums,
                         const struct sbx_issue_span *of);

#endif
