/* SPDX-License-Identifier: Apache-2.0 */
/* store_compare.h - the issues of two spans side by side: what a comparison of versions or of days rests on. Any thread; 0 or -errno. */
#ifndef SBX_STORE_COMPARE_H
#define SBX_STORE_COMPARE_H

#include "machine_sample.h"
#include "store_issues.h"

enum {
    SBX_COMPARED_HERE = 0,
    SBX_COMPARED_BASE = 1,
    SBX_COMPARED_SIDES = 2,
    SBX_COMPARED_MAX = 1000, /* issues of a side: those that the most machines met */
    SBX_COMPARED_FEW =
        5, /* of an issue that fewer met, on both sides together, durations are not read: nothing is asked of it */
};

struct sbx_compared_issue {
    uint8_t id[SBX_ID_BYTES];
    int64_t machines[SBX_COMPARED_SIDES], hits[SBX_COMPARED_SIDES], weight[SBX_COMPARED_SIDES];
    int level;       /* at which its machines were sampled, of both sides alike; 0: counted */
    bool was_before; /* met by a lower version than here's; without one, on an earlier day than here's first */
    int64_t p90_ns[SBX_COMPARED_SIDES]; /* 0: not known, or of an issue that fewer than SBX_COMPARED_FEW machines met */
    double slow
        [2]
        [SBX_COMPARED_SIDES]; /* share of its stalls that last longer than the p75, and the p90, of both sides together */
    double size[SBX_COMPARED_SIDES];        /* what a share rests on: so many stalls of equal weight tell as much */
    int64_t num, facts[SBX_COMPARED_SIDES]; /* the store's own */
};

/* `machines_out`: distinct ones of any issue, by side. Rows by their numbers; room for 2 * SBX_COMPARED_MAX. Nothing where sums are
 * withheld. The spans are of one application, or of all. */
int sbx_store_compare_spans(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                            struct sbx_compared_issue *rows, size_t *count_out,
                            struct sbx_machines machines_out[SBX_COMPARED_SIDES]);

/* Versions of an application ("": of all) that have stalls in the span, the latest first by their order; those that nobody told are left out. */
struct sbx_version_met {
    char version[40];
    int64_t machine_days;
};
int sbx_store_versions(const struct sbx_store_view *view, const struct sbx_issue_span *span,
                       struct sbx_version_met *rows, size_t max, size_t *count_out);

/* How many machines met an issue (NULL: any of the span's) on each day of the span: `days_out` has room for `max` of them from the
 * first day on. `level`: in, the lowest at which they may be sampled; out, at which they were. */
int sbx_store_machines_by_day(const struct sbx_store_view *view, const uint8_t *issue,
                              const struct sbx_issue_span *span, int64_t *days_out, size_t max, int *level);

#endif
