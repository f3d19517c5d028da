/* SPDX-License-Identifier: Apache-2.0 */
/* store_rules.c - rules of every store. */
#include "store_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sbx_store_is_tenant(const char *text)
{
    size_t bytes = strlen(text);
    return bytes > 0 && bytes <= SBX_STORE_TENANT_BYTES_MAX && text[0] != '.' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == bytes;
}

bool sbx_store_hex(const uint8_t *build_id, size_t bytes, char hex_out[SBX_STORE_HEX_BYTES])
{
    if (bytes == 0 || bytes > SBX_IMAGE_BUILD_ID_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        snprintf(hex_out + 2 * i, 3, "%02x", build_id[i]);
    }
    return true;
}

bool sbx_store_is_hex(const char *text, size_t bytes)
{
    size_t digits = 0;
    while (digits < bytes && text[digits] != '\0' && strchr("0123456789abcdef", text[digits]) != NULL) {
        digits++;
    }
    return digits == bytes && bytes > 0 && bytes % 2 == 0 && bytes <= 2 * SBX_IMAGE_BUILD_ID_BYTES_MAX;
}

bool sbx_store_is_of(const struct sbx_symbol_image *image, const uint8_t *build_id, size_t bytes)
{
    const struct sbx_image_facts *facts = sbx_symbol_image_facts(image);
    return facts->build_id_bytes == bytes && memcmp(facts->build_id, build_id, bytes) == 0;
}

enum sbx_store_outcome sbx_store_compare(const struct sbx_image_facts *there, const struct sbx_image_facts *draft)
{
    /* A smaller source number is better: dwarf is 1. The exception is none, which is 0 and the worst. */
    unsigned old_rank = there->best == SBX_SYMBOLS_NONE ? SBX_SYMBOLS_SOURCES : (unsigned)there->best;
    unsigned new_rank = draft->best == SBX_SYMBOLS_NONE ? SBX_SYMBOLS_SOURCES : (unsigned)draft->best;
    bool is_same = memcmp(there->digest, draft->digest, sizeof there->digest) == 0;
    return is_same               ? SBX_STORE_SAME
           : new_rank < old_rank ? SBX_STORE_REPLACED
           : new_rank > old_rank ? SBX_STORE_KEPT
                                 : SBX_STORE_DIFFERENT;
}

struct sbx_store_entry *sbx_store_entries_add(struct sbx_store_entries *list)
{
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 64 : list->room * 2;
        struct sbx_store_entry *grown = realloc(list->entries, room * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        list->entries = grown;
        list->room = room;
    }
    struct sbx_store_entry *entry = &list->entries[list->count++];
    memset(entry, 0, sizeof *entry);
    return entry;
}

static int by_build_id(const void *a, const void *b)
{
    const struct sbx_store_entry *x = a, *y = b;
    return strcmp(x->build_id, y->build_id);
}

void sbx_store_entries_sort(struct sbx_store_entries *list)
{
    if (list->count > 1) {
        qsort(list->entries, list->count, sizeof *list->entries, by_build_id);
    }
}
