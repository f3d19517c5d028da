/* SPDX-License-Identifier: Apache-2.0 */
/* hot.h - the functions in which a thread spent its time. Pure. */
#ifndef SBX_HOT_H
#define SBX_HOT_H

#include "report.h"

struct sbx_hot {
    const char *function, *module; /* live as long as the report */
    double ms_min, ms_max;         /* at least, at most; samples do not tell the exact time */
};

/* The functions in which `thread` spent the judged interval, longest first. Returns their number, at most `max`. */
size_t sbx_report_hot(const struct sbx_report *report, uint32_t thread, struct sbx_hot *out, size_t max);

#endif
