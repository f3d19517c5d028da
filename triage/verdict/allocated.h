/* SPDX-License-Identifier: Apache-2.0 */
/* allocated.h - what threads allocated in the judged time: by malloc(), and in the heap of a runtime that reports it
 * (Java). */
#ifndef SBX_ALLOCATED_H
#define SBX_ALLOCATED_H

#include "judgement.h"
#include "report.h"

/* Adds evidence of what was allocated. If the judged thread computed, or was ready and did not run: kind `allocations`,
 * how much this thread allocated. If a collector stopped it: kind `allocator`, the thread that allocated most
 * meanwhile. Adds nothing if the amount is too small to have a part in a stall. */
void sbx_allocated_tell(struct sbx_report *report, const struct sbx_judgement *judgement);

#endif
