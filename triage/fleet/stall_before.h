/* SPDX-License-Identifier: Apache-2.0 */
/* stall_before.h - what the judged thread did in the seconds before the judged interval: one row per function of the
 * application. Pure.
 *
 * For a single stall this tells little. For many stalls together it shows what usually happens before a stall. */
#ifndef SBX_STALL_BEFORE_H
#define SBX_STALL_BEFORE_H

#include "report.h"
#include "stable_name.h"

enum {
    SBX_BEFORE_SECONDS = 5, /* how far to look back: a handler and what led to it, not the whole history */
    SBX_BEFORE_ROWS = 3,    /* the functions with the most time */
    SBX_BEFORE_MIN_MS = 10, /* shorter times are left out, because one or two samples may be chance */
};

struct sbx_stall_before {
    char function[SBX_STABLE_NAME_BYTES]; /* the function nearest the leaf in the application's own modules */
    int64_t us; /* time of the function and what it called, except other functions of the application; idle time belongs
                 * to none */
};

/* The rows of a report that sbx_attribute() has judged, the longest first. Returns their number; 0 also if memory runs
 * out. */
size_t sbx_stall_before(const struct sbx_report *report, struct sbx_stall_before rows_out[SBX_BEFORE_ROWS]);

#endif
