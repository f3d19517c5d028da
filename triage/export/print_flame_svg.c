/* SPDX-License-Identifier: Apache-2.0 */
/* print_flame_svg.c - the judged thread's time in the judged interval as a flame graph, root on top. Either as the
 * thread ran, or on the stacks that queued the tasks that it ran (queued_stacks.h).
 *
 * Width is time. Colour is what the thread did for most of it: warm colours for computing, cool ones for waiting. The
 * whole width is the whole interval, so time without a known stack stays blank on the right. */
#include "exporters.h"

#include <errno.h>

#include "call_path.h"
#include "clean_text.h"
#include "flame_tree.h"
#include "report.h"
#include "svg_writer.h"
#include "thread_spans.h"

enum {
    WIDTH = 1200,
    LEFT = 16,
    PLOT_WIDTH = WIDTH - 2 * LEFT,
    HEADLINE_Y = 24,
    TOP = 36,
    ROW_HEIGHT = 19,
    ROWS_MAX = 96,
    LEGEND_HEIGHT = 34,
    LABEL_BYTES = 128,
};
static const double NARROWEST = 0.4; /* px; narrower boxes are not drawn */

struct picture {
    const struct sbx_report *report;
    FILE *out;
    struct sbx_flame_tree tree;
    int64_t interval_ns;
    unsigned states; /* bits of the states that appear */
    uint32_t rows;
    bool too_deep, is_async;
};

static double width_of(const struct picture *picture, int64_t ns)
{
    return (double)ns * PLOT_WIDTH / (double)picture->interval_ns;
}

static void title_of(const struct picture *picture, const struct sbx_flame_node *node, const char *label, char *title,
                     size_t title_bytes)
{
    char total[32], self[32];
    sbx_svg_ms(total, sizeof total, node->total_ns);
    sbx_svg_ms(self, sizeof self, node->self_ns);
    int length = snprintf(title, title_bytes, "%s", label);
    size_t at = length < 0 ? 0 : (size_t)length < title_bytes ? (size_t)length : title_bytes - 1;
    if (node->name[0] == '\0') {
        length = snprintf(title + at, title_bytes - at, " (code that no symbol names)");
    } else if (node->location != NULL && node->location->file != NULL) {
        length = snprintf(title + at, title_bytes - at, " (%s, %s:%u%s)", node->location->module, node->location->file,
                          node->location->line, node->location->inlined ? ", inlined" : "");
    } else if (node->location != NULL && node->location->module[0] != '\0') {
        length = snprintf(title + at, title_bytes - at, " (%s)", node->location->module);
    } else {
        length = 0;
    }
    at += (size_t)length < title_bytes - at ? (size_t)length : title_bytes - at - 1;
    length = snprintf(title + at, title_bytes - at, ": %s, %.1f %% of the interval; itself %s", total,
                      100.0 * (double)node->total_ns / (double)picture->interval_ns, self);
    for (enum sbx_span_state state = SBX_SPAN_UNKNOWN; state < SBX_SPAN_STATES; state++) {
        if (node->by_state_ns[state] > 0 && node->by_state_ns[state] < node->total_ns) {
            at += (size_t)length < title_bytes - at ? (size_t)length : title_bytes - at - 1;
            char part[32];
            sbx_svg_ms(part, sizeof part, node->by_state_ns[state]);
            length = snprintf(title + at, title_bytes - at, "; %s %s", sbx_span_state_name(state), part);
        }
    }
}

static void draw_node(struct picture *picture, const struct sbx_flame_node *node, double x, double width)
{
    enum sbx_span_state state = sbx_flame_node_state(node);
    char label[SBX_CLEAN_TEXT_BYTES], title[SBX_CLEAN_TEXT_BYTES], fill[8];
    sbx_flame_node_label(node, label, sizeof label);
    title_of(picture, node, label, title, sizeof title);
    sbx_svg_state_shade(state, label, fill);
    double y = TOP + (double)node->depth * ROW_HEIGHT;
    sbx_svg_box_begin(picture->out, title, label, (double)node->total_ns / 1e3);
    sbx_svg_rect(picture->out, x, y, width > 1.5 ? width - 0.75 : width, ROW_HEIGHT - 1, fill);
    const struct sbx_svg_text_look look = {.size = 11.5, .fill = sbx_svg_state_ink(state)};
    sbx_svg_text_within(picture->out, x + 4, y + 13, width - 8, &look, label);
    sbx_svg_group_end(picture->out);
    picture->states |= 1u << state;
}

/* Visit the tree in the order of drawing. If `draw` is false, only count the rows. Not recursive, because a tree may be
 * hundreds of levels deep. */
static void visit_nodes(struct picture *picture, bool draw)
{
    double lefts[SBX_CALL_PATH_MAX + 2]; /* by depth: where the next box of that depth begins */
    const struct sbx_flame_node *nodes = picture->tree.nodes;
    uint32_t at = nodes[0].first_child;
    lefts[1] = LEFT;
    while (at != 0) {
        const struct sbx_flame_node *node = &nodes[at];
        double width = width_of(picture, node->total_ns), x = lefts[node->depth];
        lefts[node->depth] += width;
        bool visible = width >= NARROWEST;
        if (visible && node->depth > picture->rows) {
            picture->rows = node->depth < ROWS_MAX ? node->depth : ROWS_MAX;
            picture->too_deep |= node->depth > ROWS_MAX;
        }
        if (visible && draw && node->depth <= ROWS_MAX) {
            draw_node(picture, node, x, width);
        }
        if (visible && node->first_child != 0) {
            lefts[node->depth + 1] = x;
            at = node->first_child;
            continue;
        }
        while (at != 0 && nodes[at].next_sibling == 0) {
            at = nodes[at].parent;
        }
        at = at == 0 ? 0 : nodes[at].next_sibling;
    }
}

static void draw(struct picture *picture)
{
    const struct sbx_report *report = picture->report;
    FILE *out = picture->out;
    char label[LABEL_BYTES], length[32], text[512];
    sbx_thread_label(report->stall, report->stall->trigger.thread, label, sizeof label);
    sbx_svg_ms(length, sizeof length, picture->interval_ns);
    snprintf(text, sizeof text, "%s: the judged %s by function%s", label, length,
             picture->is_async ? ", on the stacks of who queued it" : "");
    visit_nodes(picture, false);
    double bottom = TOP + (double)(picture->rows + 1) * ROW_HEIGHT;
    sbx_svg_begin(out, WIDTH, bottom + LEGEND_HEIGHT, text);
    const struct sbx_svg_text_look headline = {.size = 15, .fill = SBX_SVG_INK, .bold = true};
    const struct sbx_svg_text_look note = {.size = 11, .fill = SBX_SVG_FAINT};
    sbx_svg_text_within(out, LEFT, HEADLINE_Y, PLOT_WIDTH, &headline, text);

    const struct sbx_flame_node *all = &picture->tree.nodes[0];
    int64_t unknown_ns = picture->interval_ns - (all->total_ns - all->self_ns);
    sbx_svg_box_begin(out, "the whole interval", label, (double)picture->interval_ns / 1e3);
    sbx_svg_rect(out, LEFT, TOP, PLOT_WIDTH, ROW_HEIGHT - 1, SBX_SVG_RULE);
    const struct sbx_svg_text_look root = {.size = 11.5, .fill = SBX_SVG_INK};
    snprintf(text, sizeof text, "%s, %llu observations", label, (unsigned long long)all->observations);
    sbx_svg_text_within(out, LEFT + 4, TOP + 13, PLOT_WIDTH - 8, &root, text);
    sbx_svg_group_end(out);
    visit_nodes(picture, true);

    double x = sbx_svg_legend(out, LEFT, bottom + 20, picture->states);
    if (unknown_ns > 0) {
        sbx_svg_ms(length, sizeof length, unknown_ns);
        snprintf(text, sizeof text, "blank: %s of which no stack is known%s", length,
                 picture->too_deep ? "; deeper frames left out" : "");
        sbx_svg_text(out, x, bottom + 20, &note, text);
    } else if (picture->too_deep) {
        sbx_svg_text(out, x, bottom + 20, &note, "deeper frames left out");
    }
    sbx_svg_end(out);
}

/* The interval to show: the judged one, or the trigger's if that is empty. */
static void choose_interval(const struct sbx_report *report, int64_t *begin_ns, int64_t *end_ns)
{
    *begin_ns = report->verdict.interval_begin_ns;
    *end_ns = report->verdict.interval_end_ns;
    if (*end_ns <= *begin_ns) {
        *end_ns = 0;
        *begin_ns = report->stall->trigger.duration_ns > 0 ? -report->stall->trigger.duration_ns : -1000000;
    }
}

static int print_picture(const struct sbx_report *report, FILE *out, bool is_async)
{
    struct picture picture = {.report = report, .out = out, .is_async = is_async};
    uint32_t thread = report->stall->trigger.thread;
    struct sbx_thread_spans spans = {0};
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    int64_t begin_ns, end_ns;
    choose_interval(report, &begin_ns, &end_ns);
    picture.interval_ns = end_ns - begin_ns;
    int result = paths == NULL ? -ENOMEM : sbx_flame_tree_init(&picture.tree);
    picture.tree.joins_unnamed = true;
    if (result == 0 && thread < report->stall->thread_count) {
        result = sbx_thread_spans_init(&spans, report->stall, thread);
        if (result == 0) {
            result = is_async
                         ? sbx_flame_tree_add_queued(&picture.tree, report, thread, &spans, paths, begin_ns, end_ns)
                         : sbx_flame_tree_add_thread(&picture.tree, &spans, paths, begin_ns, end_ns);
        }
    }
    if (result == 0) {
        result = sbx_flame_tree_sort(&picture.tree, SBX_FLAME_BY_TIME);
    }
    if (result == 0) {
        draw(&picture);
        result = fflush(out) != 0 ? -errno : ferror(out) ? -EIO : 0;
    }
    sbx_thread_spans_finish(&spans);
    sbx_flame_tree_finish(&picture.tree);
    sbx_call_paths_destroy(paths);
    return result;
}

int sbx_print_flame_svg(const struct sbx_report *report, FILE *out)
{
    return print_picture(report, out, false);
}

int sbx_print_async_flame_svg(const struct sbx_report *report, FILE *out)
{
    return print_picture(report, out, true);
}

bool sbx_has_async_flame(const struct sbx_report *report)
{
    const struct sbx_stall *stall = report->stall;
    int64_t begin_ns, end_ns;
    choose_interval(report, &begin_ns, &end_ns);
    for (size_t i = 0; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        if (task->runner == (int32_t)stall->trigger.thread && task->stack != 0 && task->begun_ns < end_ns &&
            (task->runs || task->ended_ns > begin_ns)) {
            return true;
        }
    }
    return false;
}
