/* SPDX-License-Identifier: Apache-2.0 */
/* print_timeline_svg.c - the history before the trigger, or only the judged interval, as a picture: what each thread
 * did, at one glance.
 *
 *   headline
 *   time axis, milliseconds before the trigger          judged interval     trigger
 *   judged thread:  messages of its loop                    |                  |
 *                   state, with the function it was in      |                  |
 *   other threads:  state; the culprit first                |                  |
 *   legend
 *
 * An arrow starts at the thread that woke the judged thread, or that woke a thread it waited for. A dashed arrow leads
 * to the holder of a lock that is still waited for. A blue arrow leads from the submitter of a task to where the task
 * ran (timeline_tasks.h). */
#include "exporters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "call_path.h"
#include "clean_text.h"
#include "names.h"
#include "report.h"
#include "svg_writer.h"
#include "thread_spans.h"
#include "timeline_columns.h"
#include "timeline_links.h"
#include "timeline_tasks.h"
#include "wait_links.h"

enum {
    WIDTH = 1200,
    PLOT_LEFT = 156,
    PLOT_RIGHT = 1184,
    COLUMNS = PLOT_RIGHT - PLOT_LEFT,
    LANES_MAX = 12,
    HEADLINE_Y = 24,
    SUBLINE_Y = 43,
    AXIS_Y = 80,
    LANES_Y = 90,
    MESSAGES_HEIGHT = 12,
    JUDGED_HEIGHT = 40,
    OTHER_HEIGHT = 22,
    LANE_GAP = 8,
    LEGEND_HEIGHT = 34,
    LABEL_BYTES = 128,
    TITLE_BYTES = 1536,
    AROUND_SHARE = 12,   /* this part of the judged interval is shown before and after it */
    WHOLE_PERCENT = 70,  /* of the history: a longer judged interval needs no picture of its own */
    LINK_WIDTH_MIN = 24, /* px; a shorter wait has no room for an arrow at its end */
};
#define NS_PER_MS      INT64_C(1000000)
#define JUDGED_BAND    "#fdf1dc"
#define MESSAGE_FILL   "#c3cfdd"
#define MESSAGE_JUDGED "#5b7896"
static const double HALF = 0.5; /* a function needs this share of a block's time to be its label */

struct lane {
    uint32_t thread;
    double score; /* decides which threads are shown */
    struct sbx_thread_spans spans;
    struct sbx_blocks blocks;
};

struct picture {
    const struct sbx_report *report;
    FILE *out;
    int64_t begin_ns, end_ns; /* of the plot; times are report times */
    bool is_judged_only;      /* the history before it is not in the picture */
    struct lane *lanes;       /* in order of drawing */
    size_t lane_count, threads_left_out;
    struct sbx_wait_link *links; /* the links that are drawn */
    size_t link_count;
    struct sbx_task_arrow arrows[SBX_TASK_ARROWS_MAX];
    size_t arrow_count;
    unsigned states; /* bits of the states that appear */
};

/* ---- which thread waited for which ---- */

/* The link of the wait of which a block of a lane shows most; NULL none. */
static const struct sbx_wait_link *link_of_block(const struct picture *picture, uint32_t thread, int64_t begin_ns,
                                                 int64_t end_ns)
{
    for (size_t i = 0; i < picture->link_count; i++) {
        const struct sbx_wait_link *link = &picture->links[i];
        int64_t from_ns = link->begin_ns > begin_ns ? link->begin_ns : begin_ns;
        int64_t to_ns = link->end_ns < end_ns ? link->end_ns : end_ns;
        if (link->waiter == thread && (to_ns - from_ns) * 2 > end_ns - begin_ns) {
            return link;
        }
    }
    return NULL;
}

static double x_at(const struct picture *picture, int64_t at_ns)
{
    int64_t clipped = at_ns < picture->begin_ns ? picture->begin_ns : at_ns > picture->end_ns ? picture->end_ns : at_ns;
    return PLOT_LEFT + (double)(clipped - picture->begin_ns) * COLUMNS / (double)(picture->end_ns - picture->begin_ns);
}

/* ---- which time and threads to show ---- */

/* From the oldest record (or the judged interval's begin) to a little after the trigger. A wait that began before the
 * history is clipped: otherwise a worker that was idle for an hour would reduce two seconds to one pixel. */
static void choose_range(struct picture *picture)
{
    const struct sbx_stall *stall = picture->report->stall;
    const struct sbx_verdict *verdict = &picture->report->verdict;
    int64_t begin_ns = sbx_history_begin_ns(stall, verdict->interval_begin_ns), end_ns = 0;
    for (size_t i = 0; i < stall->record_count; i++) {
        end_ns = stall->records[i].end_ns > end_ns ? stall->records[i].end_ns : end_ns;
    }
    if (picture->is_judged_only) {
        int64_t around_ns = (verdict->interval_end_ns - verdict->interval_begin_ns) / AROUND_SHARE;
        begin_ns =
            verdict->interval_begin_ns - around_ns > begin_ns ? verdict->interval_begin_ns - around_ns : begin_ns;
        end_ns = around_ns < end_ns ? around_ns : end_ns; /* records may lie after the trigger */
    }
    if (end_ns - begin_ns < NS_PER_MS) {
        begin_ns = end_ns - NS_PER_MS;
    }
    int64_t margin_ns = (end_ns - begin_ns) / 100;
    picture->begin_ns = begin_ns - margin_ns;
    picture->end_ns = end_ns + margin_ns;
}

static int add_score(void *context, const struct sbx_piece *piece)
{
    struct lane *lane = context;
    double length_ns = (double)(piece->end_ns - piece->begin_ns);
    /* A thread that computed tells more than one that only waited. Both tell more than an idle thread. */
    lane->score += piece->state == SBX_SPAN_ON_CPU ? length_ns : piece->state == SBX_SPAN_IDLE ? 0 : length_ns / 1000;
    return 0;
}

static int compare_lanes(const void *left, const void *right)
{
    const struct lane *a = left, *b = right;
    return a->score != b->score ? (a->score > b->score ? -1 : 1) : (a->thread < b->thread ? -1 : a->thread > b->thread);
}

static bool is_linked(const struct picture *picture, uint32_t thread)
{
    for (size_t i = 0; i < picture->link_count; i++) {
        if (picture->links[i].other == thread || picture->links[i].waiter == thread) {
            return true;
        }
    }
    return false;
}

/* How many arrows of tasks come before the first arrow from or to the thread. */
static size_t arrows_before(const struct picture *picture, uint32_t thread)
{
    size_t at = 0;
    while (at < picture->arrow_count && picture->arrows[at].from != (int32_t)thread &&
           picture->arrows[at].to != (int32_t)thread) {
        at++;
    }
    return at;
}

/* Keep the lanes that are drawn, the most telling first, and divide their time into columns. */
static int choose_lanes(struct picture *picture, const struct sbx_call_paths *paths)
{
    const struct sbx_stall *stall = picture->report->stall;
    for (uint32_t thread = 0; thread < stall->thread_count; thread++) {
        struct lane *lane = &picture->lanes[picture->lane_count];
        *lane = (struct lane){.thread = thread};
        int result = sbx_thread_spans_init(&lane->spans, stall, thread);
        if (result != 0) {
            return result;
        }
        picture->lane_count++;
        result = sbx_span_pieces_visit(&lane->spans, paths, add_score, lane);
        if (result != 0) {
            return result;
        }
        if (thread == stall->trigger.thread) {
            lane->score = INFINITY;
        } else if ((int64_t)thread == picture->report->verdict.culprit_thread) {
            lane->score = 1e300;
        } else if (is_linked(picture, thread)) {
            lane->score = 1e299;
        } else if (arrows_before(picture, thread) < picture->arrow_count) { /* the arrows of the longest tasks first */
            lane->score = 1e298 / (double)(1 + arrows_before(picture, thread));
        } else if (lane->spans.count == 0) {
            lane->score = -1;
        }
    }
    qsort(picture->lanes, picture->lane_count, sizeof *picture->lanes, compare_lanes);
    while (picture->lane_count > 1 &&
           (picture->lane_count > LANES_MAX || picture->lanes[picture->lane_count - 1].score < 0)) {
        sbx_thread_spans_finish(&picture->lanes[--picture->lane_count].spans);
        picture->threads_left_out++;
    }
    for (size_t i = 0; i < picture->lane_count; i++) {
        struct lane *lane = &picture->lanes[i];
        int result = sbx_blocks_init(&lane->blocks, &lane->spans, paths, picture->begin_ns, picture->end_ns, COLUMNS);
        if (result != 0) {
            return result;
        }
        for (size_t k = 0; k < lane->blocks.count; k++) {
            picture->states |= 1u << lane->blocks.blocks[k].state;
        }
    }
    return 0;
}

static bool is_judged(const struct picture *picture, const struct lane *lane)
{
    return lane->thread == picture->report->stall->trigger.thread;
}

static double lane_height(const struct picture *picture, const struct lane *lane)
{
    if (!is_judged(picture, lane)) {
        return OTHER_HEIGHT;
    }
    return JUDGED_HEIGHT + (lane->spans.message_count > 0 ? MESSAGES_HEIGHT + 2 : 0);
}

/* ---- drawing ---- */

/* The function of a block: "evalGenericCommand › luaV_execute", the application's and the innermost one. */
static void name_block(const struct sbx_block *block, char *out, size_t out_bytes)
{
    const struct sbx_flame_tree *tree = &block->tree;
    uint32_t hot = sbx_flame_tree_hottest(tree, HALF), named = sbx_flame_tree_named(tree, hot);
    hot = named != 0 ? named : hot;
    uint32_t application = sbx_flame_tree_application(tree, hot);
    if (application != 0 && application != hot) {
        snprintf(out, out_bytes, "%s \xe2\x80\xba %s", tree->nodes[application].name, tree->nodes[hot].name);
    } else {
        sbx_flame_node_label(&tree->nodes[hot], out, out_bytes);
    }
}

static void draw_block(const struct picture *picture, uint32_t thread, const struct sbx_block *block, double y,
                       double height)
{
    char name[512], length[32], from[32], to[32], title[TITLE_BYTES];
    name_block(block, name, sizeof name);
    sbx_svg_ms(length, sizeof length, block->state_ns);
    sbx_svg_ms(from, sizeof from, block->begin_ns);
    sbx_svg_ms(to, sizeof to, block->end_ns);
    if (block->begin_ns == picture->begin_ns) {
        snprintf(from, sizeof from,
                 picture->is_judged_only ? "before this picture"
                                         : "before the history"); /* so `length` is that of the visible part */
    }
    snprintf(title, sizeof title, "%s %s%s%s, from %s to %s, %llu observations", sbx_span_state_name(block->state),
             length, name[0] == '\0' ? "" : ", mostly in ", name, from, to, (unsigned long long)block->observations);
    double x = PLOT_LEFT + block->first, width = block->last - block->first + 1;
    sbx_svg_group_begin(picture->out, title);
    sbx_svg_rect(picture->out, x, y, width, height, sbx_svg_state_fill(block->state));
    if (block->state != SBX_SPAN_IDLE) {
        struct sbx_svg_text_look look = {.size = 11.5, .fill = sbx_svg_state_ink(block->state)};
        bool two_lines = height >= 32 && name[0] != '\0';
        double baseline = y + height / 2 + 4;
        char second[96 + LABEL_BYTES], label[LABEL_BYTES] = "";
        const struct sbx_wait_link *link = link_of_block(picture, thread, block->begin_ns, block->end_ns);
        if (link != NULL) {
            sbx_thread_label(picture->report->stall, link->other, label, sizeof label);
        }
        snprintf(second, sizeof second, "%s, %s%s%s", sbx_span_state_name(block->state), length,
                 link == NULL ? ""
                 : link->woke ? ", ended by "
                              : ", held by ",
                 label);
        sbx_svg_text_within(picture->out, x + 5, two_lines ? baseline - 7 : baseline, width - 10, &look,
                            name[0] == '\0' ? second : name);
        look.size = 10.5;
        if (two_lines) {
            sbx_svg_text_within(picture->out, x + 5, baseline + 8, width - 10, &look, second);
        }
    }
    sbx_svg_group_end(picture->out);
}

/* Messages that share a column are drawn as one. */
static void draw_messages(const struct picture *picture, const struct lane *lane, double y)
{
    const struct sbx_stall *stall = picture->report->stall;
    const struct sbx_message_span *messages = lane->spans.messages;
    for (size_t i = 0; i < lane->spans.message_count;) {
        double x = x_at(picture, messages[i].begin_ns), end_x = x_at(picture, messages[i].end_ns);
        uint64_t count = messages[i].merged > 1 ? messages[i].merged : 1;
        bool judged = stall->trigger.message != 0 && messages[i].message == stall->trigger.message;
        size_t first = i++;
        while (i < lane->spans.message_count && x_at(picture, messages[i].end_ns) - x < 2 && !judged) {
            judged = stall->trigger.message != 0 && messages[i].message == stall->trigger.message;
            count += messages[i].merged > 1 ? messages[i].merged : 1;
            end_x = x_at(picture, messages[i++].end_ns);
        }
        if (messages[i - 1].end_ns < picture->begin_ns) {
            continue;
        }
        char title[256], length[32], from[32];
        sbx_svg_ms(length, sizeof length, messages[i - 1].end_ns - messages[first].begin_ns);
        sbx_svg_ms(from, sizeof from, messages[first].begin_ns);
        if (count > 1) {
            snprintf(title, sizeof title, "%llu messages within %s, from %s", (unsigned long long)count, length, from);
        } else {
            snprintf(title, sizeof title, "%s %s, from %s", judged ? "the judged message:" : "message", length, from);
        }
        double width = end_x - x > 2 ? end_x - x - 0.75 : 1.25; /* a gap, so that neighbours look separate */
        sbx_svg_group_begin(picture->out, title);
        sbx_svg_rect(picture->out, x, y, width, MESSAGES_HEIGHT, judged ? MESSAGE_JUDGED : MESSAGE_FILL);
        sbx_svg_group_end(picture->out);
    }
}

static void draw_lane(const struct picture *picture, const struct lane *lane, double y)
{
    bool judged = is_judged(picture, lane);
    char label[LABEL_BYTES];
    sbx_thread_label(picture->report->stall, lane->thread, label, sizeof label);
    struct sbx_svg_text_look look = {.size = 12, .fill = SBX_SVG_INK, .anchor = SBX_SVG_RIGHT, .bold = judged};
    const struct sbx_svg_text_look small = {.size = 10, .fill = SBX_SVG_FAINT, .anchor = SBX_SVG_RIGHT};
    double height = judged ? JUDGED_HEIGHT : OTHER_HEIGHT;
    if (judged && lane->spans.message_count > 0) {
        sbx_svg_text(picture->out, PLOT_LEFT - 10, y + 10, &small, "messages");
        draw_messages(picture, lane, y);
        y += MESSAGES_HEIGHT + 2;
    }
    bool culprit = (int64_t)lane->thread == picture->report->verdict.culprit_thread;
    double baseline = y + height / 2 + 4;
    const struct sbx_stall_thread *thread = &picture->report->stall->threads[lane->thread];
    char second[48] = ""; /* the number tells threads of one name apart: "thread 4 (python#)" in sentences */
    if (judged) {
        snprintf(second, sizeof second, "did not answer");
    } else if (!thread->is_main && strcmp(thread->name, "other") != 0) {
        snprintf(second, sizeof second, "%sthread %u", culprit ? "culprit, " : "", lane->thread);
    } else if (culprit) {
        snprintf(second, sizeof second, "culprit");
    }
    if (second[0] != '\0') {
        baseline -= judged ? 5 : 4;
        sbx_svg_text(picture->out, PLOT_LEFT - 10, baseline + 12, &small, second);
    }
    sbx_svg_text_within(picture->out, PLOT_LEFT - 10, baseline, PLOT_LEFT - 20, &look, label);
    for (size_t i = 0; i < lane->blocks.count; i++) {
        draw_block(picture, lane->thread, &lane->blocks.blocks[i], y, height);
    }
}

/* The step between two marks of the axis: 1, 2 or 5 times a power of ten, about eight marks in total. */
static int64_t axis_step(int64_t range_ns)
{
    int64_t step_ns = NS_PER_MS / 10;
    static const int factors[] = {2, 5, 10};
    for (;;) {
        for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
            if (range_ns / (step_ns * factors[i]) <= 8) {
                return step_ns * factors[i];
            }
        }
        step_ns *= 10;
    }
}

static void draw_axis(const struct picture *picture, double bottom)
{
    const struct sbx_svg_text_look look = {.size = 10.5, .fill = SBX_SVG_FAINT, .anchor = SBX_SVG_MIDDLE};
    int64_t step_ns = axis_step(picture->end_ns - picture->begin_ns);
    double trigger_x = x_at(picture, 0);
    for (int64_t at_ns = -step_ns; at_ns >= picture->begin_ns; at_ns -= step_ns) {
        double x = x_at(picture, at_ns);
        sbx_svg_line(picture->out, x, AXIS_Y + 4, x, bottom, SBX_SVG_RULE, 1, NULL);
        char text[32];
        if (step_ns % NS_PER_MS == 0 && at_ns > -1000 * NS_PER_MS) {
            snprintf(text, sizeof text, SBX_SVG_MINUS "%d ms", (int)(-at_ns / NS_PER_MS));
        } else {
            sbx_svg_ms(text, sizeof text, at_ns);
        }
        if (x - PLOT_LEFT > 20 && trigger_x - x > 70) {
            sbx_svg_text(picture->out, x, AXIS_Y, &look, text);
        }
    }
}

static void draw_judged_band(const struct picture *picture, double bottom)
{
    const struct sbx_verdict *verdict = &picture->report->verdict;
    double x = x_at(picture, verdict->interval_begin_ns), end_x = x_at(picture, verdict->interval_end_ns);
    if (end_x - x < 0.5) {
        return;
    }
    char length[32], text[64];
    sbx_svg_ms(length, sizeof length, verdict->interval_end_ns - verdict->interval_begin_ns);
    snprintf(text, sizeof text, "judged: %s", length);
    sbx_svg_group_begin(picture->out, text);
    sbx_svg_rect(picture->out, x, AXIS_Y + 4, end_x - x, bottom - AXIS_Y - 4, JUDGED_BAND);
    sbx_svg_rect(picture->out, x, AXIS_Y + 4, end_x - x, 3, "#d08a1d");
    sbx_svg_group_end(picture->out);
}

static void draw_trigger(const struct picture *picture, double bottom)
{
    double x = x_at(picture, 0);
    char text[64];
    snprintf(text, sizeof text, "trigger: %s", sbx_trigger_name(picture->report->stall->trigger.kind));
    const struct sbx_svg_text_look look = {.size = 10.5, .fill = SBX_SVG_ALERT, .anchor = SBX_SVG_RIGHT, .bold = true};
    sbx_svg_line(picture->out, x, AXIS_Y - 10, x, bottom, SBX_SVG_ALERT, 1.5, NULL);
    sbx_svg_text(picture->out, x - 4, AXIS_Y, &look, "0 ms");
    sbx_svg_text(picture->out, x, AXIS_Y - 14, &look, text);
}

/* The bar of a thread's lane; false when it is not drawn. */
static bool find_bar(const struct picture *picture, uint32_t thread, double *top_out, double *bottom_out)
{
    double y = LANES_Y;
    for (size_t i = 0; i < picture->lane_count; i++) {
        const struct lane *lane = &picture->lanes[i];
        double height = lane_height(picture, lane);
        if (lane->thread == thread) {
            *bottom_out = y + height;
            *top_out = *bottom_out - (is_judged(picture, lane) ? (double)JUDGED_HEIGHT : (double)OTHER_HEIGHT);
            return true;
        }
        y += height + LANE_GAP;
    }
    return false;
}

/* At the end of the bar, because its text is at the begin. Arrows that would overlap are moved apart. */
static void draw_link(const struct picture *picture, const struct sbx_wait_link *link, double *taken,
                      size_t taken_count)
{
    struct sbx_wait_arrow_place place = {.x = x_at(picture, link->woke ? link->at_ns : link->end_ns) -
                                              1.5 * SBX_WAIT_ARROW_HEAD};
    if (x_at(picture, link->end_ns) - x_at(picture, link->begin_ns) < LINK_WIDTH_MIN ||
        !find_bar(picture, link->waiter, &place.waiter_top, &place.waiter_bottom) ||
        !find_bar(picture, link->other, &place.other_top, &place.other_bottom)) {
        return;
    }
    for (size_t i = 0; i < taken_count; i++) {
        if (fabs(taken[i] - place.x) < 2 * SBX_WAIT_ARROW_HEAD) {
            place.x = taken[i] - 3 * SBX_WAIT_ARROW_HEAD;
            i = (size_t)-1; /* check all again: x only moves left, so this ends when none is near */
        }
    }
    taken[taken_count] = place.x;
    sbx_wait_arrow_draw(picture->out, picture->report, link, &place);
}

static void draw_links(const struct picture *picture)
{
    double taken[SBX_WAIT_ARROWS_MAX];
    for (size_t i = 0; i < SBX_WAIT_ARROWS_MAX; i++) {
        taken[i] = -INFINITY;
    }
    for (size_t i = 0; i < picture->link_count; i++) {
        draw_link(picture, &picture->links[i], taken, i);
    }
}

/* Returns how many it drew. */
static size_t draw_tasks(const struct picture *picture)
{
    size_t drawn = 0;
    for (size_t i = 0; i < picture->arrow_count; i++) {
        const struct sbx_task_arrow *arrow = &picture->arrows[i];
        struct sbx_task_arrow_place place = {.from_x = x_at(picture, arrow->queued_ns),
                                             .to_x = x_at(picture, arrow->begun_ns)};
        place.has_from =
            arrow->from >= 0 && find_bar(picture, (uint32_t)arrow->from, &place.from_top, &place.from_bottom);
        place.has_to = find_bar(picture, (uint32_t)arrow->to, &place.to_top, &place.to_bottom);
        if (place.has_from || place.has_to) {
            sbx_task_arrow_draw(picture->out, picture->report, arrow, &place);
            drawn++;
        }
    }
    return drawn;
}

static void draw(const struct picture *picture)
{
    const struct sbx_report *report = picture->report;
    double bottom = LANES_Y;
    for (size_t i = 0; i < picture->lane_count; i++) {
        bottom += lane_height(picture, &picture->lanes[i]) + LANE_GAP;
    }
    sbx_svg_begin(picture->out, WIDTH, bottom + LEGEND_HEIGHT, report->verdict.headline);
    const struct sbx_svg_text_look headline = {.size = 15, .fill = SBX_SVG_INK, .bold = true};
    const struct sbx_svg_text_look subline = {.size = 11.5, .fill = SBX_SVG_FAINT};
    sbx_svg_text_within(picture->out, 16, HEADLINE_Y, WIDTH - 32, &headline, report->verdict.headline);
    char text[256], length[32];
    sbx_svg_ms(length, sizeof length, report->verdict.interval_end_ns - report->verdict.interval_begin_ns);
    snprintf(text, sizeof text, "%s: %s judged (shaded)%s; times are relative to the trigger", report->app_name, length,
             picture->is_judged_only ? "" : ", with the history before it");
    sbx_svg_text_within(picture->out, 16, SUBLINE_Y, WIDTH - 32, &subline, text);

    draw_judged_band(picture, bottom - LANE_GAP / 2.0);
    double y = LANES_Y;
    for (size_t i = 0; i < picture->lane_count; i++) {
        const struct lane *lane = &picture->lanes[i];
        sbx_svg_line(picture->out, 16, y + lane_height(picture, lane) + LANE_GAP / 2.0, PLOT_RIGHT,
                     y + lane_height(picture, lane) + LANE_GAP / 2.0, SBX_SVG_RULE, 0.5, NULL);
        y += lane_height(picture, lane) + LANE_GAP;
    }
    draw_axis(picture, bottom - LANE_GAP / 2.0);
    y = LANES_Y;
    for (size_t i = 0; i < picture->lane_count; i++) {
        draw_lane(picture, &picture->lanes[i], y);
        y += lane_height(picture, &picture->lanes[i]) + LANE_GAP;
    }
    draw_trigger(picture, bottom - LANE_GAP / 2.0);
    draw_links(picture);
    const char *blue = draw_tasks(picture) > 0 ? "; blue: who queued it" : "";
    const char *arrows = picture->link_count > 0 ? "; arrow: who ended the wait; dashed: who holds the lock" : "";
    double x = sbx_svg_legend(picture->out, PLOT_LEFT, bottom + 18, picture->states);
    if (picture->threads_left_out > 0) {
        snprintf(text, sizeof text, "blank: not known; %zu quieter threads not shown%s%s", picture->threads_left_out,
                 blue, arrows);
    } else {
        snprintf(text, sizeof text, "blank: not known%s%s", blue, arrows);
    }
    const struct sbx_svg_text_look note = {.size = 11, .fill = SBX_SVG_FAINT};
    sbx_svg_text_within(picture->out, x, bottom + 18, PLOT_RIGHT - x, &note, text);
    sbx_svg_end(picture->out);
}

static int print_picture(const struct sbx_report *report, FILE *out, bool is_judged_only)
{
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    if (paths == NULL) {
        return -ENOMEM;
    }
    struct picture picture = {.report = report, .out = out, .is_judged_only = is_judged_only};
    int result = -ENOMEM;
    picture.lanes = calloc((size_t)report->stall->thread_count + 1, sizeof *picture.lanes);
    if (picture.lanes != NULL && sbx_wait_links_create(report->stall, &picture.links, &picture.link_count) == 0) {
        choose_range(&picture);
        picture.link_count = sbx_wait_arrows_choose(report, picture.links, picture.link_count);
        picture.arrow_count = sbx_task_arrows_choose(report, picture.begin_ns, picture.arrows);
        result = choose_lanes(&picture, paths);
    }
    if (result == 0) {
        draw(&picture);
        result = fflush(out) != 0 ? -errno : ferror(out) ? -EIO : 0;
    }
    for (size_t i = 0; i < picture.lane_count; i++) {
        sbx_thread_spans_finish(&picture.lanes[i].spans);
        sbx_blocks_finish(&picture.lanes[i].blocks);
    }
    free(picture.links);
    free(picture.lanes);
    sbx_call_paths_destroy(paths);
    return result;
}

int sbx_print_timeline_svg(const struct sbx_report *report, FILE *out)
{
    return print_picture(report, out, false);
}

int sbx_print_judged_timeline_svg(const struct sbx_report *report, FILE *out)
{
    return print_picture(report, out, true);
}

bool sbx_has_judged_timeline(const struct sbx_report *report)
{
    const struct sbx_verdict *verdict = &report->verdict;
    int64_t judged_ns = verdict->interval_end_ns - verdict->interval_begin_ns;
    int64_t history_ns = verdict->interval_end_ns - sbx_history_begin_ns(report->stall, verdict->interval_begin_ns);
    return judged_ns >= NS_PER_MS && judged_ns < history_ns / 100 * WHOLE_PERCENT;
}
