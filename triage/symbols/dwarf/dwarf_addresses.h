/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_addresses.h - which code an entry of debug information covers. */
#ifndef SBX_DWARF_ADDRESSES_H
#define SBX_DWARF_ADDRESSES_H

#include <stdint.h>

#include "dwarf_entries.h"

/* How a unit tells addresses: its own, or for a unit that was split off also those of what it was split from. */
struct sbx_dwarf_addressing {
    const struct sbx_dwarf_sections *sections; /* of the unit's file */
    const struct sbx_dwarf_sections *main;     /* of the program: the same, unless the unit was split off */
    uint8_t version, offset_bytes, address_bytes;
    uint64_t base;          /* what offsets of ranges are added to: the unit's begin */
    uint64_t addr_base;     /* in .debug_addr of the program */
    uint64_t rnglists_base; /* in .debug_rnglists of the unit's file */
    uint64_t ranges_base;   /* DWARF 4, split off: in .debug_ranges of the program */
};

/* As the unit's own entry says; of a unit that was split off `skeleton` says the rest, else it is NULL. */
void sbx_dwarf_addressing_init(struct sbx_dwarf_addressing *addressing, const struct sbx_dwarf_sections *sections,
                               const struct sbx_dwarf_header *header, const struct sbx_dwarf_entry *unit,
                               const struct sbx_dwarf_addressing *skeleton);

/* Call `add` for each range of the entry, those without an end behind their begin left out, until it returns something
 * else than 0. Returns that, or -E2BIG when the budget is spent. */
int sbx_dwarf_ranges(const struct sbx_dwarf_addressing *addressing, const struct sbx_dwarf_entry *entry,
                     struct sbx_dwarf_budget *budget, int (*add)(void *context, uint64_t begin, uint64_t end),
                     void *context);

#endif
