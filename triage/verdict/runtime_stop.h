/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_stop.h - why a managed runtime stopped its threads: the operation that it did meanwhile. */
#ifndef SBX_RUNTIME_STOP_H
#define SBX_RUNTIME_STOP_H

#include "interval.h"
#include "report.h"

/* Of a stall whose cause is a stop of the world: evidence of kind `operation`, where a thread of the machine's was met at one. */
void sbx_runtime_stop_tell(struct sbx_report *report, struct sbx_interval interval);

/* "VM_G1CollectFull" of "VM_G1CollectFull::doit()": the operation that a function of HotSpot's carries out; 0: it does none. Pure. */
size_t sbx_runtime_operation_bytes(const char *function);

#endif
