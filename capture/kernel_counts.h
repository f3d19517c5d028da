/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_counts.h - numbers that the kernel counts about a thread, its control group and the machine.
 *
 * What a thread's own records cannot tell: how long it was ready and did not get a processor (schedstat), and how long
 * tasks stood still for memory, disks or processors (pressure stall information, Linux 4.20). And how often an embedded runtime
 * deoptimized, which it says itself (providers.h). Each is a record of kind
 * SBX_RECORD_KERNEL; two of them around an interval say what happened in it. Watch thread only, and only on ticks that
 * take place anyway: a resting application is not woken for them. What a kernel does not have is asked for once. */
#ifndef SBX_KERNEL_COUNTS_H
#define SBX_KERNEL_COUNTS_H

#include <stdint.h>

#include "thread_block.h"

/* Forget what was found missing: a recording begins. */
void sbx_kernel_counts_start(void);

/* One tick: read what is due of a thread that works, or may be kept from working. */
void sbx_kernel_counts_look(struct sbx_thread *thread, uint64_t now_ns);

/* A trigger fired: read everything of this thread now. */
void sbx_kernel_counts_at_trigger(struct sbx_thread *thread, uint64_t now_ns);

#endif
