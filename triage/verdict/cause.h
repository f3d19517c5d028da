/* SPDX-License-Identifier: Apache-2.0 */
/* cause.h - what a blocking call says about why a thread did not run. Pure. */
#ifndef SBX_CAUSE_H
#define SBX_CAUSE_H

#include "report.h"

/* The cause that a blocking call stands for. `kind`: enum sbx_record_kind. For SBX_RECORD_BLOCKED the call is in `op`;
 * if `op` is SBX_OP_SYSCALL, its number is in `amount`. UNKNOWN if the call does not tell. */
enum sbx_cause sbx_cause_of_call(uint32_t kind, uint32_t op, uint32_t fd_class, uint64_t amount);

/* The name of the call: "nanosleep", "futex", "system call 999"; written to `out`. */
void sbx_call_name(uint32_t kind, uint32_t op, uint64_t amount, char *out, size_t out_bytes);

/* The words of the JSON report: "lock", "off_cpu". Other programs rely on them. */
const char *sbx_cause_name(enum sbx_cause cause);
const char *sbx_class_name(enum sbx_class class_);

#endif
