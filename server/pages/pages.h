/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - the pages that people look at. Pure: rows and renderings in, HTML out. */
#ifndef SBX_PAGES_H
#define SBX_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "store.h"

/* `/`: issues most processes were hit by, then the newest stalls. `older_seq` above 0 links to the page behind;
 * `is_first` says that this is the page of the newest, the one with the issues. */
struct sbx_list_page {
    const struct sbx_issue_row *issues;
    const struct sbx_snapshot_row *snapshots;
    size_t issue_count, snapshot_count;
    struct sbx_store_counts counts;
    int64_t older_seq;
    int64_t now_ms;
    bool is_first;
};
void sbx_page_list(const struct sbx_list_page *list, struct sbx_byte_buffer *page);

/* `/issues/ID`: one issue and its snapshots, newest first. */
void sbx_page_issue(const struct sbx_issue_row *issue, const struct sbx_list_page *list, struct sbx_byte_buffer *page);

/* `/stalls/ID`: `issue` may be NULL; `report` is SBX_RENDERING_PAGE, or NULL while it is being made. */
void sbx_page_stall(const struct sbx_snapshot_row *row, const struct sbx_issue_row *issue,
                    const struct sbx_byte_buffer *report, int64_t now_ms, struct sbx_byte_buffer *page);

/* An error for people, on the paths of pages. */
void sbx_page_error(unsigned status, const char *sentence, struct sbx_byte_buffer *page);

#endif
