/* SPDX-License-Identifier: Apache-2.0 */
/* page_parts.h - what every page is put together from: head and foot, badges, times, durations. */
#ifndef SBX_PAGE_PARTS_H
#define SBX_PAGE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "html_fill.h"

/* Everything before the page's own part, in which the page then stands. `refresh_s` above 0 makes the browser ask again. */
struct sbx_fill sbx_page_begin(struct sbx_byte_buffer *page, const char *title, unsigned refresh_s);
/* The same of a page with pictures, which scripts let one go closer into. */
struct sbx_fill sbx_page_begin_with_pictures(struct sbx_byte_buffer *page, const char *title);
void sbx_page_end(struct sbx_fill *frame);

/* ---- fragments: for places for parts ---- */

/* The cause as a coloured word. Unknown words are shown without a colour of their own. */
void sbx_page_badge(struct sbx_byte_buffer *page, const char *cause);

/* A function's name that may break where a person would break it; "" and NULL read "not established". */
void sbx_page_function(struct sbx_byte_buffer *page, const char *function);

/* The module, and the file and line, behind a function. Without one: nothing. */
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

/* "slow message" for "slow_message", "on CPU" for "on_cpu": a word of the report as a person says it. */
void sbx_page_word(struct sbx_fill *at, const char *word);

/* Stalls of the last thirty days of the sums as a row of small columns, one a day; and the same in words. */
struct sbx_issue_sums;
void sbx_page_trend(struct sbx_fill *at, const struct sbx_issue_sums *sums);
void sbx_page_trend_words(struct sbx_fill *at, const struct sbx_issue_sums *sums);

/* "0.42 %": the share of machine-days that had a stall. Where it is not known: nothing. */
struct sbx_penetration;
void sbx_page_penetration(struct sbx_fill *at, const struct sbx_penetration *penetration);

/* "2026-11-23", of days since 1970. */
void sbx_day_print(int64_t day, char text_out[16]);

/* "open", "muted", "resolved", "reopened": enum sbx_issue_state. */
const char *sbx_issue_state_name(int state);

/* "1 process", "2 processes": of `one` with `ending` where there are more. */
void sbx_page_count(struct sbx_fill *at, int64_t count, const char *one, const char *ending);

#endif
