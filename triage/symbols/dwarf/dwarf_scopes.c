/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_scopes.c - the namespaces, types and functions in which an entry was written. */
#include "dwarf_scopes.h"

#include <dwarf.h>
#include <stdint.h>
#include <stdlib.h>

#include "dwarf_entries.h"

enum {
    DEPTH_MAX = 256,
    DIES_MAX = 8 << 20
};

/* An entry that can contain functions. */
struct scope {
    const void *address; /* address of its bytes, which identifies an entry */
    uint32_t parent;     /* index; 0: the unit */
};

/* A unit that was walked. Its scopes are consecutive, by address. */
struct walked {
    const void *unit; /* NULL: a free slot */
    uint32_t first, count;
};

struct sbx_dwarf_scopes {
    struct scope *scopes; /* [0] is unused */
    size_t count, room;
    struct walked *units; /* hash table, by unit */
    size_t unit_count, unit_room;
    Dwarf *dwarf; /* the sections are from this one; NULL: from none yet */
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
        scopes->abbreviations = sbx_dwarf_abbreviations_create(); /* if memory runs out, no scope is known */
    }
    return scopes;
}

void sbx_dwarf_scopes_destroy(struct sbx_dwarf_scopes *scopes)
{
    if (scopes != NULL) {
        free(scopes->scopes);
        free(scopes->units);
        sbx_dwarf_abbreviations_destroy(scopes->abbreviations);
        free(scopes);
    }
}

void sbx_dwarf_scopes_forget(struct sbx_dwarf_scopes *scopes)
{
    free(scopes->scopes);
    free(scopes->units);
    scopes->scopes = NULL;
    scopes->units = NULL;
    scopes->count = 1;
    scopes->room = scopes->unit_count = scopes->unit_room = 0;
    scopes->dwarf = NULL;
    if (scopes->abbreviations != NULL) {
        sbx_dwarf_abbreviations_forget(scopes->abbreviations);
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

static struct walked *find_unit(struct walked *units, size_t room, const void *unit)
{
    uint64_t hash = (uint64_t)(uintptr_t)unit * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 32) & (room - 1);
    while (units[at].unit != NULL && units[at].unit != unit) {
        at = (at + 1) & (room - 1);
    }
    return &units[at];
}

/* The slot of `unit`, or a free slot for it; NULL if memory runs out. */
static struct walked *slot_of_unit(struct sbx_dwarf_scopes *scopes, const void *unit)
{
    if (2 * (scopes->unit_count + 1) > scopes->unit_room) {
        size_t room = scopes->unit_room == 0 ? 64 : scopes->unit_room * 2;
        struct walked *grown = calloc(room, sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        for (size_t i = 0; i < scopes->unit_room; i++) {
            if (scopes->units[i].unit != NULL) {
                *find_unit(grown, room, scopes->units[i].unit) = scopes->units[i];
            }
        }
        free(scopes->units);
        scopes->units = grown;
        scopes->unit_room = room;
    }
    return find_unit(scopes->units, scopes->unit_room, unit);
}

/* The index of the new scope; 0 if memory runs out. */
static uint32_t add_scope(struct sbx_dwarf_scopes *scopes, const void *address, uint32_t parent)
{
    if (scopes->count >= scopes->room) {
        size_t room = scopes->room == 0 ? 512 : scopes->room * 2;
        struct scope *grown = room > DIES_MAX ? NULL : realloc(scopes->scopes, room * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        scopes->scopes = grown;
        scopes->room = room;
    }
    scopes->scopes[scopes->count] = (struct scope){address, parent};
    return (uint32_t)scopes->count++;
}

/* The header of the unit whose first entry is `unit_die`. */
static bool find_header(struct sbx_dwarf_scopes *scopes, Dwarf_Die *unit_die, struct sbx_dwarf_header *header_out)
{
    Dwarf *dwarf = dwarf_cu_getdwarf(unit_die->cu);
    if (scopes->dwarf != dwarf) {
        sbx_dwarf_sections_read(dwarf_getelf(dwarf), &scopes->sections);
        sbx_dwarf_sections_share(dwarf, &scopes->sections);
        scopes->dwarf = dwarf;
    }
    const uint8_t *at = unit_die->addr, *info = scopes->sections.info.bytes;
    bool is_within = at >= info && at < info + scopes->sections.info.count; /* else it may be in .debug_types */
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
            scope = add_scope(scopes, scopes->sections.info.bytes + entry.offset, parents[entry.depth]);
            parents[entry.depth + 1] = scope;
        }
        if (scope == 0 && sbx_dwarf_walk_skip(&walk, &entry) != 0) {
            return;
        }
    }
}

bool sbx_dwarf_scopes_parent(struct sbx_dwarf_scopes *scopes, Dwarf_Die *die, Dwarf_Die *parent_out)
{
    struct walked *walked = slot_of_unit(scopes, die->cu);
    if (walked == NULL) {
        return false;
    }
    if (walked->unit == NULL) {
        Dwarf_Die unit_die;
        *walked = (struct walked){.unit = die->cu, .first = (uint32_t)scopes->count};
        scopes->unit_count++;
        if (dwarf_diecu(die, &unit_die, NULL, NULL) != NULL) {
            walk_unit(scopes, &unit_die);
        }
        walked->count = (uint32_t)scopes->count - walked->first;
    }
    uint32_t low = walked->first, high = low + walked->count, end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((const char *)scopes->scopes[middle].address < (const char *)die->addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == end || scopes->scopes[low].address != die->addr || scopes->scopes[low].parent == 0) {
        return false;
    }
    *parent_out = (Dwarf_Die){.addr = (void *)scopes->scopes[scopes->scopes[low].parent].address, .cu = die->cu};
    return true;
}
