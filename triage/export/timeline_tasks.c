/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_tasks.c - which tasks have an arrow, and the arrow. */
#include "timeline_tasks.h"

#include "blame.h"
#include "clean_text.h"
#include "names.h"
#include "svg_writer.h"
#include "verdict_words.h"

#define STROKE "#2f6fb0"

enum {
    SHARE_LEAST = 20, /* of the judged interval: a task that ran for less says nothing of the stall */
    ARROW = 5,        /* px: half the width of its head */
    LABEL_BYTES = 128,
};

/* How much of the judged interval the task ran for. */
static int64_t judged_ns(const struct sbx_report *report, const struct sbx_stall_task *task)
{
    const struct sbx_verdict *verdict = &report->verdict;
    int64_t end_ns =
        task->runs || task->ended_ns > verdict->interval_end_ns ? verdict->interval_end_ns : task->ended_ns;
    int64_t begin_ns = task->begun_ns > verdict->interval_begin_ns ? task->begun_ns : verdict->interval_begin_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

size_t sbx_task_arrows_choose(const struct sbx_report *report, bool (*is_drawn)(const void *context, uint32_t thread),
                              const void *context, int64_t begin_ns, struct sbx_task_arrow out[SBX_TASK_ARROWS_MAX])
{
    const struct sbx_stall *stall = report->stall;
    int64_t least_ns = (report->verdict.interval_end_ns - report->verdict.interval_begin_ns) / SHARE_LEAST;
    int64_t lengths_ns[SBX_TASK_ARROWS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        int64_t ns = judged_ns(report, task);
        if (task->runner < 0 || task->from < 0 || task->from == task->runner || task->op == SBX_OP_PTHREAD_CREATE ||
            ns == 0 || ns < least_ns || task->begun_ns < begin_ns || !is_drawn(context, (uint32_t)task->runner) ||
            !is_drawn(context, (uint32_t)task->from)) {
            continue;
        }
        size_t at = count < SBX_TASK_ARROWS_MAX ? count++ : SBX_TASK_ARROWS_MAX;
        for (; at > 0 && lengths_ns[at - 1] < ns; at--) { /* the longest first; the shortest falls out */
            if (at < SBX_TASK_ARROWS_MAX) {
                out[at] = out[at - 1];
                lengths_ns[at] = lengths_ns[at - 1];
            }
        }
        if (at < SBX_TASK_ARROWS_MAX) {
            lengths_ns[at] = ns;
            out[at] = (struct sbx_task_arrow){.from = (uint32_t)task->from,
                                              .to = (uint32_t)task->runner,
                                              .queued_ns = task->queued_ns,
                                              .begun_ns = task->begun_ns,
                                              .by = sbx_blame_submitter(report, task->stack),
                                              .op = task->op};
        }
    }
    return count;
}

/* A line that can be seen on any bar. */
static void stroke(FILE *out, double x1, double y1, double x2, double y2)
{
    sbx_svg_line(out, x1, y1, x2, y2, SBX_SVG_PAPER, 3.5, NULL);
    sbx_svg_line(out, x1, y1, x2, y2, STROKE, 1.5, NULL);
}

void sbx_task_arrow_draw(FILE *out, const struct sbx_report *report, const struct sbx_task_arrow *arrow,
                         const struct sbx_task_arrow_place *place)
{
    char from[LABEL_BYTES], to[LABEL_BYTES], by[SBX_SHORT_NAME_BYTES], lay[32],
        title[4 * LABEL_BYTES + SBX_SHORT_NAME_BYTES];
    bool is_above = place->from_y < place->to_top;
    double y = is_above ? place->to_top : place->to_bottom, back = is_above ? -ARROW * 1.4 : ARROW * 1.4;
    sbx_thread_label(report->stall, arrow->from, from, sizeof from);
    sbx_thread_label(report->stall, arrow->to, to, sizeof to);
    sbx_svg_ms(lay, sizeof lay, arrow->begun_ns - arrow->queued_ns);
    snprintf(title, sizeof title, "%s on %s queued what %s began %s later (%s)", sbx_location_text(arrow->by, by), from,
             to, lay, sbx_op_name(arrow->op));
    sbx_svg_group_begin(out, title);
    stroke(out, place->from_x, place->from_y, place->to_x, y);
    stroke(out, place->to_x, y, place->to_x - ARROW, y + back);
    stroke(out, place->to_x, y, place->to_x + ARROW, y + back);
    sbx_svg_rect(out, place->from_x - 2.5, place->from_y - 2.5, 5, 5, STROKE);
    sbx_svg_group_end(out);
}
