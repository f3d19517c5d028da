/* SPDX-License-Identifier: Apache-2.0 */
/* allocated.h - what threads allocated in the judged time: by malloc(), and in the heap of a runtime that tells it (Java's). */
#ifndef SBX_ALLOCATED_H
#define SBX_ALLOCATED_H

#include "judgement.h"
#include "report.h"

/* Of a thread that computed, or was kept from it: evidence of kind `allocations`, of how much it allocated. Of one that a collector stopped: of kind `allocator`, which thread
 * allocated most meanwhile. Nothing where it is too little to have a part in a stall. */
void sbx_allocated_tell(struct sbx_report *report, const struct sbx_judgement *judgement);

#endif
