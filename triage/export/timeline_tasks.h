/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_tasks.h - the arrows of the timeline from where a task was queued to where it was run. Pure.
 *
 * They show tasks that another thread queued in the judged interval or shortly before; the ones that ran longest come
 * first. If one end of an arrow has no lane (more threads than lanes, a thread that is gone), the arrow is short, and a
 * text tells where it comes from or leads to. */
#ifndef SBX_TIMELINE_TASKS_H
#define SBX_TIMELINE_TASKS_H

#include <stdio.h>

#include "report.h"

enum {
    SBX_TASK_ARROWS_MAX = 12 /* more lines could not be told apart */
};

struct sbx_task_arrow {
    int32_t from, to;              /* thread ordinals, never equal; -1: a thread that is gone */
    int64_t queued_ns, begun_ns;   /* report times of both ends of the arrow */
    const struct sbx_location *by; /* the function that queued it; NULL: not known. Borrowed from the report */
    uint8_t op;                    /* the call that queued it: enum sbx_op */
};

/* `begin_ns`: where the picture begins. Returns the number of arrows. */
size_t sbx_task_arrows_choose(const struct sbx_report *report, int64_t begin_ns,
                              struct sbx_task_arrow out[SBX_TASK_ARROWS_MAX]);

/* "on_click on main queued what worker began 4 ms later (g_idle_add)" */
enum {
    SBX_TASK_ARROW_TEXT_BYTES = 768
};
void sbx_task_arrow_text(const struct sbx_report *report, const struct sbx_task_arrow *arrow,
                         char out[SBX_TASK_ARROW_TEXT_BYTES]);

/* The place of an arrow: from the middle of a bar to the edge of another. At least one of the two exists. */
struct sbx_task_arrow_place {
    double from_x, to_x;
    bool has_from, has_to;
    double from_top, from_bottom, to_top, to_bottom;
};

/* Draw it, with a title: which function queued what, by which call, and how long before. */
void sbx_task_arrow_draw(FILE *out, const struct sbx_report *report, const struct sbx_task_arrow *arrow,
                         const struct sbx_task_arrow_place *place);

#endif
