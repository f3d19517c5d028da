/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_entries.h - the entries of a unit of debug information, front to back, each looked at once.
 *
 * libdw goes from an entry to its sibling by walking all that lies below, once for each depth, and looks an abbreviation
 * up anew for each attribute. Here an entry that is of no interest costs a step, and nothing is read twice however deep a
 * file nests. What an entry is called is still libdw's to say. */
#ifndef SBX_DWARF_ENTRIES_H
#define SBX_DWARF_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf_sections.h"

/* A unit's header. Offsets are of .debug_info. */
struct sbx_dwarf_header {
    uint64_t begin, first, end;                         /* of the header, of the first entry, behind the last */
    uint64_t abbreviations;                             /* offset in .debug_abbrev */
    uint64_t split_id;                                  /* of a skeleton or a split unit, DWARF 5; 0 */
    uint8_t version, offset_bytes, address_bytes, type; /* DW_UT_...; before DWARF 5 DW_UT_compile */
};

/* Read the header at `offset`. False when none can be there. */
bool sbx_dwarf_header_read(const struct sbx_dwarf_sections *sections, uint64_t offset, struct sbx_dwarf_header *out);

struct sbx_dwarf_abbreviations;

/* Abbreviations, of one table at a time. NULL without memory. */
struct sbx_dwarf_abbreviations *sbx_dwarf_abbreviations_create(void);
void sbx_dwarf_abbreviations_destroy(struct sbx_dwarf_abbreviations *abbreviations);
/* Forget the table: to be called when its section goes. */
void sbx_dwarf_abbreviations_forget(struct sbx_dwarf_abbreviations *abbreviations);

/* An attribute's value as it stands. */
struct sbx_dwarf_value {
    uint16_t form;   /* DW_FORM_...; 0: the entry has no such attribute */
    uint64_t number; /* of forms that are one; a block has its length */
    const uint8_t *at;
};

/* The text that a value is; NULL when it is none. */
const char *sbx_dwarf_value_text(const struct sbx_dwarf_sections *sections, const struct sbx_dwarf_value *value,
                                 unsigned offset_bytes, uint64_t str_offsets_base);

/* What entries are asked for. */
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
    SBX_DWARF_ASKED /* how many */
};

struct sbx_dwarf_entry {
    uint64_t offset; /* in .debug_info */
    uint32_t depth;  /* below the unit's own, which has 0 */
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
    uint32_t depth; /* of the entry that comes next, if the list goes on */
};

/* Begin a walk; all but `walk` is borrowed until its end. Returns 0, -ENOMEM, or -E2BIG when the budget is spent. */
int sbx_dwarf_walk_begin(struct sbx_dwarf_walk *walk, const struct sbx_dwarf_sections *sections,
                         const struct sbx_dwarf_header *header, struct sbx_dwarf_abbreviations *abbreviations,
                         struct sbx_dwarf_budget *budget);
/* The next entry. Its values are read when its tag `is_wanted`; of others there may be none. Returns 1, 0 at the end of
 * the unit or where it is damaged, or -E2BIG. */
int sbx_dwarf_walk_next(struct sbx_dwarf_walk *walk, bool (*is_wanted)(unsigned tag), struct sbx_dwarf_entry *entry);
/* Leave out what lies below `entry`, the one that came last. Returns 0 or -E2BIG. */
int sbx_dwarf_walk_skip(struct sbx_dwarf_walk *walk, const struct sbx_dwarf_entry *entry);

#endif
