/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_names.h - the name of a function in the debug information.
 *
 * For C: the plain name, or in libraries that decorate their own names, the exported alias that programs call. For
 * other languages: the linkage name. If there is none: the symbol's name for code that is not inlined (compilers give
 * functions of an unnamed namespace no linkage name in DWARF, but the symbol has it), else the name with its scopes.
 * All pieces of a function have one name. The symbol is that of the function's entry, so a part that was moved
 * elsewhere (".cold") does not look like another function. */
#ifndef SBX_DWARF_NAMES_H
#define SBX_DWARF_NAMES_H

#include <stdint.h>

#include <elfutils/libdw.h>

#include "dwarf_sections.h"
#include "elf_symbols.h"
#include "symbol_places.h"

struct sbx_dwarf_names;

/* `places`, `symtab`, `dynsym` and `budget` are borrowed until destroy. The symbols may be read later, but before the
 * first lookup. NULL if memory runs out. */
struct sbx_dwarf_names *sbx_dwarf_names_create(struct sbx_places *places, const struct sbx_elf_symbols *symtab,
                                               const struct sbx_elf_symbols *dynsym, struct sbx_dwarf_budget *budget);
void sbx_dwarf_names_destroy(struct sbx_dwarf_names *names);
/* Drop what is known of units. Call it before their Dwarf is released. */
void sbx_dwarf_names_forget_units(struct sbx_dwarf_names *names);

/* The function in `places` for `die`, a subprogram that begins at `entry`. 0: it has no name. */
uint32_t sbx_dwarf_function(struct sbx_dwarf_names *names, Dwarf_Die *die, uint64_t entry);
/* The same for an inlined subroutine. */
uint32_t sbx_dwarf_inlined_function(struct sbx_dwarf_names *names, Dwarf_Die *die);

/* The function in `places` for a symbol, without the symbol's version ("memcpy@@GLIBC_2.14"). */
uint32_t sbx_symbol_function(struct sbx_places *places, const struct sbx_elf_symbol *symbol,
                             enum sbx_symbol_source source);

#endif
