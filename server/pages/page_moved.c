/* SPDX-License-Identifier: Apache-2.0 */
/* page_moved.c - where the stalls of an issue went when symbols came. */
#include "pages.h"

#include "moved.html.h"
#include "page_parts.h"

static void put_row(struct sbx_byte_buffer *page, const struct sbx_issue_after *row)
{
    SBX_FILL(page, moved_row, at) {
    case MOVED_ROW_HITS:
        sbx_fill_textf(&at, "%lld", (long long)row->hits);
        break;
    case MOVED_ROW_ID:
        sbx_fill_text(&at, row->id_text);
        break;
    case MOVED_ROW_HEADLINE:
        sbx_fill_text(&at, *row->headline ? row->headline : row->id_text);
        break;
    }
}

void sbx_page_moved(const struct sbx_issue_after *rows, size_t count, struct sbx_byte_buffer *page)
{
    struct sbx_fill frame = sbx_page_begin(page, "An issue that moved - Stallbox", 0);
    SBX_FILL(page, moved, at) {
    case MOVED_ROW:
        for (size_t i = 0; i < count; i++)
            put_row(page, &rows[i]);
        break;
    }
    sbx_page_end(&frame);
}
