/* SPDX-License-Identifier: Apache-2.0 */
/* queue_wait.h - a wait for a queued task: did the task run for most of the wait, or lie behind other tasks? And which
 * tasks were pending. Pure. */
#ifndef SBX_QUEUE_WAIT_H
#define SBX_QUEUE_WAIT_H

#include "thread_judge.h"

/* For a verdict of WAIT: find the task that was waited for, through the queue and over several hops. Make the cause
 * QUEUE if the task lay there for more than half of the wait. Returns whether it did. */
bool sbx_queue_wait_judge(struct sbx_report *report, const struct sbx_judgement *judgement);

/* For a verdict of QUEUE: name the task that blocked it as culprit. Tell which function filled the queue, and how fast
 * tasks came and were begun. Returns enum sbx_culprit_source or -ENOMEM. */
int sbx_queue_wait_tell(struct sbx_report *report, const struct sbx_judgement *judgement);

/* Add evidence of kind `pending`: the queue with the most tasks at the trigger, and its oldest task. */
void sbx_queue_tell_pending(struct sbx_report *report);

#endif
