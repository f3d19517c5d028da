/* SPDX-License-Identifier: Apache-2.0 */
/* text_table.c - texts and pairs of numbers, each numbered once, in order of appearance. */
#include "text_table.h"

#include <stdlib.h>
#include <string.h>

void sbx_text_table_init(struct sbx_text_table *table)
{
    *table = (struct sbx_text_table){0};
}

void sbx_text_table_finish(struct sbx_text_table *table)
{
    free(table->entries);
    free(table->slots);
    *table = (struct sbx_text_table){0};
}

/* FNV-1a over the text. Then the numbers are mixed in by multiplication, because they are small and dense. */
static uint32_t hash_key(const char *text, uint64_t a, uint64_t b)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; text != NULL && *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
    }
    hash = (hash ^ a) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32);
}

static bool is_equal(const struct sbx_text_entry *entry, const char *text, uint64_t a, uint64_t b)
{
    if (entry->a != a || entry->b != b || (entry->text == NULL) != (text == NULL)) {
        return false;
    }
    return text == NULL || entry->text == text || strcmp(entry->text, text) == 0;
}

/* The slot of the key, or the empty slot where it belongs. At most half of the slots are in use. */
static uint32_t *find_slot(const struct sbx_text_table *table, const char *text, uint64_t a, uint64_t b)
{
    uint32_t at = hash_key(text, a, b) & (table->slot_count - 1);
    while (table->slots[at] != 0 && !is_equal(&table->entries[table->slots[at] - 1], text, a, b)) {
        at = (at + 1) & (table->slot_count - 1);
    }
    return &table->slots[at];
}

static bool grow(struct sbx_text_table *table)
{
    uint32_t capacity = table->capacity == 0 ? 64 : table->capacity * 2, slot_count = 2 * capacity;
    if (capacity < table->capacity || slot_count < capacity) {
        return false;
    }
    struct sbx_text_entry *entries = realloc(table->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    table->entries = entries;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
    table->capacity = capacity;
    for (uint32_t i = 0; i < table->count; i++) {
        *find_slot(table, entries[i].text, entries[i].a, entries[i].b) = i + 1;
    }
    return true;
}

uint32_t sbx_text_table_number(struct sbx_text_table *table, const char *text, uint64_t a, uint64_t b, bool *is_new)
{
    *is_new = false;
    if (table->count == table->capacity && !grow(table)) {
        return 0;
    }
    uint32_t *slot = find_slot(table, text, a, b);
    if (*slot == 0) {
        table->entries[table->count] = (struct sbx_text_entry){.text = text, .a = a, .b = b};
        *slot = ++table->count;
        *is_new = true;
    }
    return *slot;
}
