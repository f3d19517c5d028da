/* SPDX-License-Identifier: Apache-2.0 */
/* page_stacks.h - stacks on a page: one as a list or a line, and the stacks of all threads at the trigger. */
#ifndef SBX_PAGE_STACKS_H
#define SBX_PAGE_STACKS_H

#include "byte_buffer.h"
#include "report.h"

/* One callstack as a list, leaf first; the frames of the blamed function are marked. */
void sbx_page_stack(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t stack);

/* One callstack as a line: the named functions nearest the leaf, each called by the next. */
void sbx_page_stack_brief(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t stack);

/* Do two callstacks look the same to a reader: the same named functions in the same order? The addresses within
 * functions, and frames without names, do not count. */
bool sbx_page_is_same_stack(const struct sbx_report *report, uint32_t a, uint32_t b);

/* The stack that the page shows first: the one that the verdict is based on, else the last stack of the judged thread;
 * 0: none. */
uint32_t sbx_page_blamed_stack(const struct sbx_report *report);

/* "main thread", or the thread's name and ordinal. */
void sbx_page_thread_name(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread);

/* A section with every thread's stack at the trigger. Those of the judged thread and the culprit are open, unless they
 * are shown above; the others are folded. */
void sbx_page_threads(struct sbx_byte_buffer *page, const struct sbx_report *report);

#endif
