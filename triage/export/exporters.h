/* SPDX-License-Identifier: Apache-2.0 */
/* exporters.h - a report in the formats of other tools. Each function writes to `out` and returns 0 or -errno of the
 * stream. */
#ifndef SBX_EXPORTERS_H
#define SBX_EXPORTERS_H

#include <stdbool.h>
#include <stdio.h>

#include "report.h"

int sbx_print_folded(const struct sbx_report *report, FILE *out); /* "thread;outer;...;leaf MICROSECONDS" */
int sbx_print_pprof(const struct sbx_report *report, FILE *out);  /* profile.proto, gzip */
/* The same with the stack that queued a task under the stack that ran it (queued_stacks.h). */
int sbx_print_async_folded(const struct sbx_report *report, FILE *out);
int sbx_print_async_pprof(const struct sbx_report *report, FILE *out);
int sbx_print_perfetto(const struct sbx_report *report, FILE *out); /* Perfetto TracePacket stream */

/* Pictures, each a whole <svg> element. */
int sbx_print_timeline_svg(const struct sbx_report *report, FILE *out); /* the threads' time, all of the history */
int sbx_print_judged_timeline_svg(const struct sbx_report *report, FILE *out); /* only the judged interval */
bool sbx_has_judged_timeline(
    const struct sbx_report *report); /* is the interval so short that it gets a picture of its own? */
int sbx_print_timeline_json(const struct sbx_report *report, FILE *out); /* the same data for a page's script */
int sbx_print_flame_svg(const struct sbx_report *report, FILE *out); /* flame graph of the judged thread and interval */
int sbx_print_async_flame_svg(const struct sbx_report *report, FILE *out); /* with the stacks that queued its tasks */
bool sbx_has_async_flame(const struct sbx_report *report); /* did the thread run a task whose submitter is known? */

#endif
