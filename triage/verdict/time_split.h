/* SPDX-License-Identifier: Apache-2.0 */
/* time_split.h - where the time of one thread went: computing, waiting, ready but not running, unknown. Pure. */
#ifndef SBX_TIME_SPLIT_H
#define SBX_TIME_SPLIT_H

#include "interval.h"

/* A part of the interval in which the thread did not run, and the call it was in. */
struct sbx_pause {
    double ns;
    struct sbx_wait wait;
    bool exact; /* measured at a point; false: concluded from samples of the blocked thread and its CPU clock */
};

struct sbx_time_split {
    struct sbx_interval interval;
    double wall_ns;
    double on_cpu_ns;
    double paused_ns;         /* sum of the pauses that are not idle */
    double runnable_ns;       /* ready and not running. As the kernel counted it; without its count, time without a wait
                               * in which the CPU clock did not run */
    double faulting_ns;       /* of the time beyond the kernel's count: spent on pages that were read from a disk */
    bool delay_known;         /* the kernel counted how long it was ready and did not run */
    double delay_ns;          /* the kernel's count */
    double delay_in_waits_ns; /* part of paused_ns: a wait that is over goes on until there is a processor */
    double idle_ns;           /* the loop waited for work */
    double unknown_ns;        /* no record tells about it */
    bool cpu_measured;        /* by the CPU clock for most of the time without a wait; else by samples */
    struct sbx_pause *pauses; /* without idle ones */
    size_t pause_count;
    struct sbx_wait *waits; /* all measured waits, not clipped */
    size_t wait_count;
};

/* Returns 0 and a value (sbx_time_split_finish), or -ENOMEM. */
int sbx_time_split_make(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval interval,
                        struct sbx_time_split *split_out);
void sbx_time_split_finish(struct sbx_time_split *split);

#endif
