/* SPDX-License-Identifier: Apache-2.0 */
/* split_parts.h - split debug information of a program (-gsplit-dwarf): units of .dwo files and of .dwp packages, by
 * the id that the program has for them. */
#ifndef SBX_SPLIT_PARTS_H
#define SBX_SPLIT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "dwarf_sections.h"

enum {
    SBX_SPLIT_PARTS_MAX = 512 /* open files; larger numbers of files come as a bundle (symbol_bundle.h) */
};

struct sbx_split_parts;

/* `descriptors` are files of parts and of bundles of them. They are taken, also on failure; other files are closed. If
 * `maps`, they are mapped as in sbx_symbol_file_open_descriptors(); a bundle always is. NULL if memory runs out, or if
 * none is of use. */
struct sbx_split_parts *sbx_split_parts_create(const int *descriptors, size_t count, bool maps);
void sbx_split_parts_destroy(struct sbx_split_parts *parts);

/* Add the work that reading all of them may take. */
void sbx_split_parts_add_budget(const struct sbx_split_parts *parts, struct sbx_dwarf_budget *budget);

/* A unit that is being read. */
struct sbx_split_unit {
    Dwarf *dwarf;
    struct sbx_dwarf_sections sections;
    uint64_t offset; /* of its header in .debug_info */
    void *opened;    /* the memory that the unit is in */
};

/* Open the unit with `id`. Returns 0, -ENOENT, -ENOMEM, or -EBADMSG if it is damaged. */
int sbx_split_parts_open(struct sbx_split_parts *parts, uint64_t id, struct sbx_split_unit *unit_out);
void sbx_split_unit_close(struct sbx_split_unit *unit);

#endif
