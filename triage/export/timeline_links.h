/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_links.h - the arrows of the timeline between a waiter and the thread that woke it, or that holds what it
 * waits for. Pure. */
#ifndef SBX_TIMELINE_LINKS_H
#define SBX_TIMELINE_LINKS_H

#include <stdio.h>

#include "report.h"
#include "wait_links.h"

enum {
    SBX_WAIT_ARROWS_MAX = 24 /* the longest waits; more lines could not be told apart */
};

/* Choose the links of the judged thread, of the threads it waited for, and so on, in the judged interval. If a wait's
 * waker is known, only the link to the waker is chosen. The chosen links are moved to the front. Returns their
 * number. */
size_t sbx_wait_arrows_choose(const struct sbx_report *report, struct sbx_wait_link *links, size_t count);

/* "redis let main go after 12 ms" */
enum {
    SBX_WAIT_ARROW_TEXT_BYTES = 352
};
void sbx_wait_arrow_text(const struct sbx_report *report, const struct sbx_wait_link *link,
                         char out[SBX_WAIT_ARROW_TEXT_BYTES]);

/* The place of an arrow: between the bars of two lanes. */
struct sbx_wait_arrow_place {
    double x;
    double waiter_top, waiter_bottom, other_top, other_bottom;
};

enum {
    SBX_WAIT_ARROW_HEAD = 5 /* px: half the width of its head */
};

/* From where `other` woke the waiter to the end of its wait. For a lock that is still held: from the waiter to the
 * holder, dashed. */
void sbx_wait_arrow_draw(FILE *out, const struct sbx_report *report, const struct sbx_wait_link *link,
                         const struct sbx_wait_arrow_place *place);

#endif
