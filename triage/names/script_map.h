/* SPDX-License-Identifier: Apache-2.0 */
/* script_map.h - a source map (version 3): where what stands in a script that a program made was written.
 *
 * Lines and columns of the made script from 0, columns in units of UTF-16. Maps are untrusted: numbers are checked, and unknown parts are
 * skipped. Maps of sections are not read. */
#ifndef SBX_SCRIPT_MAP_H
#define SBX_SCRIPT_MAP_H

#include <stdbool.h>

#include "name_list.h"

struct sbx_script_segment {
    uint32_t line, column; /* in the made script */
    uint32_t source;       /* index of the file it was written in */
    uint32_t source_line;  /* from 0 */
    uint32_t name;         /* index; UINT32_MAX: it bears none */
};

struct sbx_script_map {
    struct sbx_script_segment *segments; /* owned, by line and column */
    uint32_t segment_count, segment_room;
    struct sbx_name_text *sources, *names; /* owned; the texts lie in `texts` */
    uint32_t source_count, name_count;
    char *texts; /* owned */
};

/* Read the JSON of a map of 256 MiB at most. Returns 0; -EBADMSG when it is no such map; -E2BIG, -ENOMEM. */
int sbx_script_map_read(struct sbx_script_map *map_out, struct sbx_name_text json);
void sbx_script_map_finish(struct sbx_script_map *map);

/* The segment that a place belongs to: the last of its line at or before it. NULL: none. */
const struct sbx_script_segment *sbx_script_map_find(const struct sbx_script_map *map, uint32_t line, uint32_t column);

/* The first segment of a line; NULL: none. */
const struct sbx_script_segment *sbx_script_map_line(const struct sbx_script_map *map, uint32_t line);

/* What a character of base 64 (RFC 4648, as mappings and inline maps are written) stands for; -1: it is none. */
int sbx_base64_digit(char c);

#endif
