/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - what the judged thread did before the trigger, step by step. */
#include "history.h"

#include <stdbool.h>

/* Was the record made after the trigger fired, while the snapshot was taken? Then it is not shown as a step before it.
 * A stack that was taken because of the trigger still counts. */
static bool is_afterwards(const struct sbx_report *report, const struct sbx_stall_record *record)
{
    int64_t end_ns = report->verdict.interval_end_ns;
    return record->begin_ns >= end_ns && record->end_ns > end_ns &&
           !(report->stall->trigger.in_progress && (record->flags & SBX_FLAG_AT_TRIGGER) != 0);
}

/* The records of the judged thread that reach into the judged interval: [*first_out, return value). */
static size_t find_records(const struct sbx_report *report, size_t *first_out)
{
    const struct sbx_stall_thread *thread = &report->stall->threads[report->stall->trigger.thread];
    size_t at = thread->record_begin, end = thread->record_begin + thread->record_count;
    while (at < end && report->stall->records[at].end_ns <= report->verdict.interval_begin_ns) {
        at++;
    }
    while (at < end && is_afterwards(report, &report->stall->records[end - 1])) {
        end--;
    }
    *first_out = at;
    return end;
}

static bool is_long(const struct sbx_report *report, const struct sbx_stall_record *record)
{
    int64_t wall_ns = report->verdict.interval_end_ns - report->verdict.interval_begin_ns;
    return (record->end_ns - record->begin_ns) >= wall_ns / 100 && record->begin_ns < record->end_ns;
}

size_t sbx_history_steps(const struct sbx_report *report, struct sbx_history_step *steps_out, size_t max)
{
    const struct sbx_stall_record *records = report->stall->records;
    size_t first, end = find_records(report, &first), count = 0;
    size_t left = end - first;
    bool has_before = first > report->stall->threads[report->stall->trigger.thread].record_begin;
    const struct sbx_stall_record *cpu_before =
        has_before && records[first - 1].cpu_ns >= 0 ? &records[first - 1] : NULL;
    /* Counters begin with the record before the first step, or else with the first step's own record. */
    size_t before = has_before ? first - 1 : first;
    int64_t alloc_count = end > first ? records[before].alloc_count : 0;
    int64_t alloc_bytes = end > first ? records[before].alloc_bytes : 0;
    /* Each record adds `even` to the credit, and a step costs `left`, so the gaps are even. A quarter of the places is
     * kept for long waits. */
    size_t even = left > max ? max - max / 4 : left, extra = max - even, credit = 0;
    for (size_t i = first; i < end && count < max; i++) {
        const struct sbx_stall_record *record = &records[i];
        credit += even;
        if (credit >= left) {
            credit -= left;
        } else if (extra > 0 && is_long(report, record)) {
            extra--;
        } else {
            continue;
        }
        struct sbx_history_step *step = &steps_out[count++];
        step->record = record;
        step->cpu_ms = -1;
        if (record->cpu_ns >= 0) {
            if (cpu_before != NULL && record->cpu_ns >= cpu_before->cpu_ns) {
                step->cpu_ms = (double)(record->cpu_ns - cpu_before->cpu_ns) / 1e6;
            }
            cpu_before = record;
        }
        step->alloc_count = record->alloc_count - alloc_count;
        step->alloc_bytes = record->alloc_bytes - alloc_bytes;
        alloc_count = record->alloc_count;
        alloc_bytes = record->alloc_bytes;
    }
    return count;
}

/* The newest record of a thread whose callstack was taken because of the trigger; NULL: none. *newest_out: in that
 * case, the newest record with a callstack; NULL: none. */
static const struct sbx_stall_record *trigger_record(const struct sbx_stall *stall, uint32_t thread_index,
                                                     const struct sbx_stall_record **newest_out)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    *newest_out = NULL;
    for (size_t i = thread->record_count; i-- > 0;) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->stack != 0 && (record->flags & SBX_FLAG_AT_TRIGGER) != 0) {
            return record;
        }
        *newest_out = *newest_out == NULL && record->stack != 0 ? record : *newest_out;
    }
    return NULL;
}

uint32_t sbx_history_trigger_stack(const struct sbx_stall *stall, uint32_t thread_index)
{
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    const struct sbx_stall_record *newest, *taken = trigger_record(stall, thread_index, &newest);
    if (taken != NULL) {
        return taken->stack;
    }
    return thread->call_kind != 0 && thread->last_stack != 0 ? thread->last_stack
           : newest != NULL                                  ? newest->stack
                                                             : thread->last_stack;
}

/* The stall had ended, so the thread is shown where it spent the time. */
static bool shows_interval(const struct sbx_report *report, uint32_t thread)
{
    const struct sbx_stall *stall = report->stall;
    bool has_ended = thread == stall->trigger.thread && !stall->trigger.in_progress && stall->trigger.duration_ns > 0;
    return has_ended && report->verdict.stack != 0;
}

uint32_t sbx_history_thread_stack(const struct sbx_report *report, uint32_t thread)
{
    return shows_interval(report, thread) ? report->verdict.stack : sbx_history_trigger_stack(report->stall, thread);
}

struct sbx_stack_origin sbx_history_stack_origin(const struct sbx_report *report, uint32_t thread_index)
{
    const struct sbx_stall *stall = report->stall;
    const struct sbx_stall_thread *thread = &stall->threads[thread_index];
    const struct sbx_stall_record *newest, *taken = trigger_record(stall, thread_index, &newest);
    if (shows_interval(report, thread_index)) {
        return (struct sbx_stack_origin){SBX_STACK_FROM_INTERVAL, report->verdict.interval_end_ns};
    }
    if (taken != NULL) {
        return (struct sbx_stack_origin){
            taken->kind == SBX_RECORD_BLOCKED ? SBX_STACK_FROM_OUTSIDE : SBX_STACK_FROM_SIGNAL, taken->end_ns};
    }
    if (thread->call_kind != 0 && thread->last_stack != 0) {
        return (struct sbx_stack_origin){SBX_STACK_FROM_CALL, newest != NULL ? newest->end_ns : -thread->call_ns};
    }
    if (newest != NULL) {
        return (struct sbx_stack_origin){SBX_STACK_FROM_RECORD, newest->end_ns};
    }
    return (struct sbx_stack_origin){thread->last_stack != 0 ? SBX_STACK_FROM_RECORD : SBX_STACK_FROM_NOTHING, 0};
}

const char *sbx_stack_source_name(enum sbx_stack_source source)
{
    static const char *const names[] = {
        [SBX_STACK_FROM_NOTHING] = "none", [SBX_STACK_FROM_SIGNAL] = "signal", [SBX_STACK_FROM_OUTSIDE] = "outside",
        [SBX_STACK_FROM_CALL] = "call",    [SBX_STACK_FROM_RECORD] = "record", [SBX_STACK_FROM_INTERVAL] = "interval",
    };
    return (unsigned)source < sizeof names / sizeof names[0] ? names[source] : names[0];
}
