/* SPDX-License-Identifier: Apache-2.0 */
/* deoptimized.h - a stall because a runtime gave its compiled code up, again and again: it went on in the interpreter, and compiled anew. */
#ifndef SBX_DEOPTIMIZED_H
#define SBX_DEOPTIMIZED_H

#include "judgement.h"
#include "report.h"

/* Was that what the judged thread did for most of the time in which it ran or waited? Then the cause of verdict and judgement becomes DEOPTIMIZATION, of a thread that
 * was ready and did not run that of what it computed alone; and it is evidence how much of the time it was, how much the runtime deoptimized and compiled, and whose code it
 * was. Payloads of recorders that do not have those counts are judged as ever. */
bool sbx_deoptimized_judge(struct sbx_report *report, struct sbx_judgement *judgement);

#endif
