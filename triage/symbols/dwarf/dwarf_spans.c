/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_spans.c - a unit of debug information, read completely.
 *
 * The functions and inlined calls of a unit are nested ranges. Of the ranges that cover an address, the last one in the
 * order of the file counts, which is the innermost. (llvm-symbolizer decides the same way where compilers let them
 * overlap.) The ranges are combined with the ranges of the lines. Symbol files may be damaged, so every walk has a
 * depth and a budget, and moves forward. */
#include "dwarf_spans.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf_file_names.h"
#include "dwarf_lines.h"
#include "dwarf_scopes.h"
#include "range_sweep.h"

enum {
    DEPTH_MAX = 512,
    NODES_MAX = 16 << 20,
    RANGES_MAX = 16 << 20
};

/* A function, or an inlined call. */
struct node {
    uint64_t offset;               /* of its entry */
    uint64_t entry;                /* address of its begin */
    uint32_t parent;               /* number of the node that it was inlined into; 0: not inlined */
    uint32_t function;             /* in the places; valid if `named` */
    uint32_t call;                 /* the place of the call; valid if `named` */
    uint32_t call_file, call_line; /* 0 unknown */
    uint16_t depth;                /* of inlining */
    bool named;
};

struct work {
    struct sbx_dwarf_reading *reading;
    const struct sbx_dwarf_unit *unit;
    Dwarf_Die unit_die; /* as libdw sees it; its cu is NULL until it is needed */
    bool has_no_die;
    struct node *nodes; /* [0] is unused */
    size_t node_count, node_room;
    struct sbx_ranges ranges; /* of the nodes; tag is the node's number */
    struct sbx_line_spans lines;
    struct sbx_dwarf_file_names files;       /* of the lines */
    struct sbx_dwarf_file_names split_files; /* of the calls, if the unit is split and has files of its own */
};

/* ---- functions and inlined calls ---- */

struct node_ranges {
    struct work *work;
    uint32_t number;
    bool covers;
};

/* Of the nodes that cover an address, the one with the highest order counts: the last in the file. Exception: in DWARF
 * 2, a part of a function that was moved elsewhere is a function after the whole one (name_of_second_part()), but the
 * calls inlined into that part are listed in the whole one. */
static uint32_t order_of(const struct work *work, uint32_t number)
{
    bool comes_later = work->unit->header.version == 2 && work->nodes[number].depth > 1;
    return number + (comes_later ? (uint32_t)NODES_MAX : 0);
}

static int add_range(void *context, uint64_t begin, uint64_t end)
{
    struct node_ranges *of = context;
    struct work *work = of->work;
    if (begin < work->reading->text_begin || end > work->reading->text_end || work->ranges.count >= RANGES_MAX) {
        return 0;
    }
    if (!of->covers) {
        work->nodes[of->number].entry = begin;
    }
    of->covers = true;
    return sbx_ranges_add(&work->ranges, (struct sbx_range){begin, end, order_of(work, of->number), of->number});
}

static uint32_t number_in(const struct sbx_dwarf_entry *entry, enum sbx_dwarf_asked asked)
{
    uint64_t number = entry->values[asked].form == 0 ? 0 : entry->values[asked].number;
    return number > UINT32_MAX ? 0 : (uint32_t)number;
}

/* The number of a new node below `parent`; 0 if memory runs out. */
static uint32_t add_node(struct work *work, const struct sbx_dwarf_entry *entry, uint32_t parent)
{
    if (work->node_count == work->node_room) {
        size_t room = work->node_room == 0 ? 256 : work->node_room * 2;
        struct node *grown = room > NODES_MAX ? NULL : realloc(work->nodes, room * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        work->nodes = grown;
        work->node_room = room;
    }
    work->node_count = work->node_count == 0 ? 1 : work->node_count;
    uint16_t depth = parent == 0 ? 1 : (uint16_t)(work->nodes[parent].depth + 1);
    work->nodes[work->node_count] = (struct node){.offset = entry->offset,
                                                  .parent = parent,
                                                  .call_file = number_in(entry, SBX_DWARF_CALL_FILE),
                                                  .call_line = number_in(entry, SBX_DWARF_CALL_LINE),
                                                  .depth = depth};
    return (uint32_t)work->node_count++;
}

static bool has_code(unsigned tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Whether to visit the entries below. *node_inout is the node around the entry, and becomes its own node. */
static int enter(struct work *work, const struct sbx_dwarf_entry *entry, uint32_t *node_inout, bool *enter_out)
{
    bool is_inlined = entry->tag == DW_TAG_inlined_subroutine;
    *enter_out = is_inlined || sbx_dwarf_may_hold_functions(entry->tag);
    if (!has_code(entry->tag)) {
        return 0;
    }
    uint32_t parent = is_inlined ? *node_inout : 0;
    if (is_inlined && (parent == 0 || work->nodes[parent].depth >= SBX_INLINES_MAX)) {
        *enter_out = false; /* no function around it, or too deep: the outer ones stand for it */
        return 0;
    }
    struct node_ranges ranges = {work, add_node(work, entry, parent), false};
    int result = ranges.number == 0
                     ? -ENOMEM
                     : sbx_dwarf_ranges(&work->unit->addressing, entry, &work->reading->budget, add_range, &ranges);
    if (result == 0 && !ranges.covers && !is_inlined) {
        work->node_count--; /* only a declaration, or inlined everywhere */
        ranges.number = 0;
    }
    *node_inout = ranges.number;
    return result;
}

static int walk_unit(struct work *work)
{
    const struct sbx_dwarf_unit *unit = work->unit;
    struct sbx_dwarf_reading *reading = work->reading;
    struct sbx_dwarf_walk walk;
    struct sbx_dwarf_entry entry;
    uint32_t nodes[DEPTH_MAX] = {0}; /* by depth: the node around its entries */
    int result = sbx_dwarf_walk_begin(&walk, unit->sections, &unit->header, reading->abbreviations, &reading->budget);
    result = result == 0 ? sbx_dwarf_walk_next(&walk, has_code, &entry) : result; /* the unit's own depth */
    while (result > 0 && (result = sbx_dwarf_walk_next(&walk, has_code, &entry)) > 0) {
        bool goes_down = false;
        uint32_t node = entry.depth < DEPTH_MAX ? nodes[entry.depth] : 0;
        if (entry.depth + 1 < DEPTH_MAX) {
            int entered = enter(work, &entry, &node, &goes_down);
            if (entered != 0) {
                return entered;
            }
            nodes[entry.depth + 1] = node;
        }
        if (!goes_down) {
            int skipped = sbx_dwarf_walk_skip(&walk, &entry);
            result = skipped != 0 ? skipped : 1;
        }
    }
    return result;
}

/* ---- places ---- */

/* The entry as libdw sees it; false if libdw has none. */
static bool find_die(struct work *work, uint64_t offset, Dwarf_Die *die_out)
{
    if (work->unit_die.cu == NULL && !work->has_no_die) {
        work->has_no_die = dwarf_offdie(work->unit->dwarf, work->unit->header.first, &work->unit_die) == NULL;
    }
    *die_out = (Dwarf_Die){.addr = (void *)(work->unit->sections->info.bytes + offset), .cu = work->unit_die.cu};
    return !work->has_no_die;
}

static void name_node(struct work *work, uint32_t number)
{
    struct node *node = &work->nodes[number];
    Dwarf_Die die;
    if (node->named) {
        return;
    }
    node->named = true;
    bool has_die = find_die(work, node->offset, &die);
    struct sbx_dwarf_names *names = work->reading->names;
    if (node->parent == 0) {
        node->function = has_die ? sbx_dwarf_function(names, &die, node->entry) : 0;
        return;
    }
    name_node(work, node->parent); /* not deeper than SBX_INLINES_MAX */
    node->function = has_die ? sbx_dwarf_inlined_function(names, &die) : 0;
    const struct node *parent = &work->nodes[node->parent];
    struct sbx_place call = {.function = parent->function, .line = node->call_line, .into = parent->call};
    if (node->call_file != 0 || work->unit->header.version >= 5) {
        struct sbx_dwarf_file_names *files = work->split_files.file_count > 0 ? &work->split_files : &work->files;
        call.file = sbx_dwarf_file_names_text(files, node->call_file, work->reading->places);
    }
    node->call = sbx_places_add(work->reading->places, call);
}

/* The place of node `number` (0: no function) at `line` (NULL: not known). */
static uint32_t place_of(struct work *work, uint32_t number, const struct sbx_line_span *line)
{
    struct sbx_place place = {0};
    if (number != 0) {
        name_node(work, number);
        place.function = work->nodes[number].function;
        place.into = work->nodes[number].call;
    }
    if (line != NULL && line->line != 0) {
        place.line = line->line;
    }
    if (line != NULL) {
        place.file = sbx_dwarf_file_names_text(&work->files, line->file, work->reading->places);
    }
    return sbx_places_add(work->reading->places, place);
}

/* Combine the nodes with the lines. */
static int merge(struct work *work, struct sbx_spans *spans)
{
    const struct sbx_range *ranges = work->ranges.ranges;
    const struct sbx_line_span *lines = work->lines.spans;
    size_t range = 0, line = 0, range_count = work->ranges.count, line_count = work->lines.count;
    uint64_t at = 0;
    int result = 0;
    while (result == 0 && (range < range_count || line < line_count)) {
        /* The range or line that begins next, or that continues. */
        uint64_t range_begin = range < range_count ? ranges[range].begin : UINT64_MAX;
        uint64_t line_begin = line < line_count ? lines[line].begin : UINT64_MAX;
        uint64_t first = range_begin < line_begin ? range_begin : line_begin;
        at = at > first ? at : first;
        bool in_range = range_begin <= at && range < range_count, in_line = line_begin <= at && line < line_count;
        uint64_t until = UINT64_MAX;
        if (range < range_count) {
            until = in_range ? ranges[range].end : range_begin;
        }
        if (line < line_count) {
            uint64_t edge = in_line ? lines[line].end : line_begin;
            until = edge < until ? edge : until;
        }
        uint32_t place = place_of(work, in_range ? ranges[range].tag : 0, in_line ? &lines[line] : NULL);
        result = place == 0 ? -ENOMEM : sbx_spans_add(spans, (struct sbx_span){at, until, place});
        at = until;
        range += in_range && ranges[range].end <= at;
        line += in_line && lines[line].end <= at;
    }
    return result;
}

static int read_lines(struct work *work)
{
    const struct sbx_dwarf_unit *unit = work->unit;
    struct sbx_dwarf_reading *reading = work->reading;
    int result = 0;
    if (unit->split.dwarf != NULL) {
        result = sbx_dwarf_file_names_read(&unit->split.sections, 0, unit->folder, unit->header.version >= 5 ? 8 : 0,
                                           &reading->budget, &work->split_files);
    }
    if (!unit->has_lines || result != 0) {
        return result;
    }
    result = sbx_dwarf_lines_read(&reading->sections.line, unit->lines, reading->text_begin, reading->text_end,
                                  &reading->budget, &work->lines);
    return result != 0 ? result
                       : sbx_dwarf_file_names_read(&reading->sections, unit->lines, unit->folder,
                                                   unit->str_offsets_base, &reading->budget, &work->files);
}

int sbx_dwarf_spans_read(struct sbx_dwarf_reading *reading, const struct sbx_dwarf_unit *unit,
                         struct sbx_spans *spans_out)
{
    struct work work = {.reading = reading, .unit = unit};
    *spans_out = (struct sbx_spans){0};
    int result = walk_unit(&work);
    result = result == 0 ? sbx_ranges_sweep(&work.ranges) : result;
    result = result == 0 ? read_lines(&work) : result;
    result = result == 0 ? merge(&work, spans_out) : result;
    if (result != 0) {
        sbx_spans_finish(spans_out);
    }
    free(work.nodes);
    sbx_dwarf_file_names_finish(&work.files);
    sbx_dwarf_file_names_finish(&work.split_files);
    sbx_ranges_finish(&work.ranges);
    sbx_line_spans_finish(&work.lines);
    return result;
}
