/* SPDX-License-Identifier: Apache-2.0 */
/* dict_read.h - the entries of a dict, in the order of its table, without a look-up.
 *
 * Read in hooks and handlers, while another thread may change the dict: each entry is asked about, and what comes of it is to be
 * judged by its type. A table that an instance shares with others of its class is not read. */
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

/* Begin at the first entry of the dict, of which at most `most` are read. false: it is no dict, or cannot be read. */
bool dict_read_begin(struct dict_reader *reader, const struct cpython_layout *layout, uint64_t dict_type, uint64_t dict,
                     uint32_t most);

/* The next that is in use; false: there are no more. */
bool dict_read_next(struct dict_reader *reader, uint64_t *key_out, uint64_t *value_out);

/* The same of a class's table of names, which has no values: names alone are told, also of those that no object has. */
bool dict_read_begin_names(struct dict_reader *reader, const struct cpython_layout *layout, uint64_t keys,
                           uint32_t most);
bool dict_read_name(struct dict_reader *reader, uint64_t *key_out);

/* Is the key this string? Of ASCII, and short. */
bool dict_key_is(const struct cpython_layout *layout, uint64_t string_type, uint64_t key, const char *text);

/* How many entries it says it has; 0: it cannot be read. */
uint64_t dict_read_count(uint64_t dict_type, uint64_t dict);

#endif
