/* SPDX-License-Identifier: Apache-2.0 */
/* deoptimized.h - a stall because a runtime discarded its compiled code again and again, ran in the interpreter, and
 * compiled anew. */
#ifndef SBX_DEOPTIMIZED_H
#define SBX_DEOPTIMIZED_H

#include "judgement.h"
#include "report.h"

/* Did the judged thread do that for most of the time in which it ran or waited? Then the cause of verdict and judgement
 * becomes DEOPTIMIZATION. For a thread that was ready and did not run, only on_cpu_cause becomes so. Adds evidence: the
 * share of the time, how much the runtime deoptimized and compiled, and the functions whose code it was. Payloads of
 * recorders without these counts are judged as before. */
bool sbx_deoptimized_judge(struct sbx_report *report, struct sbx_judgement *judgement);

#endif
