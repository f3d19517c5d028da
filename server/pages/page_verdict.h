/* SPDX-License-Identifier: Apache-2.0 */
/* page_verdict.h - the head of a report's page: the cause, the headline, the place to blame, and what was hit. */
#ifndef SBX_PAGE_VERDICT_H
#define SBX_PAGE_VERDICT_H

#include "byte_buffer.h"
#include "report.h"

/* One section. The report must have a verdict. */
void sbx_page_verdict(struct sbx_byte_buffer *page, const struct sbx_report *report);

#endif
