/* SPDX-License-Identifier: Apache-2.0 */
/* page_stacks.c - lists of frames. */
#include "page_stacks.h"

#include <string.h>

#include "history.h"
#include "html_writer.h"
#include "names.h"
#include "page_parts.h"

enum {
    FRAMES_MAX = 512, /* shown of one stack, inlined frames included */
    BRIEF_FRAMES = 3, /* named ones, shown of a stack in a line */
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool is_blamed(const struct sbx_report *report, const struct sbx_location *location)
{
    const struct sbx_location *blamed = &report->verdict.location;
    return blamed->function && *blamed->function && strcmp(location->function, blamed->function) == 0 &&
           strcmp(or_empty(location->module), or_empty(blamed->module)) == 0;
}

void sbx_page_stack(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_location *frames[FRAMES_MAX];
    size_t count = sbx_report_callstack(report, stack, frames, FRAMES_MAX);
    if (count == 0) {
        sbx_html(page, "<p class=\"quiet\">No stack was recorded.</p>");
        return;
    }
    sbx_html(page, "<ol class=\"stack\">");
    for (size_t i = 0; i < count; i++) {
        sbx_html(page, "<li class=\"");
        sbx_html_textf(page, "%s%s", frames[i]->app ? "app" : "base", is_blamed(report, frames[i]) ? " blamed" : "");
        sbx_html(page, "\">");
        sbx_page_function(page, frames[i]->function);
        if (frames[i]->inlined)
            sbx_html(page, " <span class=\"tag\">inlined</span>");
        sbx_html(page, " <span class=\"module\">");
        sbx_html_text(page, frames[i]->module);
        sbx_html(page, "</span>");
        if (frames[i]->file && frames[i]->line) {
            sbx_html(page, " <span class=\"place\">");
            sbx_html_textf(page, "%s:%u", frames[i]->file, frames[i]->line);
            sbx_html(page, "</span>");
        }
        sbx_html(page, "</li>");
    }
    sbx_html(page, "</ol>");
    if (count == FRAMES_MAX)
        sbx_html(page, "<p class=\"quiet\">Further callers are not shown.</p>");
}

void sbx_page_stack_brief(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_location *frames[FRAMES_MAX];
    size_t count = sbx_report_callstack(report, stack, frames, FRAMES_MAX), first = 0;
    if (count == 0) {
        sbx_html(page, "<span class=\"quiet\">no stack</span>");
        return;
    }
    while (first < count && !frames[first]->named)
        first++;
    if (first == count)
        first = 0; /* nothing has a name: then the places themselves */
    if (first) {
        sbx_html(page, "<span class=\"quiet\">");
        sbx_html_textf(page, "%zu unnamed", first);
        sbx_html(page, "</span> <span class=\"caller\">&larr;</span> ");
    }
    for (size_t i = first; i < count && i < first + BRIEF_FRAMES; i++) {
        if (i > first)
            sbx_html(page, "<span class=\"caller\"> &larr; ");
        sbx_page_function(page, frames[i]->function);
        if (i > first)
            sbx_html(page, "</span>");
    }
}

/* The next frame from `at` on that has a name; `count` when none has. */
static size_t next_named(const struct sbx_location *const *frames, size_t count, size_t at)
{
    while (at < count && !frames[at]->named)
        at++;
    return at;
}

bool sbx_page_is_same_stack(const struct sbx_report *report, uint32_t a, uint32_t b)
{
    const struct sbx_location *frames_a[FRAMES_MAX], *frames_b[FRAMES_MAX];
    if (a == b)
        return true;
    size_t count_a = sbx_report_callstack(report, a, frames_a, FRAMES_MAX);
    size_t count_b = sbx_report_callstack(report, b, frames_b, FRAMES_MAX);
    size_t at_a = next_named(frames_a, count_a, 0), at_b = next_named(frames_b, count_b, 0);
    if (at_a == count_a || at_b == count_b)
        return false;
    while (at_a < count_a && at_b < count_b) {
        if (strcmp(frames_a[at_a]->function, frames_b[at_b]->function) != 0 ||
            strcmp(frames_a[at_a]->module, frames_b[at_b]->module) != 0)
            return false;
        at_a = next_named(frames_a, count_a, at_a + 1);
        at_b = next_named(frames_b, count_b, at_b + 1);
    }
    return at_a == count_a && at_b == count_b;
}

/* ---- threads ---- */

uint32_t sbx_page_blamed_stack(const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    if (report->verdict.stack || stall->trigger.thread >= stall->thread_count)
        return report->verdict.stack;
    return stall->threads[stall->trigger.thread].last_stack;
}

void sbx_page_thread_name(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread)
{
    const struct sbx_stall_thread *row = &report->stall->threads[thread];
    if (row->is_main) {
        sbx_html(page, "main thread");
        return;
    }
    sbx_html(page, "thread ");
    sbx_html_textf(page, "%u", thread);
    if (strcmp(row->name, "other") != 0) {
        sbx_html(page, " <code>");
        sbx_html_text(page, row->name);
        sbx_html(page, "</code>");
    }
}

/* The blocking call a thread was in at the trigger, with its lock's holder. */
static void put_call(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread)
{
    const struct sbx_stall_thread *row = &report->stall->threads[thread];
    bool is_over = sbx_history_stack_origin(report, thread).source == SBX_STACK_FROM_INTERVAL; /* not the stack shown */
    if (row->call_kind == SBX_RECORD_NONE || is_over)
        return;
    sbx_html(page, "<span class=\"call\">in ");
    sbx_html_textf(page, "%s", sbx_op_name(row->call_op));
    if (row->call_ns > 0) {
        sbx_html(page, " for ");
        sbx_page_duration(page, row->call_ns);
    }
    if (row->call_peer >= 0 && (uint32_t)row->call_peer < report->stall->thread_count) {
        sbx_html(page, ", held by ");
        sbx_page_thread_name(page, report, (uint32_t)row->call_peer);
    }
    sbx_html(page, "</span>");
}

static void put_thread(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread, bool is_open)
{
    const struct sbx_stall_thread *row = &report->stall->threads[thread];
    const struct sbx_location *leaf;
    if (is_open)
        sbx_html(page, "<details class=\"thread\" open><summary>");
    else
        sbx_html(page, "<details class=\"thread\"><summary>");
    sbx_html(page, "<b>");
    sbx_page_thread_name(page, report, thread);
    sbx_html(page, "</b> ");
    if (thread == report->stall->trigger.thread)
        sbx_html(page, "<span class=\"tag\">judged</span> ");
    if ((int64_t)thread == report->verdict.culprit_thread)
        sbx_html(page, "<span class=\"tag culprit\">culprit</span> ");
    if (row->ended)
        sbx_html(page, "<span class=\"tag\">ended</span> ");
    put_call(page, report, thread);
    if (sbx_report_callstack(report, sbx_history_thread_stack(report, thread), &leaf, 1)) {
        sbx_html(page, " <span class=\"leaf\">");
        sbx_page_function(page, leaf->function);
        sbx_html(page, "</span>");
    }
    sbx_html(page, "</summary>");
    sbx_page_stack(page, report, sbx_history_thread_stack(report, thread));
    sbx_html(page, "</details>");
}

void sbx_page_threads(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    int64_t judged = stall->trigger.thread, culprit = report->verdict.culprit_thread;
    sbx_html(page, "<section id=\"threads\"><h2>Threads at the trigger <span class=\"count\">");
    sbx_html_textf(page, "%u", stall->thread_count);
    sbx_html(page, "</span></h2>");
    if (judged < stall->thread_count)
        put_thread(page, report, (uint32_t)judged,
                   !sbx_page_is_same_stack(report, sbx_history_thread_stack(report, (uint32_t)judged),
                                           sbx_page_blamed_stack(report)));
    if (culprit >= 0 && culprit < stall->thread_count && culprit != judged)
        put_thread(page, report, (uint32_t)culprit, true);
    for (uint32_t thread = 0; thread < stall->thread_count; thread++)
        if (thread != judged && thread != culprit)
            put_thread(page, report, thread, false);
    sbx_html(page, "</section>");
}
