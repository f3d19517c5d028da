/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_addresses.h - which code an entry of debug information covers. */
#ifndef SBX_DWARF_ADDRESSES_H
#define SBX_DWARF_ADDRESSES_H

#include <stdint.h>

#include "dwarf_entries.h"

/* How addresses of a unit are encoded. For a split unit (one moved to another file), also those of its skeleton. */
struct sbx_dwarf_addressing {
    const struct sbx_dwarf_sections *sections; /* of the unit's file */
    const struct sbx_dwarf_sections *main;     /* of the program: the same, unless the unit is a split one */
    uint8_t version, offset_bytes, address_bytes;
    uint64_t base;          /* offsets of ranges are relative to this: the unit's begin */
    uint64_t addr_base;     /* in .debug_addr of the program */
    uint64_t rnglists_base; /* in .debug_rnglists of the unit's file */
    uint64_t ranges_base;   /* a split unit of DWARF 4: in .debug_ranges of the program */
};

/* Read it from the unit's own entry. For a split unit, `skeleton` has the rest; otherwise it is NULL. */
void sbx_dwarf_addressing_init(struct sbx_dwarf_addressing *addressing, const struct sbx_dwarf_sections *sections,
                               const struct sbx_dwarf_header *header, const struct sbx_dwarf_entry *unit,
                               const struct sbx_dwarf_addressing *skeleton);

/* Call `add` for each range of the entry until it returns a value other than 0. Ranges that do not end after their
 * begin are skipped. Returns the value of `add`, or -E2BIG when the budget is spent. */
int sbx_dwarf_ranges(const struct sbx_dwarf_addressing *addressing, const struct sbx_dwarf_entry *entry,
                     struct sbx_dwarf_budget *budget, int (*add)(void *context, uint64_t begin, uint64_t end),
                     void *context);

#endif
