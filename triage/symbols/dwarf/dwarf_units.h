/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_units.h - debug information, looked up by address: the unit of an address, and the place within it. */
#ifndef SBX_DWARF_UNITS_H
#define SBX_DWARF_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "dwarf_spans.h"
#include "elf_symbols.h"
#include "symbol_places.h"

struct sbx_dwarf_units;

/* `dwarf` is taken, also on failure. `places` and the symbols are borrowed until destroy; the symbols may be read
 * later, but before the first lookup. A linker discarded code outside [text_begin, text_end). `map` is the mapping of
 * the file, whose pages may be dropped for a while; NULL: not mapped. Returns NULL if memory runs out, or if the file's
 * strings do not end (a damaged file). */
struct sbx_dwarf_units *sbx_dwarf_units_create(Dwarf *dwarf, void *map, size_t map_bytes, uint64_t text_begin,
                                               uint64_t text_end, struct sbx_places *places,
                                               const struct sbx_elf_symbols *symtab,
                                               const struct sbx_elf_symbols *dynsym);
void sbx_dwarf_units_destroy(struct sbx_dwarf_units *units);

/* Whether the file has what only files with split units have. If so, it is worth looking for the parts. */
bool sbx_dwarf_units_are_split(const struct sbx_dwarf_units *units);
/* The parts with the file's split units. Call it before the first lookup. Borrowed until destroy. */
void sbx_dwarf_units_use_parts(struct sbx_dwarf_units *units, struct sbx_split_parts *parts);
/* How many of the split units that were read so far were not found: they have only lines. */
size_t sbx_dwarf_units_missing_parts(const struct sbx_dwarf_units *units);

/* The place of `address`; 0 if nothing is known of it, or if memory runs out. A unit is read at the first lookup in
 * it. */
uint32_t sbx_dwarf_units_find(struct sbx_dwarf_units *units, uint64_t address);

/* All of it; `spans_out` is sorted. `progress` (may be NULL) gets the number of units that are done. Returns 0,
 * -ENOMEM, or -E2BIG if it takes more work than its size allows. */
int sbx_dwarf_units_read_all(struct sbx_dwarf_units *units, struct sbx_spans *spans_out,
                             void (*progress)(void *context, size_t done, size_t total), void *context);

#endif
