/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_spans.c - a unit of debug information, read completely.
 *
 * The functions and inlined calls of a unit are ranges that lie within one another; of those that cover an address the
 * last in the order of the file counts, which is the innermost (llvm-symbolizer decides the same way where compilers
 * let them overlap). They are laid over the ranges of the lines. Symbol files may be damaged: every walk has a depth and
 * a budget, and must move forward. */
#include "dwarf_spans.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf_lines.h"
#include "dwarf_scopes.h"
#include "range_sweep.h"

enum {
    DEPTH_MAX = 512,
    DIES_MAX = 16 << 20,
    RANGES_MAX = 16 << 20,
    FILES_MAX = 1 << 20
};

/* A function, or a call that was inlined. */
struct node {
    Dwarf_Die die;
    uint64_t entry;    /* where it begins */
    uint32_t parent;   /* number of the node it was inlined into; 0: it is a function of its own */
    uint32_t function; /* in the places; valid once `named` */
    uint32_t call;     /* the place that it was inlined into; valid once `named` */
    uint16_t depth;    /* of inlining */
    bool named;
};

struct work {
    const struct sbx_dwarf_reading *reading;
    struct sbx_dwarf_unit *unit;
    struct node *nodes; /* [0] is unused */
    size_t node_count, node_room;
    struct sbx_ranges ranges; /* of the nodes; tag is the node's number */
    struct sbx_line_spans lines;
    Dwarf_Files *call_files, *line_files;
    size_t call_file_count, line_file_count;
    uint32_t *call_texts, *line_texts; /* by file: its text, UINT32_MAX when it was not asked for yet */
};

/* ---- functions and inlined calls ---- */

/* Add the ranges of `node`. Returns 0 or -ENOMEM; *covers_out: whether there are any. */
static int add_ranges(struct work *work, uint32_t number, bool *covers_out)
{
    struct node *node = &work->nodes[number];
    Dwarf_Addr base, begin, end;
    ptrdiff_t at = 0;
    int result = 0;
    *covers_out = false;
    while (result == 0 && work->ranges.count < RANGES_MAX &&
           (at = dwarf_ranges(&node->die, at, &base, &begin, &end)) > 0) {
        if (begin < work->reading->text_begin || begin >= end || end > work->reading->text_end) {
            continue;
        }
        node->entry = *covers_out ? node->entry : begin;
        *covers_out = true;
        result = sbx_ranges_add(&work->ranges, (struct sbx_range){begin, end, number, number});
    }
    return result;
}

/* The number of a new node below `parent`; 0 without memory. */
static uint32_t add_node(struct work *work, const Dwarf_Die *die, uint32_t parent)
{
    if (work->node_count == work->node_room) {
        size_t room = work->node_room == 0 ? 256 : work->node_room * 2;
        struct node *grown = realloc(work->nodes, room * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        work->nodes = grown;
        work->node_room = room;
    }
    work->node_count = work->node_count == 0 ? 1 : work->node_count;
    uint16_t depth = parent == 0 ? 1 : (uint16_t)(work->nodes[parent].depth + 1);
    work->nodes[work->node_count] = (struct node){.die = *die, .parent = parent, .depth = depth};
    return (uint32_t)work->node_count++;
}

/* A sibling that does not lie behind ends the list: damaged files may point back. */
static bool next_sibling(Dwarf_Die *die)
{
    Dwarf_Die next;
    if (dwarf_siblingof(die, &next) != 0 || (const char *)next.addr <= (const char *)die->addr) {
        return false;
    }
    *die = next;
    return true;
}

struct step {
    Dwarf_Die die;
    uint32_t node; /* of what encloses it */
};

/* Whether to look below `die`, for which *node_inout is the node around it and becomes its own. */
static int enter(struct work *work, Dwarf_Die *die, uint32_t *node_inout, bool *enter_out)
{
    int tag = dwarf_tag(die), result = 0;
    bool is_inlined = tag == DW_TAG_inlined_subroutine, covers = false;
    *enter_out = is_inlined || sbx_dwarf_may_hold_functions(tag);
    if (tag != DW_TAG_subprogram && !is_inlined) {
        return 0;
    }
    uint32_t parent = is_inlined ? *node_inout : 0;
    if (is_inlined && (parent == 0 || work->nodes[parent].depth >= SBX_INLINES_MAX)) {
        *enter_out = false; /* inlined into nothing, or too deep: the outer ones answer for it */
        return 0;
    }
    uint32_t number = add_node(work, die, parent);
    result = number == 0 ? -ENOMEM : add_ranges(work, number, &covers);
    if (result == 0 && !covers && tag == DW_TAG_subprogram) {
        work->node_count--; /* declared, or inlined everywhere */
        number = 0;
    }
    *node_inout = number;
    return result;
}

static int walk(struct work *work)
{
    struct step *path = malloc(DEPTH_MAX * sizeof *path);
    size_t depth = 0;
    int result = path == NULL ? -ENOMEM : 0;
    if (result != 0 || dwarf_child(&work->unit->die, &path[0].die) != 0) {
        free(path);
        return result;
    }
    path[0].node = 0;
    for (unsigned budget = DIES_MAX; budget > 0 && result == 0; budget--) {
        uint32_t node = path[depth].node;
        bool goes_down = false;
        result = enter(work, &path[depth].die, &node, &goes_down);
        if (goes_down && result == 0 && depth + 1 < DEPTH_MAX &&
            dwarf_child(&path[depth].die, &path[depth + 1].die) == 0) {
            path[++depth].node = node;
            continue;
        }
        bool is_over = false;
        while (!is_over && !next_sibling(&path[depth].die)) {
            is_over = depth == 0;
            depth -= !is_over;
        }
        if (is_over) {
            break;
        }
    }
    free(path);
    return result;
}

/* ---- files ---- */

/* The name of file `index`, as a text. */
static uint32_t file_text(struct work *work, Dwarf_Files *files, size_t count, uint32_t *texts, uint32_t index)
{
    if (files == NULL || texts == NULL || index >= count) {
        return 0;
    }
    if (texts[index] == UINT32_MAX) {
        const char *name = dwarf_filesrc(files, index, NULL, NULL);
        texts[index] = name == NULL ? 0 : sbx_places_add_text(work->reading->places, name);
    }
    return texts[index];
}

static int open_files(Dwarf_Die *unit_die, Dwarf_Files **files_out, size_t *count_out, uint32_t **texts_out)
{
    if (dwarf_getsrcfiles(unit_die, files_out, count_out) != 0) {
        *files_out = NULL;
        *count_out = 0;
    }
    *count_out = *count_out > FILES_MAX ? FILES_MAX : *count_out;
    *texts_out = malloc((*count_out + 1) * sizeof **texts_out);
    if (*texts_out == NULL) {
        return -ENOMEM;
    }
    memset(*texts_out, 0xff, (*count_out + 1) * sizeof **texts_out);
    return 0;
}

/* ---- places ---- */

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

static void name_node(struct work *work, uint32_t number)
{
    struct node *node = &work->nodes[number];
    if (node->named) {
        return;
    }
    node->named = true;
    struct sbx_dwarf_names *names = work->reading->names;
    if (node->parent == 0) {
        node->function = sbx_dwarf_function(names, &node->die, node->entry);
        return;
    }
    name_node(work, node->parent); /* no deeper than SBX_INLINES_MAX */
    node->function = sbx_dwarf_inlined_function(names, &node->die);
    const struct node *parent = &work->nodes[node->parent];
    struct sbx_place call = {.function = parent->function, .into = parent->call};
    if (dwarf_hasattr(&node->die, DW_AT_call_file)) {
        call.file = file_text(work, work->call_files, work->call_file_count, work->call_texts,
                              number_of(&node->die, DW_AT_call_file));
    }
    call.line = number_of(&node->die, DW_AT_call_line);
    node->call = sbx_places_add(work->reading->places, call);
}

/* The place of node `number` (0: no function) at `line` (NULL: none is known). */
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
        place.file = file_text(work, work->line_files, work->line_file_count, work->line_texts, line->file);
    }
    return sbx_places_add(work->reading->places, place);
}

/* Lay the nodes over the lines. */
static int merge(struct work *work, struct sbx_spans *spans)
{
    const struct sbx_range *ranges = work->ranges.ranges;
    const struct sbx_line_span *lines = work->lines.spans;
    size_t range = 0, line = 0, range_count = work->ranges.count, line_count = work->lines.count;
    uint64_t at = 0;
    int result = 0;
    while (result == 0 && (range < range_count || line < line_count)) {
        /* What begins next, or goes on. */
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
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    if (work->reading->line_section == NULL || dwarf_attr(&work->unit->line_die, DW_AT_stmt_list, &attribute) == NULL ||
        dwarf_formudata(&attribute, &offset) != 0) {
        return 0;
    }
    return sbx_dwarf_lines_read(work->reading->line_section, work->reading->line_section_bytes, offset,
                                work->reading->text_begin, work->reading->text_end, &work->lines);
}

int sbx_dwarf_spans_read(const struct sbx_dwarf_reading *reading, struct sbx_dwarf_unit *unit,
                         struct sbx_spans *spans_out)
{
    struct work work = {.reading = reading, .unit = unit};
    *spans_out = (struct sbx_spans){0};
    int result = walk(&work);
    result = result == 0 ? sbx_ranges_sweep(&work.ranges) : result;
    result = result == 0 ? read_lines(&work) : result;
    result = result == 0 ? open_files(&unit->die, &work.call_files, &work.call_file_count, &work.call_texts) : result;
    result =
        result == 0 ? open_files(&unit->line_die, &work.line_files, &work.line_file_count, &work.line_texts) : result;
    result = result == 0 ? merge(&work, spans_out) : result;
    if (result != 0) {
        sbx_spans_finish(spans_out);
    }
    free(work.nodes);
    free(work.call_texts);
    free(work.line_texts);
    sbx_ranges_finish(&work.ranges);
    sbx_line_spans_finish(&work.lines);
    return result;
}
