/* SPDX-License-Identifier: Apache-2.0 */
/* pressure.h - which resources the machine and the control group were short of during a stall, as evidence. Pure. */
#ifndef SBX_PRESSURE_H
#define SBX_PRESSURE_H

#include "thread_judge.h"

/* Add what the kernel counted around the judged interval: pressure (PSI), throttling, swap. This is only evidence: if
 * other tasks waited for memory, this thread may not have waited for it. */
void sbx_pressure_tell(const struct sbx_stall *stall, const struct sbx_judgement *judgement,
                       struct sbx_verdict *verdict);

/* How long in the judged interval the control group had used up its share of the processors, in ns. 0: never, or not
 * known. */
double sbx_pressure_throttled_ns(const struct sbx_stall *stall, const struct sbx_judgement *judgement);

#endif
