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
    SHARE_LEAST = 20, /* 1/20 of the judged interval: a task that ran for less did not make the stall */
    ARROW = 5,        /* px: half the width of its head */
    HEAD = 7,         /* px: its length */
    SHORT = 12,       /* px: length of an arrow with one end */
    LEFT_MOST = 160,  /* px: the labels of lanes are further left */
    LABEL_BYTES = 128,
};

/* How much of the judged interval the task took. */
static int64_t judged_ns(const struct sbx_report *report, const struct sbx_stall_task *task)
{
    const struct sbx_verdict *verdict = &report->verdict;
    int64_t end_ns =
        task->runs || task->ended_ns > verdict->interval_end_ns ? verdict->interval_end_ns : task->ended_ns;
    int64_t begin_ns = task->begun_ns > verdict->interval_begin_ns ? task->begun_ns : verdict->interval_begin_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

size_t sbx_task_arrows_choose(const struct sbx_report *report, int64_t begin_ns,
                              struct sbx_task_arrow out[SBX_TASK_ARROWS_MAX])
{
    const struct sbx_stall *stall = report->stall;
    int64_t least_ns = (report->verdict.interval_end_ns - report->verdict.interval_begin_ns) / SHARE_LEAST;
    int64_t lengths_ns[SBX_TASK_ARROWS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        int64_t ns = judged_ns(report, task);
        if (task->runner < 0 || task->from == task->runner || task->op == SBX_OP_PTHREAD_CREATE || ns == 0 ||
            ns < least_ns || task->begun_ns < begin_ns) {
            continue;
        }
        size_t at = count < SBX_TASK_ARROWS_MAX ? count++ : SBX_TASK_ARROWS_MAX;
        for (; at > 0 && lengths_ns[at - 1] < ns; at--) { /* the longest first; the shortest is dropped */
            if (at < SBX_TASK_ARROWS_MAX) {
                out[at] = out[at - 1];
                lengths_ns[at] = lengths_ns[at - 1];
            }
        }
        if (at < SBX_TASK_ARROWS_MAX) {
            lengths_ns[at] = ns;
            out[at] = (struct sbx_task_arrow){.from = task->from,
                                              .to = task->runner,
                                              .queued_ns = task->queued_ns,
                                              .begun_ns = task->begun_ns,
                                              .by = sbx_blame_task_submitter(report, task),
                                              .op = task->op};
        }
    }
    return count;
}

/* A line that is visible on any bar. */
static void stroke(FILE *out, double x1, double y1, double x2, double y2)
{
    sbx_svg_line(out, x1, y1, x2, y2, SBX_SVG_PAPER, 3.5, NULL);
    sbx_svg_line(out, x1, y1, x2, y2, STROKE, 1.5, NULL);
}

static void draw_head(FILE *out, double x, double y, double back)
{
    stroke(out, x, y, x - ARROW, y + back);
    stroke(out, x, y, x + ARROW, y + back);
}

/* Text on a white box, next to an end that has no lane. */
static void draw_words(FILE *out, double x, double baseline, enum sbx_svg_anchor anchor, const char *text)
{
    const struct sbx_svg_text_look look = {.size = 10, .fill = STROKE, .anchor = anchor};
    double width = sbx_svg_text_width(look.size, text);
    sbx_svg_rect(out, anchor == SBX_SVG_RIGHT ? x - width - 2 : x - 2, baseline - 9, width + 4, 11.5, SBX_SVG_PAPER);
    sbx_svg_text(out, x, baseline, &look, text);
}

static void draw_whole(FILE *out, const struct sbx_task_arrow_place *place)
{
    double from_y = (place->from_top + place->from_bottom) / 2;
    bool is_above = from_y < place->to_top;
    double y = is_above ? place->to_top : place->to_bottom;
    stroke(out, place->from_x, from_y, place->to_x, y);
    draw_head(out, place->to_x, y, is_above ? -HEAD : HEAD);
    sbx_svg_rect(out, place->from_x - 2.5, from_y - 2.5, 5, 5, STROKE);
}

/* The arrow comes from the gap above the lane. The text is on the side that has room. */
static void draw_coming(FILE *out, const struct sbx_task_arrow_place *place, const char *from)
{
    char words[LABEL_BYTES + 16];
    snprintf(words, sizeof words, "from %s", from);
    bool is_left = place->to_x - SHORT - sbx_svg_text_width(10, words) > LEFT_MOST;
    double side = is_left ? -SHORT : SHORT;
    stroke(out, place->to_x + side, place->to_top - SHORT / 2.0, place->to_x, place->to_top);
    draw_head(out, place->to_x, place->to_top, -HEAD);
    draw_words(out, place->to_x + 1.5 * side, place->to_top - 2, is_left ? SBX_SVG_RIGHT : SBX_SVG_LEFT, words);
}

static void draw_leaving(FILE *out, const struct sbx_task_arrow_place *place, const char *to)
{
    char words[LABEL_BYTES + 16];
    snprintf(words, sizeof words, "to %s", to);
    double from_y = (place->from_top + place->from_bottom) / 2, y = place->from_bottom + SHORT / 2.0;
    bool is_left = place->from_x - 2 * SHORT - sbx_svg_text_width(10, words) > LEFT_MOST;
    stroke(out, place->from_x, from_y, place->from_x, y);
    draw_head(out, place->from_x, y, -HEAD);
    sbx_svg_rect(out, place->from_x - 2.5, from_y - 2.5, 5, 5, STROKE);
    draw_words(out, place->from_x + (is_left ? -SHORT : SHORT), y + 2, is_left ? SBX_SVG_RIGHT : SBX_SVG_LEFT, words);
}

static void label_of(const struct sbx_report *report, int32_t thread, char out[LABEL_BYTES])
{
    if (thread >= 0) {
        sbx_thread_label(report->stall, (uint32_t)thread, out, LABEL_BYTES);
    } else {
        snprintf(out, LABEL_BYTES, "a thread that is gone");
    }
}

void sbx_task_arrow_text(const struct sbx_report *report, const struct sbx_task_arrow *arrow,
                         char out[SBX_TASK_ARROW_TEXT_BYTES])
{
    char from[LABEL_BYTES], to[LABEL_BYTES], by[SBX_SHORT_NAME_BYTES], lay[32];
    label_of(report, arrow->from, from);
    label_of(report, arrow->to, to);
    sbx_svg_ms(lay, sizeof lay, arrow->begun_ns - arrow->queued_ns);
    snprintf(out, SBX_TASK_ARROW_TEXT_BYTES, "%s on %s queued what %s began %s later (%s)",
             sbx_location_text(arrow->by, by), from, to, lay, sbx_op_name(arrow->op));
}

void sbx_task_arrow_draw(FILE *out, const struct sbx_report *report, const struct sbx_task_arrow *arrow,
                         const struct sbx_task_arrow_place *place)
{
    char from[LABEL_BYTES], to[LABEL_BYTES], title[SBX_TASK_ARROW_TEXT_BYTES];
    label_of(report, arrow->from, from);
    label_of(report, arrow->to, to);
    sbx_task_arrow_text(report, arrow, title);
    sbx_svg_group_begin(out, title);
    if (place->has_from && place->has_to) {
        draw_whole(out, place);
    } else if (place->has_to) {
        draw_coming(out, place, from);
    } else {
        draw_leaving(out, place, to);
    }
    sbx_svg_group_end(out);
}
