/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_counts.h - numbers that the kernel counts about a thread, its control group and the machine.
 *
 * A thread's own records cannot tell these numbers: how long the thread was ready without a processor (schedstat), and
 * how long tasks waited for memory, disks or processors (pressure stall information, Linux 4.20). In addition, how
 * often an embedded runtime deoptimized, which the runtime itself reports (providers.h). Each number is a record of
 * kind SBX_RECORD_KERNEL. Two of them around an interval say what happened in it. Watch thread only, and only on ticks
 * that take place anyway: a resting application is not woken for them. A file that a kernel does not have is tried once
 * only. */
#ifndef SBX_KERNEL_COUNTS_H
#define SBX_KERNEL_COUNTS_H

#include <stdint.h>

#include "thread_block.h"

/* A recording begins: forget which files were missing. */
void sbx_kernel_counts_start(void);

/* One tick: read the counts that are due, for a thread that works or may be kept from working. */
void sbx_kernel_counts_look(struct sbx_thread *thread, uint64_t now_ns);

/* A trigger fired: read all counts of this thread now. */
void sbx_kernel_counts_at_trigger(struct sbx_thread *thread, uint64_t now_ns);

#endif
