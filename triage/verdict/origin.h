/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - the function that queued the stalled work. Pure. */
#ifndef SBX_ORIGIN_H
#define SBX_ORIGIN_H

#include "thread_judge.h"

/* The task that the thread ran for at least half of the span. If several tasks take (nearly) the same part of it, the
 * innermost. NULL: none is known. */
const struct sbx_stall_task *sbx_origin_in(const struct sbx_report *report, uint32_t thread, struct sbx_interval span);

/* The innermost task that the thread ran at that moment; NULL: none. */
const struct sbx_stall_task *sbx_origin_at(const struct sbx_stall *stall, int32_t thread, int64_t at_ns);

/* Does it help to know who queued `outer`, in which `task` was queued? It does not for a timer, for a thread's start,
 * and for a task that queued itself again. */
bool sbx_origin_leads_on(const struct sbx_stall_task *task, const struct sbx_stall_task *outer);

/* Write verdict.queued_by of the judged thread. Add evidence of kind "queued_by" for that, for what queued it in turn,
 * and for the culprit thread's work. */
void sbx_origin_tell(struct sbx_report *report, const struct sbx_judgement *judgement);

#endif
