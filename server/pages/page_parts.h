/* SPDX-License-Identifier: Apache-2.0 */
/* page_parts.h - the parts that all pages use: head and foot, badges, times, durations. */
#ifndef SBX_PAGE_PARTS_H
#define SBX_PAGE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "html_fill.h"

/* Everything before the own content of a page. The caller then writes that content. `refresh_s` above 0 makes the
 * browser reload the page. */
struct sbx_fill sbx_page_begin(struct sbx_byte_buffer *page, const char *title, unsigned refresh_s);
/* The same for a page with pictures; scripts let the reader zoom into them. */
struct sbx_fill sbx_page_begin_with_pictures(struct sbx_byte_buffer *page, const char *title);
void sbx_page_end(struct sbx_fill *frame);

/* ---- fragments: for places for parts ---- */

/* The cause as a coloured word. Unknown words have no colour of their own. */
void sbx_page_badge(struct sbx_byte_buffer *page, const char *cause);

/* The name of a function, with break points at sensible places; "" and NULL read "not established". */
void sbx_page_function(struct sbx_byte_buffer *page, const char *function);

/* The module, file and line, behind a function's name. Without a module: nothing. */
void sbx_page_module(struct sbx_byte_buffer *page, const char *module);
void sbx_page_place(struct sbx_byte_buffer *page, const char *file, unsigned line);

/* "3 min ago" with the full time (UTC) behind it. Milliseconds since 1970. */
void sbx_page_time(struct sbx_byte_buffer *page, int64_t when_ms, int64_t now_ms);

/* ---- values: for places for values ---- */

/* Three significant digits at most: "850 us", "1.25 ms", "134 ms", "2.03 s", "3 min 12 s". */
enum {
    SBX_DURATION_TEXT_BYTES = 32
};
void sbx_duration_print(int64_t duration_ns, char text_out[SBX_DURATION_TEXT_BYTES]);
void sbx_page_duration(struct sbx_fill *at, int64_t duration_ns);

/* "slow message" for "slow_message", "on CPU" for "on_cpu": a word of the report as a person would write it. */
void sbx_page_word(struct sbx_fill *at, const char *word);

/* Stalls of the last thirty days of the sums: one small column per day; and the same in words. */
struct sbx_issue_sums;
void sbx_page_trend(struct sbx_fill *at, const struct sbx_issue_sums *sums);
void sbx_page_trend_words(struct sbx_fill *at, const struct sbx_issue_sums *sums);

/* "0.42 %": the share of machine-days that had a stall. When it is not known: nothing. */
struct sbx_penetration;
void sbx_page_penetration(struct sbx_fill *at, const struct sbx_penetration *penetration);

/* "2026-11-23", from days since 1970. */
void sbx_day_print(int64_t day, char text_out[16]);

/* "open", "muted", "resolved", "reopened": enum sbx_issue_state. */
const char *sbx_issue_state_name(int state);

/* "1 process", "2 processes": the word `one`, with `ending` for other counts than 1. */
void sbx_page_count(struct sbx_fill *at, int64_t count, const char *one, const char *ending);

#endif
