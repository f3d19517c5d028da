/* SPDX-License-Identifier: Apache-2.0 */
/* print_json.c - the report as one line of JSON: a contract that scripts rely on.
 *
 * Beyond it there are "headline", "attribution.stack" (functions, leaf first) and "history". */
#include "print_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cause.h"
#include "history.h"
#include "hot.h"
#include "json_writer.h"
#include "names.h"
#include "record_kinds.h"
#include "report.h"

enum {
    HOT_MAX = 20,
    STACK_MAX = 1024,
    HISTORY_MAX = 500
};

static const char *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* The watch or deadline that was missed. Only a hash of its name leaves the machine. */
static void put_watch(struct sbx_json *json, const struct sbx_report *report, uint32_t index)
{
    const struct sbx_stall_watch *watch = &report->stall->watches[index];
    char what[11];
    snprintf(what, sizeof what, "%010llx", (unsigned long long)watch->what & 0xffffffffff);
    sbx_json_begin_object(json);
    sbx_json_put_text(json, "kind", sbx_watch_kind_name(watch->kind));
    sbx_json_put_text(json, "state", sbx_watch_state_name(watch->state));
    sbx_json_put_text(json, "what", what);
    sbx_json_put_text(json, "name", sbx_report_watch_name(report, index));
    sbx_json_key(json, "thread");
    if (watch->thread >= 0) {
        sbx_json_integer(json, watch->thread);
    } else {
        sbx_json_null(json);
    }
    sbx_json_put_unsigned(json, "timeout_ms", watch->timeout_ms);
    sbx_json_put_number(json, "age_ms", (double)watch->age_ns / 1e6);
    sbx_json_end_object(json);
}

/* How a stall ended that was reported before its end; other stalls have no such field. */
static void put_end(struct sbx_json *json, const struct sbx_stall *stall)
{
    if (stall->end.how == SBX_END_NONE) {
        return;
    }
    sbx_json_key(json, "end");
    sbx_json_begin_object(json);
    sbx_json_put_text(json, "how", sbx_stall_end_name(stall->end.how));
    sbx_json_put_text(json, "signal", stall->end.signal != 0 ? sbx_signal_name(stall->end.signal) : NULL);
    sbx_json_put_number(json, "recorded_ms", (double)stall->trigger.duration_ns / 1e6);
    sbx_json_end_object(json);
}

static void put_id(struct sbx_json *json, const char *key, const uint8_t id[16])
{
    char text[33];
    for (int i = 0; i < 16; i++) {
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    }
    sbx_json_put_text(json, key, text);
}

/* Only for a process that was forked, or that stalled together with others; other reports have no such field. */
static void put_family(struct sbx_json *json, const struct sbx_stall *stall)
{
    if (!stall->family.is_worker && stall->family.stalled_beside == 0) {
        return;
    }
    sbx_json_key(json, "family");
    sbx_json_begin_object(json);
    sbx_json_put_text(json, "role", stall->family.is_worker ? "worker" : "main");
    if (stall->family.is_worker) {
        put_id(json, "id", stall->family.id);
        static const uint8_t nobody[sizeof stall->family.parent]; /* all zero: the parent's recorder had not begun */
        if (memcmp(stall->family.parent, nobody, sizeof nobody) != 0) {
            put_id(json, "parent", stall->family.parent);
        }
    } else {
        put_id(json, "id", stall->session_id);
    }
    sbx_json_put_unsigned(json, "siblings", stall->family.stalled_beside);
    if (stall->family.moment != 0) {
        char moment[11];
        snprintf(moment, sizeof moment, "%010llx", (unsigned long long)stall->family.moment & 0xffffffffff);
        sbx_json_put_text(json, "moment", moment);
    }
    sbx_json_end_object(json);
}

static void put_head(struct sbx_json *json, const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    const uint32_t *version = stall->app_version;
    char text[40];
    snprintf(text, sizeof text, "%u.%u.%u", version[0], version[1], version[2]);
    sbx_json_put_text(json, "payload_id", stall->payload_id_text);
    sbx_json_key(json, "app");
    sbx_json_begin_object(json);
    sbx_json_put_text(json, "name", report->app_name);
    sbx_json_put_text(json, "version", version[0] + version[1] + version[2] > 0 ? text : NULL);
    sbx_json_end_object(json);
    put_family(json, stall);
    sbx_json_key(json, "trigger");
    sbx_json_begin_object(json);
    sbx_json_put_text(json, "kind", sbx_trigger_name(stall->trigger.kind));
    sbx_json_put_number(json, "duration_ms", (double)sbx_stall_lasted_ns(stall) / 1e6);
    sbx_json_put_unsigned(json, "threshold_ms", stall->trigger.threshold_ms);
    sbx_json_put_unsigned(json, "thread", stall->trigger.thread);
    sbx_json_key(json, "in_progress");
    sbx_json_bool(json, stall->trigger.in_progress && stall->end.how != SBX_END_ANSWERED);
    put_end(json, stall);
    sbx_json_put_unsigned(json, "after_ms", stall->trigger.after_ms);
    sbx_json_put_unsigned(json, "frames_dropped", stall->trigger.frames);
    if (report->message_kind != 0) { /* other messages have no such fields */
        sbx_json_put_unsigned(json, "message_kind", report->message_kind);
        sbx_json_put_text(json, "message_name", report->kind_names[report->message_kind]);
    }
    if (stall->trigger.scene != 0) {
        sbx_json_put_unsigned(json, "scene", stall->trigger.scene);
        sbx_json_put_text(json, "scene_name", report->scene_name);
    }
    sbx_json_key(json, "watch");
    if (stall->trigger.watch >= 0) {
        put_watch(json, report, (uint32_t)stall->trigger.watch);
    } else {
        sbx_json_null(json);
    }
    if (stall->trigger.signal != 0) { /* the signal that ended the process; other triggers have no such field */
        sbx_json_put_text(json, "signal", sbx_signal_name(stall->trigger.signal));
        sbx_json_put_text(json, "fault",
                          stall->trigger.fault != SBX_FAULT_UNKNOWN ? sbx_fault_text(stall->trigger.fault) : NULL);
    }
    sbx_json_end_object(json);
    sbx_json_key(json, "interval");
    sbx_json_begin_object(json);
    sbx_json_put_integer(json, "begin_ns", report->verdict.interval_begin_ns);
    sbx_json_put_integer(json, "end_ns", report->verdict.interval_end_ns);
    sbx_json_end_object(json);
}

/* What recording cost the program, and how many stalls this one represents. */
static void put_overhead(struct sbx_json *json, const struct sbx_stall *stall)
{
    sbx_json_key(json, "overhead");
    sbx_json_begin_object(json);
    sbx_json_put_number(json, "budget_permille", stall->overhead.budget_ppm / 1e3);
    sbx_json_put_number(json, "cost_permille", stall->overhead.cost_ppm / 1e3);
    sbx_json_put_unsigned(json, "cost_ms", stall->overhead.cost_ms);
    sbx_json_put_number(json, "window_permille", stall->overhead.window_ppm / 1e3);
    sbx_json_put_number(json, "modules_permille", stall->overhead.modules_ppm / 1e3);
    sbx_json_put_unsigned(json, "interval_us", stall->overhead.interval_us);
    sbx_json_put_unsigned(json, "gap_us", stall->overhead.gap_us);
    sbx_json_key(json, "shed");
    sbx_json_begin_array(json);
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        if ((stall->overhead.shed >> group & 1) != 0) {
            sbx_json_text(json, sbx_point_name(group));
        }
    }
    sbx_json_end_array(json);
    sbx_json_put_unsigned(json, "changes", stall->overhead.changes);
    sbx_json_end_object(json);
    sbx_json_key(json, "sampling");
    sbx_json_begin_object(json);
    sbx_json_put_unsigned(json, "weight", stall->sampling.weight);
    sbx_json_put_unsigned(json, "one_in", stall->sampling.one_in);
    sbx_json_end_object(json);
}

static void put_watches(struct sbx_json *json, const struct sbx_report *report)
{
    sbx_json_key(json, "watches");
    sbx_json_begin_array(json);
    for (uint32_t i = 0; i < report->stall->watch_count; i++) {
        put_watch(json, report, i);
    }
    sbx_json_end_array(json);
}

static void put_functions(struct sbx_json *json, const struct sbx_report *report, uint32_t stack,
                          const struct sbx_location **locations)
{
    size_t count = sbx_report_callstack(report, stack, locations, STACK_MAX);
    sbx_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        sbx_json_text(json, locations[i]->function);
    }
    sbx_json_end_array(json);
}

static void put_frames(struct sbx_json *json, const struct sbx_report *report, uint32_t stack,
                       const struct sbx_location **locations)
{
    size_t count = sbx_report_callstack(report, stack, locations, STACK_MAX);
    sbx_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        sbx_json_begin_object(json);
        sbx_json_put_text(json, "function", locations[i]->function);
        sbx_json_put_text(json, "module", text_or_null(locations[i]->module));
        sbx_json_put_text(json, "file", locations[i]->file);
        sbx_json_put_line(json, locations[i]->line);
        sbx_json_key(json, "inlined");
        sbx_json_bool(json, locations[i]->inlined);
        sbx_json_put_text(json, "source", locations[i]->source != NULL ? locations[i]->source : "none");
        if (locations[i]->logical) {
            sbx_json_put_text(json, "runtime", text_or_null(locations[i]->module));
        }
        sbx_json_end_object(json);
    }
    sbx_json_end_array(json);
}

/* Only for a thread of another process. The process is identified by its number here and, if it was recorded, by its
 * session. Other threads have no such field. */
static void put_process(struct sbx_json *json, const struct sbx_stall *stall, uint32_t thread)
{
    uint32_t number = stall->threads[thread].process;
    if (number == 0) {
        return;
    }
    const struct sbx_stall_process *process = &stall->processes[number - 1];
    sbx_json_key(json, "process");
    sbx_json_begin_object(json);
    sbx_json_put_unsigned(json, "pid", number);
    sbx_json_put_text(json, "role", !process->is_recorded ? NULL : process->is_worker ? "worker" : "main");
    if (process->is_recorded) {
        put_id(json, "session", process->session_id);
    }
    sbx_json_end_object(json);
}

static void put_culprit(struct sbx_json *json, const struct sbx_report *report)
{
    const struct sbx_verdict *verdict = &report->verdict;
    sbx_json_key(json, "culprit_thread");
    if (verdict->culprit_thread < 0 && verdict->culprit_function[0] == '\0') {
        sbx_json_null(json);
        return;
    }
    sbx_json_begin_object(json);
    sbx_json_key(json, "tid");
    if (verdict->culprit_thread >= 0) {
        sbx_json_integer(json, verdict->culprit_thread);
    } else {
        sbx_json_null(json);
    }
    sbx_json_put_text(json, "name",
                      verdict->culprit_thread >= 0 ? report->stall->threads[verdict->culprit_thread].name : NULL);
    sbx_json_put_text(json, "function", text_or_null(verdict->culprit_function));
    sbx_json_put_text(json, "file", verdict->culprit_at.file);
    sbx_json_put_line(json, verdict->culprit_at.line);
    if (verdict->culprit_thread >= 0) {
        put_process(json, report->stall, (uint32_t)verdict->culprit_thread);
    }
    sbx_json_end_object(json);
}

/* Only if it is known; other reports have no such field. */
static void put_queued_by(struct sbx_json *json, const struct sbx_queued_by *by)
{
    if (!by->is_known) {
        return;
    }
    sbx_json_key(json, "queued_by");
    sbx_json_begin_object(json);
    sbx_json_key(json, "thread");
    if (by->thread >= 0) {
        sbx_json_integer(json, by->thread);
    } else {
        sbx_json_null(json);
    }
    sbx_json_put_text(json, "function", text_or_null(by->location.function));
    sbx_json_put_text(json, "file", by->location.file);
    sbx_json_put_line(json, by->location.line);
    sbx_json_put_number(json, "lay_ms", by->lay_ms);
    sbx_json_end_object(json);
}

static void put_attribution(struct sbx_json *json, const struct sbx_report *report,
                            const struct sbx_location **locations)
{
    const struct sbx_verdict *verdict = &report->verdict;
    sbx_json_key(json, "attribution");
    sbx_json_begin_object(json);
    sbx_json_put_text(json, "cause", sbx_cause_name(verdict->cause));
    sbx_json_put_text(json, "class", sbx_class_name(verdict->class_));
    sbx_json_put_text(json, "function", text_or_null(verdict->location.function));
    sbx_json_put_text(json, "module", text_or_null(verdict->location.module));
    sbx_json_put_text(json, "file", verdict->location.file);
    sbx_json_put_line(json, verdict->location.line);
    sbx_json_put_number(json, "confidence", verdict->confidence);
    put_culprit(json, report);
    put_queued_by(json, &verdict->queued_by);
    if (verdict->awaited_stack != 0) { /* other reports have no such field */
        sbx_json_key(json, "awaited_by");
        put_frames(json, report, verdict->awaited_stack, locations);
    }
    sbx_json_key(json, "evidence");
    sbx_json_begin_array(json);
    for (size_t i = 0; i < verdict->evidence_count; i++) {
        sbx_json_begin_object(json);
        sbx_json_put_text(json, "kind", verdict->evidence[i].kind);
        sbx_json_put_text(json, "text", verdict->evidence[i].text);
        sbx_json_put_number(json, "value", verdict->evidence[i].value);
        sbx_json_end_object(json);
    }
    sbx_json_end_array(json);
    sbx_json_key(json, "stack");
    put_functions(json, report, verdict->stack, locations);
    sbx_json_end_object(json);
}

static void put_sums(struct sbx_json *json, const struct sbx_report *report)
{
    const struct sbx_verdict *verdict = &report->verdict;
    sbx_json_key(json, "main");
    sbx_json_begin_object(json);
    sbx_json_put_number(json, "on_cpu_ms", verdict->on_cpu_ms);
    sbx_json_put_number(json, "runnable_ms", verdict->runnable_ms);
    sbx_json_put_number(json, "off_cpu_ms", verdict->off_cpu_ms);
    sbx_json_put_number(json, "unknown_ms", verdict->unknown_ms);
    sbx_json_key(json, "off_cpu_by");
    sbx_json_begin_object(json);
    sbx_json_put_number(json, "idle", verdict->idle_ms);
    for (int cause = 0; cause < SBX_CAUSE_COUNT; cause++) {
        if (verdict->off_cpu_by_ms[cause] > 0) {
            sbx_json_put_number(json, sbx_cause_name((enum sbx_cause)cause), verdict->off_cpu_by_ms[cause]);
        }
    }
    sbx_json_end_object(json);
    sbx_json_put_unsigned(json, "messages", verdict->messages);
    sbx_json_key(json, "runnable_counted");
    sbx_json_bool(json, verdict->runnable_is_counted);
    sbx_json_end_object(json);
    sbx_json_key(json, "loss");
    sbx_json_begin_object(json);
    for (uint32_t i = 0; i < SBX_DROP_COUNT; i++) {
        if (sbx_drop_name(i) != sbx_drop_name(UINT32_MAX)) { /* numbers that are not in use have no name */
            sbx_json_put_unsigned(json, sbx_drop_name(i), report->stall->drops[i]);
        }
    }
    sbx_json_end_object(json);
    put_overhead(json, report->stall);
}

/* How the stack of a thread was obtained, and when. */
static void put_origin(struct sbx_json *json, const struct sbx_report *report, uint32_t thread)
{
    struct sbx_stack_origin origin = sbx_history_stack_origin(report, thread);
    sbx_json_put_text(json, "stack_from", sbx_stack_source_name(origin.source));
    sbx_json_key(json, "stack_at_ms");
    if (origin.source != SBX_STACK_FROM_NOTHING) {
        sbx_json_number(json, (double)origin.at_ns / 1e6);
    } else {
        sbx_json_null(json);
    }
}

static void put_thread(struct sbx_json *json, const struct sbx_report *report, uint32_t index,
                       const struct sbx_location **locations)
{
    const struct sbx_stall_thread *thread = &report->stall->threads[index];
    sbx_json_begin_object(json);
    sbx_json_put_unsigned(json, "tid", index);
    sbx_json_put_text(json, "name", thread->name);
    sbx_json_key(json, "main");
    sbx_json_bool(json, thread->is_main);
    put_process(json, report->stall, index);
    put_origin(json, report, index);
    sbx_json_key(json, "frames");
    put_frames(json, report, sbx_history_thread_stack(report, index), locations);
    struct sbx_hot hot[HOT_MAX];
    size_t hot_count = sbx_report_hot(report, index, hot, HOT_MAX);
    sbx_json_key(json, "hot");
    sbx_json_begin_array(json);
    for (size_t i = 0; i < hot_count; i++) {
        sbx_json_begin_object(json);
        sbx_json_put_text(json, "function", hot[i].function);
        sbx_json_put_text(json, "module", text_or_null(hot[i].module));
        sbx_json_put_number(json, "ms_min", hot[i].ms_min);
        sbx_json_put_number(json, "ms_max", hot[i].ms_max);
        sbx_json_end_object(json);
    }
    sbx_json_end_array(json);
    sbx_json_end_object(json);
}

static void put_history(struct sbx_json *json, const struct sbx_report *report, struct sbx_history_step *steps,
                        const struct sbx_location **locations)
{
    size_t count = sbx_history_steps(report, steps, HISTORY_MAX);
    sbx_json_key(json, "history");
    sbx_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        const struct sbx_stall_record *record = steps[i].record;
        sbx_json_begin_object(json);
        sbx_json_put_number(json, "t_ms", (double)record->end_ns / 1e6);
        sbx_json_put_text(json, "kind", sbx_record_name(record->kind));
        sbx_json_put_unsigned(json, "thread", record->thread);
        sbx_json_put_number(json, "duration_ms", (double)(record->end_ns - record->begin_ns) / 1e6);
        sbx_json_put_unsigned(json, "looks", sbx_record_looks(record));
        sbx_json_key(json, "cpu_ms");
        if (steps[i].cpu_ms >= 0) {
            sbx_json_number(json, steps[i].cpu_ms);
        } else {
            sbx_json_null(json);
        }
        sbx_json_put_integer(json, "alloc_count", steps[i].alloc_count);
        sbx_json_put_integer(json, "alloc_bytes", steps[i].alloc_bytes);
        sbx_json_key(json, "stack");
        put_functions(json, report, record->stack, locations);
        sbx_json_end_object(json);
    }
    sbx_json_end_array(json);
}

int sbx_print_json(const struct sbx_report *report, FILE *out)
{
    const struct sbx_location **locations = malloc(STACK_MAX * sizeof *locations);
    struct sbx_history_step *steps = malloc(HISTORY_MAX * sizeof *steps);
    int result = -ENOMEM;
    if (locations == NULL || steps == NULL) {
        goto free_steps;
    }
    struct sbx_json json;
    sbx_json_init(&json, out);
    sbx_json_begin_object(&json);
    put_head(&json, report);
    sbx_json_put_text(&json, "headline", report->verdict.headline);
    put_attribution(&json, report, locations);
    put_sums(&json, report);
    sbx_json_key(&json, "threads");
    sbx_json_begin_array(&json);
    for (uint32_t i = 0; i < report->stall->thread_count; i++) {
        put_thread(&json, report, i, locations);
    }
    sbx_json_end_array(&json);
    put_watches(&json, report);
    put_history(&json, report, steps, locations);
    sbx_json_end_object(&json);
    fputc('\n', out);
    result = fflush(out) != 0 || ferror(out) ? (errno != 0 ? -errno : -EIO) : 0;

free_steps:
    free(locations);
    free(steps);
    return result;
}
