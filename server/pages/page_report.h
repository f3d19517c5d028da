/* SPDX-License-Identifier: Apache-2.0 */
/* page_report.h - the part of a stall's page that its report alone decides: what, why, and all evidence.
 *
 * Written once by the triage worker and kept as a rendering; page_stall.c puts it into a page. */
#ifndef SBX_PAGE_REPORT_H
#define SBX_PAGE_REPORT_H

#include "byte_buffer.h"
#include "report.h"

/* <svg> elements; an empty or failed one is left out. */
struct sbx_report_pictures {
    struct sbx_byte_buffer history,
        judged;                          /* the timeline; judged: of the judged interval alone, where there is more */
    struct sbx_byte_buffer flame, async; /* async: on the stacks of who queued it, where that is known */
};

void sbx_page_report(const struct sbx_report *report, const struct sbx_report_pictures *pictures,
                     struct sbx_byte_buffer *page);

#endif
