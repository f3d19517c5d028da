/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_growth.h - by how much a number that the kernel counts grew in an interval. Pure. */
#ifndef SBX_KERNEL_GROWTH_H
#define SBX_KERNEL_GROWTH_H

#include "interval.h"

struct sbx_kernel_growth {
    bool is_known;   /* two readings lie around most of the interval */
    double value;    /* growth within the interval; taken to be even between readings */
    int64_t span_ns; /* the span of the readings that were used: around the interval, or nearly */
};

/* The readings of one number, in time order. Made once for many questions about the number. */
struct sbx_kernel_series {
    struct sbx_stall_count *readings;
    size_t count;
};

/* The readings of `thread`; the machine's numbers lie with the judged thread. `what`: enum sbx_kernel_count. Returns 0
 * and a value (sbx_kernel_series_finish), or -ENOMEM. */
int sbx_kernel_series_init(struct sbx_kernel_series *series, const struct sbx_stall *stall, uint32_t thread,
                           uint32_t what);
void sbx_kernel_series_finish(struct sbx_kernel_series *series);
struct sbx_kernel_growth sbx_kernel_series_growth(const struct sbx_kernel_series *series, struct sbx_interval interval);

/* One question. If memory runs out, the answer is "not known". */
struct sbx_kernel_growth sbx_kernel_growth_of(const struct sbx_stall *stall, uint32_t thread, uint32_t what,
                                              struct sbx_interval interval);

/* The newest value at the interval's end or before it, else the oldest value after it. false: never read. */
bool sbx_kernel_value_at(const struct sbx_stall *stall, uint32_t thread, uint32_t what, int64_t at_ns,
                         uint64_t *value_out);

#endif
