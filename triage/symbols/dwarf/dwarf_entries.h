/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_entries.h - the entries of a unit of debug information, front to back, each read once.
 *
 * libdw goes from an entry to its sibling by walking everything below, once for each depth. It also looks up an
 * abbreviation again for each attribute. Here an entry that is not needed costs one step, and nothing is read twice,
 * however deep a file nests. The names of entries still come from libdw. */
#ifndef SBX_DWARF_ENTRIES_H
#define SBX_DWARF_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf_sections.h"

/* A unit's header. Offsets are of .debug_info. */
struct sbx_dwarf_header {
    uint64_t begin, first, end;                         /* of the header, of the first entry, after the last entry */
    uint64_t abbreviations;                             /* offset in .debug_abbrev */
    uint64_t split_id;                                  /* of a skeleton or a split unit of DWARF 5; else 0 */
    uint8_t version, offset_bytes, address_bytes, type; /* DW_UT_...; before DWARF 5 DW_UT_compile */
};

/* Read the header at `offset`. False if there cannot be one. */
bool sbx_dwarf_header_read(const struct sbx_dwarf_sections *sections, uint64_t offset, struct sbx_dwarf_header *out);

struct sbx_dwarf_abbreviations;

/* Abbreviations, of one table at a time. NULL if memory runs out. */
struct sbx_dwarf_abbreviations *sbx_dwarf_abbreviations_create(void);
void sbx_dwarf_abbreviations_destroy(struct sbx_dwarf_abbreviations *abbreviations);
/* Drop the table. Call it before its section is released. */
void sbx_dwarf_abbreviations_forget(struct sbx_dwarf_abbreviations *abbreviations);

/* An attribute's value as it is encoded. */
struct sbx_dwarf_value {
    uint16_t form;   /* DW_FORM_...; 0: the entry has no such attribute */
    uint64_t number; /* for forms that are a number; the length for a block */
    const uint8_t *at;
};

/* The text of a value; NULL if the value is not a text. */
const char *sbx_dwarf_value_text(const struct sbx_dwarf_sections *sections, const struct sbx_dwarf_value *value,
                                 unsigned offset_bytes, uint64_t str_offsets_base);

/* The attributes that callers need. */
enum sbx_dwarf_asked {
    SBX_DWARF_LOW_PC,
    SBX_DWARF_HIGH_PC,
    SBX_DWARF_RANGES,
    SBX_DWARF_CALL_FILE,
    SBX_DWARF_CALL_LINE,
    SBX_DWARF_STMT_LIST,
    SBX_DWARF_COMP_DIR,
    SBX_DWARF_STR_OFFSETS_BASE,
    SBX_DWARF_ADDR_BASE,
    SBX_DWARF_RNGLISTS_BASE,
    SBX_DWARF_RANGES_BASE,
    SBX_DWARF_SPLIT_ID,
    SBX_DWARF_SIBLING,
    SBX_DWARF_ASKED /* number of them */
};

struct sbx_dwarf_entry {
    uint64_t offset; /* in .debug_info */
    uint32_t depth;  /* depth below the unit's own entry, which has 0 */
    uint16_t tag;
    bool has_children;
    struct sbx_dwarf_value values[SBX_DWARF_ASKED];
};

/* A walk through the entries of a unit. */
struct sbx_dwarf_walk {
    const struct sbx_dwarf_sections *sections;
    struct sbx_dwarf_abbreviations *abbreviations;
    struct sbx_dwarf_budget *budget;
    struct sbx_dwarf_header header;
    struct sbx_dwarf_bytes bytes;
    uint32_t depth; /* of the next entry, if the list goes on */
};

/* Begin a walk. All arguments but `walk` are borrowed until its end. Returns 0, -ENOMEM, or -E2BIG when the budget is
 * spent. */
int sbx_dwarf_walk_begin(struct sbx_dwarf_walk *walk, const struct sbx_dwarf_sections *sections,
                         const struct sbx_dwarf_header *header, struct sbx_dwarf_abbreviations *abbreviations,
                         struct sbx_dwarf_budget *budget);
/* The next entry. Its values are read if its tag `is_wanted`; else they may be missing. Returns 1, 0 at the end of the
 * unit or at damage, or -E2BIG. */
int sbx_dwarf_walk_next(struct sbx_dwarf_walk *walk, bool (*is_wanted)(unsigned tag), struct sbx_dwarf_entry *entry);
/* Skip everything below `entry`, which is the last one returned. Returns 0 or -E2BIG. */
int sbx_dwarf_walk_skip(struct sbx_dwarf_walk *walk, const struct sbx_dwarf_entry *entry);

#endif
