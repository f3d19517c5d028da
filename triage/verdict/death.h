/* SPDX-License-Identifier: Apache-2.0 */
/* death.h - what ended the process, when the snapshot is of one that died. Pure. */
#ifndef SBX_DEATH_H
#define SBX_DEATH_H

#include "report.h"

/* Evidence: by which signal, what it was about, where. Of a crash whose stack was recorded, that stack and its function
 * are the verdict's: what the process was slow at before is not what ended it. Nothing for other triggers. */
void sbx_death_tell(struct sbx_report *report);

/* The headline of a crash: by which signal, in which function. Leaves that of every other trigger. */
void sbx_death_headline(struct sbx_report *report);

#endif
