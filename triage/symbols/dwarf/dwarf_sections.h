/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_sections.h - the sections of one file's debug information, and how much may be read of them. */
#ifndef SBX_DWARF_SECTIONS_H
#define SBX_DWARF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "dwarf_bytes.h"

struct sbx_dwarf_section {
    const uint8_t *bytes; /* decompressed; NULL: there is none */
    size_t count;
};

/* Of a file, or of the parts that were split off one (`.debug_info.dwo`, ...). Borrowed from the Elf. */
struct sbx_dwarf_sections {
    struct sbx_dwarf_section info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;
    struct sbx_dwarf_section
        shared_str; /* of the file that dwz moved parts to; none until sbx_dwarf_sections_share() */
};

/* Let libdw leave alone what nobody here reads: where variables are, macros, call frames, indexes by name. It would decompress all of that,
 * a sixth of the debug information of Debian's libc. Before dwarf_begin_elf(); the sections are empty from then on. */
void sbx_dwarf_sections_hide_unread(Elf *elf);

/* Compressed sections have to be decompressed before, as dwarf_begin_elf() does. */
void sbx_dwarf_sections_read(Elf *elf, struct sbx_dwarf_sections *sections_out);

/* Add what the file has in another (dwarf_getalt). */
void sbx_dwarf_sections_share(Dwarf *dwarf, struct sbx_dwarf_sections *sections);

/* The bytes from `offset` on; none when it lies behind the end. */
struct sbx_dwarf_bytes sbx_dwarf_section_from(const struct sbx_dwarf_section *section, uint64_t offset);
/* The text at `offset`; NULL when there is none that ends. */
const char *sbx_dwarf_section_text(const struct sbx_dwarf_section *section, uint64_t offset);

/* The text that .debug_str_offsets has at `index` behind `base`. */
const char *sbx_dwarf_indexed_text(const struct sbx_dwarf_sections *sections, uint64_t base, uint64_t index,
                                   unsigned offset_bytes);

/* What reading may cost. Honest files are read about once: entries, ranges and rows together are fewer than their bytes.
 * What leads there again and again spends more, and is refused. */
struct sbx_dwarf_budget {
    uint64_t left;
};
/* Add what these sections may cost. */
void sbx_dwarf_budget_add(struct sbx_dwarf_budget *budget, const struct sbx_dwarf_sections *sections);
/* The same for one of many files, which get nothing but for their bytes. */
void sbx_dwarf_budget_add_one_of_many(struct sbx_dwarf_budget *budget, const struct sbx_dwarf_sections *sections);
/* Spend; false, now and from now on, when it is more than there is. */
static inline bool sbx_dwarf_spend(struct sbx_dwarf_budget *budget, uint64_t steps)
{
    bool has_enough = budget->left >= steps;
    budget->left = has_enough ? budget->left - steps : 0;
    return has_enough;
}

#endif
