/* SPDX-License-Identifier: Apache-2.0 */
/* stall_profile.h - where one stall's time went, small enough to be stored with its row and to be added up with others.
 *
 * The judged thread in the judged interval, as print_flame_svg.c draws it, with names that are the same in all builds
 * (stable_name.h). Functions with a very small share of the time are added to their caller, and recursive functions are
 * one step. So a stall has a few dozen lines, whatever its stacks were. No time is lost: the times add up to those of
 * the picture.
 *
 * As text, one step per line, callers before callees:
 *
 *    DEPTH STATE:US[,STATE:US...] NAME        time in the step itself, "-" for none; STATE is enum sbx_span_state
 *
 * DEPTH of the first line is 0, and that of each other line is at most one more than that of the line before.
 * merged_profile.h reads it. */
#ifndef SBX_STALL_PROFILE_H
#define SBX_STALL_PROFILE_H

#include <stdio.h>

#include "report.h"

enum {
    SBX_STALL_PROFILE_BYTES = 64 << 10, /* the text is never larger */
    SBX_STALL_PROFILE_STEPS = 96,       /* there are seldom more: only if a stack is deeper */
    SBX_STALL_PROFILE_STATES = 10,      /* SBX_SPAN_STATES */
};

/* Write the profile of a report that sbx_attribute() has judged. Writes nothing if no time is known. Returns 0,
 * -ENOMEM, or -errno of the stream. */
int sbx_print_stall_profile(const struct sbx_report *report, FILE *out);

#endif
