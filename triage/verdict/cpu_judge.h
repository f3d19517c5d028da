/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_judge.h - for a thread that computed, or was ready and did not run: what it computed, and which function stands
 * for it. Pure. */
#ifndef SBX_CPU_JUDGE_H
#define SBX_CPU_JUDGE_H

#include "judgement.h"

/* Set cause, function and the on_cpu fields, from the split and the samples in its interval. Returns 0 or -ENOMEM. */
int sbx_judge_cpu(const struct sbx_report *report, uint32_t thread, struct sbx_judgement *judgement);

#endif
