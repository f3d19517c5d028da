/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_unit.h - one unit of debug information, and the state for reading it. */
#ifndef SBX_DWARF_UNIT_H
#define SBX_DWARF_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "dwarf_addresses.h"
#include "dwarf_entries.h"
#include "dwarf_names.h"
#include "split_parts.h"
#include "symbol_places.h"

/* The state for reading all units of a file. */
struct sbx_dwarf_reading {
    Dwarf *dwarf;
    struct sbx_dwarf_sections sections;
    struct sbx_dwarf_abbreviations *abbreviations;
    struct sbx_dwarf_budget budget;
    struct sbx_dwarf_names *names;
    struct sbx_split_parts *parts; /* NULL: none */
    size_t missing_parts;          /* split units that were not found */
    struct sbx_places *places;
    uint64_t text_begin, text_end; /* a linker discarded code outside */
};

struct sbx_dwarf_unit {
    Dwarf *dwarf; /* gives the names of its entries */
    const struct sbx_dwarf_sections *sections;
    struct sbx_dwarf_header header;
    struct sbx_dwarf_entry entry; /* the unit's own entry */
    struct sbx_dwarf_addressing addressing;
    bool has_lines;
    uint64_t lines;     /* in .debug_line */
    const char *folder; /* the compilation folder; NULL unknown */
    uint64_t str_offsets_base;
    uint64_t split_id;           /* id of its split unit; 0: none */
    struct sbx_split_unit split; /* while it is open */
};

/* Read the header and the first entry of the unit at `offset`. *next_out: where the next unit begins. Returns 1 for a
 * unit that has code, 0 for any other, -ENOENT if there is none, -ENOMEM or -E2BIG. */
int sbx_dwarf_unit_read(struct sbx_dwarf_reading *reading, uint64_t offset, struct sbx_dwarf_unit *unit_out,
                        uint64_t *next_out);

/* Open the split unit of the unit, if it has one. From then on the unit's entries are those of the split unit. If it is
 * not found, the unit stays as it is, and has only lines. Close it before the next one is opened. Returns 0, -ENOMEM or
 * -E2BIG. */
int sbx_dwarf_unit_open_split(struct sbx_dwarf_reading *reading, struct sbx_dwarf_unit *unit);
void sbx_dwarf_unit_close_split(struct sbx_dwarf_reading *reading, struct sbx_dwarf_unit *unit);

#endif
