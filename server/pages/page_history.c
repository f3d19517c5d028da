/* SPDX-License-Identifier: Apache-2.0 */
/* page_history.c - records folded into rows that a person can read: a loop of 200 samples is one line, not 200. */
#include "page_history.h"

#include "html_writer.h"
#include "names.h"
#include "page_parts.h"
#include "page_stacks.h"
#include "record_kinds.h"

enum {
    ROWS_MAX = 100, /* newest ones; more would only be scrolled past */
    STEPS_MAX = 50, /* of one row, the newest */
};

/* Records of one thread that read as one: the same thing at the same place in the same message, one after the other. */
struct row {
    size_t first, last; /* indexes into the thread's records; those between that are not shown do not count */
    size_t count;
    uint64_t looks; /* of samples; else how many records */
    uint64_t amount;
};

static const struct sbx_stall_record *records_of(const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    return stall->records + stall->threads[stall->trigger.thread].record_begin;
}

/* The interval of a message or a frame is the timeline's to show. */
static bool is_shown(const struct sbx_stall_record *record)
{
    return !sbx_kind_is_boundary(record->kind);
}

/* Samples of a running thread, whatever point took them. */
static bool is_running(const struct sbx_stall_record *record)
{
    return sbx_kind_is_running_sample(record->kind);
}

static bool is_same(const struct sbx_report *report, const struct sbx_stall_record *a, const struct sbx_stall_record *b)
{
    if (a->message != b->message || a->stack_lost != b->stack_lost)
        return false;
    if (!(is_running(a) && is_running(b)) &&
        (a->kind != b->kind || a->op != b->op || a->object != b->object || a->fd_class != b->fd_class))
        return false;
    return sbx_page_is_same_stack(report, a->stack, b->stack);
}

/* Fold the judged thread's records, keeping the newest rows in a round buffer. Returns how many there are in all. */
static size_t fold_records(const struct sbx_report *report, struct row rows[ROWS_MAX])
{
    const struct sbx_stall_record *records = records_of(report);
    size_t record_count = report->stall->threads[report->stall->trigger.thread].record_count, count = 0;
    for (size_t i = 0; i < record_count; i++) {
        if (!is_shown(&records[i]))
            continue;
        struct row *row = count ? &rows[(count - 1) % ROWS_MAX] : NULL;
        if (!row || !is_same(report, &records[row->last], &records[i])) {
            row = &rows[count++ % ROWS_MAX];
            *row = (struct row){.first = i};
        }
        row->last = i;
        row->count++;
        row->looks += sbx_kind_is_sample(records[i].kind) ? sbx_record_looks(&records[i]) : 1;
        row->amount += records[i].amount;
    }
    return count;
}

/* CPU time from the last record before `first` that read the clock to the last up to `last`; -1 when not measured. */
static int64_t cpu_between(const struct sbx_stall_record *records, size_t first, size_t last)
{
    int64_t before_ns = -1, after_ns = -1;
    for (size_t i = first; i-- > 0 && before_ns < 0;)
        before_ns = records[i].cpu_ns;
    for (size_t i = last + 1; i-- > first && after_ns < 0;)
        after_ns = records[i].cpu_ns;
    return before_ns >= 0 && after_ns >= before_ns ? after_ns - before_ns : -1;
}

static int64_t allocations_between(const struct sbx_stall_record *records, size_t first, size_t last)
{
    return first ? records[last].alloc_count - records[first - 1].alloc_count : 0;
}

/* "-1.234": seconds before the trigger. */
static void put_instant(struct sbx_byte_buffer *page, int64_t ns)
{
    sbx_html_textf(page, "%s%.3f", ns < 0 ? "\xE2\x88\x92" : "", (double)(ns < 0 ? -ns : ns) / 1e9);
}

static void put_kind(struct sbx_byte_buffer *page, const struct sbx_report *report,
                     const struct sbx_stall_record *record, const struct row *row)
{
    sbx_html(page, "<span class=\"kind kind-");
    sbx_html_text(page, sbx_record_name(record->kind));
    sbx_html(page, "\">");
    sbx_html_text(page, is_running(record) ? "running" : sbx_record_name(record->kind));
    sbx_html(page, "</span>");
    if (record->kind == SBX_RECORD_MESSAGE) { /* what is an operation elsewhere is the application's own number here */
        char kind[SBX_KIND_TEXT_BYTES];
        sbx_report_kind_text(report, record->op, kind);
        sbx_html(page, " ");
        sbx_html_text(page, kind);
    } else if (record->op != SBX_OP_NONE && !is_running(record)) {
        const char *call = record->op == SBX_OP_SYSCALL ? sbx_syscall_name(record->amount) : NULL;
        sbx_html(page, " ");
        sbx_html_text(page, call ? call : sbx_op_name(record->op));
    }
    if (record->kind == SBX_RECORD_FILE || record->kind == SBX_RECORD_SOCKET) {
        if (record->fd_class != SBX_FD_UNKNOWN)
            sbx_html_textf(page, " %s", sbx_fd_class_name(record->fd_class));
        if (row->amount)
            sbx_html_textf(page, " %llu B", (unsigned long long)row->amount);
    }
    if (record->flags & SBX_FLAG_FAILED)
        sbx_html(page, " <span class=\"tag\">failed</span>");
    if (row->looks > 1) {
        sbx_html(page, " <span class=\"times\">&times;");
        sbx_html_textf(page, "%llu", (unsigned long long)row->looks);
        sbx_html(page, "</span>");
    }
}

/* Each record of a row: when, and what was measured since the one before. */
static void put_steps(struct sbx_byte_buffer *page, const struct sbx_stall_record *records, const struct row *row)
{
    size_t begin = row->first, left_out = row->count > STEPS_MAX ? row->count - STEPS_MAX : 0;
    for (size_t skipped = 0; skipped < left_out; begin++)
        skipped += is_shown(&records[begin]);
    sbx_html(page, "<ul class=\"steps\">");
    if (left_out) {
        sbx_html(page, "<li>");
        sbx_html_textf(page, "%zu earlier steps are in the downloads", left_out);
        sbx_html(page, "</li>");
    }
    for (size_t i = begin; i <= row->last; i++) {
        if (!is_shown(&records[i]))
            continue;
        int64_t cpu_ns = cpu_between(records, i, i), allocations = allocations_between(records, i, i);
        sbx_html(page, "<li><b>");
        put_instant(page, records[i].begin_ns);
        sbx_html(page, "</b>");
        if (records[i].end_ns > records[i].begin_ns) {
            sbx_html(page, " for ");
            sbx_page_duration(page, records[i].end_ns - records[i].begin_ns);
        }
        if (records[i].repeats) {
            sbx_html(page, ", ");
            sbx_html_textf(page, "%llu looks", (unsigned long long)sbx_record_looks(&records[i]));
        }
        if (cpu_ns >= 0) {
            sbx_html(page, " +");
            sbx_page_duration(page, cpu_ns);
            sbx_html(page, " CPU");
        }
        if (allocations > 0)
            sbx_html_textf(page, " +%lld allocs", (long long)allocations);
        sbx_html(page, "</li>");
    }
    sbx_html(page, "</ul>");
}

static void put_where(struct sbx_byte_buffer *page, const struct sbx_report *report, const struct row *row)
{
    const struct sbx_stall_record *records = records_of(report);
    if (records[row->last].stack_lost) {
        sbx_html(page, "<span class=\"quiet\">lost: the callstack table was full</span>");
        return;
    }
    sbx_html(page, "<details><summary>");
    sbx_page_stack_brief(page, report, records[row->last].stack);
    sbx_html(page, "</summary>");
    sbx_page_stack(page, report, records[row->last].stack);
    if (row->count > 1)
        put_steps(page, records, row);
    sbx_html(page, "</details>");
}

static void put_row(struct sbx_byte_buffer *page, const struct sbx_report *report, const struct row *row)
{
    const struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_stall_record *records = records_of(report);
    const struct sbx_stall_record *first = &records[row->first], *last = &records[row->last];
    int64_t cpu_ns = cpu_between(records, row->first, row->last);
    int64_t allocations = allocations_between(records, row->first, row->last);
    if (last->end_ns > verdict->interval_begin_ns && first->begin_ns < verdict->interval_end_ns)
        sbx_html(page, "<tr>");
    else
        sbx_html(page, "<tr class=\"outside\">");
    sbx_html(page, "<td class=\"number\">");
    put_instant(page, first->begin_ns);
    sbx_html(page, "</td><td class=\"number\">");
    if (last->end_ns > first->begin_ns)
        sbx_page_duration(page, last->end_ns - first->begin_ns);
    sbx_html(page, "</td><td class=\"what\">");
    put_kind(page, report, last, row);
    sbx_html(page, "</td><td class=\"number cpu\">");
    if (cpu_ns >= 0)
        sbx_page_duration(page, cpu_ns);
    sbx_html(page, "</td><td class=\"number allocs\">");
    if (allocations > 0)
        sbx_html_textf(page, "%lld", (long long)allocations);
    sbx_html(page, "</td><td class=\"where\">");
    put_where(page, report, row);
    sbx_html(page, "</td></tr>\n");
}

void sbx_page_history(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    struct row rows[ROWS_MAX];
    if (report->stall->trigger.thread >= report->stall->thread_count)
        return;
    size_t count = fold_records(report, rows), shown = count < ROWS_MAX ? count : ROWS_MAX;
    sbx_html(page, "<section id=\"history\"><h2>Before the trigger</h2><p class=\"note\">What the ");
    sbx_page_thread_name(page, report, report->stall->trigger.thread);
    sbx_html(page, " was found doing, oldest first; neighbours that read the same are one row, open it for the steps."
                   " CPU and allocations are what was spent since the row before.");
    if (shown < count) {
        sbx_html(page, " The oldest ");
        sbx_html_textf(page, "%zu", count - shown);
        sbx_html(page, " rows are in the downloads only.");
    }
    sbx_html(page, "</p>");
    if (shown) {
        sbx_html(page, "<div class=\"wide\"><table class=\"history\"><thead><tr><th class=\"number\">at, s</th>"
                       "<th class=\"number\">for</th><th>what</th><th class=\"number\">CPU</th>"
                       "<th class=\"number\">allocs</th><th>where</th></tr></thead><tbody>\n");
        for (size_t i = count - shown; i < count; i++)
            put_row(page, report, &rows[i % ROWS_MAX]);
        sbx_html(page, "</tbody></table></div>");
    }
    sbx_html(page, "</section>");
}
