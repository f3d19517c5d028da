/* SPDX-License-Identifier: Apache-2.0 */
/* text_table.h - texts and pairs of numbers, each numbered once, in order of appearance.
 *
 * Perfetto's interned data and pprof's tables are both lists of distinct values that samples refer to by number. */
#ifndef SBX_TEXT_TABLE_H
#define SBX_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_text_table {
    struct sbx_text_entry {
        const char *text; /* borrowed from the report; NULL in an entry keyed by numbers only */
        uint64_t a, b;
    } * entries; /* entries[i] has number i + 1 */
    uint32_t count, capacity;
    uint32_t *slots; /* hash -> number; 0 empty */
    uint32_t slot_count;
};

void sbx_text_table_init(struct sbx_text_table *table);
void sbx_text_table_finish(struct sbx_text_table *table);

/* The number (from 1) of the key (text, a, b). `text` is borrowed until finish. *is_new: it was added now. Returns 0 if
 * memory runs out. */
uint32_t sbx_text_table_number(struct sbx_text_table *table, const char *text, uint64_t a, uint64_t b, bool *is_new);

#endif
