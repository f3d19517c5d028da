/* SPDX-License-Identifier: Apache-2.0 */
/* death.h - what ended the process, if the snapshot is of a process that died. Pure. */
#ifndef SBX_DEATH_H
#define SBX_DEATH_H

#include "report.h"

/* Add evidence to a stall in which the process was killed: by which signal, if that is known. Does nothing for other
 * triggers. */
void sbx_death_tell(struct sbx_report *report);

/* Replace the verdict by that of a crash: the cause is the crash, the function is the one in which the signal arrived,
 * and the headline gives the signal and the reason. A stall that the crash ended did not cause it. So the conclusions
 * about the stall stay as evidence, and its headline becomes evidence of kind `meanwhile`. Does nothing for other
 * triggers. */
void sbx_death_judge(struct sbx_report *report);

#endif
