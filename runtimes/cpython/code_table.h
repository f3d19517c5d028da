/* SPDX-License-Identifier: Apache-2.0 */
/* code_table.h - ids and lines that were found already, for all threads and handlers, without a lock.
 *
 * An entry tells whose it is by a hash of the code object's address and of what changes when another object comes to lie
 * there. Words that belong together check each other, so that one which is written meanwhile is taken for another's. */
#ifndef CODE_TABLE_H
#define CODE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* A hash of `value` and what was hashed before. */
static inline uint64_t code_table_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* The id kept for `key`; 0: none. Signal safe, as all here. */
uint64_t code_table_id(uint64_t key);
void code_table_keep_id(uint64_t key, uint64_t id);

/* The line kept for `key`; false: none. */
bool code_table_line(uint64_t key, uint32_t *line_out);
void code_table_keep_line(uint64_t key, uint32_t line);

#endif
