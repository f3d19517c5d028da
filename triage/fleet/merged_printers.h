/* SPDX-License-Identifier: Apache-2.0 */
/* merged_printers.h - a merged profile as a picture and in other tools' formats. Each function writes to `out` and
 * returns 0 or -errno of the stream. The profile must be settled. Only times of the side HERE are exported. The picture
 * shows both sides if it compares them. */
#ifndef SBX_MERGED_PRINTERS_H
#define SBX_MERGED_PRINTERS_H

#include <stdio.h>

#include "merged_profile.h"

struct sbx_merged_view { /* strings borrowed, "" none */
    const char *title;   /* text for screen readers */
    const char
        *link; /* target of the boxes' links: an address, to which a node's path is appended in hex; "": no links */
    const char *find;          /* functions whose names contain this are marked */
    uint32_t at;               /* the node that is as wide as the picture; 0: the whole tree */
    enum sbx_merged_side side; /* widths are the times of this side */
    bool compares;             /* colours tell on which side a box has the larger share; else they tell the state */
    bool keeps_shared_rows;    /* the outermost functions that have all of the time are not joined into one row */
    bool is_of_callers;        /* the tree is of callers: it grows outwards */
};

/* One <svg> element. Every function that is at least a pixel wide is drawn, except in rows that are too deep; then the
 * picture says so. */
int sbx_print_merged_svg(const struct sbx_merged_profile *profile, const struct sbx_merged_view *view, FILE *out);

/* How many rows the picture joins into one because they have all of the time; 0 or 1: no rows are joined. */
uint32_t sbx_merged_shared_rows(const struct sbx_merged_profile *profile, uint32_t at, enum sbx_merged_side side);

int sbx_print_merged_folded(const struct sbx_merged_profile *profile, FILE *out); /* "outer;...;leaf MICROSECONDS" */
/* profile.proto, gzip: stalls, time on and off the CPU in microseconds. */
int sbx_print_merged_pprof(const struct sbx_merged_profile *profile, const char *comment, FILE *out);
int sbx_print_merged_speedscope(const struct sbx_merged_profile *profile, const char *name, FILE *out);

/* A node's share of the time of one side, 0..1. */
double sbx_merged_share(const struct sbx_merged_profile *profile, uint32_t node, enum sbx_merged_side side);

#endif
