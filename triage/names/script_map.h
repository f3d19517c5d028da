/* SPDX-License-Identifier: Apache-2.0 */
/* script_map.h - a source map (version 3): for each place of a generated script, its place in the original sources.
 *
 * Lines and columns of the generated script begin at 0; columns are units of UTF-16. Maps are untrusted: numbers are
 * checked, and unknown parts are skipped. Maps with sections are not read. */
#ifndef SBX_SCRIPT_MAP_H
#define SBX_SCRIPT_MAP_H

#include <stdbool.h>

#include "name_list.h"

struct sbx_script_segment {
    uint32_t line, column; /* in the generated script */
    uint32_t source;       /* index of the original file */
    uint32_t source_line;  /* from 0 */
    uint32_t name;         /* index of the original name; UINT32_MAX: none */
};

struct sbx_script_map {
    struct sbx_script_segment *segments; /* owned, sorted by line and column */
    uint32_t segment_count, segment_room;
    struct sbx_name_text *sources, *names; /* owned; the texts lie in `texts` */
    uint32_t source_count, name_count;
    char *texts; /* owned */
};

/* Read the JSON of a map of 256 MiB at most. Returns 0; -EBADMSG if it is no such map; -E2BIG; -ENOMEM. */
int sbx_script_map_read(struct sbx_script_map *map_out, struct sbx_name_text json);
void sbx_script_map_finish(struct sbx_script_map *map);

/* The segment of a place: the last one of the line that begins at or before the place. NULL: none. */
const struct sbx_script_segment *sbx_script_map_find(const struct sbx_script_map *map, uint32_t line, uint32_t column);

/* The first segment of a line; NULL: none. */
const struct sbx_script_segment *sbx_script_map_line(const struct sbx_script_map *map, uint32_t line);

/* The value of a base64 digit (RFC 4648; mappings and inline maps use it); -1: it is no such digit. */
int sbx_base64_digit(char c);

#endif
