/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_stop.h - why a managed runtime stopped its threads: the operation that it did meanwhile. */
#ifndef SBX_RUNTIME_STOP_H
#define SBX_RUNTIME_STOP_H

#include "interval.h"
#include "report.h"

/* If the cause is a stop of all threads: add evidence of kind `operation` if a look found a thread of the virtual
 * machine in one. */
void sbx_runtime_stop_tell(struct sbx_report *report, struct sbx_interval interval);

/* "VM_G1CollectFull" of "VM_G1CollectFull::doit()": the operation that this function of HotSpot does; 0: none. Pure. */
size_t sbx_runtime_operation_bytes(const char *function);

#endif
