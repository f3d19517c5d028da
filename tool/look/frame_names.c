/* SPDX-License-Identifier: Apache-2.0 */
/* frame_names.c - a hash table from address to names. */
#include "frame_names.h"

#include <stdlib.h>
#include <string.h>

enum {
    INLINED_MAX = 32,
    SLOTS_FIRST = 1024
};

struct entry {
    uint64_t key;    /* address * 2 + whether it is exact; 0: empty */
    uint32_t module; /* index of the module, because an address may later belong to another module */
    size_t count;
    struct sbx_frame_name *names;
};

struct sbx_frame_names {
    struct entry *entries;
    size_t slots, used;
    struct sbx_symbol_frame scratch[INLINED_MAX];
};

struct sbx_frame_names *sbx_frame_names_create(void)
{
    struct sbx_frame_names *names = calloc(1, sizeof *names);
    if (names != NULL) {
        names->slots = SLOTS_FIRST;
        names->entries = calloc(names->slots, sizeof *names->entries);
    }
    if (names != NULL && names->entries == NULL) {
        free(names);
        names = NULL;
    }
    return names;
}

static void free_names(struct sbx_frame_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *)names[i].function);
        free((char *)names[i].file);
    }
    free(names);
}

void sbx_frame_names_destroy(struct sbx_frame_names *names)
{
    for (size_t i = 0; names != NULL && i < names->slots; i++) {
        free_names(names->entries[i].names, names->entries[i].count);
    }
    if (names != NULL) {
        free(names->entries);
    }
    free(names);
}

static struct entry *slot_of(struct entry *entries, size_t slots, uint64_t key, uint32_t module)
{
    size_t at = (size_t)(((key + module) * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (slots - 1);
    while (entries[at].key != 0 && (entries[at].key != key || entries[at].module != module)) {
        at = (at + 1) & (slots - 1);
    }
    return &entries[at];
}

static bool make_room(struct sbx_frame_names *names)
{
    if (names->used * 2 < names->slots) {
        return true;
    }
    struct entry *larger = calloc(names->slots * 2, sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    for (size_t i = 0; i < names->slots; i++) {
        if (names->entries[i].key != 0) {
            *slot_of(larger, names->slots * 2, names->entries[i].key, names->entries[i].module) = names->entries[i];
        }
    }
    free(names->entries);
    names->entries = larger;
    names->slots *= 2;
    return true;
}

/* Copy the frames in the scratch area, to keep them. Returns 0 without memory. */
static size_t keep(const struct sbx_symbol_frame *found, size_t count, struct sbx_frame_name **names_out)
{
    *names_out = calloc(count > 0 ? count : 1, sizeof **names_out);
    for (size_t i = 0; *names_out != NULL && i < count; i++) {
        struct sbx_frame_name *name = &(*names_out)[i];
        name->function = found[i].function[0] != '\0' ? strdup(found[i].function) : NULL;
        name->file = found[i].file != NULL ? strdup(found[i].file) : NULL;
        name->line = found[i].line;
        name->is_inlined = found[i].inlined;
    }
    return *names_out != NULL ? count : 0;
}

size_t sbx_frame_names_find(struct sbx_frame_names *names, struct sbx_process_modules *modules,
                            const struct sbx_stack_frame *frame, const struct sbx_frame_name **names_out)
{
    uint64_t key = frame->pc * 2 + frame->is_exact;
    *names_out = NULL;
    if (frame->module >= modules->count || key == 0 || !make_room(names)) {
        return 0;
    }
    struct entry *entry = slot_of(names->entries, names->slots, key, frame->module);
    if (entry->key == 0) {
        struct sbx_process_module *module = &modules->modules[frame->module];
        struct sbx_symbol_file *file = sbx_process_module_symbols(modules, module);
        uint64_t address = frame->pc - (frame->is_exact ? 0 : 1) - module->bias;
        enum sbx_symbol_source source;
        size_t count = file != NULL ? sbx_symbol_file_find(file, address, names->scratch, INLINED_MAX, &source) : 0;
        entry->key = key;
        entry->module = frame->module;
        entry->count = keep(names->scratch, count, &entry->names);
        names->used++;
    }
    *names_out = entry->names;
    return entry->count;
}
