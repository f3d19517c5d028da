/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - page faults and context switches of one thread around an interval. Pure. */
#ifndef SBX_USAGE_H
#define SBX_USAGE_H

#include "interval.h"

enum {
    SBX_MAJOR_FAULTS_MANY = 20, /* so many pages read from a disk explain time; any process reads a few */
};

struct sbx_usage {
    bool is_known;
    uint64_t minor, major, voluntary, involuntary;
    int64_t span_ns; /* between the two readings */
    double cpu_ns;   /* CPU time between them; -1 not known */
};

/* The readings around the interval: the newest before its begin, or the first within it; the oldest at its end or after
 * it, else the newest. They are used only if they span most of the interval. */
struct sbx_usage sbx_usage_of(const struct sbx_stall *stall, uint32_t thread, struct sbx_interval interval);

/* Whether the thread waited for pages: many were read from a disk, and it left the processor by itself for little
 * else. */
bool sbx_usage_is_faulting(const struct sbx_usage *usage);

#endif
