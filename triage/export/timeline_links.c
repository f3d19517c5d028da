/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_links.c - which waits have an arrow, and the arrow. */
#include "timeline_links.h"

#include "clean_text.h"
#include "svg_writer.h"

enum {
    CHAIN_MAX = 8, /* maximum length of a chain of waits */
    ARROW = SBX_WAIT_ARROW_HEAD,
    LABEL_BYTES = 128,
};

static bool is_in(const uint32_t *threads, size_t count, uint32_t thread)
{
    for (size_t i = 0; i < count; i++) {
        if (threads[i] == thread) {
            return true;
        }
    }
    return false;
}

size_t sbx_wait_arrows_choose(const struct sbx_report *report, struct sbx_wait_link *links, size_t count)
{
    const struct sbx_verdict *verdict = &report->verdict;
    uint32_t chain[CHAIN_MAX + 1] = {report->stall->trigger.thread};
    size_t chain_count = 1, kept = 0, before;
    do {
        before = chain_count;
        for (size_t i = 0; i < count && chain_count <= CHAIN_MAX; i++) {
            const struct sbx_wait_link *link = &links[i];
            bool is_judged = link->end_ns > verdict->interval_begin_ns && link->begin_ns < verdict->interval_end_ns;
            bool is_long =
                (link->end_ns - link->begin_ns) * 10 >= verdict->interval_end_ns - verdict->interval_begin_ns;
            if (is_judged && is_long && is_in(chain, chain_count, link->waiter) &&
                !is_in(chain, chain_count, link->other)) {
                chain[chain_count++] = link->other;
            }
        }
    } while (chain_count != before);
    for (size_t i = 0; i < count && kept < SBX_WAIT_ARROWS_MAX; i++) {
        const struct sbx_wait_link *link = &links[i];
        bool has_waker = false;
        for (size_t k = 0; k < kept && !link->woke; k++) {
            const struct sbx_wait_link *other = &links[k];
            has_waker |= other->woke && other->waiter == link->waiter && other->begin_ns == link->begin_ns;
        }
        if (is_in(chain, chain_count, link->waiter) && is_in(chain, chain_count, link->other) && !has_waker &&
            link->end_ns > verdict->interval_begin_ns) {
            links[kept++] = *link;
        }
    }
    return kept;
}

void sbx_wait_arrow_text(const struct sbx_report *report, const struct sbx_wait_link *link,
                         char out[SBX_WAIT_ARROW_TEXT_BYTES])
{
    char waiter[LABEL_BYTES], other[LABEL_BYTES], length[32];
    sbx_thread_label(report->stall, link->waiter, waiter, sizeof waiter);
    sbx_thread_label(report->stall, link->other, other, sizeof other);
    sbx_svg_ms(length, sizeof length, link->end_ns - link->begin_ns);
    snprintf(out, SBX_WAIT_ARROW_TEXT_BYTES,
             link->woke ? "%s let %s go after %s" : "%s holds the lock that %s waits for, %s so far", other, waiter,
             length);
}

/* A line that is visible on any bar. */
static void draw_stroke(FILE *out, double x1, double y1, double x2, double y2, const char *dashes)
{
    sbx_svg_line(out, x1, y1, x2, y2, SBX_SVG_PAPER, 3.5, NULL);
    sbx_svg_line(out, x1, y1, x2, y2, SBX_SVG_INK, 1.5, dashes);
}

void sbx_wait_arrow_draw(FILE *out, const struct sbx_report *report, const struct sbx_wait_link *link,
                         const struct sbx_wait_arrow_place *place)
{
    double x = place->x;
    double from =
        link->woke ? (place->other_top + place->other_bottom) / 2 : (place->waiter_top + place->waiter_bottom) / 2;
    double to_top = link->woke ? place->waiter_top : place->other_top,
           to_bottom = link->woke ? place->waiter_bottom : place->other_bottom;
    double to = from > to_bottom ? to_bottom : to_top, back = from > to ? ARROW * 1.4 : -ARROW * 1.4;
    char title[SBX_WAIT_ARROW_TEXT_BYTES];
    sbx_wait_arrow_text(report, link, title);
    sbx_svg_group_begin(out, title);
    draw_stroke(out, x, to, x - ARROW, to + back, NULL);
    draw_stroke(out, x, to, x + ARROW, to + back, NULL);
    draw_stroke(out, x, from, x, to, link->woke ? NULL : "4 3");
    sbx_svg_rect(out, x - 3.5, from - 3.5, 7, 7, SBX_SVG_PAPER);
    sbx_svg_rect(out, x - 2.5, from - 2.5, 5, 5, SBX_SVG_INK);
    sbx_svg_group_end(out);
}
