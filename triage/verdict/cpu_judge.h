/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_judge.h - of a thread that computed, or was kept from it: what that was, and which function stands for it. Pure. */
#ifndef SBX_CPU_JUDGE_H
#define SBX_CPU_JUDGE_H

#include "judgement.h"

/* Fill in cause, function and what is of on_cpu, by the split and the samples in its interval. 0 or -ENOMEM. */
int sbx_judge_cpu(const struct sbx_report *report, uint32_t thread, struct sbx_judgement *judgement);

#endif
