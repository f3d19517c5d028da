/* SPDX-License-Identifier: Apache-2.0 */
/* seat_term.c - windows of seconds, and a term of a minute. */
#include "seat_term.h"

enum {
    REST_SHARE = 100 /* a process that uses less than this part of a processor rests */
};

static void begin_window(struct sbx_seat_term *term, uint64_t now_ns, uint64_t worked_ns)
{
    term->window_ns = now_ns;
    term->window_worked_ns = worked_ns;
}

void sbx_seat_term_begin(struct sbx_seat_term *term, uint64_t now_ns, uint64_t worked_ns)
{
    term->since_ns = now_ns;
    term->worked_ns = worked_ns;
    term->rests = false;
    begin_window(term, now_ns, worked_ns);
}

uint64_t sbx_seat_term_look(struct sbx_seat_term *term, uint64_t now_ns, uint64_t worked_ns)
{
    uint64_t window_ns = now_ns - term->window_ns, in_window_ns = worked_ns - term->window_worked_ns;
    bool works = in_window_ns >= SBX_SEAT_REST_NS / REST_SHARE;
    if (works) {
        term->rests = false;
    } else if (window_ns >= SBX_SEAT_REST_NS) {
        term->rests = in_window_ns < window_ns / REST_SHARE;
    }
    if (works || window_ns >= SBX_SEAT_REST_NS) {
        begin_window(term, now_ns, worked_ns);
    }
    if (term->rests) {
        return 0;
    }
    return now_ns - term->since_ns >= SBX_SEAT_TERM_NS ? (worked_ns - term->worked_ns) / 2 : SBX_SEAT_KEPT;
}
