/* SPDX-License-Identifier: Apache-2.0 */
/* page_history.h - what the judged thread did before the trigger, as a table. */
#ifndef SBX_PAGE_HISTORY_H
#define SBX_PAGE_HISTORY_H

#include "byte_buffer.h"
#include "report.h"

/* A section in the order of time. Consecutive records that read the same are one row, which opens to show its
 * records. */
void sbx_page_history(struct sbx_byte_buffer *page, const struct sbx_report *report);

#endif
