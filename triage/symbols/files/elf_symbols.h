/* SPDX-License-Identifier: Apache-2.0 */
/* elf_symbols.h - a symbol table, sorted by address: names for code without debug information. */
#ifndef SBX_ELF_SYMBOLS_H
#define SBX_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <gelf.h>

struct sbx_elf_symbol {
    uint64_t begin, end; /* file-relative virtual addresses */
    uint64_t reach;      /* the largest end of this symbol and all before it */
    const char *name;    /* in the string table of the file; may end in "@VERSION" */
    uint16_t section;    /* its index */
    uint8_t binding;     /* STB_ */
};

struct sbx_elf_symbols {
    struct sbx_elf_symbol *symbols; /* sorted by begin, then the better name first */
    size_t count;
};

/* Read the functions of the table of type `section_type` (SHT_SYMTAB or SHT_DYNSYM); no symbols if there is none. Names
 * are borrowed from `elf`. Returns 0 or -ENOMEM. */
int sbx_elf_symbols_read(Elf *elf, uint32_t section_type, struct sbx_elf_symbols *symbols_out);
void sbx_elf_symbols_finish(struct sbx_elf_symbols *symbols);

/* The function that covers `address`; NULL: none. An address is never assigned to the neighbour of a gap. */
const struct sbx_elf_symbol *sbx_elf_symbols_find(const struct sbx_elf_symbols *symbols, uint64_t address);

#endif
