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

/* The judged thread's steps in the judged interval, oldest first. Returns their number (<= max). If there are more,
 * steps are left out evenly, long waits last. What was measured in left-out steps is added to the next step. */
size_t sbx_history_steps(const struct sbx_report *report, struct sbx_history_step *steps_out, size_t max);

/* The callstack of a thread at the trigger: the stack that was taken because of the trigger, else that of the call in
 * which the thread was, else the newest; 0: none. */
uint32_t sbx_history_trigger_stack(const struct sbx_stall *stall, uint32_t thread);

/* The callstack to show for a thread. Like sbx_history_trigger_stack(), with one exception: for the judged thread of a
 * stall that had ended when the trigger fired, it is the stack in which it spent the time, because its place a moment
 * later tells nothing. */
uint32_t sbx_history_thread_stack(const struct sbx_report *report, uint32_t thread);

/* How a thread's callstack came to be known. */
enum sbx_stack_source {
    SBX_STACK_FROM_NOTHING = 0, /* there is none */
    SBX_STACK_FROM_SIGNAL,      /* the running thread walked itself because the trigger fired */
    SBX_STACK_FROM_OUTSIDE,     /* the thread was blocked, and was read from outside because the trigger fired */
    SBX_STACK_FROM_CALL,        /* the thread recorded it earlier, for the call in which it still was */
    SBX_STACK_FROM_RECORD,      /* the newest record that the thread made itself */
    SBX_STACK_FROM_INTERVAL,    /* the stall had ended: the stack in which the thread spent the time */
};

struct sbx_stack_origin {
    enum sbx_stack_source source;
    int64_t at_ns; /* relative to the trigger */
};

/* The origin of the callstack that sbx_history_thread_stack() returns. */
struct sbx_stack_origin sbx_history_stack_origin(const struct sbx_report *report, uint32_t thread);
const char *sbx_stack_source_name(enum sbx_stack_source source); /* "signal", "outside", "call", ...; "none" */

#endif
