/* SPDX-License-Identifier: Apache-2.0 */
/* name_list.h - what reading sources comes to: ids of functions with what they are called, as the lines of a map of names.
 *
 * An id is what the runtime's provider makes of the same function while it runs (docs/PROVIDERS.md): FNV-1a of "FILE:NUMBER:TEXT".
 * So a release can be named without having run. */
#ifndef SBX_NAME_LIST_H
#define SBX_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that lies somewhere, not ended by a zero. */
struct sbx_name_text {
    const char *at;
    size_t bytes;
};

enum {
    SBX_NAME_LIST_LINES_MAX = 1 << 20,  /* as many as a reader of maps takes */
    SBX_NAME_LIST_BYTES_MAX = 64 << 20, /* and as large a file */
    SBX_NAME_FILE_BYTES = 512,          /* what is kept of a file's name, and of a function's */
    SBX_NAME_FUNCTION_BYTES = 512,
};

/* Lines of a map, one behind the other. Begins as zeros. One thread. */
struct sbx_name_list {
    char *text; /* owned */
    size_t bytes, room;
    uint32_t lines;
    bool is_full; /* some were left out: too many, or no memory */
};

void sbx_name_list_finish(struct sbx_name_list *list);

/* Add a function. Control characters become '?', what is longer is cut between two characters. `lines` (may be empty): the last column, see
 * docs/PROVIDERS.md. */
void sbx_name_list_add(struct sbx_name_list *list, uint64_t id, uint32_t line, struct sbx_name_text file,
                       struct sbx_name_text function, struct sbx_name_text lines);

/* stallbox_function_id() of the agent, which shares no code with us. */
uint64_t sbx_name_id(struct sbx_name_text file, uint32_t number, struct sbx_name_text text);

/* FNV-1a, begun and gone on with. */
uint64_t sbx_name_hash(uint64_t hash, const void *bytes, size_t count);
#define SBX_NAME_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* How many bytes of UTF-8 are whole characters and no more than `max`. */
size_t sbx_name_cut(struct sbx_name_text text, size_t max);

#endif
