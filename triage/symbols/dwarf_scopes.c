/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_scopes.c - in which namespaces, types and functions something was written. */
#include "dwarf_scopes.h"

#include <dwarf.h>
#include <stdint.h>
#include <stdlib.h>

#include "dwarf_entries.h"

enum {
    DEPTH_MAX = 256,
    DIES_MAX = 8 << 20
};

/* A DIE that can hold functions; a DIE is known by where its bytes are. */
struct scope {
    Dwarf_Die die;
    uint32_t parent; /* index; 0: the unit */
};

struct sbx_dwarf_scopes {
    struct scope *scopes; /* [0] is unused */
    size_t count, room;
    uint32_t *slots; /* indices by a hash of the address; 0: free */
    size_t slot_room;
    const void **units; /* walked, sorted by nothing: the last one asked for is mostly the one */
    size_t unit_count, unit_room;
    Dwarf *dwarf; /* whose sections these are; NULL: of none yet */
    struct sbx_dwarf_sections sections;
    struct sbx_dwarf_abbreviations *abbreviations;
    struct sbx_dwarf_budget *budget;
};

struct sbx_dwarf_scopes *sbx_dwarf_scopes_create(struct sbx_dwarf_budget *budget)
{
    struct sbx_dwarf_scopes *scopes = calloc(1, sizeof *scopes);
    if (scopes != NULL) {
        scopes->count = 1;
        scopes->budget = budget;
        scopes->abbreviations = sbx_dwarf_abbreviations_create(); /* without memory nothing is known */
    }
    return scopes;
}

void sbx_dwarf_scopes_destroy(struct sbx_dwarf_scopes *scopes)
{
    if (scopes != NULL) {
        free(scopes->scopes);
        free(scopes->slots);
        free(scopes->units);
        sbx_dwarf_abbreviations_destroy(scopes->abbreviations);
        free(scopes);
    }
}

bool sbx_dwarf_may_hold_functions(unsigned tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return true;
    default:
        return false;
    }
}

static size_t slot_of(const struct sbx_dwarf_scopes *scopes, const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 20) & (scopes->slot_room - 1);
}

/* The index of the scope at `address`, or of the free slot where it would be, in *slot_out. */
static uint32_t find_scope(const struct sbx_dwarf_scopes *scopes, const void *address, size_t *slot_out)
{
    if (scopes->slot_room == 0) {
        return 0;
    }
    size_t at = slot_of(scopes, address);
    while (scopes->slots[at] != 0 && scopes->scopes[scopes->slots[at]].die.addr != address) {
        at = (at + 1) & (scopes->slot_room - 1);
    }
    if (slot_out != NULL) {
        *slot_out = at;
    }
    return scopes->slots[at];
}

static bool grow(struct sbx_dwarf_scopes *scopes)
{
    if (scopes->count >= scopes->room) {
        size_t room = scopes->room == 0 ? 512 : scopes->room * 2;
        struct scope *grown = realloc(scopes->scopes, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        scopes->scopes = grown;
        scopes->room = room;
    }
    if (2 * scopes->count >= scopes->slot_room) {
        size_t room = scopes->slot_room == 0 ? 1024 : scopes->slot_room * 2;
        uint32_t *slots = calloc(room, sizeof *slots);
        if (slots == NULL) {
            return false;
        }
        free(scopes->slots);
        scopes->slots = slots;
        scopes->slot_room = room;
        for (size_t i = 1; i < scopes->count; i++) {
            size_t at;
            (void)find_scope(scopes, scopes->scopes[i].die.addr, &at);
            slots[at] = (uint32_t)i;
        }
    }
    return true;
}

/* Its index; 0 without memory, and when it is known already: damaged files lead to one DIE on two ways. */
static uint32_t add_scope(struct sbx_dwarf_scopes *scopes, const Dwarf_Die *die, uint32_t parent)
{
    size_t slot = 0;
    if (scopes->count > DIES_MAX || !grow(scopes) || find_scope(scopes, die->addr, &slot) != 0) {
        return 0;
    }
    scopes->scopes[scopes->count] = (struct scope){*die, parent};
    scopes->slots[slot] = (uint32_t)scopes->count;
    return (uint32_t)scopes->count++;
}

/* The header of the unit that `unit_die` is the first entry of. */
static bool find_header(struct sbx_dwarf_scopes *scopes, Dwarf_Die *unit_die, struct sbx_dwarf_header *header_out)
{
    Dwarf *dwarf = dwarf_cu_getdwarf(unit_die->cu);
    if (scopes->dwarf != dwarf) {
        sbx_dwarf_sections_read(dwarf, &scopes->sections);
        scopes->dwarf = dwarf;
    }
    const uint8_t *at = unit_die->addr, *info = scopes->sections.info.bytes;
    bool is_within = at >= info && at < info + scopes->sections.info.count; /* or of .debug_types */
    return scopes->abbreviations != NULL && is_within &&
           sbx_dwarf_header_read(&scopes->sections, dwarf_dieoffset(unit_die) - dwarf_cuoffset(unit_die), header_out);
}

static bool is_none(unsigned tag)
{
    (void)tag;
    return false;
}

static void walk_unit(struct sbx_dwarf_scopes *scopes, Dwarf_Die *unit_die)
{
    uint32_t parents[DEPTH_MAX] = {0}; /* by depth: the scope of its entries */
    struct sbx_dwarf_header header;
    struct sbx_dwarf_walk walk;
    struct sbx_dwarf_entry entry;
    if (!find_header(scopes, unit_die, &header) ||
        sbx_dwarf_walk_begin(&walk, &scopes->sections, &header, scopes->abbreviations, scopes->budget) != 0 ||
        sbx_dwarf_walk_next(&walk, is_none, &entry) <= 0) {
        return;
    }
    while (sbx_dwarf_walk_next(&walk, is_none, &entry) > 0) {
        uint32_t scope = 0;
        if (sbx_dwarf_may_hold_functions(entry.tag) && entry.depth + 1 < DEPTH_MAX) {
            const Dwarf_Die die = {.addr = (void *)(scopes->sections.info.bytes + entry.offset), .cu = unit_die->cu};
            scope = add_scope(scopes, &die, parents[entry.depth]);
            parents[entry.depth + 1] = scope;
        }
        if (scope == 0 && sbx_dwarf_walk_skip(&walk, &entry) != 0) {
            return;
        }
    }
}

/* Walk the unit of `die` unless that was done. */
static void know_unit(struct sbx_dwarf_scopes *scopes, Dwarf_Die *die)
{
    for (size_t i = scopes->unit_count; i > 0; i--) {
        if (scopes->units[i - 1] == die->cu) {
            const void *last = scopes->units[scopes->unit_count - 1];
            scopes->units[scopes->unit_count - 1] = die->cu; /* the next question is mostly of the same */
            scopes->units[i - 1] = last;
            return;
        }
    }
    if (scopes->unit_count == scopes->unit_room) {
        size_t room = scopes->unit_room == 0 ? 16 : scopes->unit_room * 2;
        const void **grown = realloc(scopes->units, room * sizeof *grown);
        if (grown == NULL) {
            return;
        }
        scopes->units = grown;
        scopes->unit_room = room;
    }
    scopes->units[scopes->unit_count++] = die->cu;
    Dwarf_Die unit_die;
    if (dwarf_diecu(die, &unit_die, NULL, NULL) != NULL) {
        walk_unit(scopes, &unit_die);
    }
}

bool sbx_dwarf_scopes_parent(struct sbx_dwarf_scopes *scopes, Dwarf_Die *die, Dwarf_Die *parent_out)
{
    know_unit(scopes, die);
    uint32_t found = find_scope(scopes, die->addr, NULL);
    if (found == 0 || scopes->scopes[found].parent == 0) {
        return false;
    }
    *parent_out = scopes->scopes[scopes->scopes[found].parent].die;
    return true;
}
