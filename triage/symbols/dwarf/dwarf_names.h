/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_names.h - what a function of the debug information is called.
 *
 * For C the plain name, or the exported alias that programs call it by in libraries that decorate their own. For other
 * languages the linkage name; else what the symbol table calls code that is not inlined (compilers give functions of an
 * unnamed namespace no linkage name in DWARF, but the symbol has it), else the name behind its scopes. One name for all
 * pieces of a function: the symbol is that of its entry, so a part that was moved away (".cold") is not another. */
#ifndef SBX_DWARF_NAMES_H
#define SBX_DWARF_NAMES_H

#include <stdint.h>

#include <elfutils/libdw.h>

#include "dwarf_sections.h"
#include "elf_symbols.h"
#include "symbol_places.h"

struct sbx_dwarf_names;

/* `places`, `symtab`, `dynsym` and `budget` are borrowed until destroy; the symbols may come later, before the first question. NULL
 * without memory. */
struct sbx_dwarf_names *sbx_dwarf_names_create(struct sbx_places *places, const struct sbx_elf_symbols *symtab,
                                               const struct sbx_elf_symbols *dynsym, struct sbx_dwarf_budget *budget);
void sbx_dwarf_names_destroy(struct sbx_dwarf_names *names);
/* Forget what is known of units: to be called before their Dwarf goes. */
void sbx_dwarf_names_forget_units(struct sbx_dwarf_names *names);

/* The function in `places` that `die`, a subprogram that begins at `entry`, is. 0 when nothing names it. */
uint32_t sbx_dwarf_function(struct sbx_dwarf_names *names, Dwarf_Die *die, uint64_t entry);
/* The same of an inlined subroutine. */
uint32_t sbx_dwarf_inlined_function(struct sbx_dwarf_names *names, Dwarf_Die *die);

/* A symbol as a function in `places`: without its version ("memcpy@@GLIBC_2.14"). */
uint32_t sbx_symbol_function(struct sbx_places *places, const struct sbx_elf_symbol *symbol,
                             enum sbx_symbol_source source);

#endif
