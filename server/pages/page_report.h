/* SPDX-License-Identifier: Apache-2.0 */
/* page_report.h - the part of a stall's page that its report alone decides: what, why, and all evidence.
 *
 * Written once by the triage worker and kept as a rendering; page_stall.c puts it into a page. */
#ifndef SBX_PAGE_REPORT_H
#define SBX_PAGE_REPORT_H

#include "byte_buffer.h"
#include "report.h"

/* `timeline` and `flame` are <svg> elements; an empty or failed one is left out. */
void sbx_page_report(const struct sbx_report *report, const struct sbx_byte_buffer *timeline,
                     const struct sbx_byte_buffer *flame, struct sbx_byte_buffer *page);

#endif
