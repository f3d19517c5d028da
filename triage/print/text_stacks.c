/* SPDX-License-Identifier: Apache-2.0 */
/* text_stacks.c - callstacks of the text report: the blamed one, and those of all threads at the trigger. */
#include "text_lines.h"

#include <string.h>

#include "cause.h"
#include "history.h"
#include "short_name.h"
#include "verdict_words.h"

enum {
    FRAMES_SHOWN = 48,
    STACKS_SHOWN = 16,
    NAME_COLUMNS = 52,
    NAME_BYTES = 80,
    SCREEN_NAME_COLUMNS = 46
};

void sbx_text_frame(FILE *text, size_t index, const struct sbx_location *location, bool is_narrow)
{
    char name[SBX_SHORT_NAME_BYTES];
    const char *slash = location->file == NULL ? NULL : strrchr(location->file, '/');
    const char *file = slash == NULL ? location->file : slash + 1;
    fprintf(text, "  %4zu  %s%-*s" PLAIN FAINT, index, location->named ? "" : FAINT,
            is_narrow ? SCREEN_NAME_COLUMNS : NAME_COLUMNS,
            sbx_short_name(location->function, is_narrow ? SCREEN_NAME_COLUMNS : NAME_BYTES, name));
    if (!is_narrow || file == NULL) {
        fprintf(text, "  %.30s%s", location->module,
                location->inlined   ? " (inlined)"
                : location->logical ? " (logical)"
                                    : "");
    }
    if (file != NULL) {
        fprintf(text, "  %.*s:%u", is_narrow ? 32 : 60, file, location->line);
    }
    fputs(PLAIN "\n", text);
}

static void put_stack(FILE *text, const struct sbx_report *report, uint32_t stack,
                      const struct sbx_location **locations)
{
    size_t count = sbx_report_callstack(report, stack, locations, SBX_TEXT_STACK_MAX);
    if (count == 0) {
        fputs("      no stack was recorded\n", text);
    }
    for (size_t i = 0; i < count; i++) {
        if (count > FRAMES_SHOWN && i == FRAMES_SHOWN / 2) { /* deep recursion: both ends tell more than the middle */
            size_t skipped = count - FRAMES_SHOWN;
            fprintf(text, "      ... %zu more ...\n", skipped);
            i += skipped;
        }
        sbx_text_frame(text, i, locations[i], false);
    }
}

/* What the thread did at the trigger, in brackets. Nothing if it was in no known call, or if the stack below is not the
 * stack of that call: a stall that has ended is shown where it was, not where the loop waits for work again. */
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

/* How the thread's stack was obtained, and when: what it did a second before the trigger may differ from what it did at
 * the trigger. */
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
    size_t a_count = sbx_report_callstack(report, a, locations, SBX_TEXT_STACK_MAX / 2);
    const struct sbx_location **others = locations + SBX_TEXT_STACK_MAX / 2;
    size_t b_count = sbx_report_callstack(report, b, others, SBX_TEXT_STACK_MAX / 2), i = 0, j = 0;
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

void sbx_text_stacks(FILE *text, const struct sbx_report *report, const struct sbx_location **locations, bool *done)
{
    const struct sbx_stall *stall = report->stall;
    uint32_t judged = stall->trigger.thread;
    uint32_t at_trigger = sbx_history_thread_stack(report, judged);
    if (report->verdict.stack != 0 && !is_same_way(report, report->verdict.stack, at_trigger, locations)) {
        sbx_text_heading(text, "The stack that the time was spent in");
        put_stack(text, report, report->verdict.stack, locations);
    }
    sbx_text_heading(text, "Stacks at the trigger");
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

int sbx_text_names_wanted(FILE *text, const struct sbx_report *report, uint32_t stack)
{
    const struct sbx_stall *stall = report->stall;
    uint32_t unnamed = 0, frames = 0;
    const char *module = NULL;
    for (uint32_t id = stack; id != 0; id = stall->callstacks[id].parent) {
        uint32_t frame = stall->callstacks[id].frame;
        const struct sbx_location *location = &report->locations[report->location_begin[frame]];
        uint32_t kind = stall->frames[frame].kind == SBX_FRAME_CODE ? stall->modules[stall->frames[frame].module].kind
                                                                    : SBX_MODULE_KIND_OTHER;
        if (kind == SBX_MODULE_KIND_OTHER || kind == SBX_MODULE_KIND_AGENT) {
            continue; /* hidden, or of the recorder: no symbol file would tell more */
        }
        frames++;
        unnamed += !location->named;
        module = module == NULL && !location->named ? location->module : module;
    }
    if (module == NULL || unnamed * 3 < frames) {
        return 0;
    }
    char line[256];
    snprintf(line, sizeof line,
             "%u of %u are missing: a -dbgsym package, debuginfod-find or --symbols DIR brings those of %.24s", unnamed,
             frames, module);
    return sbx_text_wrapped(text, "names", line);
}
