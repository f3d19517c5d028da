/* SPDX-License-Identifier: Apache-2.0 */
/* print_text.c - the report as the person on call reads it: what, why, since when, and the stacks.
 *
 * Names come from symbol files and may hold anything, so nothing goes to the terminal as it is: the text is put
 * together in memory with marks for colour, and a last pass turns marks into escapes and every other control character
 * into '?'. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blame.h"
#include "cause.h"
#include "history.h"
#include "interval.h"
#include "names.h"
#include "record_kinds.h"
#include "report.h"
#include "verdict_words.h"

/* The marks. A name that holds one can at worst be bold. */
#define STRONG "\1"
#define ALARM  "\2"
#define FAINT  "\3"
#define PLAIN  "\4"

enum {
    STACK_MAX = 1024,
    FRAMES_SHOWN = 48,
    STACKS_SHOWN = 16,
    HOT_SHOWN = 8,
    STEPS_MAX = 4096,
    STAYS_SHOWN = 24,
    PATH_FUNCTIONS = 5,
    BAR_COLUMNS = 40,
    COLUMNS = 98
};

static void put_heading(FILE *text, const char *heading)
{
    fprintf(text, "\n" STRONG "%s" PLAIN "\n", heading);
}

/* "key", and a sentence wrapped to the page behind it. */
static void put_wrapped(FILE *text, const char *key, const char *sentence)
{
    int column = fprintf(text, "  %-12s", key);
    for (const char *word = sentence; *word != '\0';) {
        size_t bytes = strcspn(word, " ");
        if (column + 1 + (int)bytes > COLUMNS && column > 14) {
            column = fprintf(text, "\n%14s", "") - 1;
        }
        column += fprintf(text, " %.*s", (int)bytes, word);
        word += bytes;
        word += strspn(word, " ");
    }
    fputc('\n', text);
}

/* ---- head ---- */

/* What the trigger is about, when that is no message: whose promise of what, or how many frames. */
static void put_promise(FILE *text, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    char line[256], what[80], thread[SBX_THREAD_TEXT_BYTES] = "an unknown thread";
    if (stall->trigger.watch >= 0) {
        const struct sbx_stall_watch *watch = &stall->watches[stall->trigger.watch];
        if (watch->thread >= 0) {
            sbx_thread_text(stall, (uint32_t)watch->thread, thread);
        }
        const char *name = sbx_report_watch_name(report, (uint32_t)stall->trigger.watch);
        if (name != NULL) {
            snprintf(what, sizeof what, "\"%s\"", name);
        } else {
            snprintf(what, sizeof what, "%010llx", (unsigned long long)watch->what & 0xffffffffff);
        }
        snprintf(line, sizeof line, "%s %s of %s: %u ms, %s", sbx_watch_kind_name(watch->kind), what, thread,
                 watch->timeout_ms, watch->state == SBX_WATCH_LATE ? "kept too late" : "not kept");
        put_wrapped(text, "promise", line);
    }
    if (report->message_kind != 0) {
        char kind[SBX_KIND_TEXT_BYTES];
        sbx_report_kind_text(report, report->message_kind, kind);
        put_wrapped(text, "message", kind);
    }
    if (stall->trigger.frames > 1) {
        snprintf(line, sizeof line, "%u of the last 32 dropped", stall->trigger.frames);
        put_wrapped(text, "frames", line);
    }
    if (stall->trigger.after_ms != 0) {
        snprintf(line, sizeof line, "recorded for %u ms after the trigger", stall->trigger.after_ms);
        put_wrapped(text, "afterwards", line);
    }
}

static void put_what(FILE *text, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    const uint32_t *version = stall->app_version;
    char duration[SBX_DURATION_TEXT_BYTES], line[256];
    fprintf(text, ALARM "%s" PLAIN "\n\n", verdict->headline);
    if (version[0] + version[1] + version[2] > 0) {
        snprintf(line, sizeof line, "%s %u.%u.%u", report->app_name, version[0], version[1], version[2]);
    } else {
        snprintf(line, sizeof line, "%s", report->app_name);
    }
    put_wrapped(text, "application", line);
    sbx_duration_text((double)stall->trigger.duration_ns, duration);
    if (stall->trigger.kind == SBX_TRIGGER_CRASH && stall->trigger.duration_ns == 0) {
        snprintf(line, sizeof line, "crash, with no message open too long");
    } else {
        snprintf(line, sizeof line, "%s after %s, limit %u ms%s", sbx_trigger_name(stall->trigger.kind), duration,
                 stall->trigger.threshold_ms, stall->trigger.in_progress ? ", still going on" : "");
    }
    put_wrapped(text, "trigger", line);
    put_promise(text, report);
    if (stall->trigger.signal != 0) {
        snprintf(line, sizeof line, "%s, %s", sbx_signal_name(stall->trigger.signal),
                 sbx_fault_text(stall->trigger.fault));
        put_wrapped(text, "ended by", line);
    }
    snprintf(line, sizeof line, "%s (%s), confidence %.2f", sbx_cause_name(verdict->cause),
             sbx_class_name(verdict->class_), verdict->confidence);
    put_wrapped(text, "cause", line);
    if (verdict->location.function[0] != '\0') {
        snprintf(line, sizeof line, "%.120s in %.60s", verdict->location.function, verdict->location.module);
        put_wrapped(text, "function", line);
    }
    if (verdict->location.file != NULL) {
        snprintf(line, sizeof line, "%.200s:%u", verdict->location.file, verdict->location.line);
        put_wrapped(text, "source", line);
    }
    if (verdict->culprit_thread >= 0) {
        char thread[SBX_THREAD_TEXT_BYTES];
        sbx_thread_text(stall, (uint32_t)verdict->culprit_thread, thread);
        snprintf(line, sizeof line, "%s%s%.120s", thread, verdict->culprit_function[0] != '\0' ? " in " : "",
                 verdict->culprit_function);
        put_wrapped(text, "culprit", line);
    }
    put_wrapped(text, "payload", stall->payload_id_text);
}

static void put_why(FILE *text, const struct sbx_verdict *verdict)
{
    put_heading(text, "Why");
    for (size_t i = 0; i < verdict->evidence_count; i++) {
        put_wrapped(text, verdict->evidence[i].kind, verdict->evidence[i].text);
    }
}

/* ---- time ---- */

static void put_share(FILE *text, const char *what, double ms, double wall_ms)
{
    double share = wall_ms > 0 ? ms / wall_ms : 0;
    int columns = (int)(share * BAR_COLUMNS + 0.5);
    columns = columns < 0 ? 0 : columns > BAR_COLUMNS ? BAR_COLUMNS : columns;
    fprintf(text, "  %-12s %10.1f ms  %4.0f %%  " STRONG, what, ms, share * 100);
    for (int i = 0; i < columns; i++) {
        fputc('#', text);
    }
    fputs(PLAIN "\n", text);
}

/* What it waited for, where that is more than a hundredth of all waiting and there is more than one kind of it. */
static void put_waiting_by_kind(FILE *text, const struct sbx_verdict *verdict)
{
    double ms[SBX_CAUSE_COUNT + 1];
    size_t kinds = 0;
    for (int cause = 0; cause <= SBX_CAUSE_COUNT; cause++) {
        ms[cause] = cause == SBX_CAUSE_COUNT ? verdict->idle_ms : verdict->off_cpu_by_ms[cause];
        ms[cause] = ms[cause] * 100 >= verdict->off_cpu_ms ? ms[cause] : 0;
        kinds += ms[cause] > 0;
    }
    for (int cause = 0; cause <= SBX_CAUSE_COUNT && kinds > 1; cause++) {
        if (ms[cause] > 0) {
            fprintf(text, "    %-10s %10.1f ms\n",
                    cause == SBX_CAUSE_COUNT ? "for work" : sbx_cause_name((enum sbx_cause)cause), ms[cause]);
        }
    }
}

static void put_time(FILE *text, const struct sbx_report *report)
{
    const struct sbx_verdict *verdict = &report->verdict;
    double wall_ms = (double)(verdict->interval_end_ns - verdict->interval_begin_ns) / 1e6;
    double known_ms = verdict->on_cpu_ms + verdict->off_cpu_ms + (verdict->runnable_ms > 0 ? verdict->runnable_ms : 0);
    put_heading(text, "Where the time went");
    put_share(text, "on CPU", verdict->on_cpu_ms, wall_ms);
    put_share(text, "waiting", verdict->off_cpu_ms, wall_ms);
    put_waiting_by_kind(text, verdict);
    if (verdict->runnable_ms >= 0) {
        put_share(text, "ready", verdict->runnable_ms, wall_ms);
    }
    if (wall_ms - known_ms > wall_ms * 0.01) {
        put_share(text, "not known", wall_ms - known_ms, wall_ms);
    }
    struct sbx_hot hot[HOT_SHOWN];
    size_t count = sbx_report_hot(report, report->stall->trigger.thread, hot, HOT_SHOWN);
    for (size_t i = 0; i < count; i++) {
        char range[48];
        if (hot[i].ms_max - hot[i].ms_min < 0.05) {
            snprintf(range, sizeof range, "%.1f ms", hot[i].ms_min);
        } else {
            snprintf(range, sizeof range, "%.1f to %.1f ms", hot[i].ms_min, hot[i].ms_max);
        }
        fprintf(text, "  %24s  %.50s  " FAINT "%.40s" PLAIN "\n", range, hot[i].function, hot[i].module);
    }
}

/* ---- stacks ---- */

static void put_stack(FILE *text, const struct sbx_report *report, uint32_t stack,
                      const struct sbx_location **locations)
{
    size_t count = sbx_report_callstack(report, stack, locations, STACK_MAX);
    if (count == 0) {
        fputs("      no stack was recorded\n", text);
    }
    for (size_t i = 0; i < count; i++) {
        if (count > FRAMES_SHOWN && i == FRAMES_SHOWN / 2) { /* deep recursion: both ends tell more than the middle */
            size_t skipped = count - FRAMES_SHOWN;
            fprintf(text, "      ... %zu more ...\n", skipped);
            i += skipped;
        }
        const struct sbx_location *location = locations[i];
        const char *mark = location->named ? "" : FAINT;
        fprintf(text, "  %4zu  %s%-52.80s" PLAIN "  " FAINT "%.40s%s", i, mark, location->function, location->module,
                location->inlined   ? " (inlined)"
                : location->logical ? " (logical)"
                                    : "");
        if (location->file != NULL) {
            const char *slash = strrchr(location->file, '/');
            fprintf(text, "  %.60s:%u", slash == NULL ? location->file : slash + 1, location->line);
        }
        fputs(PLAIN "\n", text);
    }
}

/* What the thread was doing at the trigger, in brackets; nothing when it was in no known call, or when the stack below
 * is not of that call: a stall that has ended is shown where it was, not where the loop waits for work again. */
static void put_state(FILE *text, const struct sbx_report *report, uint32_t index)
{
    const struct sbx_stall_thread *thread = &report->stall->threads[index];
    enum sbx_stack_source source = sbx_history_stack_origin(report, index).source;
    char duration[SBX_DURATION_TEXT_BYTES], call[48];
    if (thread->ended) {
        fputs(" (had ended)", text);
    } else if (thread->call_kind != 0 && source != SBX_STACK_FROM_INTERVAL) {
        sbx_duration_text((double)thread->call_ns, duration);
        sbx_call_name(thread->call_kind, thread->call_op, 0, call, sizeof call);
        fprintf(text, " (in %s for %s)", call, duration);
    }
}

/* How its stack was obtained, and when: what a thread did a second before is not what it did then. */
static void put_origin(FILE *text, const struct sbx_report *report, uint32_t thread)
{
    struct sbx_stack_origin origin = sbx_history_stack_origin(report, thread);
    if (origin.source == SBX_STACK_FROM_NOTHING || origin.source == SBX_STACK_FROM_INTERVAL) {
        return;
    }
    fprintf(text, FAINT "  [%s, %+.1f ms]" PLAIN, sbx_stack_source_name(origin.source), (double)origin.at_ns / 1e6);
}

/* One stack at the trigger with all threads that had it, from `first` on. Marks them in `done`. */
static void put_threads_of_stack(FILE *text, const struct sbx_report *report, uint32_t first, bool *done,
                                 const struct sbx_location **locations)
{
    const struct sbx_stall *stall = report->stall;
    uint32_t stack = sbx_history_thread_stack(report, first);
    char name[SBX_THREAD_TEXT_BYTES];
    sbx_thread_text(stall, first, name);
    fprintf(text, "  " STRONG "%s" PLAIN, name);
    put_state(text, report, first);
    done[first] = true;
    uint32_t others = 0;
    for (uint32_t i = 0; i < stall->thread_count; i++) {
        if (!done[i] && stack != 0 && sbx_history_thread_stack(report, i) == stack) {
            done[i] = true;
            others++;
        }
    }
    if (others > 0) {
        fprintf(text, " and %u more with the same stack", others);
    }
    put_origin(text, report, first);
    fputc('\n', text);
    put_stack(text, report, stack, locations);
}

/* Whether two callstacks name the same functions in the same order: two samples of one loop differ in their leaf only.
 */
static bool is_same_way(const struct sbx_report *report, uint32_t a, uint32_t b, const struct sbx_location **locations)
{
    size_t a_count = sbx_report_callstack(report, a, locations, STACK_MAX / 2);
    const struct sbx_location **others = locations + STACK_MAX / 2;
    size_t b_count = sbx_report_callstack(report, b, others, STACK_MAX / 2), i = 0, j = 0;
    for (;;) {
        while (i < a_count && !locations[i]->named) {
            i++;
        }
        while (j < b_count && !others[j]->named) {
            j++;
        }
        if (i == a_count || j == b_count) {
            return i == a_count && j == b_count;
        }
        if (locations[i++]->function != others[j++]->function) {
            return false;
        }
    }
}

static void put_stacks(FILE *text, const struct sbx_report *report, const struct sbx_location **locations, bool *done)
{
    const struct sbx_stall *stall = report->stall;
    uint32_t judged = stall->trigger.thread;
    uint32_t at_trigger = sbx_history_thread_stack(report, judged);
    if (report->verdict.stack != 0 && !is_same_way(report, report->verdict.stack, at_trigger, locations)) {
        put_heading(text, "The stack that the time was spent in");
        put_stack(text, report, report->verdict.stack, locations);
    }
    put_heading(text, "Stacks at the trigger");
    put_threads_of_stack(text, report, judged, done, locations);
    uint32_t shown = 1, hidden = 0;
    for (uint32_t i = 0; i < stall->thread_count; i++) {
        if (done[i] || (stall->threads[i].record_count == 0 && stall->threads[i].call_kind == 0)) {
            continue;
        }
        if (shown++ < STACKS_SHOWN) {
            put_threads_of_stack(text, report, i, done, locations);
        } else {
            hidden++;
        }
    }
    if (hidden > 0) {
        fprintf(text, "  and %u more threads, in --format json\n", hidden);
    }
}

/* ---- history ---- */

/* Neighbouring steps that look alike to a person. Looks at a blocked thread from within a wait that was also measured
 * say nothing more and are left out. */
struct stay {
    const struct sbx_stall_record *first, *last;
    size_t steps;
    uint64_t looks; /* samples: a run of equal ones is one step */
    double cpu_ms;  /* -1 not known */
    int64_t alloc_count, alloc_bytes;
    const char *functions[PATH_FUNCTIONS]; /* named, not base library, leaf first; NULL ends */
    bool unnamed_leaf;
};

static void read_path(const struct sbx_report *report, uint32_t stack, struct stay *stay)
{
    const struct sbx_stall *stall = report->stall;
    size_t count = 0;
    for (uint32_t id = stack; id != 0 && count < PATH_FUNCTIONS; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        for (uint32_t at = report->location_begin[frame]; at < report->location_begin[frame + 1]; at++) {
            const struct sbx_location *location = &report->locations[at];
            if (count < PATH_FUNCTIONS && sbx_blame_counts(report, frame, location, SBX_BLAME_NAMED)) {
                stay->functions[count++] = location->function;
            } else if (count == 0 && sbx_blame_counts(report, frame, location, SBX_BLAME_CODE)) {
                stay->unnamed_leaf = true;
            }
        }
    }
}

static bool is_alike(const struct stay *stay, const struct stay *next)
{
    bool both_samples = sbx_kind_is_running_sample(stay->first->kind) && sbx_kind_is_running_sample(next->first->kind);
    bool both_calls = stay->first->kind == next->first->kind && stay->first->op == next->first->op &&
                      stay->first->amount == next->first->amount;
    return (both_samples || both_calls) && stay->first->message == next->first->message &&
           memcmp(stay->functions, next->functions, sizeof stay->functions) == 0;
}

/* Whether a measured wait among the later steps covers the moment of step `at`. Waits are recorded when they end, so it
 * is the next one if any. */
static bool is_within_wait(const struct sbx_history_step *steps, size_t step_count, size_t at)
{
    for (size_t i = at + 1; i < step_count; i++) {
        if (sbx_kind_is_wait(steps[i].record->kind)) {
            return steps[i].record->begin_ns <= steps[at].record->begin_ns;
        }
    }
    return false;
}

static size_t make_stays(const struct sbx_report *report, const struct sbx_history_step *steps, size_t step_count,
                         struct stay *stays)
{
    size_t count = 0;
    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].record->kind == SBX_RECORD_BLOCKED && is_within_wait(steps, step_count, i)) {
            continue;
        }
        struct stay stay = {.first = steps[i].record,
                            .last = steps[i].record,
                            .steps = 1,
                            .looks = sbx_record_looks(steps[i].record),
                            .cpu_ms = steps[i].cpu_ms,
                            .alloc_count = steps[i].alloc_count,
                            .alloc_bytes = steps[i].alloc_bytes};
        read_path(report, steps[i].record->stack, &stay);
        if (count == 0 || !is_alike(&stays[count - 1], &stay)) {
            stays[count++] = stay;
            continue;
        }
        struct stay *same = &stays[count - 1];
        same->last = stay.last;
        same->steps++;
        same->looks += stay.looks;
        same->cpu_ms = same->cpu_ms < 0 ? stay.cpu_ms : same->cpu_ms + (stay.cpu_ms > 0 ? stay.cpu_ms : 0);
        same->alloc_count += stay.alloc_count;
        same->alloc_bytes += stay.alloc_bytes;
    }
    return count;
}

/* What the stay was: "199 samples, every 10.0 ms", "nanosleep, 2.00 s". */
static void put_stay_kind(FILE *text, const struct sbx_report *report, const struct stay *stay)
{
    const struct sbx_stall_record *first = stay->first;
    char call[48], duration[SBX_DURATION_TEXT_BYTES];
    sbx_duration_text((double)(stay->last->end_ns - first->begin_ns), duration);
    sbx_call_name(first->kind, first->op, first->amount, call, sizeof call);
    const char *plural = stay->looks == 1 ? "" : "s";
    if (sbx_kind_is_running_sample(first->kind)) {
        fprintf(text, "%llu sample%s", (unsigned long long)stay->looks, plural);
        /* A run that begins the stay adds its looks after its begin. */
        uint64_t gaps = stay->looks - (first->repeats == 0);
        if (gaps > 0) {
            fprintf(text, ", every %.1f ms", (double)(stay->last->end_ns - first->begin_ns) / 1e6 / (double)gaps);
        }
    } else if (first->kind == SBX_RECORD_BLOCKED && first->op == SBX_OP_RUNNING) {
        fprintf(text, "seen ready to run, %llu time%s", (unsigned long long)stay->looks, plural);
    } else if (first->kind == SBX_RECORD_BLOCKED) {
        fprintf(text, "seen blocked in %s, %llu time%s", call, (unsigned long long)stay->looks, plural);
    } else if (first->kind == SBX_RECORD_MESSAGE) {
        char kind[SBX_KIND_TEXT_BYTES];
        sbx_report_kind_text(report, first->op, kind);
        fprintf(text, "%s%s%s that took %s ended", first->amount > 1 ? "messages" : "the message",
                kind[0] != '\0' ? " " : "", kind, duration);
    } else if (first->kind == SBX_RECORD_FRAME) {
        fprintf(text, "%s that took %s ended", first->amount > 1 ? "frames" : "the frame", duration);
    } else if (first->kind == SBX_RECORD_WAKE) {
        fprintf(text, "let a waiter go: %s", call);
    } else {
        fprintf(text, "%s, %s%s", call, duration, stay->steps > 1 ? " with several calls" : "");
    }
}

static void put_stay(FILE *text, const struct sbx_report *report, const struct stay *stay)
{
    double from_ms = (double)stay->first->begin_ns / 1e6, to_ms = (double)stay->last->end_ns / 1e6;
    if (sbx_kind_is_boundary(stay->first->kind) || to_ms - from_ms < 0.05) {
        fprintf(text, "  " STRONG "%24.1f" PLAIN " ms  ", to_ms);
    } else {
        fprintf(text, "  " STRONG "%10.1f to %10.1f" PLAIN " ms  ", from_ms, to_ms);
    }
    put_stay_kind(text, report, stay);
    if (stay->cpu_ms >= 0) {
        fprintf(text, "; %.1f ms CPU", stay->cpu_ms);
    }
    if (stay->alloc_count > 0) {
        fprintf(text, ", %lld allocation%s, %.1f KiB", (long long)stay->alloc_count, stay->alloc_count == 1 ? "" : "s",
                (double)stay->alloc_bytes / 1024);
    }
    fputc('\n', text);
    if (stay->first->stack == 0) {
        return;
    }
    fprintf(text, "%6s", "");
    if (stay->unnamed_leaf) {
        fputs(FAINT "(no name)" PLAIN " < ", text);
    }
    for (size_t i = 0; i < PATH_FUNCTIONS && stay->functions[i] != NULL; i++) {
        fprintf(text, "%s%.40s", i > 0 ? " < " : "", stay->functions[i]);
    }
    fputs(stay->functions[PATH_FUNCTIONS - 1] != NULL ? " < ...\n" : "\n", text);
}

static void put_history(FILE *text, const struct sbx_report *report, struct sbx_history_step *steps, struct stay *stays)
{
    char name[SBX_THREAD_TEXT_BYTES];
    sbx_thread_text(report->stall, report->stall->trigger.thread, name);
    size_t step_count = sbx_history_steps(report, steps, STEPS_MAX);
    size_t count = make_stays(report, steps, step_count, stays);
    fprintf(text, "\n" STRONG "Before the trigger: %s" PLAIN "\n", name);
    if (count == 0) {
        fputs("  nothing was recorded\n", text);
    }
    for (size_t i = 0; i < count; i++) {
        if (count > STAYS_SHOWN && i == STAYS_SHOWN / 2) {
            size_t skipped = count - STAYS_SHOWN;
            fprintf(text, "  ... %zu more, in --format json ...\n", skipped);
            i += skipped;
        }
        put_stay(text, report, &stays[i]);
    }
}

/* ---- tail ---- */

static void put_losses(FILE *text, const struct sbx_stall *stall)
{
    bool any = stall->redactions.records_cut > 0;
    for (uint32_t i = 0; i < SBX_DROP_COUNT; i++) {
        any = any || stall->drops[i] > 0;
    }
    if (!any) {
        return;
    }
    put_heading(text, "Lost since the process started");
    for (uint32_t i = 0; i < SBX_DROP_COUNT; i++) {
        if (stall->drops[i] > 0) {
            fprintf(text, "  %-18s %llu\n", sbx_drop_name(i), (unsigned long long)stall->drops[i]);
        }
    }
    if (stall->redactions.records_cut > 0) {
        fprintf(text, "  %-18s %u\n", "cut by redaction", stall->redactions.records_cut);
    }
}

enum {
    LITTLE_CPU_PPM = 50000 /* recording costs more only of a program that has hardly run */
};

/* Only when it is more than nothing: what recording cost, and what was given up for that. */
static void put_overhead(FILE *text, const struct sbx_stall *stall)
{
    char line[256];
    int used;
    if (stall->overhead.budget_permille != 0 || stall->overhead.cost_ppm != 0) {
        put_heading(text, "The recorder");
        /* A program that mostly waits uses a few milliseconds, and the start of the recorder some, too. */
        bool is_little = stall->overhead.cost_ppm > LITTLE_CPU_PPM;
        used = snprintf(line, sizeof line,
                        "%.2f %% of the program's CPU time%s (%.2f %% in the last second), budget %.1f %%",
                        stall->overhead.cost_ppm / 1e4,
                        is_little ? ", which is little: the start of the recorder counts for much of it" : "",
                        stall->overhead.window_ppm / 1e4, stall->overhead.budget_permille / 10.0);
        if (stall->overhead.changes != 0) {
            used += snprintf(line + used, sizeof line - (size_t)used, "; changed %u times, interval %u us, gap %u us",
                             stall->overhead.changes, stall->overhead.interval_us, stall->overhead.gap_us);
        }
        put_wrapped(text, "cost", line);
    }
    if (stall->overhead.shed != 0) {
        used = 0;
        for (uint32_t group = 0; group < SBX_GROUP_COUNT && (size_t)used < sizeof line - 32; group++) {
            if ((stall->overhead.shed >> group & 1) != 0) {
                used += snprintf(line + used, sizeof line - (size_t)used, "%s%s", used == 0 ? "" : " ",
                                 sbx_point_name(group));
            }
        }
        put_wrapped(text, "taken out", line);
    }
    if (stall->sampling.weight > 1) {
        snprintf(line, sizeof line, "%u stalls of this kind and place on its machine", stall->sampling.weight);
        put_wrapped(text, "stands for", line);
    }
}

static void put_more(FILE *text)
{
    fputs("\n" FAINT "More: stallbox report --format json|perfetto|pprof|folded, stallbox show --what-leaves" PLAIN
          "\n",
          text);
}

/* Marks to escapes or nothing, other control characters to '?'. */
static void put_out(FILE *out, const char *text, size_t bytes, bool colour)
{
    static const char *const escapes[] = {"\33[1m", "\33[1;31m", "\33[2m", "\33[0m"};
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_c1 =
            c == 0xc2 && i + 1 < bytes && (unsigned char)text[i + 1] >= 0x80 && (unsigned char)text[i + 1] < 0xa0;
        if (c >= 1 && c <= 4) {
            fputs(colour ? escapes[c - 1] : "", out);
        } else if (is_c1) { /* the same controls as ESC sequences, in UTF-8 */
            fputc('?', out);
            i++;
        } else {
            fputc((c < 0x20 && c != '\n') || c == 0x7f ? '?' : c, out);
        }
    }
}

int sbx_print_text(const struct sbx_report *report, FILE *out, bool colour)
{
    char *buffer = NULL;
    size_t bytes = 0;
    const struct sbx_location **locations = malloc(STACK_MAX * sizeof *locations);
    struct sbx_history_step *steps = malloc(STEPS_MAX * sizeof *steps);
    struct stay *stays = malloc(STEPS_MAX * sizeof *stays);
    bool *done = calloc((size_t)report->stall->thread_count + 1, sizeof *done);
    FILE *text = open_memstream(&buffer, &bytes);
    int result = -ENOMEM;
    if (locations == NULL || steps == NULL || stays == NULL || done == NULL || text == NULL) {
        if (text != NULL) {
            fclose(text);
        }
        goto free_buffer;
    }
    put_what(text, report);
    put_why(text, &report->verdict);
    put_time(text, report);
    put_stacks(text, report, locations, done);
    put_history(text, report, steps, stays);
    put_losses(text, report->stall);
    put_overhead(text, report->stall);
    put_more(text);
    bool failed = ferror(text) != 0;
    failed = fclose(text) != 0 || failed;
    if (failed) {
        goto free_buffer;
    }
    errno = 0;
    put_out(out, buffer, bytes, colour);
    result = fflush(out) != 0 || ferror(out) ? (errno != 0 ? -errno : -EIO) : 0;

free_buffer:
    free(buffer);
    free(done);
    free(stays);
    free(steps);
    free(locations);
    return result;
}
