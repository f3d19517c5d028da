/* SPDX-License-Identifier: Apache-2.0 */
/* processor_clock.h - the present time in the scheduler's clock of each processor.
 *
 * /proc/PID/task/TID/sched has the time when a thread last ran, in that clock, which no call reads. The clocks of
 * processors may differ by seconds (virtual machines). So the present is read on the processor where the thread ran:
 * our own thread moves there, reads when it last ran itself, and moves back. */
#ifndef SBX_PROCESSOR_CLOCK_H
#define SBX_PROCESSOR_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

enum {
    SBX_PROCESSORS_TOLD = 1024 /* nothing is known of further processors */
};

struct sbx_processor_clocks {
    /* ahead of CLOCK_MONOTONIC; INT64_MIN: not read yet, INT64_MAX: cannot be read */
    int64_t ahead_ns[SBX_PROCESSORS_TOLD];
};

void sbx_processor_clocks_init(struct sbx_processor_clocks *clocks);

/* The least time since a thread last ran on `processor`: the clock stops while a hypervisor takes the processor
 * away. Accurate to some milliseconds. -1: unknown, because the kernel does not tell it, or we may not run on that
 * processor. */
int64_t sbx_thread_asleep_ns(struct sbx_processor_clocks *clocks, pid_t pid, pid_t tid, int processor);

#endif
