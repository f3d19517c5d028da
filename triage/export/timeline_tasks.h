/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_tasks.h - the arrows of the timeline from where a task was queued to where it was run. Pure.
 *
 * Those of tasks that were run by threads which are drawn, and queued by others of these, in the judged interval or shortly before: the ones that ran longest first. */
#ifndef SBX_TIMELINE_TASKS_H
#define SBX_TIMELINE_TASKS_H

#include <stdio.h>

#include "report.h"

enum {
    SBX_TASK_ARROWS_MAX = 12 /* more lines are a thicket */
};

struct sbx_task_arrow {
    uint32_t from, to;             /* thread ordinals, never the same */
    int64_t queued_ns, begun_ns;   /* report times; the arrow leads from the one to the other */
    const struct sbx_location *by; /* the function that queued it; NULL: not known. Borrowed from the report */
    uint8_t op;                    /* how: enum sbx_op */
};

/* `is_drawn` says of each thread ordinal whether it has a lane, `begin_ns` where the picture begins. Returns how many there are. */
size_t sbx_task_arrows_choose(const struct sbx_report *report, bool (*is_drawn)(const void *context, uint32_t thread),
                              const void *context, int64_t begin_ns, struct sbx_task_arrow out[SBX_TASK_ARROWS_MAX]);

/* Where one is drawn: from the middle of a lane to the bar of another. */
struct sbx_task_arrow_place {
    double from_x, from_y, to_x, to_top, to_bottom;
};

/* Draw it, with a title: which function queued what, how and how long before. */
void sbx_task_arrow_draw(FILE *out, const struct sbx_report *report, const struct sbx_task_arrow *arrow,
                         const struct sbx_task_arrow_place *place);

#endif
