/* SPDX-License-Identifier: Apache-2.0 */
/* store_compare.h - the issues of two spans side by side: the data of a comparison of versions or of days. Any thread;
 * returns 0 or -errno. */
#ifndef SBX_STORE_COMPARE_H
#define SBX_STORE_COMPARE_H

#include "machine_sample.h"
#include "store_issues.h"

enum {
    SBX_COMPARED_HERE = 0,
    SBX_COMPARED_BASE = 1,
    SBX_COMPARED_SIDES = 2,
    SBX_COMPARED_MAX = 1000, /* issues per side: those that most machines met */
    /* when fewer machines met an issue, on both sides together, its durations are not read: they prove nothing */
    SBX_COMPARED_FEW = 5,
};

struct sbx_compared_issue {
    uint8_t id[SBX_ID_BYTES];
    int64_t machines[SBX_COMPARED_SIDES], hits[SBX_COMPARED_SIDES], weight[SBX_COMPARED_SIDES];
    int level;       /* level at which its machines were sampled, the same for both sides; 0: all were counted */
    bool was_before; /* met by a lower version than that of HERE; without a version, on a day before HERE begins */
    int64_t p90_ns[SBX_COMPARED_SIDES]; /* 0: not known, or fewer than SBX_COMPARED_FEW machines met the issue */
    double slow
        [2]
        [SBX_COMPARED_SIDES]; /* share of its stalls that last longer than the p75, and the p90, of both sides together */
    /* effective sample size of a share: so many stalls of equal weight have the same information */
    double size[SBX_COMPARED_SIDES];
    int64_t num, facts[SBX_COMPARED_SIDES]; /* for the store only */
};

/* `machines_out`: distinct machines of all issues, for each side. Rows are sorted by number, with room for 2 *
 * SBX_COMPARED_MAX. The result is empty when sums are withheld. Both spans are of one application, or of all. */
int sbx_store_compare_spans(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                            struct sbx_compared_issue *rows, size_t *count_out,
                            struct sbx_machines machines_out[SBX_COMPARED_SIDES]);

/* Versions of an application ("": of all) that have stalls in the span, the latest version first. Stalls without a
 * version are left out. */
struct sbx_version_met {
    char version[40];
    int64_t machine_days;
};
int sbx_store_versions(const struct sbx_store_view *view, const struct sbx_issue_span *span,
                       struct sbx_version_met *rows, size_t max, size_t *count_out);

/* How many machines met an issue (NULL: any issue) on each day of the span. `days_out` has room for `max` days from the
 * first day on. `level`: in, the lowest level to sample at; out, the level that was used. */
int sbx_store_machines_by_day(const struct sbx_store_view *view, const uint8_t *issue,
                              const struct sbx_issue_span *span, int64_t *days_out, size_t max, int *level);

#endif
