/* SPDX-License-Identifier: Apache-2.0 */
/* store_told.h - the machine-days of the issues of a comparison, and the reported machine-days: the data for
 * penetration (regression.h).
 *
 * A day of a version counts when it is over, when at least SBX_TOLD_MACHINES_MIN machine-days of the version were
 * reported on it, and when it is not the first such day, which reporting began in the middle of. Of these days the
 * latest 28 are used. Which days count does not depend on the number of stalls. When on one of these days more machines
 * stalled than reported, a part of the fleet does not report, and the side has no days. Any thread; returns 0 or
 * -errno. */
#ifndef SBX_STORE_TOLD_H
#define SBX_STORE_TOLD_H

#include "regression.h"
#include "store_compare.h"

enum {
    SBX_TOLD_MACHINES_MIN = 20
};

/* `told_out`: per issue and side, in the order of `rows` (sorted by number). `whole_out`: all stalls together. Days
 * from `today` on do not count. All is zero when nothing was reported, or sums are withheld. */
int sbx_store_told(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                   int64_t today, const struct sbx_compared_issue *rows, size_t count,
                   struct sbx_told (*told_out)[SBX_COMPARED_SIDES], struct sbx_told whole_out[SBX_COMPARED_SIDES]);

/* The same issues when machines do not report machine-days: `active` are machine-days with any stall, and `hidden` and
 * `together` are 0. A day counts when it is over and has SBX_TOLD_MACHINES_MIN of these; the latest 28 are used. The
 * result tells how days differ; it is no penetration. */
int sbx_store_stalling(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                       int64_t today, const struct sbx_compared_issue *rows, size_t count,
                       struct sbx_told (*stalling_out)[SBX_COMPARED_SIDES]);

/* For an issue, or (NULL) for all: each day of the span, from its first day on. Days that do not count stay empty.
 * `days_out` has room for `max`. */
int sbx_store_told_by_day(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                          int64_t today, struct sbx_told_day *days_out, size_t max);

#endif
