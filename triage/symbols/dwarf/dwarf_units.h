/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_units.h - debug information, looked up by address: which unit it is of, and the place within. */
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

/* `dwarf` is taken, also on failure; `places` and the symbols are borrowed until destroy, and the symbols may come later,
 * before the first question. Code outside [text_begin, text_end) is what a linker threw away. `map` is where the file is mapped,
 * and may be dropped from memory for a while; NULL: it is not. NULL without memory, and when the file is damaged so that its strings do not
 * end. */
struct sbx_dwarf_units *sbx_dwarf_units_create(Dwarf *dwarf, void *map, size_t map_bytes, uint64_t text_begin,
                                               uint64_t text_end, struct sbx_places *places,
                                               const struct sbx_elf_symbols *symtab,
                                               const struct sbx_elf_symbols *dynsym);
void sbx_dwarf_units_destroy(struct sbx_dwarf_units *units);

/* Whether the file has what only files have that something was split off: then parts are worth looking for. */
bool sbx_dwarf_units_are_split(const struct sbx_dwarf_units *units);
/* What was split off the file, before the first question: borrowed until destroy. */
void sbx_dwarf_units_use_parts(struct sbx_dwarf_units *units, struct sbx_split_parts *parts);
/* How many units that were read so far were split off and not found: they have lines only. */
size_t sbx_dwarf_units_missing_parts(const struct sbx_dwarf_units *units);

/* The place of `address`; 0 when nothing is known of it, or without memory. A unit is read when the first question is
 * for it. */
uint32_t sbx_dwarf_units_find(struct sbx_dwarf_units *units, uint64_t address);

/* All of it: `spans_out` is sorted. `progress` (may be NULL) is told how many units are done. Returns 0, -ENOMEM,
 * or -E2BIG when it costs more than its size allows. */
int sbx_dwarf_units_read_all(struct sbx_dwarf_units *units, struct sbx_spans *spans_out,
                             void (*progress)(void *context, size_t done, size_t total), void *context);

#endif
