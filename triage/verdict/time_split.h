/* SPDX-License-Identifier: Apache-2.0 */
/* time_split.h - where the time of one thread went: computing, waiting, ready but not running, unknown. Pure. */
#ifndef SBX_TIME_SPLIT_H
#define SBX_TIME_SPLIT_H

#include "interval.h"

/* A share of the interval in which the thread did not run, and the call it was in. */
struct sbx_pause {
    double ns;
    struct sbx_wait wait;
    bool exact; /* measured by a point; false: concluded from samples of the blocked thread and its CPU clock */
};

struct sbx_time_split {
    struct sbx_interval interval;
    double wall_ns;
    double on_cpu_ns;
    double paused_ns;         /* sum of pauses, but for idle ones */
    double runnable_ns;       /* ready and not running: what the kernel counted of it, where it did; else what is left
                                 where the CPU clock was read and nothing was waited for */
    double faulting_ns;       /* of what is left, the part that it did not spend ready: pages were read from a disk */
    bool delay_known;         /* the kernel counted how long it was ready and did not run: */
    double delay_ns;          /* so long */
    double delay_in_waits_ns; /* so much of paused_ns: a wait that has ended goes on until there is a processor */
    double idle_ns;           /* the loop waited for work */
    double unknown_ns;        /* nothing was recorded about it */
    bool cpu_measured;        /* the CPU clock says so for most of the time without a wait; else samples do */
    struct sbx_pause *pauses; /* idle ones left out */
    size_t pause_count;
    struct sbx_wait *waits; /* all measured ones, not clipped */
    size_t wait_count;
};

/* Returns 0 and a value (sbx_time_split_finish), or -ENOMEM. */
int sbx_time_split_make(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval interval,
                        struct sbx_time_split *split_out);
void sbx_time_split_finish(struct sbx_time_split *split);

#endif
