/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_counts.h - counter tracks of a trace, straight from the records. */
#ifndef SBX_PERFETTO_COUNTS_H
#define SBX_PERFETTO_COUNTS_H

#include "perfetto_packets.h"
#include "report.h"

/* A thread's CPU time and what it allocated. */
void sbx_perfetto_thread_counts(struct sbx_perfetto *trace, const struct sbx_report *report, uint32_t thread);

/* What the kernel counted: of a thread on a track beside its CPU time, of the machine on tracks of the process. */
void sbx_perfetto_kernel_counts(struct sbx_perfetto *trace, const struct sbx_report *report);

#endif
