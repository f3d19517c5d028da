/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_units.c - debug information, looked up by address.
 *
 * libdw gives the names of functions. The way from an address to a place is our own, because dwarf_getscopes() walks a
 * whole unit for each address and misses inlined calls. Units are indexed at the first lookup, and a unit is read at
 * the first lookup in it. If everything is needed, the units are read one after the other and dropped. Both ways give
 * the same answers, because both read a unit in the same way. */
#include "dwarf_units.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dwarf_spans.h"
#include "dwarf_text.h"
#include "range_sweep.h"

enum {
    RANGES_MAX = 16 << 20,
    UNITS_MAX = 1 << 20,
    /* Bytes of .debug_info. For this many, libdw keeps some tens of MB. When it is opened again, it begins with the
     * first unit again. */
    RENEW_BYTES = 128 << 20,
    DROP_BYTES = 16 << 20
};

struct unit {
    uint64_t offset;        /* in .debug_info */
    struct sbx_spans spans; /* if is_read */
    bool is_read;
};

struct sbx_dwarf_units {
    struct unit *units; /* the units that have code */
    size_t unit_count, unit_room;
    struct sbx_ranges code; /* tag: index of the unit; swept */
    struct sbx_dwarf_reading reading;
    uint64_t renewed, dropped; /* offsets in .debug_info at which memory was last given back; see make_room() */
    bool is_indexed;
    void *map; /* the mapping of the file; NULL: not mapped */
    size_t map_bytes;
};

struct sbx_dwarf_units *sbx_dwarf_units_create(Dwarf *dwarf, void *map, size_t map_bytes, uint64_t text_begin,
                                               uint64_t text_end, struct sbx_places *places,
                                               const struct sbx_elf_symbols *symtab,
                                               const struct sbx_elf_symbols *dynsym)
{
    struct sbx_dwarf_units *units = sbx_dwarf_text_ends(dwarf) ? calloc(1, sizeof *units) : NULL;
    if (units == NULL) {
        dwarf_end(dwarf);
        return NULL;
    }
    units->map = map;
    units->map_bytes = map_bytes;
    struct sbx_dwarf_reading *reading = &units->reading;
    *reading =
        (struct sbx_dwarf_reading){.dwarf = dwarf, .places = places, .text_begin = text_begin, .text_end = text_end};
    sbx_dwarf_sections_read(dwarf_getelf(dwarf), &reading->sections);
    sbx_dwarf_sections_share(dwarf, &reading->sections);
    sbx_dwarf_budget_add(&reading->budget, &reading->sections);
    reading->abbreviations = sbx_dwarf_abbreviations_create();
    reading->names = sbx_dwarf_names_create(places, symtab, dynsym, &reading->budget);
    if (reading->abbreviations == NULL || reading->names == NULL) {
        sbx_dwarf_units_destroy(units);
        return NULL;
    }
    return units;
}

void sbx_dwarf_units_destroy(struct sbx_dwarf_units *units)
{
    if (units == NULL) {
        return;
    }
    for (size_t i = 0; i < units->unit_count; i++) {
        sbx_spans_finish(&units->units[i].spans);
    }
    free(units->units);
    sbx_ranges_finish(&units->code);
    sbx_dwarf_abbreviations_destroy(units->reading.abbreviations);
    sbx_dwarf_names_destroy(units->reading.names);
    dwarf_end(units->reading.dwarf);
    free(units);
}

bool sbx_dwarf_units_are_split(const struct sbx_dwarf_units *units)
{
    return units->reading.sections.addr.bytes != NULL; /* split units need it */
}

void sbx_dwarf_units_use_parts(struct sbx_dwarf_units *units, struct sbx_split_parts *parts)
{
    units->reading.parts = parts;
    sbx_split_parts_add_budget(parts, &units->reading.budget);
}

size_t sbx_dwarf_units_missing_parts(const struct sbx_dwarf_units *units)
{
    return units->reading.missing_parts;
}

/* ---- memory ---- */

/* Open the Dwarf of the same file again, because libdw keeps what it made of each unit. Returns 0 or -ENOMEM. */
static int renew(struct sbx_dwarf_units *units)
{
    struct sbx_dwarf_reading *reading = &units->reading;
    Elf *elf = dwarf_getelf(reading->dwarf); /* it keeps decompressed sections, so their addresses stay */
    Dwarf *shared = dwarf_getalt(reading->dwarf);
    sbx_dwarf_names_forget_units(reading->names);
    dwarf_end(reading->dwarf);
    reading->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (reading->dwarf == NULL) {
        return -ENOMEM;
    }
    dwarf_setalt(reading->dwarf, shared);
    return 0;
}

/* Drop the pages of a mapped file's section. They are read again from the file when they are needed. Pages that libelf
 * may have written to are kept, such as the headers of sections that it decompressed. */
static void drop_section(const struct sbx_dwarf_units *units, const struct sbx_dwarf_section *section)
{
    uintptr_t page = (uintptr_t)getpagesize(), map = (uintptr_t)units->map, begin = (uintptr_t)section->bytes;
    if (units->map == NULL || begin < map || begin - map > units->map_bytes ||
        section->count > units->map_bytes - (begin - map)) {
        return; /* not in the mapping: decompressed, or read */
    }
    uintptr_t first = (begin + page - 1) / page * page, end = (begin + section->count) / page * page;
    if (first < end) {
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
    }
}

static void drop_sections(const struct sbx_dwarf_units *units)
{
    const struct sbx_dwarf_sections *sections = &units->reading.sections;
    drop_section(units, &sections->info);
    drop_section(units, &sections->abbrev);
    drop_section(units, &sections->line);
    drop_section(units, &sections->ranges);
    drop_section(units, &sections->rnglists);
}

/* Used if all units are read in order: give memory of the units up to `offset` back now and then. Returns 0 or
 * -ENOMEM. */
static int make_room(struct sbx_dwarf_units *units, uint64_t offset)
{
    int result = 0;
    if (offset - units->renewed > RENEW_BYTES) {
        units->renewed = offset;
        result = renew(units);
    }
    if (offset - units->dropped > DROP_BYTES) {
        units->dropped = offset;
        drop_sections(units);
    }
    return result;
}

/* ---- the index ---- */

static int read_unit(struct sbx_dwarf_units *units, struct unit *unit)
{
    struct sbx_dwarf_unit read;
    uint64_t next = 0;
    if (unit->is_read) {
        return 0;
    }
    int result = sbx_dwarf_unit_read(&units->reading, unit->offset, &read, &next);
    if (result > 0) {
        result = sbx_dwarf_unit_open_split(&units->reading, &read);
        result = result == 0 ? sbx_dwarf_spans_read(&units->reading, &read, &unit->spans) : result;
        sbx_dwarf_unit_close_split(&units->reading, &read);
    }
    unit->is_read = result == 0;
    return result;
}

static void forget_unit(struct unit *unit)
{
    sbx_spans_finish(&unit->spans);
    unit->is_read = false;
}

/* The code that unit `index` covers. */
struct unit_code {
    struct sbx_dwarf_units *units;
    size_t index;
    bool has_ranges;
};

static int add_code(void *context, uint64_t begin, uint64_t end)
{
    struct unit_code *code = context;
    const struct sbx_dwarf_reading *reading = &code->units->reading;
    code->has_ranges = true;
    if (begin < reading->text_begin || end > reading->text_end || code->units->code.count >= RANGES_MAX) {
        return 0;
    }
    /* If units overlap (a linker folded equal functions), the first counts. */
    return sbx_ranges_add(&code->units->code,
                          (struct sbx_range){begin, end, (uint32_t)(UNITS_MAX - code->index), (uint32_t)code->index});
}

/* Whether the unit's own entry has all of its code. DWARF 2 has no lists of ranges: if a unit has code in several
 * sections (gcc -gdwarf-2 -gstrict-dwarf), its entry has only one of them. */
static bool tells_all_code(const struct sbx_dwarf_unit *read, const struct unit_code *code)
{
    return code->has_ranges && (read->header.version > 2 || read->entry.values[SBX_DWARF_RANGES].form != 0);
}

/* Index the code of the unit that was added last. If the compiler did not write what the unit covers, its functions
 * tell it. */
static int index_unit(struct sbx_dwarf_units *units, const struct sbx_dwarf_unit *read)
{
    struct unit_code code = {units, units->unit_count - 1, false};
    struct unit *unit = &units->units[code.index];
    int result = sbx_dwarf_ranges(&read->addressing, &read->entry, &units->reading.budget, add_code, &code);
    if (result != 0 || tells_all_code(read, &code) || !read->entry.has_children) {
        return result;
    }
    result = make_room(units, unit->offset);
    result = result == 0 ? read_unit(units, unit) : result;
    for (size_t i = 0; i < unit->spans.count && result == 0; i++) {
        result = add_code(&code, unit->spans.spans[i].begin, unit->spans.spans[i].end);
    }
    forget_unit(unit); /* all units at once might need more memory than there is */
    return result;
}

static int add_unit(struct sbx_dwarf_units *units, uint64_t offset)
{
    if (units->unit_count == units->unit_room) {
        size_t room = units->unit_room == 0 ? 16 : units->unit_room * 2;
        struct unit *grown = realloc(units->units, room * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        units->units = grown;
        units->unit_room = room;
    }
    units->units[units->unit_count++] = (struct unit){.offset = offset};
    return 0;
}

static int index_all(struct sbx_dwarf_units *units)
{
    struct sbx_dwarf_unit unit;
    uint64_t offset = 0, next = 0;
    int result = 0;
    while (result >= 0 && units->unit_count < UNITS_MAX) {
        result = sbx_dwarf_unit_read(&units->reading, offset, &unit, &next);
        if (result > 0) {
            result = add_unit(units, offset);
            result = result == 0 ? index_unit(units, &unit) : result;
        }
        offset = next;
    }
    return result < 0 && result != -ENOENT ? result : sbx_ranges_sweep(&units->code);
}

static int index_once(struct sbx_dwarf_units *units)
{
    if (units->is_indexed) {
        return 0;
    }
    units->is_indexed = true;
    int result = index_all(units);
    if (result != 0) {
        sbx_ranges_finish(&units->code); /* half of an index would give wrong answers; without one the symbols answer */
    }
    return result;
}

/* ---- lookups ---- */

uint32_t sbx_dwarf_units_find(struct sbx_dwarf_units *units, uint64_t address)
{
    if (index_once(units) != 0) {
        return 0;
    }
    const struct sbx_range *code = sbx_ranges_find(&units->code, address);
    if (code == NULL || read_unit(units, &units->units[code->tag]) != 0) {
        return 0;
    }
    const struct sbx_span *span = sbx_spans_find(&units->units[code->tag].spans, address);
    return span == NULL ? 0 : span->place;
}

static int by_unit(const void *a, const void *b)
{
    const struct sbx_range *x = a, *y = b;
    if (x->tag != y->tag) {
        return x->tag < y->tag ? -1 : 1;
    }
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int by_begin(const void *a, const void *b)
{
    const struct sbx_span *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Copy the spans of `unit` that lie in `code`. */
static int add_spans(struct sbx_spans *all, const struct unit *unit, const struct sbx_range *code)
{
    int result = 0;
    size_t low = 0, high = unit->spans.count;
    while (low < high) { /* the first span that ends after the begin */
        size_t middle = low + (high - low) / 2;
        if (unit->spans.spans[middle].end <= code->begin) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low; i < unit->spans.count && unit->spans.spans[i].begin < code->end && result == 0; i++) {
        struct sbx_span span = unit->spans.spans[i];
        span.begin = span.begin < code->begin ? code->begin : span.begin;
        span.end = span.end > code->end ? code->end : span.end;
        result = sbx_spans_add(all, span);
    }
    return result;
}

int sbx_dwarf_units_read_all(struct sbx_dwarf_units *units, struct sbx_spans *spans_out,
                             void (*progress)(void *context, size_t done, size_t total), void *context)
{
    *spans_out = (struct sbx_spans){0};
    int result = index_once(units);
    if (result != 0) {
        return result;
    }
    size_t count = units->code.count;
    struct sbx_range *code = malloc((count + 1) * sizeof *code);
    if (code == NULL) {
        return -ENOMEM;
    }
    if (count > 0) {
        memcpy(code, units->code.ranges, count * sizeof *code);
        qsort(code, count, sizeof *code, by_unit);
    }
    units->renewed = units->dropped = 0;
    drop_sections(units);
    for (size_t i = 0; i < count && result == 0;) {
        struct unit *unit = &units->units[code[i].tag];
        result = make_room(units, unit->offset);
        result = result == 0 ? read_unit(units, unit) : result;
        uint32_t tag = code[i].tag;
        for (; i < count && code[i].tag == tag && result == 0; i++) {
            result = add_spans(spans_out, unit, &code[i]);
        }
        forget_unit(unit);
        if (progress != NULL) {
            progress(context, (size_t)tag + 1, units->unit_count);
        }
    }
    free(code);
    if (result != 0) {
        sbx_spans_finish(spans_out);
    } else if (spans_out->count > 1) {
        qsort(spans_out->spans, spans_out->count, sizeof *spans_out->spans, by_begin);
    }
    return result;
}
