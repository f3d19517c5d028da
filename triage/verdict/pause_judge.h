/* SPDX-License-Identifier: Apache-2.0 */
/* pause_judge.h - for a thread that waited: the cause with the most time, and the function that waited longest for it.
 * Pure. */
#ifndef SBX_PAUSE_JUDGE_H
#define SBX_PAUSE_JUDGE_H

#include "judgement.h"

/* Set cause, function and the off_cpu fields. Also sets the causes of the split's pauses. Returns 0 or -ENOMEM. */
int sbx_judge_pauses(const struct sbx_report *report, struct sbx_judgement *judgement);

#endif
