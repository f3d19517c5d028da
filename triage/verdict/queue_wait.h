/* SPDX-License-Identifier: Apache-2.0 */
/* queue_wait.h - a wait for what a queued task does: did the task run for most of it, or lie behind others? And what was pending. Pure. */
#ifndef SBX_QUEUE_WAIT_H
#define SBX_QUEUE_WAIT_H

#include "thread_judge.h"

/* Of a verdict of WAIT: look whose task was waited for, through the queue and over hops, and make it QUEUE when the task lay there for more
 * than half of the wait. Returns whether it did. */
bool sbx_queue_wait_judge(struct sbx_report *report, const struct sbx_judgement *judgement);

/* For a verdict of QUEUE: name the task that blocked it, as culprit, the function that filled the queue, how fast tasks came and were begun. Returns enum
 * sbx_culprit_source or -ENOMEM. */
int sbx_queue_wait_tell(struct sbx_report *report, const struct sbx_judgement *judgement);

/* Evidence of kind `pending`: the queue in which most tasks lay at the trigger, and its oldest. */
void sbx_queue_tell_pending(struct sbx_report *report);

#endif
