/* SPDX-License-Identifier: Apache-2.0 */
/* code_table.c - two direct-mapped tables. */
#include "code_table.h"

enum {
    IDS = 1 << 13
};

static struct {
    uint64_t id;
    uint64_t check; /* id ^ key */
} ids[IDS];

struct code_place code_places[CODE_PLACES];

uint64_t code_table_id(uint64_t key)
{
    uint64_t id = __atomic_load_n(&ids[key % IDS].id, __ATOMIC_RELAXED);
    uint64_t check = __atomic_load_n(&ids[key % IDS].check, __ATOMIC_RELAXED);
    return (id ^ check) == key ? id : 0;
}

void code_table_keep_id(uint64_t key, uint64_t id)
{
    __atomic_store_n(&ids[key % IDS].id, id, __ATOMIC_RELAXED);
    __atomic_store_n(&ids[key % IDS].check, id ^ key, __ATOMIC_RELAXED);
}

void code_table_keep_place(uint64_t key, uint64_t id, uint32_t line)
{
    if (line >> CODE_LINE_BITS == 0 && id != 0) {
        uint64_t word = (key >> CODE_LINE_BITS << CODE_LINE_BITS | line) ^ id;
        __atomic_store_n(&code_places[key % CODE_PLACES].id, id, __ATOMIC_RELAXED);
        __atomic_store_n(&code_places[key % CODE_PLACES].key_and_line, word, __ATOMIC_RELAXED);
    }
}
