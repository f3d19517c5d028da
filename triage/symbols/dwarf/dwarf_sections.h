/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_sections.h - the sections of one file's debug information, and the limit for reading them. */
#ifndef SBX_DWARF_SECTIONS_H
#define SBX_DWARF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "dwarf_bytes.h"

struct sbx_dwarf_section {
    const uint8_t *bytes; /* decompressed; NULL: no such section */
    size_t count;
};

/* Of a file, or of split units (`.debug_info.dwo`, ...). Borrowed from the Elf. */
struct sbx_dwarf_sections {
    struct sbx_dwarf_section info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;
    struct sbx_dwarf_section
        shared_str; /* of the file that dwz moved parts to; empty until sbx_dwarf_sections_share() */
};

/* Make libdw skip the sections that are not read here: locations of variables, macros, call frames, indexes by name. It
 * would decompress all of them: a sixth of the debug information of Debian's libc. Call it before dwarf_begin_elf().
 * The sections are empty from then on. */
void sbx_dwarf_sections_hide_unread(Elf *elf);

/* Compressed sections must be decompressed before, as dwarf_begin_elf() does. */
void sbx_dwarf_sections_read(Elf *elf, struct sbx_dwarf_sections *sections_out);

/* Add the sections of the shared file (dwarf_getalt). */
void sbx_dwarf_sections_share(Dwarf *dwarf, struct sbx_dwarf_sections *sections);

/* The bytes from `offset` to the end; none if `offset` is beyond the end. */
struct sbx_dwarf_bytes sbx_dwarf_section_from(const struct sbx_dwarf_section *section, uint64_t offset);
/* The text at `offset`; NULL if no text ends there. */
const char *sbx_dwarf_section_text(const struct sbx_dwarf_section *section, uint64_t offset);

/* The text at `index` of .debug_str_offsets, from `base` on. */
const char *sbx_dwarf_indexed_text(const struct sbx_dwarf_sections *sections, uint64_t base, uint64_t index,
                                   unsigned offset_bytes);

/* The limit of work for reading. Ordinary files are read about once: entries, ranges and rows together are fewer than
 * the bytes. Files that lead to the same place again and again need more, and are refused. */
struct sbx_dwarf_budget {
    uint64_t left;
};
/* Add the work that these sections may take. */
void sbx_dwarf_budget_add(struct sbx_dwarf_budget *budget, const struct sbx_dwarf_sections *sections);
/* The same for one of many files, which gets an amount for its bytes only. */
void sbx_dwarf_budget_add_one_of_many(struct sbx_dwarf_budget *budget, const struct sbx_dwarf_sections *sections);
/* Spend steps. False, now and from now on, if there are not enough. */
static inline bool sbx_dwarf_spend(struct sbx_dwarf_budget *budget, uint64_t steps)
{
    bool has_enough = budget->left >= steps;
    budget->left = has_enough ? budget->left - steps : 0;
    return has_enough;
}

#endif
