/* SPDX-License-Identifier: Apache-2.0 */
/* provider_map.h - names of the functions of embedded runtimes, from files "provider-NAME.map" beside the symbols.
 *
 * A payload has a number for each runtime and one for each of its functions (docs/PROVIDERS.md); these files say what they
 * are called. Lines of text, columns parted by one tab:
 *
 *     stallbox-provider-map 1 <tab> NAME
 *     ID <tab> LINE <tab> FILE <tab> FUNCTION [<tab> LINES]
 *
 * LINES, where what runs was made of what people wrote: which line a line of it was, as "FROM-TO:WRITTEN" or "FROM-TO:WRITTEN-WRITTEN", parted by
 * commas. A line that is in none of them was that of the definition.
 *
 * ID in 16 hex digits, LINE (of the definition) in decimal, FILE and FUNCTION anything but tab and newline. A line that is
 * none of these is skipped: a runtime may have died in the middle of writing it. Of lines with one id that with the
 * smallest LINE counts. Files are other people's: every size is bounded, control characters become '?'. */
#ifndef SBX_PROVIDER_MAP_H
#define SBX_PROVIDER_MAP_H

#include <stddef.h>
#include <stdint.h>

enum {
    SBX_PROVIDER_FILE_BYTES_MAX = 64 << 20,
    SBX_PROVIDER_LINE_BYTES_MAX = 4096,   /* longer lines are skipped */
    SBX_PROVIDER_FUNCTIONS_MAX = 1 << 20, /* of all files together */
    SBX_PROVIDER_NAMES_MAX = 64,
};

struct sbx_provider_function {
    uint64_t provider; /* number of its runtime: sbx_provider_number() */
    uint64_t id;
    uint32_t line;    /* of its definition; 0 unknown */
    const char *file; /* "" unknown */
    const char *function;
    const char *lines; /* "": lines are as they are told */
};

struct sbx_provider_map;

/* FNV-1a, 64 bits, of a provider's name: what payloads call it. */
uint64_t sbx_provider_number(const char *name);

/* An empty map; NULL without memory. */
struct sbx_provider_map *sbx_provider_map_create(void);
void sbx_provider_map_destroy(struct sbx_provider_map *map);

/* Take in the text of one file. Returns how many functions were new, or -EPROTO when the first line is not that of such a
 * file, -E2BIG, -ENOMEM. */
int sbx_provider_map_add(struct sbx_provider_map *map, const char *text, size_t bytes);

/* Take in the files "provider-*.map" of a folder, in the order of their names. What cannot be read is left out. Returns 0
 * or -ENOMEM. */
int sbx_provider_map_add_folder(struct sbx_provider_map *map, const char *folder);

/* What is known of a function, or NULL. Valid until something is added. */
const struct sbx_provider_function *sbx_provider_map_find(struct sbx_provider_map *map, uint64_t provider, uint64_t id);

/* Which line people wrote, for one that a frame of the function tells; 0, that nothing told, is that of the definition. */
uint32_t sbx_provider_line(const struct sbx_provider_function *function, uint32_t line);

/* How many functions there are, and all of them by runtime and id; of one id only that which counts. `each` is borrowed. */
size_t sbx_provider_map_count(const struct sbx_provider_map *map);
void sbx_provider_map_each(struct sbx_provider_map *map,
                           void (*each)(void *context, const struct sbx_provider_function *function), void *context);

/* How many runtimes are named. */
size_t sbx_provider_map_names(const struct sbx_provider_map *map);
/* The name of a runtime, or NULL when no file told it. */
const char *sbx_provider_map_name(const struct sbx_provider_map *map, uint64_t provider);

#endif
