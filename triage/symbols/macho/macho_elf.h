/* SPDX-License-Identifier: Apache-2.0 */
/* macho_elf.h - a Mach-O image as an ELF file in memory, for the readers of ELF and DWARF.
 *
 * DWARF is the same in both formats, so the same readers work for both. The sections of __DWARF are copied under their
 * ELF names. Sections of code become sections without content. Symbols become .symtab, or .dynsym if the symbols that
 * are not exported were stripped from the image. Nothing else is copied. */
#ifndef SBX_MACHO_ELF_H
#define SBX_MACHO_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_macho_elf {
    uint8_t *bytes; /* the ELF file; free() */
    size_t count;
    uint64_t base;      /* addresses are those of the image; an offset is an address minus this */
    bool is_companion;  /* it is of a dSYM: debug information and symbols, no code */
    bool has_debug_map; /* its debug information is in object files, from which dsymutil(1) makes a dSYM */
    bool is_cut;        /* it has more debug information than the limit, so none was read */
};

/* Read the image with that UUID from the file behind `fd`. Returns 0; -ENOENT if there is none or it is damaged;
 * -ENOMEM or -EIO. */
int sbx_macho_elf_read(int fd, const uint8_t *uuid, struct sbx_macho_elf *elf_out);

#endif
