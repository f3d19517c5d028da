/* SPDX-License-Identifier: Apache-2.0 */
/* print_perfetto.c - a report as a trace that Perfetto opens.
 *
 *   process (the application)
 *     +- stall                  the judged interval with verdict, evidence, losses; the trigger
 *     +- thread                 calls as nested slices, measured waits as their leaves
 *          +- NAME: state       on CPU, lock, sleep, ... with what was waited for
 *          +- NAME: messages    one slice per message of its loop
 *          +- NAME: CPU time, NAME: ready, NAME: allocated    counters
 *     +- memory pressure, I/O pressure, ...      counters of the machine and the control group
 *   and every record with a stack once more as a sample, for Perfetto's flame graphs.
 *
 * pids and tids are ordinals + 1, because a payload has no real ones. Times before the trigger are negative in a
 * report, and a trace cannot have negative times. So the trace's clock begins one second before the history. A wait
 * that began even earlier (a worker that had been idle for an hour) is drawn from time zero; its note has the true
 * duration. */
#include "exporters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call_path.h"
#include "cause.h"
#include "clean_text.h"
#include "names.h"
#include "perfetto_counts.h"
#include "perfetto_packets.h"
#include "perfetto_tracks.h"
#include "perfetto_verdict.h"
#include "record_kinds.h"
#include "report.h"
#include "slice_builder.h"
#include "thread_spans.h"
#include "wait_links.h"

enum {
    SLICES_MAX = 1 << 20,     /* in total; some 150 MB of trace. A payload of 10 s and 8 threads has a tenth of that */
    LOOKS_MAX = 128,          /* of one run; an agent ends a run sooner */
    CALLSTACKS_MAX = 1 << 17, /* samples of further callstacks are left out */
};
#define NS_PER_S INT64_C(1000000000)

static double ms_of(int64_t ns)
{
    return (double)ns / 1e6;
}

struct printer {
    struct sbx_perfetto trace;
    const struct sbx_report *report;
    const struct sbx_call_paths *paths;
    size_t slices_left;
    uint64_t flows; /* number of flows so far */
    bool slices_cut, samples_cut;
    char *message_names[2 * SBX_OP_MAX]; /* by kind, then those of short messages: the trace borrows its names */
};

/* ---- notes about a wait ---- */

static void note_wait(struct printer *printer, const struct sbx_span *span)
{
    struct sbx_perfetto *trace = &printer->trace;
    const struct sbx_stall *stall = printer->report->stall;
    sbx_perfetto_note_text(trace, "kind", sbx_record_name(span->kind));
    if (span->kind == SBX_RECORD_FILE || span->kind == SBX_RECORD_SOCKET) {
        sbx_perfetto_note_count(trace, "bytes", (int64_t)span->amount);
    }
    if (span->fd_class != SBX_FD_UNKNOWN) {
        sbx_perfetto_note_text(trace, "descriptor", sbx_fd_class_name(span->fd_class));
    }
    if (span->object != 0) {
        sbx_perfetto_note_count(trace, span->kind == SBX_RECORD_LOCK ? "lock" : "object", span->object - 1);
    }
    if (span->peer >= 0 && (uint32_t)span->peer < stall->thread_count) {
        char label[SBX_TRACE_LABEL_BYTES];
        sbx_thread_label(stall, (uint32_t)span->peer, label, sizeof label);
        sbx_perfetto_note_text(trace, "holder", label);
        sbx_perfetto_note_count(trace, "holder tid", span->peer + 1);
    }
    if (span->unfinished) {
        sbx_perfetto_note_text(trace, "still waiting", "when the trigger fired");
    }
}

/* ---- calls ---- */

static void note_location(struct printer *printer, const struct sbx_location *location)
{
    if (location->module[0] != '\0') {
        sbx_perfetto_note_text(&printer->trace, "module", location->module);
    }
    if (location->file != NULL) {
        char place[SBX_CLEAN_TEXT_BYTES];
        snprintf(place, sizeof place, "%s:%u", location->file, location->line);
        sbx_perfetto_note_text(&printer->trace, "called from or at", place);
    }
    if (location->inlined) {
        sbx_perfetto_note_text(&printer->trace, "inlined", "yes");
    }
}

static void note_bounds(struct printer *printer, const struct sbx_slice *slice)
{
    struct sbx_perfetto *trace = &printer->trace;
    if (slice->exact) {
        sbx_perfetto_note_text(trace, "certainty", "measured");
        sbx_perfetto_note_number(trace, "duration_ms", ms_of(slice->last_seen_ns - slice->begin_ns));
        return;
    }
    sbx_perfetto_note_text(trace, "certainty", "sampled");
    sbx_perfetto_note_number(trace, "min_ms", ms_of(slice->last_seen_ns - slice->begin_ns));
    if (slice->history_begin) {
        sbx_perfetto_note_text(trace, "max_ms", "not known: the history begins here");
    } else {
        sbx_perfetto_note_number(trace, "max_ms", ms_of(slice->latest_ns - slice->earliest_ns));
    }
    sbx_perfetto_note_count(trace, "seen", slice->seen);
}

/* An arrow from the wait to what its holder did when the wait began. The mark is on the holder's own track, so that the
 * arrow ends in the call that held the lock. */
static void print_holder(struct printer *printer, const struct sbx_span *span, uint32_t waiter, uint64_t flow)
{
    struct sbx_perfetto *trace = &printer->trace;
    char label[SBX_TRACE_LABEL_BYTES];
    sbx_thread_label(printer->report->stall, waiter, label, sizeof label);
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_INSTANT, sbx_track_of((uint32_t)span->peer, SBX_TRACK_CALLS),
                             span->begin_ns, "holds the lock");
    sbx_perfetto_flow(trace, flow, true);
    sbx_perfetto_note_text(trace, "waiter", label);
    if (span->object != 0) {
        sbx_perfetto_note_count(trace, "lock", span->object - 1);
    }
    sbx_perfetto_event_end(trace);
}

static void print_slice(struct printer *printer, uint32_t thread, const struct sbx_slice *slice,
                        const struct sbx_span *span)
{
    struct sbx_perfetto *trace = &printer->trace;
    uint32_t threads = printer->report->stall->thread_count;
    bool has_holder = slice->is_wait && span->kind == SBX_RECORD_LOCK && span->peer >= 0 &&
                      (uint32_t)span->peer < threads && (uint32_t)span->peer != thread;
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_BEGIN, sbx_track_of(thread, SBX_TRACK_CALLS), slice->begin_ns,
                             slice->name);
    if (has_holder) {
        sbx_perfetto_flow(trace, ++printer->flows, false);
    }
    note_bounds(printer, slice);
    if (slice->is_wait) {
        note_wait(printer, span);
    } else {
        note_location(printer, slice->location);
    }
    sbx_perfetto_event_end(trace);
    if (has_holder) {
        print_holder(printer, span, thread, printer->flows);
    }
}

static int print_calls(struct printer *printer, uint32_t thread, const struct sbx_thread_spans *spans)
{
    struct sbx_slices slices;
    int result = sbx_slices_init(&slices, spans, printer->paths, printer->slices_left);
    if (result != 0) {
        return result;
    }
    printer->slices_left -= slices.count;
    printer->slices_cut |= slices.cut;
    uint32_t open[SBX_CALL_PATH_MAX + 3]; /* indexes of the slices that have begun and not ended */
    size_t depth = 0;
    for (uint32_t i = 0; i < slices.count; i++) {
        const struct sbx_slice *slice = &slices.slices[i];
        while (depth > slice->depth) {
            sbx_perfetto_close(&printer->trace, sbx_track_of(thread, SBX_TRACK_CALLS),
                               slices.slices[open[--depth]].end_ns);
        }
        print_slice(printer, thread, slice, &spans->spans[slice->span]);
        open[depth++] = i;
    }
    while (depth > 0) {
        sbx_perfetto_close(&printer->trace, sbx_track_of(thread, SBX_TRACK_CALLS), slices.slices[open[--depth]].end_ns);
    }
    sbx_slices_finish(&slices);
    return 0;
}

/* ---- states ---- */

/* A run of equal states, still growing. */
struct state_run {
    int64_t begin_ns, end_ns;
    enum sbx_span_state state;
    const struct sbx_span *span; /* of a wait: the wait itself; NULL for unmeasured time */
    double cpu_share;
};

static void print_state(struct printer *printer, uint32_t thread, const struct state_run *run)
{
    struct sbx_perfetto *trace = &printer->trace;
    if (run->state == SBX_SPAN_UNKNOWN || run->end_ns <= run->begin_ns) {
        return;
    }
    uint64_t track = sbx_track_of(thread, SBX_TRACK_STATE);
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_BEGIN, track, run->begin_ns, sbx_span_state_name(run->state));
    if (run->span != NULL) {
        sbx_perfetto_note_text(trace, "in", sbx_span_wait_name(run->span));
        note_wait(printer, run->span);
    }
    sbx_perfetto_note_text(trace, "certainty", run->span != NULL && run->span->measured ? "measured" : "sampled");
    if (run->cpu_share >= 0) {
        sbx_perfetto_note_number(trace, "cpu_ms", run->cpu_share * ms_of(run->end_ns - run->begin_ns));
    }
    sbx_perfetto_event_end(trace);
    sbx_perfetto_close(trace, track, run->end_ns);
}

/* Add one more piece of time to the end of *run, or print the run and begin a new one. */
static void extend_state(struct printer *printer, uint32_t thread, struct state_run *run, const struct state_run *next)
{
    if (next->end_ns <= next->begin_ns) {
        return;
    }
    bool joins = run->end_ns == next->begin_ns && run->state == next->state && run->span == NULL &&
                 next->span == NULL && (run->cpu_share >= 0) == (next->cpu_share >= 0);
    if (!joins) {
        print_state(printer, thread, run);
        *run = *next;
        return;
    }
    if (run->cpu_share >= 0) { /* the mean, weighted by time */
        double before = (double)(run->end_ns - run->begin_ns), more = (double)(next->end_ns - next->begin_ns);
        run->cpu_share = (run->cpu_share * before + next->cpu_share * more) / (before + more);
    }
    run->end_ns = next->end_ns;
}

static void print_states(struct printer *printer, uint32_t thread, const struct sbx_thread_spans *spans)
{
    struct state_run run = {0};
    for (size_t i = 0; i < spans->count; i++) {
        const struct sbx_span *span = &spans->spans[i];
        if (span->nested) {
            continue;
        }
        bool is_wait = span->measured || sbx_span_is_wait(span);
        struct state_run own = {.begin_ns = span->begin_ns,
                                .end_ns = span->end_ns,
                                .state = span->state,
                                .span = is_wait ? span : NULL,
                                .cpu_share = span->own_cpu_share};
        extend_state(printer, thread, &run, &own);
        bool known = span->tail_cpu_share >= 0;
        struct state_run tail = {.begin_ns = span->end_ns,
                                 .end_ns = known ? span->until_ns : span->drawn_end_ns,
                                 .state = span->tail,
                                 .span = is_wait && !span->measured && span->tail == span->state ? span : NULL,
                                 .cpu_share = span->tail_cpu_share};
        extend_state(printer, thread, &run, &tail);
    }
    print_state(printer, thread, &run);
}

static const char *message_name(struct printer *printer, const struct sbx_message_span *message)
{
    const char *usual = message->merged > 1 ? "short messages" : "message";
    if (message->kind == 0 || message->kind >= SBX_OP_MAX) {
        return usual;
    }
    char **name = &printer->message_names[message->kind + (message->merged > 1 ? SBX_OP_MAX : 0)];
    if (*name == NULL) {
        char kind[SBX_KIND_TEXT_BYTES], text[SBX_KIND_TEXT_BYTES + 16];
        sbx_report_kind_text(printer->report, message->kind, kind);
        snprintf(text, sizeof text, "%s %s", usual, kind);
        *name = strdup(text);
    }
    return *name != NULL ? *name : usual;
}

static void print_messages(struct printer *printer, uint32_t thread, const struct sbx_thread_spans *spans)
{
    struct sbx_perfetto *trace = &printer->trace;
    uint64_t track = sbx_track_of(thread, SBX_TRACK_MESSAGES);
    if (spans->message_count == 0) {
        return;
    }
    char label[SBX_TRACE_LABEL_BYTES];
    sbx_thread_label(printer->report->stall, thread, label, sizeof label);
    sbx_perfetto_named_track(&printer->trace, thread, SBX_TRACK_MESSAGES, label, "messages", NULL);
    for (size_t i = 0; i < spans->message_count; i++) {
        const struct sbx_message_span *message = &spans->messages[i];
        sbx_perfetto_event_begin(trace, SBX_PERFETTO_BEGIN, track, message->begin_ns, message_name(printer, message));
        sbx_perfetto_note_count(trace, "message", (int64_t)message->message);
        sbx_perfetto_note_number(trace, "duration_ms", ms_of(message->end_ns - message->begin_ns));
        if (message->merged > 1) {
            sbx_perfetto_note_count(trace, "count", (int64_t)message->merged);
        }
        sbx_perfetto_event_end(trace);
        sbx_perfetto_close(trace, track, message->end_ns);
    }
}

/* ---- arrows and samples, directly from the records ---- */

/* An arrow from where a thread woke another one to where that one continued. */
static void print_wake(struct printer *printer, const struct sbx_wait_link *link)
{
    struct sbx_perfetto *trace = &printer->trace;
    const struct sbx_stall *stall = printer->report->stall;
    char waiter[SBX_TRACE_LABEL_BYTES], waker[SBX_TRACE_LABEL_BYTES];
    sbx_thread_label(stall, link->waiter, waiter, sizeof waiter);
    sbx_thread_label(stall, link->other, waker, sizeof waker);
    uint64_t flow = ++printer->flows;
    int64_t woke_ns = link->at_ns < link->end_ns ? link->at_ns : link->end_ns;
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_INSTANT, sbx_track_of(link->other, SBX_TRACK_CALLS), woke_ns, "wakes");
    sbx_perfetto_flow(trace, flow, false);
    sbx_perfetto_note_text(trace, "waiter", waiter);
    sbx_perfetto_note_number(trace, "after_ms", ms_of(link->end_ns - link->begin_ns));
    if (link->object != 0) {
        sbx_perfetto_note_count(trace, link->kind == SBX_RECORD_LOCK ? "lock" : "object", link->object - 1);
    }
    sbx_perfetto_callstack(trace, link->stack);
    sbx_perfetto_event_end(trace);
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_INSTANT, sbx_track_of(link->waiter, SBX_TRACK_CALLS), link->end_ns,
                             "woken");
    sbx_perfetto_flow(trace, flow, true);
    sbx_perfetto_note_text(trace, "waker", waker);
    sbx_perfetto_event_end(trace);
}

static int print_wakes(struct printer *printer)
{
    struct sbx_wait_link *links = NULL;
    size_t count = 0;
    int result = sbx_wait_links_create(printer->report->stall, &links, &count);
    for (size_t i = 0; i < count && result == 0; i++) {
        if (links[i].woke) {
            print_wake(printer, &links[i]);
        }
    }
    free(links);
    return result;
}

/* An arrow from where a task was queued to where it began. Tasks that were queued before the records begin are skipped,
 * because they would only make the picture longer. */
static void print_task(struct printer *printer, const struct sbx_stall_task *task)
{
    struct sbx_perfetto *trace = &printer->trace;
    const struct sbx_stall *stall = printer->report->stall;
    char runner[SBX_TRACE_LABEL_BYTES], submitter[SBX_TRACE_LABEL_BYTES];
    if (task->runner < 0 || task->from < 0 || task->queued_ns < -stall->trigger.history_ns) {
        return;
    }
    sbx_thread_label(stall, (uint32_t)task->runner, runner, sizeof runner);
    sbx_thread_label(stall, (uint32_t)task->from, submitter, sizeof submitter);
    uint64_t flow = ++printer->flows;
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_INSTANT, sbx_track_of((uint32_t)task->from, SBX_TRACK_CALLS),
                             task->queued_ns, "queues a task");
    sbx_perfetto_flow(trace, flow, false);
    sbx_perfetto_note_text(trace, "by", sbx_op_name(task->op));
    sbx_perfetto_note_text(trace, "runner", runner);
    sbx_perfetto_note_count(trace, task->merged ? "merged" : "before", task->before);
    sbx_perfetto_callstack(trace, task->stack);
    sbx_perfetto_event_end(trace);
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_INSTANT, sbx_track_of((uint32_t)task->runner, SBX_TRACK_CALLS),
                             task->begun_ns, "begins a task");
    sbx_perfetto_flow(trace, flow, true);
    sbx_perfetto_note_text(trace, "queued by", submitter);
    sbx_perfetto_note_number(trace, "lay_ms", ms_of(task->begun_ns - task->queued_ns));
    sbx_perfetto_event_end(trace);
}

static void print_tasks(struct printer *printer)
{
    const struct sbx_stall *stall = printer->report->stall;
    for (size_t i = 0; i < stall->task_count; i++) {
        print_task(printer, &stall->tasks[i]);
    }
}

/* One sample per look. Of a run's looks, only the last has a time of its own, and the first is the record before. The
 * others are placed between them at even gaps. */
static void print_looks(struct printer *printer, uint32_t thread, const struct sbx_stall_record *record)
{
    uint64_t looks = sbx_kind_is_sample(record->kind) ? sbx_record_looks(record) : 1;
    int64_t count = looks < LOOKS_MAX ? (int64_t)looks : LOOKS_MAX;
    int64_t gap_ns = (record->end_ns - record->begin_ns) / count;
    for (int64_t left = count - 1; left >= 0; left--) {
        sbx_perfetto_sample(&printer->trace, SBX_TRACE_PID, thread + 1, record->end_ns - left * gap_ns, record->stack);
    }
}

static void print_samples(struct printer *printer, uint32_t thread)
{
    const struct sbx_stall *stall = printer->report->stall;
    const struct sbx_stall_thread *self = &stall->threads[thread];
    for (size_t i = 0; i < self->record_count; i++) {
        const struct sbx_stall_record *record = &stall->records[self->record_begin + i];
        if (record->stack == 0 || record->stack > stall->callstack_count || record->stack_lost ||
            record->kind == SBX_RECORD_IDLE || sbx_kind_is_boundary(record->kind)) {
            continue;
        }
        if (printer->trace.callstacks.count >= CALLSTACKS_MAX) {
            printer->samples_cut = true;
            return;
        }
        print_looks(printer, thread, record);
    }
}

/* ---- the whole ---- */

static int print_thread(struct printer *printer, uint32_t thread)
{
    struct sbx_thread_spans spans;
    int result = sbx_thread_spans_init(&spans, printer->report->stall, thread);
    if (result != 0) {
        return result;
    }
    result = print_calls(printer, thread, &spans);
    if (result == 0) {
        print_states(printer, thread, &spans);
        print_messages(printer, thread, &spans);
        sbx_perfetto_thread_counts(&printer->trace, printer->report, thread);
        print_samples(printer, thread);
    }
    sbx_thread_spans_finish(&spans);
    return result;
}

int sbx_print_perfetto(const struct sbx_report *report, FILE *out)
{
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    if (paths == NULL) {
        return -ENOMEM;
    }
    struct printer printer = {.report = report, .paths = paths, .slices_left = SLICES_MAX};
    sbx_perfetto_init(&printer.trace, out, report, paths,
                      sbx_history_begin_ns(report->stall, report->verdict.interval_begin_ns) - NS_PER_S);
    sbx_perfetto_all_tracks(&printer.trace, report);
    int result = 0;
    for (uint32_t thread = 0; thread < report->stall->thread_count && result == 0; thread++) {
        result = print_thread(&printer, thread);
    }
    if (result == 0) {
        sbx_perfetto_kernel_counts(&printer.trace, report);
        result = print_wakes(&printer);
        print_tasks(&printer);
    }
    const char *left_out = printer.slices_cut    ? "slices of later records"
                           : printer.samples_cut ? "samples of later records"
                                                 : NULL;
    sbx_perfetto_verdict(&printer.trace, report, left_out); /* last, because it also tells what was left out */
    int written = sbx_perfetto_finish(&printer.trace);
    for (size_t i = 0; i < sizeof printer.message_names / sizeof printer.message_names[0]; i++) {
        free(printer.message_names[i]);
    }
    sbx_call_paths_destroy(paths);
    if (result == 0) {
        result = written;
    }
    if (result == 0 && fflush(out) != 0) {
        result = -errno;
    }
    return result;
}
