/* SPDX-License-Identifier: Apache-2.0 */
/* print_text.c - the report for a person on call: what happened, why, since when, and the stacks.
 *
 * Names come from symbol files and may contain anything, so no name goes to the terminal unchanged. The text is built
 * in memory with marks for colour. A last pass turns marks into escape sequences, and every other control character
 * into '?'. */
#include "print_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cause.h"
#include "cost_words.h"
#include "history.h"
#include "hot.h"
#include "names.h"
#include "report.h"
#include "short_name.h"
#include "text_lines.h"
#include "verdict_words.h"

enum {
    HOT_SHOWN = 8,
    BAR_COLUMNS = 40
};

/* ---- head ---- */

/* What the trigger is about if it is not a message: a watch or deadline that was missed, or a number of frames. */
static int put_promise(FILE *text, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    char line[256], what[80], thread[SBX_THREAD_TEXT_BYTES] = "an unknown thread";
    int lines = 0;
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
        lines += sbx_text_wrapped(text, "promise", line);
    }
    if (report->message_kind != 0) {
        char kind[SBX_KIND_TEXT_BYTES];
        sbx_report_kind_text(report, report->message_kind, kind);
        lines += sbx_text_wrapped(text, "message", kind);
    }
    char scene[SBX_KIND_TEXT_BYTES];
    sbx_report_scene_text(report, scene);
    if (scene[0] != '\0') {
        lines += sbx_text_wrapped(text, "scene", scene);
    }
    if (stall->trigger.frames > 1) {
        snprintf(line, sizeof line, "%u of the last 32 dropped", stall->trigger.frames);
        lines += sbx_text_wrapped(text, "frames", line);
    }
    if (stall->trigger.after_ms != 0) {
        snprintf(line, sizeof line, "recorded for %u ms after the trigger", stall->trigger.after_ms);
        lines += sbx_text_wrapped(text, "afterwards", line);
    }
    return lines;
}

/* The application, its version if it has reported one, and which of its processes this is. */
static void application_text(const struct sbx_report *report, char line[256])
{
    const uint32_t *version = report->stall->app_version;
    char number[40] = "", worker[48] = "";
    if (version[0] + version[1] + version[2] > 0) {
        snprintf(number, sizeof number, " %u.%u.%u", version[0], version[1], version[2]);
    }
    if (report->stall->family.is_worker) {
        snprintf(worker, sizeof worker, " (a forked worker)");
    }
    snprintf(line, 256, "%s%s%s", report->app_name, number, worker);
}

/* One lock may stop all workers at once. Then there are many reports of one stall, and this is one of them. */
static void put_siblings(FILE *text, const struct sbx_stall *stall)
{
    char line[96];
    uint32_t others = stall->family.stalled_beside;
    if (others != 0) {
        snprintf(line, sizeof line, "%u other process%s of this program stalled at the same time", others,
                 others == 1 ? "" : "es");
        sbx_text_wrapped(text, "family", line);
    }
}

/* Which stall this is: its id, and when the payload was packed. The payload itself does not contain that time. */
static int put_identity(FILE *text, const struct sbx_report *report)
{
    char line[256], when[64] = "";
    time_t seconds = (time_t)(report->packed_ns / 1000000000);
    struct tm local;
    if (report->packed_ns > 0 && localtime_r(&seconds, &local) != NULL) {
        strftime(when, sizeof when, ", of %Y-%m-%d %H:%M:%S", &local);
    }
    snprintf(line, sizeof line, "%s%s", report->stall->payload_id_text, when);
    return sbx_text_wrapped(text, "payload", line);
}

/* How the stall went on after the trigger, if that was reported. */
static int put_end(FILE *text, const struct sbx_stall *stall)
{
    char duration[SBX_DURATION_TEXT_BYTES], line[128];
    sbx_duration_text((double)sbx_stall_lasted_ns(stall), duration);
    switch (stall->end.how) {
    case SBX_END_ANSWERED:
        snprintf(line, sizeof line, "it ended after %s", duration);
        break;
    case SBX_END_DIED:
        snprintf(line, sizeof line, "still hung after %s, when %s%s", duration,
                 stall->end.signal != 0 ? "it was killed by " : "the process ended",
                 stall->end.signal != 0 ? sbx_signal_name(stall->end.signal) : "");
        break;
    case SBX_END_UNSEEN:
        snprintf(line, sizeof line, "still hung after %s, when recording stopped", duration);
        break;
    default:
        return 0;
    }
    return sbx_text_wrapped(text, "end", line);
}

/* What triggered the recorder, and the conclusion. */
static int put_cause(FILE *text, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    char duration[SBX_DURATION_TEXT_BYTES], line[256];
    sbx_duration_text((double)stall->trigger.duration_ns, duration);
    if (stall->trigger.duration_ns == 0) {
        snprintf(line, sizeof line, "%s", sbx_trigger_name(stall->trigger.kind));
    } else {
        snprintf(line, sizeof line, "%s after %s, limit %u ms%s", sbx_trigger_name(stall->trigger.kind), duration,
                 stall->trigger.threshold_ms,
                 stall->trigger.in_progress && stall->end.how == SBX_END_NONE ? ", still going on" : "");
    }
    int lines = sbx_text_wrapped(text, "trigger", line) + put_end(text, stall) + put_promise(text, report);
    if (stall->trigger.signal != 0) {
        snprintf(line, sizeof line, "%s, %s", sbx_signal_name(stall->trigger.signal),
                 sbx_fault_text(stall->trigger.fault));
        lines += sbx_text_wrapped(text, "ended by", line);
    }
    if (verdict->cause == SBX_CAUSE_CRASH) {
        snprintf(line, sizeof line, "%s, confidence %.2f", sbx_cause_name(verdict->cause), verdict->confidence);
    } else {
        snprintf(line, sizeof line, "%s (%s), confidence %.2f", sbx_cause_name(verdict->cause),
                 sbx_class_name(verdict->class_), verdict->confidence);
    }
    return lines + sbx_text_wrapped(text, "cause", line);
}

static void put_what(FILE *text, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    char line[256], name[SBX_SHORT_NAME_BYTES];
    sbx_text_headline(text, verdict->headline);
    application_text(report, line);
    sbx_text_wrapped(text, "application", line);
    put_siblings(text, stall);
    put_cause(text, report);
    if (verdict->location.function[0] != '\0') {
        snprintf(line, sizeof line, "%s in %.60s", sbx_short_name(verdict->location.function, 120, name),
                 verdict->location.module);
        sbx_text_wrapped(text, "function", line);
    }
    if (verdict->location.file != NULL) {
        snprintf(line, sizeof line, "%.200s:%u", verdict->location.file, verdict->location.line);
        sbx_text_wrapped(text, "source", line);
    }
    if (verdict->culprit_thread >= 0) {
        char thread[SBX_THREAD_TEXT_BYTES], place[224] = "";
        const struct sbx_location *at = &verdict->culprit_at;
        sbx_thread_text(stall, (uint32_t)verdict->culprit_thread, thread);
        if (at->file != NULL && at->line != 0) {
            snprintf(place, sizeof place, " (%.200s:%u)", at->file, at->line);
        }
        snprintf(line, sizeof line, "%s%s%s%s", thread, verdict->culprit_function[0] != '\0' ? " in " : "",
                 sbx_short_name(verdict->culprit_function, 120, name), place);
        sbx_text_wrapped(text, "culprit", line);
    }
    put_identity(text, report);
}

static void put_why(FILE *text, const struct sbx_verdict *verdict)
{
    sbx_text_heading(text, "Why");
    for (size_t i = 0; i < verdict->evidence_count; i++) {
        sbx_text_wrapped(text, verdict->evidence[i].kind, verdict->evidence[i].text);
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

/* The causes of waiting that have more than a hundredth of all waiting, if there is more than one cause. */
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
    sbx_text_heading(text, "Where the time went");
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
        char name[SBX_SHORT_NAME_BYTES];
        fprintf(text, "  %24s  %s  " FAINT "%.40s" PLAIN "\n", range, sbx_short_name(hot[i].function, 50, name),
                hot[i].module);
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
    sbx_text_heading(text, "Lost since the process started");
    for (uint32_t i = 0; i < SBX_DROP_COUNT; i++) {
        if (stall->drops[i] > 0) {
            fprintf(text, "  %-18s %llu\n", sbx_drop_name(i), (unsigned long long)stall->drops[i]);
        }
    }
    if (stall->redactions.records_cut > 0) {
        fprintf(text, "  %-18s %u\n", "cut by redaction", stall->redactions.records_cut);
    }
}

/* The cost of recording, and what was switched off because of it; only if there is some. */
static void put_overhead(FILE *text, const struct sbx_stall *stall)
{
    char words[SBX_COST_WORDS_BYTES], line[SBX_COST_WORDS_BYTES + 160];
    int used;
    if (stall->overhead.budget_ppm != 0 || stall->overhead.cost_ppm != 0) {
        sbx_text_heading(text, "The recorder");
        sbx_cost_words(stall, words);
        used = snprintf(line, sizeof line, "%s (%.2f %% in the last second)", words, stall->overhead.window_ppm / 1e4);
        if (stall->overhead.changes != 0) {
            used += snprintf(line + used, sizeof line - (size_t)used, "; changed %u times, interval %u us, gap %u us",
                             stall->overhead.changes, stall->overhead.interval_us, stall->overhead.gap_us);
        }
        sbx_text_wrapped(text, "cost", line);
    }
    if (stall->overhead.shed != 0) {
        used = 0;
        for (uint32_t group = 0; group < SBX_GROUP_COUNT && (size_t)used < sizeof line - 32; group++) {
            if ((stall->overhead.shed >> group & 1) != 0) {
                used += snprintf(line + used, sizeof line - (size_t)used, "%s%s", used == 0 ? "" : " ",
                                 sbx_point_name(group));
            }
        }
        sbx_text_wrapped(text, "taken out", line);
    }
    if (stall->sampling.weight > 1) {
        snprintf(line, sizeof line, "%u stalls of this kind and place on its machine", stall->sampling.weight);
        sbx_text_wrapped(text, "stands for", line);
    }
}

static void put_more(FILE *text)
{
    fputs("\n" FAINT "More: stallbox report --format json|perfetto|pprof|folded, stallbox show --what-leaves" PLAIN
          "\n",
          text);
}

/* ---- the first screen ---- */

enum {
    SCREEN_LINES = 24,
    SCREEN_FRAMES = 12,
    SCREEN_LEAVES = 2,     /* innermost frames shown if the blamed function is too far out */
    SCREEN_FRAMES_MIN = 5, /* the stack gets at least so many lines */
    SCREEN_TAIL_LINES = 4  /* an empty line, the stack's heading, "... more", and how to get the rest */
};

/* Whether evidence of this kind names another thread, process or signal that had a part. */
static bool is_about_somebody(const char *kind)
{
    static const char *const kinds[] = {"holder", "waker", "cycle", "rival", "external", "meanwhile", "signal"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kind, kinds[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Write the evidence that fits into `room` lines. Other threads that had a part come before counts, each in its place.
 * Returns the number of lines. */
static int put_some_evidence(FILE *text, const struct sbx_verdict *verdict, int room)
{
    bool chosen[sizeof verdict->evidence / sizeof verdict->evidence[0]] = {false};
    int used = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < verdict->evidence_count; i++) {
            const struct sbx_evidence *evidence = &verdict->evidence[i];
            int lines = sbx_text_wrapped(NULL, evidence->kind, evidence->text);
            if (!chosen[i] && (pass == 1 || is_about_somebody(evidence->kind)) && used + lines <= room) {
                chosen[i] = true;
                used += lines;
            }
        }
    }
    for (size_t i = 0; i < verdict->evidence_count; i++) {
        if (chosen[i]) {
            sbx_text_wrapped(text, verdict->evidence[i].kind, verdict->evidence[i].text);
        }
    }
    return used;
}

/* "waiting 1960.0 ms (98 %), on CPU 40.3 ms (2 %)": parts of at least a hundredth of the interval, longest first. */
static int put_time_line(FILE *text, const struct sbx_verdict *verdict)
{
    struct {
        const char *what;
        double ms;
    } parts[] = {{"on CPU", verdict->on_cpu_ms},
                 {"waiting", verdict->off_cpu_ms},
                 {"ready", verdict->runnable_ms},
                 {"not known", verdict->unknown_ms}};
    double wall_ms = (double)(verdict->interval_end_ns - verdict->interval_begin_ns) / 1e6;
    char line[256] = "";
    size_t used = 0;
    for (size_t shown = 0; shown < sizeof parts / sizeof parts[0]; shown++) {
        size_t most = 0;
        for (size_t i = 1; i < sizeof parts / sizeof parts[0]; i++) {
            most = parts[i].ms > parts[most].ms ? i : most;
        }
        if (parts[most].ms <= 0 || parts[most].ms * 100 < wall_ms) {
            break;
        }
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s %.1f ms (%.0f %%)", used > 0 ? ", " : "",
                                 parts[most].what, parts[most].ms, 100 * parts[most].ms / wall_ms);
        parts[most].ms = 0;
    }
    return used > 0 ? sbx_text_wrapped(text, "time", line) : 0;
}

/* Write as many frames of a stack as there is room for, from the leaf on. If the blamed function is further out, as
 * under a runtime's own functions, write the innermost frames, a gap, and then the frames from that function on. */
static void put_some_frames(FILE *text, const struct sbx_verdict *verdict, const struct sbx_location **locations,
                            size_t count, size_t room)
{
    size_t blamed = 0;
    while (blamed < count && strcmp(locations[blamed]->function, verdict->location.function) != 0) {
        blamed++;
    }
    size_t innermost = blamed < count && blamed + 1 >= room ? SCREEN_LEAVES : 0;
    size_t first = innermost != 0 ? blamed : 0,
           left = innermost != 0 ? room - innermost - 1 : room; /* the gap is a line, too */
    if (count == 0) {
        fputs("      no stack was recorded\n", text);
    }
    for (size_t i = 0; i < innermost; i++) {
        sbx_text_frame(text, i, locations[i], true);
    }
    if (innermost != 0) {
        fprintf(text, "        ... %zu more\n", blamed - innermost);
    }
    for (size_t i = first; i < count && i < first + left; i++) {
        sbx_text_frame(text, i, locations[i], true);
    }
    if (count > first + left) {
        fprintf(text, "        ... %zu more\n", count - first - left);
    }
}

static void put_first_screen(FILE *text, const struct sbx_report *report, const struct sbx_location **locations)
{
    const struct sbx_verdict *verdict = &report->verdict;
    uint32_t stack =
        verdict->stack != 0 ? verdict->stack : sbx_history_thread_stack(report, report->stall->trigger.thread);
    char line[256];
    int lines = sbx_text_headline(text, verdict->headline);
    application_text(report, line);
    lines += sbx_text_wrapped(text, "application", line) + put_identity(text, report) + put_cause(text, report);
    int kept = SCREEN_TAIL_LINES + SCREEN_FRAMES_MIN + 1 + sbx_text_names_wanted(NULL, report, stack);
    lines += put_some_evidence(text, verdict, SCREEN_LINES - lines - kept);
    bool is_crash = verdict->cause == SBX_CAUSE_CRASH;
    lines += is_crash && report->stall->trigger.duration_ns == 0 ? 0 : put_time_line(text, verdict);
    lines += sbx_text_names_wanted(text, report, stack);
    fputs(is_crash && verdict->stack == 0 ? "\n" STRONG "Where it was seen last, before the signal" PLAIN "\n"
                                          : "\n" STRONG "Where it was" PLAIN "\n",
          text);
    size_t count = sbx_report_callstack(report, stack, locations, SBX_TEXT_STACK_MAX);
    int room = SCREEN_LINES - SCREEN_TAIL_LINES - lines;
    size_t frames = room < SCREEN_FRAMES_MIN ? SCREEN_FRAMES_MIN : room > SCREEN_FRAMES ? SCREEN_FRAMES : (size_t)room;
    put_some_frames(text, verdict, locations, count, frames);
    fputs(FAINT "More: --all prints all evidence, the history, all threads, and what recording cost" PLAIN "\n", text);
}

static void put_everything(FILE *text, const struct sbx_report *report, const struct sbx_location **locations,
                           bool *done)
{
    uint32_t judged = report->stall->trigger.thread;
    uint32_t stack = report->verdict.stack != 0 ? report->verdict.stack : sbx_history_thread_stack(report, judged);
    put_what(text, report);
    put_why(text, &report->verdict);
    sbx_text_names_wanted(text, report, stack);
    put_time(text, report);
    sbx_text_stacks(text, report, locations, done);
    if (sbx_text_history(text, report) != 0) {
        fputs("  no memory for the history\n", text);
    }
    put_losses(text, report->stall);
    put_overhead(text, report->stall);
    put_more(text);
}

static int print(const struct sbx_report *report, FILE *out, bool colour, bool everything)
{
    char *buffer = NULL;
    size_t bytes = 0;
    const struct sbx_location **locations = malloc(SBX_TEXT_STACK_MAX * sizeof *locations);
    bool *done = calloc((size_t)report->stall->thread_count + 1, sizeof *done);
    FILE *text = open_memstream(&buffer, &bytes);
    int result = -ENOMEM;
    if (locations == NULL || done == NULL || text == NULL) {
        if (text != NULL) {
            fclose(text);
        }
        goto free_buffer;
    }
    if (everything) {
        put_everything(text, report, locations, done);
    } else {
        put_first_screen(text, report, locations);
    }
    bool failed = ferror(text) != 0;
    failed = fclose(text) != 0 || failed;
    if (failed) {
        goto free_buffer;
    }
    errno = 0;
    sbx_text_write(out, buffer, bytes, colour);
    result = fflush(out) != 0 || ferror(out) ? (errno != 0 ? -errno : -EIO) : 0;

free_buffer:
    free(buffer);
    free(done);
    free(locations);
    return result;
}

int sbx_print_text(const struct sbx_report *report, FILE *out, bool colour)
{
    return print(report, out, colour, true);
}

int sbx_print_first_screen(const struct sbx_report *report, FILE *out, bool colour)
{
    return print(report, out, colour, false);
}
