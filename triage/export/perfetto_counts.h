/* SPDX-License-Identifier: Apache-2.0 */
/* perfetto_counts.h - counter tracks of a trace, directly from the records. */
#ifndef SBX_PERFETTO_COUNTS_H
#define SBX_PERFETTO_COUNTS_H

#include "perfetto_packets.h"
#include "report.h"

/* A thread's CPU time and its allocations. */
void sbx_perfetto_thread_counts(struct sbx_perfetto *trace, const struct sbx_report *report, uint32_t thread);

/* What the kernel counted. Counts of a thread are on a track next to its CPU time, counts of the machine are on tracks
 * of the process. */
void sbx_perfetto_kernel_counts(struct sbx_perfetto *trace, const struct sbx_report *report);

#endif
