/* SPDX-License-Identifier: Apache-2.0 */
/* store_told.h - the machine-days of the issues of a comparison, beside all that machines told: what penetration is judged by (regression.h).
 *
 * Of a version those days count that are over, on which SBX_TOLD_MACHINES_MIN machine-days were told of it at least, and that are not the first on
 * which it was told: there one began to tell in the middle of the day; of these the latest 28. Which days count does not depend on how many stalled. Where on one of
 * these days more machines stalled than were told, a part of the fleet tells nothing, and the side has no days. Any thread; 0 or -errno. */
#ifndef SBX_STORE_TOLD_H
#define SBX_STORE_TOLD_H

#include "regression.h"
#include "store_compare.h"

enum {
    SBX_TOLD_MACHINES_MIN = 20
};

/* `told_out`: by issue and side, as `rows` (sorted by number) are; `whole_out`: all stalls together. Days of `today` and later do not count. All zero where
 * nothing was told, or sums are withheld. */
int sbx_store_told(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                   int64_t today, const struct sbx_compared_issue *rows, size_t count,
                   struct sbx_told (*told_out)[SBX_COMPARED_SIDES], struct sbx_told whole_out[SBX_COMPARED_SIDES]);

/* The same issues where nobody tells machine-days: `active` are those on which a machine had any stall, and `hidden` and `together` are 0. Days count that are
 * over and have SBX_TOLD_MACHINES_MIN of them, the latest 28. What days differ by, and no penetration. */
int sbx_store_stalling(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                       int64_t today, const struct sbx_compared_issue *rows, size_t count,
                       struct sbx_told (*stalling_out)[SBX_COMPARED_SIDES]);

/* Of an issue, or (NULL) of all: each day of the span, from its first day on; days that do not count stay empty. `days_out` has room for `max`. */
int sbx_store_told_by_day(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                          int64_t today, struct sbx_told_day *days_out, size_t max);

#endif
