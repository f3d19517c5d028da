/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - the function that queued the stalled work. Pure. */
#ifndef SBX_ORIGIN_H
#define SBX_ORIGIN_H

#include "thread_judge.h"

/* The task that the thread ran for at least half of the span, the innermost of those that take (nearly) the same part of it; NULL: none
 * is known. */
const struct sbx_stall_task *sbx_origin_in(const struct sbx_report *report, uint32_t thread, struct sbx_interval span);

/* The innermost task that the thread ran at that moment; NULL: none. */
const struct sbx_stall_task *sbx_origin_at(const struct sbx_stall *stall, int32_t thread, int64_t at_ns);

/* Is it worth to be told who queued `outer`, in which `task` was queued? Not of a timer, of a thread's start, or of what queued itself once more. */
bool sbx_origin_leads_on(const struct sbx_stall_task *task, const struct sbx_stall_task *outer);

/* Say it: verdict.queued_by of the judged thread, and evidence of kind "queued_by" for it, for what queued that in turn, and for the
 * culprit thread's work. */
void sbx_origin_tell(struct sbx_report *report, const struct sbx_judgement *judgement);

#endif
