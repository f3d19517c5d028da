/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_units.c - debug information, looked up by address.
 *
 * libdw reads the format; the way from an address to a function is ours, because dwarf_getscopes() walks a whole unit
 * for each address and misses inlined calls. Units are indexed once, functions of a unit when the unit is first met,
 * inlined calls are searched inside their function. Symbol files may be damaged: every walk has a depth and a budget,
 * and must move forward. */
#include "dwarf_units.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "dwarf_text.h"

enum {
    DEPTH_MAX = 96,
    DIES_MAX = 8 << 20,
    RANGES_MAX = 4 << 20,
    UNITS_MAX = 1 << 20
};

struct range {
    uint64_t begin, end;
    uint64_t reach; /* the largest end of this and all before */
    uint64_t die;   /* a function's: offset of its DIE; a unit's: its index */
};

struct ranges {
    struct range *ranges; /* by begin once sealed */
    size_t count, room;
};

struct unit {
    Dwarf_Die die;           /* of the unit with code: the split one when there is one */
    Dwarf_Die line_die;      /* of the unit with the line table */
    struct ranges functions; /* filled when first asked for */
    bool walked, is_c;
};

struct sbx_dwarf_units {
    struct unit *units;
    size_t unit_count, unit_room;
    struct ranges code;
    uint64_t text_begin;
};

/* ---- sets of ranges ---- */

static bool add_range(struct ranges *set, uint64_t begin, uint64_t end, uint64_t die)
{
    if (begin >= end || set->count >= RANGES_MAX) {
        return true; /* an empty range covers nothing; one too many is left out */
    }
    if (set->count == set->room) {
        size_t room = set->room == 0 ? 16 : set->room * 2;
        struct range *grown = realloc(set->ranges, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        set->ranges = grown;
        set->room = room;
    }
    set->ranges[set->count++] = (struct range){begin, end, 0, die};
    return true;
}

static int by_begin(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->end != y->end) {
        return x->end > y->end ? -1 : 1; /* the smaller, inner one last */
    }
    return x->die < y->die ? -1 : x->die > y->die;
}

static void seal(struct ranges *set)
{
    uint64_t reach = 0;
    if (set->count > 1) {
        qsort(set->ranges, set->count, sizeof *set->ranges, by_begin);
    }
    for (size_t i = 0; i < set->count; i++) {
        reach = set->ranges[i].end > reach ? set->ranges[i].end : reach;
        set->ranges[i].reach = reach;
    }
}

/* The innermost range that covers `address`: the one that begins last. NULL when none does. */
static const struct range *find_range(const struct ranges *set, uint64_t address)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->ranges[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low > 0 && set->ranges[low - 1].reach > address) {
        low--;
        if (set->ranges[low].end > address) {
            return &set->ranges[low];
        }
    }
    return NULL;
}

/* Add all ranges of a DIE, tagged `tag`. False without memory. */
static bool add_die_ranges(struct ranges *set, Dwarf_Die *die, uint64_t text_begin, uint64_t tag)
{
    Dwarf_Addr base, begin, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
        if (begin >= text_begin && !add_range(set, begin, end, tag)) {
            return false;
        }
        if (set->count >= RANGES_MAX) {
            break;
        }
    }
    return true;
}

/* ---- units ---- */

static bool is_c_language(Dwarf_Die *unit_die)
{
    int language = dwarf_srclang(unit_die);
    return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 || language == DW_LANG_C11 ||
           language == DW_LANG_Mips_Assembler;
}

static bool add_unit(struct sbx_dwarf_units *units, Dwarf_Die *die, Dwarf_Die *split)
{
    if (units->unit_count == units->unit_room) {
        size_t room = units->unit_room == 0 ? 16 : units->unit_room * 2;
        struct unit *grown = realloc(units->units, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        units->units = grown;
        units->unit_room = room;
    }
    struct unit *unit = &units->units[units->unit_count];
    memset(unit, 0, sizeof *unit);
    unit->line_die = *die;
    bool has_split = dwarf_tag(split) == DW_TAG_compile_unit && sbx_dwarf_text_ends(dwarf_cu_getdwarf(split->cu));
    unit->die = has_split ? *split : *die;
    unit->is_c = is_c_language(&unit->die);
    return add_die_ranges(&units->code, die, units->text_begin, units->unit_count++);
}

struct sbx_dwarf_units *sbx_dwarf_units_create(Dwarf *dwarf, uint64_t text_begin)
{
    struct sbx_dwarf_units *units = sbx_dwarf_text_ends(dwarf) ? calloc(1, sizeof *units) : NULL;
    if (units == NULL) {
        return NULL;
    }
    units->text_begin = text_begin;
    Dwarf_CU *at = NULL;
    Dwarf_Die die, split;
    uint8_t type;
    memset(&split, 0, sizeof split);
    while (units->unit_count < UNITS_MAX && dwarf_get_units(dwarf, at, &at, NULL, &type, &die, &split) == 0) {
        if ((type == DW_UT_compile || type == DW_UT_skeleton) && !add_unit(units, &die, &split)) {
            sbx_dwarf_units_destroy(units);
            return NULL;
        }
        memset(&split, 0, sizeof split);
    }
    seal(&units->code);
    return units;
}

void sbx_dwarf_units_destroy(struct sbx_dwarf_units *units)
{
    if (units == NULL) {
        return;
    }
    for (size_t i = 0; i < units->unit_count; i++) {
        free(units->units[i].functions.ranges);
    }
    free(units->units);
    free(units->code.ranges);
    free(units);
}

/* ---- functions of a unit ---- */

static bool may_hold_functions(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        return true;
    default:
        return false;
    }
}

/* Collect the functions with code. A sibling that does not lie behind ends the list: damaged files may point back. */
static void walk_functions(struct sbx_dwarf_units *units, struct unit *unit)
{
    Dwarf_Die path[DEPTH_MAX];
    size_t depth = 0;
    unsigned budget = DIES_MAX;
    if (dwarf_child(&unit->die, &path[0]) != 0) {
        return;
    }
    for (;;) {
        Dwarf_Die *die = &path[depth];
        int tag = dwarf_tag(die);
        if (tag == DW_TAG_subprogram &&
            !add_die_ranges(&unit->functions, die, units->text_begin, dwarf_dieoffset(die))) {
            return; /* without memory: those found so far will do */
        }
        if (depth + 1 < DEPTH_MAX && may_hold_functions(tag) && dwarf_child(die, &path[depth + 1]) == 0) {
            depth++;
        } else {
            Dwarf_Die next;
            while (dwarf_siblingof(&path[depth], &next) != 0 ||
                   dwarf_dieoffset(&next) <= dwarf_dieoffset(&path[depth])) {
                if (depth == 0) {
                    return;
                }
                depth--;
            }
            path[depth] = next;
        }
        if (--budget == 0) {
            return;
        }
    }
}

static const struct range *find_function(struct sbx_dwarf_units *units, struct unit *unit, uint64_t address)
{
    if (!unit->walked) {
        walk_functions(units, unit);
        seal(&unit->functions);
        unit->walked = true;
    }
    return find_range(&unit->functions, address);
}

/* ---- inlined calls of a function ---- */

static bool covers(Dwarf_Die *die, uint64_t address)
{
    return dwarf_haspc(die, address) == 1;
}

/* The inlined call below `die` that covers `address`, in *found_out. Looks through lexical blocks, with or without code
 * of their own. */
static bool find_inlined(Dwarf_Die *die, uint64_t address, unsigned depth, unsigned *budget, Dwarf_Die *found_out)
{
    Dwarf_Die child, next;
    if (depth > DEPTH_MAX || dwarf_child(die, &child) != 0) {
        return false;
    }
    for (;;) {
        int tag = dwarf_tag(&child);
        if (*budget == 0) {
            return false;
        }
        --*budget;
        if (tag == DW_TAG_inlined_subroutine && covers(&child, address)) {
            *found_out = child;
            return true;
        }
        if (tag == DW_TAG_lexical_block) {
            bool has_code = dwarf_hasattr(&child, DW_AT_low_pc) || dwarf_hasattr(&child, DW_AT_ranges);
            if ((!has_code || covers(&child, address)) && find_inlined(&child, address, depth + 1, budget, found_out)) {
                return true;
            }
        }
        if (dwarf_siblingof(&child, &next) != 0 || dwarf_dieoffset(&next) <= dwarf_dieoffset(&child)) {
            return false;
        }
        child = next;
    }
}

/* ---- names and lines ---- */

static const char *linkage_name_of(Dwarf_Die *die)
{
    const char *name = sbx_dwarf_text(die, DW_AT_linkage_name);
    return name != NULL ? name : sbx_dwarf_text(die, DW_AT_MIPS_linkage_name);
}

/* The number in an attribute of `die` itself, 0 without one. */
static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_attr(die, name, &attribute) == NULL || dwarf_formudata(&attribute, &value) != 0 || value > UINT32_MAX) {
        return 0;
    }
    return (uint32_t)value;
}

static const char *call_file_of(Dwarf_Die *inlined)
{
    Dwarf_Die unit_die;
    Dwarf_Files *files;
    size_t count;
    if (!dwarf_hasattr(inlined, DW_AT_call_file) || dwarf_diecu(inlined, &unit_die, NULL, NULL) == NULL ||
        dwarf_getsrcfiles(&unit_die, &files, &count) != 0) {
        return NULL;
    }
    uint32_t index = number_of(inlined, DW_AT_call_file);
    return index < count ? dwarf_filesrc(files, index, NULL, NULL) : NULL;
}

/* The line of `address`. Rows from before `code_begin`, where its piece of the unit begins, belong to other code: libdw
 * merges the sequences of a unit, and the row of a function that the linker discarded may come before. */
static void read_line(struct unit *unit, uint64_t code_begin, uint64_t address, struct sbx_dwarf_frame *frame)
{
    Dwarf_Line *row = dwarf_getsrc_die(&unit->line_die, address);
    Dwarf_Addr row_address;
    int line;
    if (row == NULL || dwarf_lineaddr(row, &row_address) != 0 || row_address < code_begin || row_address > address ||
        dwarf_lineno(row, &line) != 0) {
        return;
    }
    frame->line = line > 0 ? (uint32_t)line : 0;
    frame->file = dwarf_linesrc(row, NULL, NULL);
}

static void read_names(const struct unit *unit, Dwarf_Die *die, struct sbx_dwarf_frame *frame)
{
    frame->die = *die;
    frame->linkage_name = linkage_name_of(die);
    frame->name = sbx_dwarf_text(die, DW_AT_name);
    frame->is_c = unit->is_c;
}

size_t sbx_dwarf_units_find(struct sbx_dwarf_units *units, uint64_t address, struct sbx_dwarf_frame *frames_out,
                            size_t max)
{
    const struct range *code = find_range(&units->code, address);
    if (code == NULL || max == 0) {
        return 0;
    }
    struct unit *unit = &units->units[code->die];
    struct sbx_dwarf_frame line = {0};
    read_line(unit, code->begin, address, &line);
    const struct range *function = find_function(units, unit, address);
    Dwarf_Die chain[SBX_INLINES_MAX]; /* outermost first */
    if (function == NULL || dwarf_offdie(dwarf_cu_getdwarf(unit->die.cu), function->die, &chain[0]) == NULL) {
        frames_out[0] = line;
        return line.line != 0;
    }
    unsigned budget = DIES_MAX;
    size_t count = 1;
    while (count < SBX_INLINES_MAX && count < max &&
           find_inlined(&chain[count - 1], address, 0, &budget, &chain[count])) {
        count++;
    }
    for (size_t i = 0; i < count; i++) { /* frame i is chain[count - 1 - i] */
        struct sbx_dwarf_frame *frame = &frames_out[i];
        Dwarf_Die *die = &chain[count - 1 - i];
        *frame = (struct sbx_dwarf_frame){.file = line.file, .line = line.line, .inlined = i + 1 < count};
        read_names(unit, die, frame);
        /* Where the next frame out called this one. */
        line.file = frame->inlined ? call_file_of(die) : NULL;
        line.line = frame->inlined ? number_of(die, DW_AT_call_line) : 0;
    }
    return count;
}

/* ---- scopes ---- */

/* The DIE that was written in its scope: behind abstract_origin and specification. */
static Dwarf_Die declaration_of(const Dwarf_Die *die)
{
    Dwarf_Die at = *die;
    for (int steps = 0; steps < 16; steps++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        if ((dwarf_attr(&at, DW_AT_abstract_origin, &attribute) == NULL &&
             dwarf_attr(&at, DW_AT_specification, &attribute) == NULL) ||
            dwarf_formref_die(&attribute, &next) == NULL) {
            break;
        }
        at = next;
    }
    return at;
}

size_t sbx_dwarf_scope(const struct sbx_dwarf_frame *frame, char *out, size_t out_bytes)
{
    Dwarf_Die declaration = declaration_of(&frame->die);
    Dwarf_Die *scopes = NULL;
    size_t used = 0;
    int count = dwarf_getscopes_die(&declaration, &scopes); /* the declaration first, the unit last */
    bool is_closure = frame->name != NULL && strcmp(frame->name, "operator()") == 0;
    out[0] = '\0';
    for (int i = count - 2; i >= 1; i--) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = sbx_dwarf_text(&scopes[i], DW_AT_name);
        bool is_type = tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
        if (tag == DW_TAG_namespace && name == NULL) {
            name = "(anonymous namespace)";
        }
        if (is_type && is_closure && (name == NULL || name[0] == '<')) {
            name = "{lambda}"; /* GCC: no name, or "<lambda(int)>" */
        }
        char encloser[512];
        if (tag == DW_TAG_subprogram && is_closure) { /* it was written in a function, whose own name has its scopes */
            const char *linkage_name = linkage_name_of(&scopes[i]);
            struct sbx_dwarf_frame outer = {.die = scopes[i], .name = name != NULL ? name : ""};
            used = 0;
            if (linkage_name != NULL) {
                sbx_demangle(linkage_name, encloser, sizeof encloser);
            } else { /* not again for a lambda within a lambda: no debug information leads round in a circle */
                bool is_lambda = strcmp(outer.name, frame->name) == 0;
                size_t outside = is_lambda ? 0 : sbx_dwarf_scope(&outer, encloser, sizeof encloser);
                sbx_demangle(is_lambda ? "{lambda}" : outer.name, encloser + outside, sizeof encloser - outside);
            }
            name = encloser;
        } else if (name == NULL || (tag != DW_TAG_namespace && tag != DW_TAG_module && !is_type)) {
            continue;
        }
        size_t bytes = strlen(name);
        if (bytes + 3 > out_bytes - used) {
            break;
        }
        memcpy(out + used, name, bytes);
        memcpy(out + used + bytes, "::", 3);
        used += bytes + 2;
    }
    free(scopes);
    return used;
}
