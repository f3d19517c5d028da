/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.h - which stalls are one issue: the path of the application's functions that leads to the function to blame.
 * Pure.
 *
 * docs/GROUPING.md has the rules and their reasons. The cause is not part of the key: the same code is `cpu` on a quiet
 * machine and `cpu_contention` on a busy one. Builds, lines, addresses and modules are not part of it either, if a
 * function has a name. */
#ifndef SBX_GROUPING_H
#define SBX_GROUPING_H

#include "report.h"
#include "stable_name.h"

enum {
    SBX_GROUPING_RULES = 2, /* increased with every change of the rules */
    SBX_GROUPING_STEPS = 5, /* a longer path keeps its first step and its last ones */
    SBX_GROUPING_KEY_BYTES = 16,
    SBX_GROUPING_TEXT_BYTES = 1200,
};

struct sbx_grouping {
    uint8_t key[SBX_GROUPING_KEY_BYTES];
    uint32_t step_count;
    char steps[SBX_GROUPING_STEPS][SBX_STABLE_NAME_BYTES]; /* from the loop inwards */
    char holder[SBX_STABLE_NAME_BYTES]; /* the awaited thread's function; "": not known, or no such thread */
    bool is_crash, is_named;            /* is_named: every step has a name */
    char text[SBX_GROUPING_TEXT_BYTES]; /* "open_inbox > db_query, held by flush_log" */
};

/* Make the grouping of a report that sbx_attribute() has judged. */
void sbx_grouping_make(const struct sbx_report *report, struct sbx_grouping *grouping_out);

#endif
