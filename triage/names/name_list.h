/* SPDX-License-Identifier: Apache-2.0 */
/* name_list.h - the result of reading sources: ids of functions with their names, as the lines of a map of names.
 *
 * The id is the one that the runtime's provider computes for the same function while the program runs
 * (docs/PROVIDERS.md): FNV-1a of "FILE:NUMBER:TEXT". So a release can get names without having run. */
#ifndef SBX_NAME_LIST_H
#define SBX_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A borrowed text without a NUL at its end. */
struct sbx_name_text {
    const char *at;
    size_t bytes;
};

enum {
    SBX_NAME_LIST_LINES_MAX = 1 << 20,  /* limit of the readers of maps */
    SBX_NAME_LIST_BYTES_MAX = 64 << 20, /* limit of the readers for the size of a map */
    SBX_NAME_FILE_BYTES = 512,          /* names of files and functions are cut to this size */
    SBX_NAME_FUNCTION_BYTES = 512,
};

/* The lines of a map, one after the other. All zero: an empty list. For one thread. */
struct sbx_name_list {
    char *text; /* owned */
    size_t bytes, room;
    uint32_t lines;
    bool is_full; /* some lines were left out: there were too many, or memory ran out */
};

void sbx_name_list_finish(struct sbx_name_list *list);

/* Add a function. Control characters become '?'. Longer names are cut between two characters. `lines` (may be empty) is
 * the last column, see docs/PROVIDERS.md; it is left out if it is too long. */
void sbx_name_list_add(struct sbx_name_list *list, uint64_t id, uint32_t line, struct sbx_name_text file,
                       struct sbx_name_text function, struct sbx_name_text lines);

/* The same as stallbox_function_id() of the agent, which shares no code with triage. */
uint64_t sbx_name_id(struct sbx_name_text file, uint32_t number, struct sbx_name_text text);

/* FNV-1a: the hash of more bytes, from the hash of the bytes before them. The first call gets SBX_NAME_HASH_BEGIN. */
uint64_t sbx_name_hash(uint64_t hash, const void *bytes, size_t count);
#define SBX_NAME_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* The number of bytes, at most `max`, that end at the end of a UTF-8 character. */
size_t sbx_name_cut(struct sbx_name_text text, size_t max);

#endif
