/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_file_names.h - the files to which the lines of a unit belong. */
#ifndef SBX_DWARF_FILE_NAMES_H
#define SBX_DWARF_FILE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf_sections.h"
#include "symbol_places.h"

struct sbx_dwarf_file {
    const char *name; /* borrowed from the sections */
    uint32_t folder;  /* number of the folder; past the end: none */
    uint32_t text;    /* in the places; UINT32_MAX: not needed so far */
};

/* All zero: no files. */
struct sbx_dwarf_file_names {
    struct sbx_dwarf_file *files; /* by number; before DWARF 5 numbers begin at 1 */
    const char **folders;
    size_t file_count, file_room, folder_count, folder_room;
};

/* Read the tables of the lines at `offset` of `sections`' .debug_line. `folder` is the compilation folder; NULL:
 * unknown. A damaged table gives fewer files. Returns 0, -ENOMEM or -E2BIG. */
int sbx_dwarf_file_names_read(const struct sbx_dwarf_sections *sections, uint64_t offset, const char *folder,
                              uint64_t str_offsets_base, struct sbx_dwarf_budget *budget,
                              struct sbx_dwarf_file_names *names_out);
void sbx_dwarf_file_names_finish(struct sbx_dwarf_file_names *names);

/* The path of file `number` as a text of `places`; 0: none. */
uint32_t sbx_dwarf_file_names_text(struct sbx_dwarf_file_names *names, uint64_t number, struct sbx_places *places);

#endif
