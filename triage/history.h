/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - what the judged thread did before the trigger, step by step. Pure. */
#ifndef SBX_HISTORY_H
#define SBX_HISTORY_H

#include "report.h"

/* One step: a record, and what was measured since the step before it. */
struct sbx_history_step {
    const struct sbx_stall_record *record;
    double cpu_ms; /* -1: not known */
    int64_t alloc_count, alloc_bytes;
};

/* The judged thread's steps in the judged interval, oldest first; returns how many (<= max). When there are more, steps
 * are left out evenly, long waits last; what was measured in those is added to the next. */
size_t sbx_history_steps(const struct sbx_report *report, struct sbx_history_step *steps_out, size_t max);

/* The callstack of a thread at the trigger: the one taken because of it, else that of the call it was in, else the
 * newest; 0 none. */
uint32_t sbx_history_trigger_stack(const struct sbx_stall *stall, uint32_t thread);

/* The callstack to show for a thread. Like sbx_history_trigger_stack(), but for the judged thread of a stall that had ended
 * when the trigger fired it is the stack the time was spent in: where the thread was a moment later tells nothing. */
uint32_t sbx_history_thread_stack(const struct sbx_report *report, uint32_t thread);

#endif
