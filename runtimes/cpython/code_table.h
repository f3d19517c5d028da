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

enum {
    CODE_PLACES = 1 << 15, /* 512 KiB, touched as they are used */
    CODE_LINE_BITS = 20
};

/* One instruction of one code object. Two words: the id, and the upper bits of the key and the line, covered by the id. */
struct code_place {
    uint64_t id, key_and_line;
};
extern struct code_place code_places[CODE_PLACES];

/* The id kept for the code object `key`; 0: none. Signal safe, as all here. */
uint64_t code_table_id(uint64_t key);
void code_table_keep_id(uint64_t key, uint64_t id);

/* Id and line kept for the instruction `key`; false: none. */
static inline bool code_table_place(uint64_t key, uint64_t *id_out, uint32_t *line_out)
{
    const struct code_place *place = &code_places[key % CODE_PLACES];
    /* relaxed: what does not fit together is another's */
    uint64_t id = __atomic_load_n(&place->id, __ATOMIC_RELAXED);
    uint64_t word = __atomic_load_n(&place->key_and_line, __ATOMIC_RELAXED) ^ id;
    *id_out = id;
    *line_out = (uint32_t)(word & ((1 << CODE_LINE_BITS) - 1));
    return word >> CODE_LINE_BITS == key >> CODE_LINE_BITS && id != 0;
}

/* Not kept: a line beyond what there are bits for, and an id of 0. */
void code_table_keep_place(uint64_t key, uint64_t id, uint32_t line);

#endif
