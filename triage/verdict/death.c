/* SPDX-License-Identifier: Apache-2.0 */
/* death.c - by which signal a process died, and in which function. */
#include "death.h"

#include <stdio.h>

#include "blame.h"
#include "names.h"
#include "verdict_words.h"

/* The dying thread's stack is recorded within microseconds of the moment that is the trigger's end. */
#define CRASH_RECORD_NS INT64_C(1000000)

/* The stack on which the signal found the thread; 0: not recorded (the host's own handler had the signal). */
static uint32_t crash_stack(const struct sbx_stall *stall)
{
    const struct sbx_stall_thread *thread = &stall->threads[stall->trigger.thread];
    for (size_t i = thread->record_count; i-- > 0;) {
        const struct sbx_stall_record *record = &stall->records[thread->record_begin + i];
        if (record->end_ns < -CRASH_RECORD_NS) {
            break;
        }
        if (record->stack != 0 && (record->flags & SBX_FLAG_AT_TRIGGER) != 0) {
            return record->stack;
        }
    }
    return 0;
}

static const char *signal_text(const struct sbx_stall *stall)
{
    return stall->trigger.signal != 0 ? sbx_signal_name(stall->trigger.signal) : "a fatal signal";
}

void sbx_death_tell(struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_verdict *verdict = &report->verdict;
    const char *signal = signal_text(stall);
    if (stall->trigger.kind != SBX_TRIGGER_CRASH) {
        if (stall->trigger.kind == SBX_TRIGGER_KILLED && stall->trigger.signal != 0) {
            sbx_evidence_add(verdict, "signal", stall->trigger.signal, "the process was ended by %s", signal);
        }
        return;
    }
    uint32_t stack = crash_stack(stall);
    const struct sbx_location *location = sbx_blame_leaf(report, stack);
    char thread[SBX_THREAD_TEXT_BYTES], function[SBX_SHORT_NAME_BYTES];
    sbx_thread_text(stall, stall->trigger.thread, thread);
    if (location != NULL) {
        verdict->location = *location;
        verdict->stack = stack;
        sbx_evidence_add(verdict, "signal", stall->trigger.signal, "the process died by %s (%s): %s was in %s", signal,
                         sbx_fault_text(stall->trigger.fault), thread, sbx_location_text(location, function));
    } else {
        sbx_evidence_add(verdict, "signal", stall->trigger.signal,
                         "the process died by %s; on which thread and where is not known: the handler was not ours",
                         signal);
    }
}

void sbx_death_headline(struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    struct sbx_verdict *verdict = &report->verdict;
    if (stall->trigger.kind != SBX_TRIGGER_CRASH) {
        return;
    }
    const char *signal = signal_text(stall);
    const struct sbx_location *location = sbx_blame_leaf(report, crash_stack(stall));
    char thread[SBX_THREAD_TEXT_BYTES], function[SBX_SHORT_NAME_BYTES];
    sbx_thread_text(stall, stall->trigger.thread, thread);
    if (location != NULL) {
        snprintf(verdict->headline, sizeof verdict->headline, "%s died by %s in %s: %s", thread, signal,
                 sbx_location_text(location, function), sbx_fault_text(stall->trigger.fault));
    } else {
        snprintf(verdict->headline, sizeof verdict->headline, "the process died by %s; where is not known", signal);
    }
}
