/* SPDX-License-Identifier: Apache-2.0 */
/* page_history.c - records folded into rows that a person can read: a loop of 200 samples is one line, not 200. */
#include "page_history.h"

#include "history.html.h"
#include "names.h"
#include "page_parts.h"
#include "page_stacks.h"
#include "record_kinds.h"

enum {
    ROWS_MAX = 100, /* the newest rows; a person would only scroll past more */
    STEPS_MAX = 50, /* the newest steps of one row */
};

/* Consecutive records of one thread that read the same: the same thing at the same place in the same message. */
struct row {
    size_t first, last; /* indexes into the thread's records; hidden records between them do not count */
    size_t count;
    uint64_t looks; /* number of samples; for other rows, of records */
    uint64_t amount;
};

static const struct sbx_stall_record *records_of(const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    return stall->records + stall->threads[stall->trigger.thread].record_begin;
}

/* The timeline shows the intervals of messages and frames, so their records are left out here. */
static bool is_shown(const struct sbx_stall_record *record)
{
    return !sbx_kind_is_boundary(record->kind);
}

/* Is it a sample of a running thread, from any capture point? */
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

/* Fold the judged thread's records, and keep the newest rows in a round buffer. Returns the number of all rows. */
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

/* CPU time between two records that read the clock: the last one before `first`, and the last one up to `last`. -1: not
 * measured. */
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
static void put_instant(struct sbx_fill *at, int64_t ns)
{
    sbx_fill_textf(at, "%s%.3f", ns < 0 ? "\xE2\x88\x92" : "", (double)(ns < 0 ? -ns : ns) / 1e9);
}

/* What was called, on what, and how much. */
static void put_details(struct sbx_fill *at, const struct sbx_report *report, const struct sbx_stall_record *record,
                        const struct row *row)
{
    if (record->kind == SBX_RECORD_MESSAGE) { /* for a message, `op` is the application's own number */
        char kind[SBX_KIND_TEXT_BYTES];
        sbx_report_kind_text(report, record->op, kind);
        sbx_fill_textf(at, " %s", kind);
    } else if (record->op != SBX_OP_NONE && !is_running(record)) {
        const char *call = record->op == SBX_OP_SYSCALL ? sbx_syscall_name(record->amount) : NULL;
        sbx_fill_textf(at, " %s", call ? call : sbx_op_name(record->op));
    }
    if (record->kind == SBX_RECORD_FILE || record->kind == SBX_RECORD_SOCKET) {
        if (record->fd_class != SBX_FD_UNKNOWN)
            sbx_fill_textf(at, " %s", sbx_fd_class_name(record->fd_class));
        if (row->amount)
            sbx_fill_textf(at, " %llu B", (unsigned long long)row->amount);
    }
}

static void put_looks(struct sbx_byte_buffer *page, uint64_t looks)
{
    SBX_FILL(page, history_looks, at) {
    case HISTORY_LOOKS_COUNT:
        sbx_fill_textf(&at, "%llu", (unsigned long long)looks);
        break;
    }
}

/* What was measured since the previous record. */
static void put_step_details(struct sbx_fill *at, const struct sbx_stall_record *records, size_t i)
{
    int64_t cpu_ns = cpu_between(records, i, i), allocations = allocations_between(records, i, i);
    if (records[i].end_ns > records[i].begin_ns) {
        sbx_fill_text(at, " for ");
        sbx_page_duration(at, records[i].end_ns - records[i].begin_ns);
    }
    if (records[i].repeats)
        sbx_fill_textf(at, ", %llu looks", (unsigned long long)sbx_record_looks(&records[i]));
    if (cpu_ns >= 0) {
        sbx_fill_text(at, " +");
        sbx_page_duration(at, cpu_ns);
        sbx_fill_text(at, " CPU");
    }
    if (allocations > 0)
        sbx_fill_textf(at, " +%lld allocs", (long long)allocations);
}

static void put_step(struct sbx_byte_buffer *page, const struct sbx_stall_record *records, size_t i)
{
    SBX_FILL(page, history_step, at) {
    case HISTORY_STEP_INSTANT:
        put_instant(&at, records[i].begin_ns);
        break;
    case HISTORY_STEP_DETAILS:
        put_step_details(&at, records, i);
        break;
    }
}

static void put_earlier(struct sbx_byte_buffer *page, size_t count)
{
    SBX_FILL(page, history_earlier, at) {
    case HISTORY_EARLIER_COUNT:
        sbx_fill_textf(&at, "%zu", count);
        break;
    }
}

/* Each record of a row: its time, and what was measured. */
static void put_steps(struct sbx_byte_buffer *page, const struct sbx_stall_record *records, const struct row *row)
{
    size_t begin = row->first, left_out = row->count > STEPS_MAX ? row->count - STEPS_MAX : 0;
    for (size_t skipped = 0; skipped < left_out; begin++)
        skipped += is_shown(&records[begin]);
    SBX_FILL(page, history_steps, at) {
    case HISTORY_STEPS_EARLIER:
        if (left_out)
            put_earlier(page, left_out);
        break;
    case HISTORY_STEPS_STEP:
        for (size_t i = begin; i <= row->last; i++)
            if (is_shown(&records[i]))
                put_step(page, records, i);
        break;
    }
}

static void put_where(struct sbx_byte_buffer *page, const struct sbx_report *report, const struct row *row)
{
    const struct sbx_stall_record *records = records_of(report);
    SBX_FILL(page, history_where, at) {
    case HISTORY_WHERE_BRIEF:
        sbx_page_stack_brief(page, report, records[row->last].stack);
        break;
    case HISTORY_WHERE_STACK:
        sbx_page_stack(page, report, records[row->last].stack);
        break;
    case HISTORY_WHERE_STEPS:
        if (row->count > 1)
            put_steps(page, records, row);
        break;
    }
}

static void put_row(struct sbx_byte_buffer *page, const struct sbx_report *report, const struct row *row)
{
    const struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_stall_record *records = records_of(report);
    const struct sbx_stall_record *first = &records[row->first], *last = &records[row->last];
    int64_t cpu_ns = cpu_between(records, row->first, row->last);
    int64_t allocations = allocations_between(records, row->first, row->last);
    bool is_inside = last->end_ns > verdict->interval_begin_ns && first->begin_ns < verdict->interval_end_ns;
    SBX_FILL(page, history_row, at) {
    case HISTORY_ROW_OUTSIDE:
        if (!is_inside)
            sbx_fill_markup(page, &history_outside_markup);
        break;
    case HISTORY_ROW_INSTANT:
        put_instant(&at, first->begin_ns);
        break;
    case HISTORY_ROW_DURATION:
        if (last->end_ns > first->begin_ns)
            sbx_page_duration(&at, last->end_ns - first->begin_ns);
        break;
    case HISTORY_ROW_KIND:
        sbx_fill_text(&at, sbx_record_name(last->kind));
        break;
    case HISTORY_ROW_KIND_WORD:
        sbx_fill_text(&at, is_running(last) ? "running" : sbx_record_name(last->kind));
        break;
    case HISTORY_ROW_DETAILS:
        put_details(&at, report, last, row);
        break;
    case HISTORY_ROW_FAILED:
        if (last->flags & SBX_FLAG_FAILED)
            sbx_fill_markup(page, &history_failed_markup);
        break;
    case HISTORY_ROW_LOOKS:
        if (row->looks > 1)
            put_looks(page, row->looks);
        break;
    case HISTORY_ROW_CPU:
        if (cpu_ns >= 0)
            sbx_page_duration(&at, cpu_ns);
        break;
    case HISTORY_ROW_ALLOCATIONS:
        if (allocations > 0)
            sbx_fill_textf(&at, "%lld", (long long)allocations);
        break;
    case HISTORY_ROW_LOST:
        if (last->stack_lost)
            sbx_fill_markup(page, &history_lost_markup);
        break;
    case HISTORY_ROW_WHERE:
        if (!last->stack_lost)
            put_where(page, report, row);
        break;
    }
}

static void put_older(struct sbx_byte_buffer *page, size_t count)
{
    SBX_FILL(page, history_older, at) {
    case HISTORY_OLDER_COUNT:
        sbx_fill_textf(&at, "%zu", count);
        break;
    }
}

static void put_rows(struct sbx_byte_buffer *page, const struct sbx_report *report, const struct row rows[ROWS_MAX],
                     size_t begin, size_t end)
{
    SBX_FILL(page, history_rows, at) {
    case HISTORY_ROWS_ROW:
        for (size_t i = begin; i < end; i++)
            put_row(page, report, &rows[i % ROWS_MAX]);
        break;
    }
}

void sbx_page_history(struct sbx_byte_buffer *page, const struct sbx_report *report)
{
    struct row rows[ROWS_MAX];
    if (report->stall->trigger.thread >= report->stall->thread_count)
        return;
    size_t count = fold_records(report, rows), shown = count < ROWS_MAX ? count : ROWS_MAX;
    SBX_FILL(page, history, at) {
    case HISTORY_THREAD:
        sbx_page_thread_name(page, report, report->stall->trigger.thread);
        break;
    case HISTORY_OLDER:
        if (shown < count)
            put_older(page, count - shown);
        break;
    case HISTORY_ROWS:
        if (shown)
            put_rows(page, report, rows, count - shown, count);
        break;
    }
}
