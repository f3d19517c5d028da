/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.h - which stalls are one issue: the path of the application's functions that leads to what is to blame. Pure.
 *
 * docs/GROUPING.md has the rules and their reasons. The cause is no part of it: the same code is `cpu` on a quiet machine and
 * `cpu_contention` on a busy one. Nor are builds, lines, addresses and modules, where a function has a name. */
#ifndef SBX_GROUPING_H
#define SBX_GROUPING_H

#include "report.h"
#include "stable_name.h"

enum {
    SBX_GROUPING_RULES = 2, /* goes up with every change of what is one issue */
    SBX_GROUPING_STEPS = 5, /* of a longer path the first is kept, and the last ones */
    SBX_GROUPING_KEY_BYTES = 16,
    SBX_GROUPING_TEXT_BYTES = 1200,
};

struct sbx_grouping {
    uint8_t key[SBX_GROUPING_KEY_BYTES];
    uint32_t step_count;
    char steps[SBX_GROUPING_STEPS][SBX_STABLE_NAME_BYTES]; /* from the loop inwards */
    char holder[SBX_STABLE_NAME_BYTES]; /* what the thread did that was waited for; "" not known, or nobody */
    bool is_crash, is_named;            /* is_named: every step has a name */
    char text[SBX_GROUPING_TEXT_BYTES]; /* "open_inbox > db_query, held by flush_log" */
};

/* Of a report that sbx_attribute() has judged. */
void sbx_grouping_make(const struct sbx_report *report, struct sbx_grouping *grouping_out);

#endif
