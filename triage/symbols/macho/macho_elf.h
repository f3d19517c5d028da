/* SPDX-License-Identifier: Apache-2.0 */
/* macho_elf.h - a Mach-O image as an ELF file in memory, for the readers of ELF and DWARF.
 *
 * DWARF is the same in both, so one way leads to it: the sections of __DWARF are copied under their ELF names, sections
 * of code become sections without content, and symbols become .symtab, or .dynsym where the image is stripped of those
 * that are not exported. Nothing else is in it. */
#ifndef SBX_MACHO_ELF_H
#define SBX_MACHO_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_macho_elf {
    uint8_t *bytes; /* the ELF file; free() */
    size_t count;
    uint64_t base;      /* its addresses are those of the image; an offset is an address less this */
    bool is_companion;  /* it is of a dSYM: debug information and symbols without the code */
    bool has_debug_map; /* its debug information is in object files, from which dsymutil(1) makes a dSYM */
    bool is_cut;        /* it has more debug information than is read, and none was */
};

/* Read the image with that UUID from the file behind `fd`. Returns 0; -ENOENT, when it has none or is damaged; -ENOMEM or
 * -EIO. */
int sbx_macho_elf_read(int fd, const uint8_t *uuid, struct sbx_macho_elf *elf_out);

#endif
