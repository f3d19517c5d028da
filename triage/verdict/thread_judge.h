/* SPDX-License-Identifier: Apache-2.0 */
/* thread_judge.h - what one thread did in an interval, and which function stands for it. Pure.
 *
 * Used for the thread that did not answer, and for the threads that it waited for. */
#ifndef SBX_THREAD_JUDGE_H
#define SBX_THREAD_JUDGE_H

#include "judgement.h"

/* Returns 0 and a value (sbx_judgement_finish), or -ENOMEM. */
int sbx_judge_thread(const struct sbx_report *report, uint32_t thread, struct sbx_interval interval,
                     struct sbx_judgement *judgement_out);
void sbx_judgement_finish(struct sbx_judgement *judgement);

#endif
