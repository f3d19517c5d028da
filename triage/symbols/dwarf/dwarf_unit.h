/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_unit.h - one unit of debug information, and what it is read with. */
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

/* What all units of a file are read with. */
struct sbx_dwarf_reading {
    Dwarf *dwarf;
    struct sbx_dwarf_sections sections;
    struct sbx_dwarf_abbreviations *abbreviations;
    struct sbx_dwarf_budget budget;
    struct sbx_dwarf_names *names;
    struct sbx_split_parts *parts; /* NULL: none were given */
    size_t missing_parts;          /* units that were split off and not found */
    struct sbx_places *places;
    uint64_t text_begin, text_end; /* code outside is what a linker threw away */
};

struct sbx_dwarf_unit {
    Dwarf *dwarf; /* who says what its entries are called */
    const struct sbx_dwarf_sections *sections;
    struct sbx_dwarf_header header;
    struct sbx_dwarf_entry entry; /* the unit's own */
    struct sbx_dwarf_addressing addressing;
    bool has_lines;
    uint64_t lines;     /* in .debug_line */
    const char *folder; /* which it was compiled in; NULL unknown */
    uint64_t str_offsets_base;
    uint64_t split_id;           /* of what was split off it; 0: nothing */
    struct sbx_split_unit split; /* once it is open */
};

/* Read the header and the first entry of the unit at `offset`. *next_out: where the next one begins. Returns 1 for a unit
 * that has code, 0 for any other, -ENOENT where there is none, -ENOMEM or -E2BIG. */
int sbx_dwarf_unit_read(struct sbx_dwarf_reading *reading, uint64_t offset, struct sbx_dwarf_unit *unit_out,
                        uint64_t *next_out);

/* Open what was split off the unit, if anything was: from then on its entries are those. Where that is not found the unit
 * stays as it is, and has lines only. To be closed before the next is opened. Returns 0, -ENOMEM or -E2BIG. */
int sbx_dwarf_unit_open_split(struct sbx_dwarf_reading *reading, struct sbx_dwarf_unit *unit);
void sbx_dwarf_unit_close_split(struct sbx_dwarf_reading *reading, struct sbx_dwarf_unit *unit);

#endif
