/* SPDX-License-Identifier: Apache-2.0 */
/* page_report.h - the part of a stall's page that depends on its report only: what, why, and all evidence.
 *
 * The triage worker writes it once, and the server keeps it as a rendering. page_stall.c puts it into a page. */
#ifndef SBX_PAGE_REPORT_H
#define SBX_PAGE_REPORT_H

#include "byte_buffer.h"
#include "report.h"

/* <svg> elements; a picture that is empty or failed is left out. */
struct sbx_report_pictures {
    /* the timeline; judged: only the judged interval, when the timeline has more */
    struct sbx_byte_buffer history, judged;
    struct sbx_byte_buffer flame,
        async; /* async: flame graph in which each stack continues the stack that queued the work, where known */
};

void sbx_page_report(const struct sbx_report *report, const struct sbx_report_pictures *pictures,
                     struct sbx_byte_buffer *page);

#endif
