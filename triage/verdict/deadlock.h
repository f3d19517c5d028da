/* SPDX-License-Identifier: Apache-2.0 */
/* deadlock.h - is the judged thread's wait part of a circle of locks? */
#ifndef SBX_DEADLOCK_H
#define SBX_DEADLOCK_H

#include <stdbool.h>

#include "report.h"

/* If the judged thread's open wait for a lock leads back to a thread that was already passed, the cause becomes
 * SBX_CAUSE_DEADLOCK, with one line of evidence for each thread of the cycle. Returns whether it does. */
bool sbx_deadlock_tell(struct sbx_report *report);

#endif
