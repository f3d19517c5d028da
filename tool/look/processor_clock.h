/* SPDX-License-Identifier: Apache-2.0 */
/* processor_clock.h - the present in the scheduler's clock of each processor.
 *
 * /proc/PID/task/TID/sched tells when a thread last ran in that clock, which no call tells. Processors may differ in it by seconds (virtual machines), so
 * the present is read on the processor that the thread ran on: our own thread goes there, looks when it last ran itself, and goes back. */
#ifndef SBX_PROCESSOR_CLOCK_H
#define SBX_PROCESSOR_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

enum {
    SBX_PROCESSORS_TOLD = 1024 /* of those beyond nothing is told */
};

struct sbx_processor_clocks {
    int64_t ahead_ns[SBX_PROCESSORS_TOLD]; /* of CLOCK_MONOTONIC; INT64_MIN: not asked yet, INT64_MAX: not to be had */
};

void sbx_processor_clocks_init(struct sbx_processor_clocks *clocks);

/* For how long a thread that ran last on `processor` has not run, at the least: the clock stands still while a hypervisor takes the
 * processor away. Good to some milliseconds. -1: not known: another kernel, or we may not run on
 * that processor. */
int64_t sbx_thread_asleep_ns(struct sbx_processor_clocks *clocks, pid_t pid, pid_t tid, int processor);

#endif
