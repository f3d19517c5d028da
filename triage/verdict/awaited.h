/* SPDX-License-Identifier: Apache-2.0 */
/* awaited.h - who awaited what the judged thread ran: functions of an embedded runtime that are suspended until it ends. Pure. */
#ifndef SBX_AWAITED_H
#define SBX_AWAITED_H

#include "report.h"
#include "time_split.h"

/* The callstack of those who awaited what the thread ran for longest in the span, the nearest first; 0: nobody, or it is not told. */
uint32_t sbx_awaited_in(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval span);

/* Say it: verdict.awaited_stack, and evidence of kind "awaited_by" with the functions that are no base library. */
void sbx_awaited_tell(struct sbx_report *report, struct sbx_interval span);

#endif
