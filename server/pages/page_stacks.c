/* SPDX-License-Identifier: Apache-2.0 */
/* page_stacks.c - lists of frames. */
#include "page_stacks.h"

#include <string.h>

#include "history.h"
#include "names.h"
#include "page_parts.h"
#include "stacks.html.h"

enum {
    FRAMES_MAX = 512, /* per stack, inlined frames included */
    BRIEF_FRAMES = 3, /* named frames in a stack of one line */
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

static void put_frame(struct sbx_byte_buffer *page, const struct sbx_report *report, const struct sbx_location *frame)
{
    SBX_FILL(page, stacks_frame, at) {
    case STACKS_FRAME_KIND:
        sbx_fill_text(&at, frame->app ? "app" : "base");
        break;
    case STACKS_FRAME_BLAMED:
        if (is_blamed(report, frame))
            sbx_fill_markup(page, &stacks_blamed_markup);
        break;
    case STACKS_FRAME_FUNCTION:
        sbx_page_function(page, frame->function);
        break;
    case STACKS_FRAME_INLINED:
        if (frame->inlined)
            sbx_fill_markup(page, &stacks_inlined_markup);
        break;
    case STACKS_FRAME_SOURCE:
        sbx_fill_text(&at, frame->source ? frame->source : "none");
        break;
    case STACKS_FRAME_MODULE:
        sbx_fill_text(&at, frame->module);
        break;
    case STACKS_FRAME_PLACE:
        sbx_page_place(page, frame->file, frame->line);
        break;
    }
}

void sbx_page_stack(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_location *frames[FRAMES_MAX];
    size_t count = sbx_report_callstack(report, stack, frames, FRAMES_MAX);
    if (count == 0) {
        sbx_fill_markup(page, &stacks_no_stack_markup);
        return;
    }
    SBX_FILL(page, stacks_stack, at) {
    case STACKS_STACK_FRAME:
        for (size_t i = 0; i < count; i++)
            put_frame(page, report, frames[i]);
        break;
    case STACKS_STACK_FURTHER:
        if (count == FRAMES_MAX)
            sbx_fill_markup(page, &stacks_further_markup);
        break;
    }
}

static void put_unnamed(struct sbx_byte_buffer *page, size_t count)
{
    SBX_FILL(page, stacks_unnamed, at) {
    case STACKS_UNNAMED_COUNT:
        sbx_fill_textf(&at, "%zu", count);
        break;
    }
}

static void put_caller(struct sbx_byte_buffer *page, const struct sbx_location *frame)
{
    SBX_FILL(page, stacks_caller, at) {
    case STACKS_CALLER_FUNCTION:
        sbx_page_function(page, frame->function);
        break;
    }
}

void sbx_page_stack_brief(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_location *frames[FRAMES_MAX];
    size_t count = sbx_report_callstack(report, stack, frames, FRAMES_MAX), first = 0;
    if (count == 0) {
        sbx_fill_markup(page, &stacks_no_line_markup);
        return;
    }
    while (first < count && !frames[first]->named)
        first++;
    if (first == count)
        first = 0; /* no frame has a name: show addresses */
    SBX_FILL(page, stacks_line, at) {
    case STACKS_LINE_UNNAMED:
        if (first)
            put_unnamed(page, first);
        break;
    case STACKS_LINE_LEAF:
        sbx_page_function(page, frames[first]->function);
        break;
    case STACKS_LINE_CALLER:
        for (size_t i = first + 1; i < count && i < first + BRIEF_FRAMES; i++)
            put_caller(page, frames[i]);
        break;
    }
}

/* The next named frame from `at` on; `count` when there is none. */
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
    bool has_crashed = report->verdict.cause == SBX_CAUSE_CRASH; /* an older stack does not show where it crashed */
    if (report->verdict.stack || has_crashed || stall->trigger.thread >= stall->thread_count)
        return report->verdict.stack;
    return stall->threads[stall->trigger.thread].last_stack;
}

static void put_thread_pattern(struct sbx_byte_buffer *page, const char *pattern)
{
    SBX_FILL(page, stacks_name, at) {
    case STACKS_NAME_PATTERN:
        sbx_fill_text(&at, pattern);
        break;
    }
}

/* The stack of another process, which held what a thread of this process waited for. */
static void put_process_of_thread(struct sbx_byte_buffer *page, const struct sbx_stall *stall, uint32_t number)
{
    const struct sbx_stall_process *process = &stall->processes[number - 1];
    SBX_FILL(page, stacks_process, at) {
    case STACKS_PROCESS_PROCESS:
        sbx_fill_textf(&at, "%u", number);
        break;
    case STACKS_PROCESS_ROLE:
        sbx_fill_text(&at, !process->is_recorded ? "not recorded" : process->is_worker ? "a worker" : "the main one");
        break;
    }
}

void sbx_page_thread_name(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread)
{
    const struct sbx_stall_thread *row = &report->stall->threads[thread];
    if (row->is_main) {
        sbx_fill_markup(page, &stacks_main_thread_markup);
        return;
    }
    SBX_FILL(page, stacks_other_thread, at) {
    case STACKS_OTHER_THREAD_NUMBER:
        sbx_fill_textf(&at, "%u", thread);
        break;
    case STACKS_OTHER_THREAD_NAME:
        if (strcmp(row->name, "other") != 0)
            put_thread_pattern(page, row->name);
        break;
    case STACKS_OTHER_THREAD_PROCESS:
        if (row->process != 0)
            put_process_of_thread(page, report->stall, row->process);
        break;
    }
}

static void put_call_time(struct sbx_byte_buffer *page, int64_t call_ns)
{
    SBX_FILL(page, stacks_since, at) {
    case STACKS_SINCE_DURATION:
        sbx_page_duration(&at, call_ns);
        break;
    }
}

static void put_holder(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread)
{
    SBX_FILL(page, stacks_holder, at) {
    case STACKS_HOLDER_NAME:
        sbx_page_thread_name(page, report, thread);
        break;
    }
}

/* The blocking call a thread was in at the trigger, with its lock's holder. */
static void put_call(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread)
{
    const struct sbx_stall_thread *row = &report->stall->threads[thread];
    /* the shown stack is another one */
    bool is_over = sbx_history_stack_origin(report, thread).source == SBX_STACK_FROM_INTERVAL;
    if (row->call_kind == SBX_RECORD_NONE || is_over)
        return;
    SBX_FILL(page, stacks_call, at) {
    case STACKS_CALL_OPERATION:
        sbx_fill_text(&at, sbx_op_name(row->call_op));
        break;
    case STACKS_CALL_SINCE:
        if (row->call_ns > 0)
            put_call_time(page, row->call_ns);
        break;
    case STACKS_CALL_HOLDER:
        if (row->call_peer >= 0 && (uint32_t)row->call_peer < report->stall->thread_count)
            put_holder(page, report, (uint32_t)row->call_peer);
        break;
    }
}

static void put_leaf(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread)
{
    const struct sbx_location *leaf;
    if (!sbx_report_callstack(report, sbx_history_thread_stack(report, thread), &leaf, 1))
        return;
    SBX_FILL(page, stacks_leaf, at) {
    case STACKS_LEAF_FUNCTION:
        sbx_page_function(page, leaf->function);
        break;
    }
}

static void put_thread(struct sbx_byte_buffer *page, const struct sbx_report *report, uint32_t thread, bool is_open)
{
    SBX_FILL(page, stacks_thread, at) {
    case STACKS_THREAD_OPEN:
        if (is_open)
            sbx_fill_markup(page, &stacks_open_markup);
        break;
    case STACKS_THREAD_NAME:
        sbx_page_thread_name(page, report, thread);
        break;
    case STACKS_THREAD_JUDGED:
        if (thread == report->stall->trigger.thread)
            sbx_fill_markup(page, &stacks_judged_markup);
        break;
    case STACKS_THREAD_CULPRIT:
        if ((int64_t)thread == report->verdict.culprit_thread)
            sbx_fill_markup(page, &stacks_culprit_markup);
        break;
    case STACKS_THREAD_ENDED:
        if (report->stall->threads[thread].ended)
            sbx_fill_markup(page, &stacks_ended_markup);
        break;
    case STACKS_THREAD_CALL:
        put_call(page, report, thread);
        break;
    case STACKS_THREAD_LEAF:
        put_leaf(page, report, thread);
        break;
    case STACKS_THREAD_STACK:
        sbx_page_stack(page, report, sbx_history_thread_stack(report, thread));
        break;
    }
}

/* The judged thread and the culprit come first. */
static void put_each_thread(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    int64_t judged = stall->trigger.thread, culprit = report->verdict.culprit_thread;
    if (judged < stall->thread_count)
        put_thread(page, report, (uint32_t)judged,
                   !sbx_page_is_same_stack(report, sbx_history_thread_stack(report, (uint32_t)judged),
                                           sbx_page_blamed_stack(report)));
    if (culprit >= 0 && culprit < stall->thread_count && culprit != judged)
        put_thread(page, report, (uint32_t)culprit, true);
    for (uint32_t thread = 0; thread < stall->thread_count; thread++)
        if (thread != judged && thread != culprit)
            put_thread(page, report, thread, false);
}

void sbx_page_threads(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    SBX_FILL(page, stacks_threads, at) {
    case STACKS_THREADS_COUNT:
        sbx_fill_textf(&at, "%u", report->stall->thread_count);
        break;
    case STACKS_THREADS_THREAD:
        put_each_thread(page, report);
        break;
    }
}
