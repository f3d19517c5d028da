/* SPDX-License-Identifier: Apache-2.0 */
/* merged_svg.c - a merged profile as a flame graph, root on top, whose boxes are links.
 *
 * The width of a box is its time. Its colour shows the state in which most of the time was spent, as in the picture of
 * one stall. If two sides are compared, the colour shows on which side the box has the larger share. The outermost
 * functions, which have all of the time, are one row. */
#include "merged_printers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "clean_text.h"
#include "svg_writer.h"

enum {
    WIDTH = 1200,
    LEFT = 8,
    PLOT_WIDTH = WIDTH - 2 * LEFT,
    TOP = 8,
    ROW_HEIGHT = 20,
    ROWS_MAX = 80,
    LEGEND_HEIGHT = 34,
    TITLE_BYTES = 1024,
};
static const double NARROWEST = 1;                      /* px */
static const double ALL_OF_IT = 0.999;                  /* a box with this share of its caller's time is taken to have
                                                         * all of it */
static const char MARKED[] = "#ffe066";                 /* for boxes that match the search, with dark text */
static const double STEPS[] = {0.002, 0.01, 0.04, 0.1}; /* step of the difference of shares for the next colour */
static const char *const MORE[] = {"#e9ecf0", "#fbe3dc", "#f6bfb0", "#ef947f", "#e36f57"};
static const char *const LESS[] = {"#e9ecf0", "#deeaf6", "#b5d2ec", "#86b6df", "#5d9bce"};

struct picture {
    const struct sbx_merged_profile *profile;
    const struct sbx_merged_view *view;
    FILE *out;
    double whole_us;
    uint32_t shared; /* the node whose row stands for all nodes from `at` down to it */
    uint32_t rows;   /* number of rows below the row of `shared` */
    unsigned states; /* one bit for each state that appears */
    bool is_too_deep;
};

double sbx_merged_share(const struct sbx_merged_profile *profile, uint32_t node, enum sbx_merged_side side)
{
    double whole = profile->nodes[0].total_us[side];
    return whole > 0 ? profile->nodes[node].total_us[side] / whole : 0;
}

/* The innermost node that has all of the time of `at`: the interesting part of the picture begins there. */
static uint32_t shared_to(const struct sbx_merged_profile *profile, uint32_t at, enum sbx_merged_side side)
{
    for (;;) {
        uint32_t child = profile->nodes[at].first_child, all = 0;
        /* Time without a known stack belongs to no node. */
        double whole = profile->nodes[at].total_us[side] - (at == 0 ? profile->nodes[at].self_us[side] : 0);
        for (; child != 0 && all == 0; child = profile->nodes[child].next_sibling) {
            all = whole > 0 && profile->nodes[child].total_us[side] >= ALL_OF_IT * whole ? child : 0;
        }
        if (all == 0) {
            return at;
        }
        at = all;
    }
}

uint32_t sbx_merged_shared_rows(const struct sbx_merged_profile *profile, uint32_t at, enum sbx_merged_side side)
{
    return profile->nodes[shared_to(profile, at, side)].depth - profile->nodes[at].depth;
}

/* ---- words ---- */

static enum sbx_span_state state_of(const struct sbx_merged_node *node)
{
    int most = SBX_SPAN_UNKNOWN;
    for (int state = 0; state < SBX_STALL_PROFILE_STATES; state++) {
        most = node->by_state_us[state] > node->by_state_us[most] ? state : most;
    }
    return (enum sbx_span_state)most;
}

static void add_text(char *text, size_t *used, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add_text(char *text, size_t *used, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + *used, TITLE_BYTES - *used, format, arguments);
    va_end(arguments);
    *used += length < 0 ? 0 : (size_t)length < TITLE_BYTES - *used ? (size_t)length : TITLE_BYTES - *used - 1;
}

static void print_time(double us, char out[32])
{
    sbx_svg_ms(out, 32, us < 9e15 ? (int64_t)(us * 1000) : INT64_MAX);
}

/* "f: 12.3 s, 34 % of the time, was 12 %; itself 1.2 s; in 37 of 200 stalls; lock 10 s" */
static void title_of(const struct picture *picture, uint32_t node, const char *label, char title[TITLE_BYTES])
{
    const struct sbx_merged_profile *profile = picture->profile;
    const struct sbx_merged_node *self = &profile->nodes[node];
    enum sbx_merged_side side = picture->view->side;
    char total[32], own[32];
    size_t used = 0;
    print_time(self->total_us[side], total);
    print_time(self->self_us[side], own);
    add_text(title, &used, "%.300s: %s, %.1f %% of the time", label, total,
             100 * sbx_merged_share(profile, node, side));
    if (picture->view->compares) {
        enum sbx_merged_side other = side == SBX_MERGED_HERE ? SBX_MERGED_BASE : SBX_MERGED_HERE;
        add_text(title, &used, ", %.1f %% on the other side", 100 * sbx_merged_share(profile, node, other));
    }
    if (!picture->view->is_of_callers) {
        add_text(title, &used, "; itself %s; in %u of %u stalls", own, self->stalls[side], profile->stalls[side]);
    }
    for (int state = 0; state < SBX_STALL_PROFILE_STATES && side == SBX_MERGED_HERE; state++) {
        if (self->by_state_us[state] >= 1 && self->by_state_us[state] < ALL_OF_IT * self->total_us[side]) {
            print_time(self->by_state_us[state], total);
            add_text(title, &used, "; %s %s", sbx_span_state_name((enum sbx_span_state)state), total);
        }
    }
}

/* ---- one box ---- */

static const char *colour_of_change(double change)
{
    size_t step = 0;
    double size = change < 0 ? -change : change;
    while (step < sizeof STEPS / sizeof STEPS[0] && size >= STEPS[step]) {
        step++;
    }
    return change < 0 ? LESS[step] : MORE[step];
}

static void draw_box(struct picture *picture, uint32_t node, double x, double y, double width, const char *label)
{
    const struct sbx_merged_view *view = picture->view;
    const struct sbx_merged_node *self = &picture->profile->nodes[node];
    enum sbx_span_state state = state_of(self);
    char title[TITLE_BYTES], fill[8];
    const char *ink = SBX_SVG_INK;
    title_of(picture, node, label, title);
    if (sbx_merged_name_has(self->name, view->find)) {
        snprintf(fill, sizeof fill, "%s", MARKED);
    } else if (view->compares) {
        double change = sbx_merged_share(picture->profile, node, SBX_MERGED_HERE) -
                        sbx_merged_share(picture->profile, node, SBX_MERGED_BASE);
        snprintf(fill, sizeof fill, "%s", colour_of_change(change));
    } else {
        sbx_svg_state_shade(state, label, fill);
        ink = sbx_svg_state_ink(state);
        picture->states |= 1u << state;
    }
    if (*view->link != '\0') {
        fputs("<a href=\"", picture->out);
        sbx_svg_put_escaped(picture->out, view->link);
        fprintf(picture->out, "%016" PRIx64 "\">", self->path);
    }
    sbx_svg_box_begin(picture->out, title, label, self->total_us[view->side]);
    sbx_svg_rect(picture->out, x, y, width > 2 ? width - 0.75 : width, ROW_HEIGHT - 1, fill);
    const struct sbx_svg_text_look look = {.size = 11.5, .fill = ink};
    sbx_svg_text_within(picture->out, x + 4, y + 14, width - 8, &look, label);
    sbx_svg_group_end(picture->out);
    fputs(*view->link != '\0' ? "</a>\n" : "", picture->out);
}

/* ---- all of them ---- */

/* The row of the functions that all stalls share: the innermost one, and how many are joined. */
static void draw_shared(struct picture *picture, double y)
{
    const struct sbx_merged_node *nodes = picture->profile->nodes;
    uint32_t joined = nodes[picture->shared].depth;
    char label[SBX_CLEAN_TEXT_BYTES];
    if (picture->shared == 0) {
        snprintf(label, sizeof label, "all");
    } else if (joined > 1 && !picture->view->keeps_shared_rows) {
        snprintf(label, sizeof label, "%.800s (%s %u more)", nodes[picture->shared].name,
                 picture->view->is_of_callers ? "below it" : "called by", joined - 1);
    } else {
        snprintf(label, sizeof label, "%.1000s", nodes[picture->shared].name);
    }
    draw_box(picture, picture->shared, LEFT, y, PLOT_WIDTH, label);
}

/* Not recursive: a tree may be hundreds of levels deep. With `draws` false only the rows are counted. */
static void visit_nodes(struct picture *picture, bool draws)
{
    const struct sbx_merged_node *nodes = picture->profile->nodes;
    const uint32_t from = picture->shared, base = nodes[from].depth;
    double lefts[SBX_MERGED_DEPTH_MAX + 1]; /* by depth: where the next node of this depth begins */
    lefts[1] = LEFT;
    for (uint32_t at = nodes[from].first_child; at != 0;) {
        uint32_t row = nodes[at].depth - base;
        double width = nodes[at].total_us[picture->view->side] / picture->whole_us * PLOT_WIDTH, x = lefts[row];
        bool is_visible = width >= NARROWEST;
        lefts[row] += width;
        if (is_visible && row > picture->rows) {
            picture->rows = row < ROWS_MAX ? row : ROWS_MAX;
            picture->is_too_deep |= row > ROWS_MAX;
        }
        if (is_visible && draws && row <= ROWS_MAX) {
            draw_box(picture, at, x, TOP + (double)row * ROW_HEIGHT, width, nodes[at].name);
        }
        lefts[row + 1] = x;
        at = sbx_merged_profile_next(picture->profile, from, at, is_visible);
    }
}

static double draw_scale(struct picture *picture, double x, double y)
{
    static const char *const colours[] = {"#5d9bce", "#b5d2ec", "#e9ecf0", "#f6bfb0", "#e36f57"};
    const struct sbx_svg_text_look look = {.size = 11, .fill = SBX_SVG_FAINT};
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++, x += 16) {
        sbx_svg_rect(picture->out, x, y - 10, 15, 12, colours[i]);
    }
    const char *words = "less (blue) to more (red) of the time than before";
    sbx_svg_text(picture->out, x + 6, y, &look, words);
    return x + 30 + sbx_svg_text_width(look.size, words);
}

int sbx_print_merged_svg(const struct sbx_merged_profile *profile, const struct sbx_merged_view *view, FILE *out)
{
    struct picture picture = {.profile = profile, .view = view, .out = out};
    uint32_t at = view->at < profile->count ? view->at : 0;
    picture.shared = view->keeps_shared_rows ? at : shared_to(profile, at, view->side);
    picture.whole_us = profile->nodes[picture.shared].total_us[view->side];
    if (picture.whole_us > 0) {
        visit_nodes(&picture, false);
    }
    double bottom = TOP + (double)(picture.rows + 1) * ROW_HEIGHT;
    sbx_svg_begin_linked(out, WIDTH, bottom + LEGEND_HEIGHT, view->title);
    draw_shared(&picture, TOP);
    if (picture.whole_us > 0) {
        visit_nodes(&picture, true);
    }
    double x = view->compares ? draw_scale(&picture, LEFT, bottom + 20)
                              : sbx_svg_legend(out, LEFT, bottom + 20, picture.states);
    const struct sbx_svg_text_look note = {.size = 11, .fill = SBX_SVG_FAINT};
    if (picture.is_too_deep || profile->is_cut) {
        sbx_svg_text(out, x, bottom + 20, &note, "what is deeper is left out");
    }
    sbx_svg_end(out);
    return fflush(out) != 0 ? -errno : ferror(out) ? -EIO : 0;
}
