/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_verdict.c - the stall's own track of a trace. */
#include "perfetto_verdict.h"

#include <stdio.h>

#include "cause.h"
#include "clean_text.h"
#include "names.h"
#include "perfetto_tracks.h"

static void note_verdict(struct sbx_perfetto *trace, const struct sbx_report *report, const char *left_out)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    sbx_perfetto_note_text(trace, "cause", sbx_cause_name(verdict->cause));
    sbx_perfetto_note_text(trace, "class", sbx_class_name(verdict->class_));
    sbx_perfetto_note_number(trace, "confidence", verdict->confidence);
    if (verdict->location.function != NULL && verdict->location.function[0] != '\0') {
        sbx_perfetto_note_text(trace, "function", verdict->location.function);
        sbx_perfetto_note_text(trace, "module", verdict->location.module);
    }
    if (verdict->location.file != NULL) {
        char place[SBX_CLEAN_TEXT_BYTES];
        snprintf(place, sizeof place, "%s:%u", verdict->location.file, verdict->location.line);
        sbx_perfetto_note_text(trace, "place", place);
    }
    if (verdict->culprit_thread >= 0 && (uint32_t)verdict->culprit_thread < stall->thread_count) {
        char label[SBX_TRACE_LABEL_BYTES];
        sbx_thread_label(stall, (uint32_t)verdict->culprit_thread, label, sizeof label);
        sbx_perfetto_note_text(trace, "culprit thread", label);
        if (verdict->culprit_function != NULL && verdict->culprit_function[0] != '\0') {
            sbx_perfetto_note_text(trace, "culprit function", verdict->culprit_function);
        }
        if (verdict->culprit_at.file != NULL && verdict->culprit_at.line != 0) {
            char place[SBX_CLEAN_TEXT_BYTES];
            snprintf(place, sizeof place, "%s:%u", verdict->culprit_at.file, verdict->culprit_at.line);
            sbx_perfetto_note_text(trace, "culprit place", place);
        }
    }
    sbx_perfetto_note_number(trace, "on_cpu_ms", verdict->on_cpu_ms);
    sbx_perfetto_note_number(trace, "off_cpu_ms", verdict->off_cpu_ms);
    if (verdict->runnable_ms >= 0) {
        sbx_perfetto_note_number(trace, "runnable_ms", verdict->runnable_ms);
    }
    static const char *const evidence_names[] = {"evidence 1",  "evidence 2",  "evidence 3",  "evidence 4",
                                                 "evidence 5",  "evidence 6",  "evidence 7",  "evidence 8",
                                                 "evidence 9",  "evidence 10", "evidence 11", "evidence 12",
                                                 "evidence 13", "evidence 14", "evidence 15", "evidence 16"};
    for (size_t i = 0; i < verdict->evidence_count && i < sizeof evidence_names / sizeof evidence_names[0]; i++) {
        char text[SBX_CLEAN_TEXT_BYTES];
        snprintf(text, sizeof text, "%s: %s", verdict->evidence[i].kind, verdict->evidence[i].text);
        sbx_perfetto_note_text(trace, evidence_names[i], text);
    }
    char losses[SBX_CLEAN_TEXT_BYTES];
    size_t length = 0;
    losses[0] = '\0';
    for (uint32_t drop = 0; drop < SBX_DROP_COUNT && length < sizeof losses; drop++) {
        if (stall->drops[drop] != 0) {
            length += (size_t)snprintf(losses + length, sizeof losses - length, "%s%s %llu", length == 0 ? "" : ", ",
                                       sbx_drop_name(drop), (unsigned long long)stall->drops[drop]);
        }
    }
    sbx_perfetto_note_text(trace, "dropped", losses[0] == '\0' ? "nothing" : losses);
    if (left_out != NULL) {
        sbx_perfetto_note_text(trace, "left out of this file", left_out);
    }
}

void sbx_perfetto_verdict(struct sbx_perfetto *trace, const struct sbx_report *report, const char *left_out)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_verdict *verdict = &report->verdict;
    char headline[sizeof verdict->headline + 16];
    snprintf(headline, sizeof headline, "stall: %s", verdict->headline);
    int64_t end_ns =
        verdict->interval_end_ns < verdict->interval_begin_ns ? verdict->interval_begin_ns : verdict->interval_end_ns;
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_BEGIN, SBX_TRACK_STALL, verdict->interval_begin_ns, NULL);
    sbx_perfetto_event_name(trace, headline);
    note_verdict(trace, report, left_out);
    sbx_perfetto_callstack(trace, verdict->stack);
    sbx_perfetto_event_end(trace);
    sbx_perfetto_close(trace, SBX_TRACK_STALL, end_ns);

    char trigger[64], label[SBX_TRACE_LABEL_BYTES];
    snprintf(trigger, sizeof trigger, "trigger: %s", sbx_trigger_name(stall->trigger.kind));
    sbx_thread_label(stall, stall->trigger.thread, label, sizeof label);
    sbx_perfetto_event_begin(trace, SBX_PERFETTO_INSTANT, SBX_TRACK_STALL, 0, NULL);
    sbx_perfetto_event_name(trace, trigger);
    sbx_perfetto_note_text(trace, "thread", label);
    sbx_perfetto_note_number(trace, "duration_ms", (double)sbx_stall_lasted_ns(stall) / 1e6);
    sbx_perfetto_note_count(trace, "threshold_ms", stall->trigger.threshold_ms);
    sbx_perfetto_event_end(trace);
}
