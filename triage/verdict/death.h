/* SPDX-License-Identifier: Apache-2.0 */
/* death.h - what ended the process, when the snapshot is of one that died. Pure. */
#ifndef SBX_DEATH_H
#define SBX_DEATH_H

#include "report.h"

/* Evidence of a process that was killed in a stall: by which signal, where that is known. Nothing for other triggers. */
void sbx_death_tell(struct sbx_report *report);

/* The verdict of a crash, in place of the one there is: its cause is the crash, its function the one that the signal met,
 * its headline says by which signal and why. A stall that the crash ended is no cause of it: what was concluded of the
 * stall stays as evidence, its headline as that of kind `meanwhile`. Leaves the verdict of every other trigger. */
void sbx_death_judge(struct sbx_report *report);

#endif
