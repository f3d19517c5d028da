/* SPDX-License-Identifier: Apache-2.0 */
/* dict_read.h - reads the entries of a dict in the order of its table, without a lookup.
 *
 * Hooks and signal handlers use this while another thread may change the dict. Each entry is tested for readable
 * memory, and the caller must check the type of what it gets. A table that an object shares with other objects of its
 * class is not read. */
#ifndef DICT_READ_H
#define DICT_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "cpython_layout.h"
#include "object_read.h"

struct dict_reader {
    uint64_t at, end;
    struct object_page page;
    uint32_t entry_bytes, key_at;
};

/* Begin at the first entry of the dict. At most `most` entries are read. Returns false if it is no dict, or cannot be
 * read. */
bool dict_read_begin(struct dict_reader *reader, const struct cpython_layout *layout, uint64_t dict_type, uint64_t dict,
                     uint32_t most);

/* Gets the next entry in use. Returns false if there are no more. */
bool dict_read_next(struct dict_reader *reader, uint64_t *key_out, uint64_t *value_out);

/* The same for a class's table of attribute names, which has no values. It may contain names that no object has. */
bool dict_read_begin_names(struct dict_reader *reader, const struct cpython_layout *layout, uint64_t keys,
                           uint32_t most);
bool dict_read_name(struct dict_reader *reader, uint64_t *key_out);

/* Is the key this string? For short ASCII strings. */
bool dict_key_is(const struct cpython_layout *layout, uint64_t string_type, uint64_t key, const char *text);

/* Returns the number of entries, as the dict gives it; 0: it cannot be read. */
uint64_t dict_read_count(uint64_t dict_type, uint64_t dict);

#endif
