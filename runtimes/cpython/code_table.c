/* SPDX-License-Identifier: Apache-2.0 */
/* code_table.c - two direct-mapped tables. */
#include "code_table.h"

enum {
    IDS = 1 << 13,
    LINES = 1 << 15,
    LINE_BITS = 20
};

static struct {
    uint64_t id;
    uint64_t check; /* id ^ key */
} ids[IDS];

/* The upper bits of the key, and the line. */
static uint64_t lines[LINES];

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

bool code_table_line(uint64_t key, uint32_t *line_out)
{
    uint64_t word = __atomic_load_n(&lines[key % LINES], __ATOMIC_RELAXED);
    *line_out = (uint32_t)(word & ((1 << LINE_BITS) - 1));
    return word >> LINE_BITS == key >> LINE_BITS;
}

void code_table_keep_line(uint64_t key, uint32_t line)
{
    if (line >> LINE_BITS == 0) {
        __atomic_store_n(&lines[key % LINES], key >> LINE_BITS << LINE_BITS | line, __ATOMIC_RELAXED);
    }
}
