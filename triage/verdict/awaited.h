/* SPDX-License-Identifier: Apache-2.0 */
/* awaited.h - which functions awaited what the judged thread ran: functions of an embedded runtime that are suspended
 * until it ends. Pure. */
#ifndef SBX_AWAITED_H
#define SBX_AWAITED_H

#include "report.h"
#include "time_split.h"

/* The callstack of the suspended functions, the nearest first, that awaited the longest work of the thread in the span.
 * 0: there is none, or it is not known. */
uint32_t sbx_awaited_in(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval span);

/* Write verdict.awaited_stack, and evidence of kind "awaited_by" with the functions that do not belong to a base
 * library. */
void sbx_awaited_tell(struct sbx_report *report, struct sbx_interval span);

#endif
