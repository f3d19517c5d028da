/* SPDX-License-Identifier: Apache-2.0 */
/* page_stacks.h - stacks on a page: one as a list or a line, and those of all threads at the trigger. */
#ifndef SBX_PAGE_STACKS_H
#define SBX_PAGE_STACKS_H

#include "byte_buffer.h"
#include "report.h"

/* One callstack as a list, leaf first; the frames of the blamed function are marked. */
void sbx_page_stack(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t stack);

/* One callstack in a line: the named functions nearest the leaf, each called by the next. */
void sbx_page_stack_brief(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t stack);

/* Do two callstacks read the same to a person: the same named functions in the same order? Where within them the calls
 * are, and what has no name, is not looked at. */
bool sbx_page_is_same_stack(const struct sbx_report *report, uint32_t a, uint32_t b);

/* The stack that the page shows first: the one the verdict was read from, else the judged thread's last; 0 none. */
uint32_t sbx_page_blamed_stack(const struct sbx_report *report);

/* "main thread", or the thread's name and ordinal. */
void sbx_page_thread_name(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread);

/* A section with every thread's stack at the trigger: judged and culprit open unless shown above, others folded. */
void sbx_page_threads(struct sbx_byte_buffer *page, const struct sbx_report *report);

#endif
