/* SPDX-License-Identifier: Apache-2.0 */
/* code_table.h - ids and lines that were found before, shared by all threads and signal handlers without a lock.
 *
 * An entry contains a hash of the code object's address and of fields that differ when another object is allocated at
 * that address. The words of an entry check each other. So an entry that another thread is writing does not match, and
 * counts as an entry of another code object. */
#ifndef CODE_TABLE_H
#define CODE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a hash of `value` and of the hash before. */
static inline uint64_t code_table_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

enum {
    CODE_PLACES = 1 << 15, /* 512 KiB, touched only as they are used */
    CODE_LINE_BITS = 20
};

/* One instruction of one code object, in two words: the id; and the key's upper bits with the line, combined with the
 * id by exclusive or. */
struct code_place {
    uint64_t id, key_and_line;
};
extern struct code_place code_places[CODE_PLACES];

/* Returns the id stored for the code object `key`; 0: none. Signal safe, like all functions here. */
uint64_t code_table_id(uint64_t key);
void code_table_keep_id(uint64_t key, uint64_t id);

/* Gets the id and the line stored for the instruction `key`. Returns false if there are none. */
static inline bool code_table_place(uint64_t key, uint64_t *id_out, uint32_t *line_out)
{
    const struct code_place *place = &code_places[key % CODE_PLACES];
    /* relaxed: if the two words do not belong together, they do not match */
    uint64_t id = __atomic_load_n(&place->id, __ATOMIC_RELAXED);
    uint64_t word = __atomic_load_n(&place->key_and_line, __ATOMIC_RELAXED) ^ id;
    *id_out = id;
    *line_out = (uint32_t)(word & ((1 << CODE_LINE_BITS) - 1));
    return word >> CODE_LINE_BITS == key >> CODE_LINE_BITS && id != 0;
}

/* Does not store a line that needs more than CODE_LINE_BITS, nor an id of 0. */
void code_table_keep_place(uint64_t key, uint64_t id, uint32_t line);

#endif
