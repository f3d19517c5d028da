/* SPDX-License-Identifier: Apache-2.0 */
/* provider_map.h - names of the functions of embedded runtimes, from files "provider-NAME.map" next to the symbols.
 *
 * A payload has a number for each runtime and one for each of its functions (docs/PROVIDERS.md). These files give their
 * names. They are text; the columns of a line are separated by one tab:
 *
 *    stallbox-provider-map 1 <tab> NAME
 *    ID <tab> LINE <tab> FILE <tab> FUNCTION [<tab> LINES]
 *
 * LINES is there if the executed code was generated from source code. It maps lines of the code to lines of the source,
 * as "FROM-TO:SOURCE" or "FROM-TO:SOURCE-SOURCE", separated by commas. A line in none of these ranges stands for the
 * line of the definition.
 *
 * ID has 16 hex digits, LINE (of the definition) is decimal, FILE and FUNCTION may be anything but tab and newline.
 * Other lines are skipped: a runtime may have died while it wrote one. Of lines with one id, the one with the smallest
 * LINE counts. The files come from strangers: every size is bounded, and control characters become '?'. */
#ifndef SBX_PROVIDER_MAP_H
#define SBX_PROVIDER_MAP_H

#include <stddef.h>
#include <stdint.h>

enum {
    SBX_PROVIDER_FILE_BYTES_MAX = 64 << 20,
    SBX_PROVIDER_LINE_BYTES_MAX = 4096,   /* longer lines are skipped */
    SBX_PROVIDER_FUNCTIONS_MAX = 1 << 20, /* limit for all files together */
    SBX_PROVIDER_NAMES_MAX = 64,
};

struct sbx_provider_function {
    uint64_t provider; /* number of the runtime: sbx_provider_number() */
    uint64_t id;
    uint32_t line;    /* of its definition; 0 unknown */
    const char *file; /* "" unknown */
    const char *function;
    const char *lines; /* "": lines need no mapping */
};

struct sbx_provider_map;

/* FNV-1a, 64 bits, of a provider's name: its number in payloads. */
uint64_t sbx_provider_number(const char *name);

/* An empty map; NULL if memory runs out. */
struct sbx_provider_map *sbx_provider_map_create(void);
void sbx_provider_map_destroy(struct sbx_provider_map *map);

/* Read the text of one file. Returns how many functions were new, or -EPROTO if the first line is not the header of
 * such a file, -E2BIG, -ENOMEM. */
int sbx_provider_map_add(struct sbx_provider_map *map, const char *text, size_t bytes);

/* Read the files "provider-*.map" of a folder, sorted by name. Files that cannot be read are skipped. Returns 0 or
 * -ENOMEM. */
int sbx_provider_map_add_folder(struct sbx_provider_map *map, const char *folder);

/* The entry of a function, or NULL. Valid until something is added. */
const struct sbx_provider_function *sbx_provider_map_find(struct sbx_provider_map *map, uint64_t provider, uint64_t id);

/* The source line for a line in a frame of the function. 0 (not known) gives the line of the definition. */
uint32_t sbx_provider_line(const struct sbx_provider_function *function, uint32_t line);

/* The number of functions, and all of them sorted by runtime and id; of one id, only the one that counts. `each` is
 * borrowed. */
size_t sbx_provider_map_count(const struct sbx_provider_map *map);
void sbx_provider_map_each(struct sbx_provider_map *map,
                           void (*each)(void *context, const struct sbx_provider_function *function), void *context);

/* The number of runtimes that have names. */
size_t sbx_provider_map_names(const struct sbx_provider_map *map);
/* The name of a runtime; NULL if no file has it. */
const char *sbx_provider_map_name(const struct sbx_provider_map *map, uint64_t provider);

#endif
