/* SPDX-License-Identifier: Apache-2.0 */
/* eh_frame.h - the entries of .eh_frame and the search table of .eh_frame_hdr. No byte of them is trusted.
 *
 * These are pure functions of borrowed memory: they allocate nothing, read nothing outside [bytes, bytes + size), and
 * bound each loop by the bytes it consumes. cfa_program.h interprets the program of an entry. */
#ifndef SBX_EH_FRAME_H
#define SBX_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byte_reader.h"
#include "marks.h"

/* A section's bytes and the address they have in the module's own numbering. Below 4 GiB. */
struct sbx_eh_section {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
};

/* The part that CIEs and FDEs have in common. */
struct sbx_eh_cie {
    uint32_t position;        /* offset of its length field in the section */
    uint64_t code_align;      /* factor of advances */
    int64_t data_align;       /* factor of offsets */
    uint64_t return_register; /* column of the return address */
    uint8_t pointer_encoding; /* DW_EH_PE_*: how its FDEs write addresses ('R') */
    bool has_augmentation;    /* 'z': FDEs carry augmentation bytes */
    bool is_signal_frame;     /* 'S' */
    const uint8_t *program;   /* initial instructions */
    size_t program_bytes;
};

/* One function, or one part of a function. */
struct sbx_eh_fde {
    uint32_t cie_position;
    uint64_t begin, end; /* the code it describes, in the module's numbering; begin < end */
    const uint8_t *program;
    size_t program_bytes;
};

/* The position of a linear walk through the section. */
struct sbx_eh_entry {
    uint32_t position; /* offset of its length field */
    bool is_fde;
};

/* .eh_frame_hdr. */
struct sbx_eh_search_table {
    uint64_t eh_frame_address; /* where .eh_frame begins; 0: not given */
    uint64_t address;          /* the base that the numbers of the table are relative to */
    const uint8_t *entries;    /* pairs of 32-bit numbers; NULL: no table, or one in a form that no linker writes */
    uint32_t count;
};

/* A longer initial program is refused. Real ones have about ten bytes. An initial program runs for each change of CIE,
 * so this limit bounds the cost of a damaged section. */
enum {
    SBX_CIE_PROGRAM_MAX = 1024
};

/* Read .eh_frame_hdr. Returns 0, or -EINVAL: it is not version 1, or it is shorter than it says. */
SBX_MUST_CHECK int sbx_eh_search_table_read(const struct sbx_eh_section *header, struct sbx_eh_search_table *table_out);

/* Entry `index` (below count): where the code begins, and where its FDE lies, both in the module's numbering. */
void sbx_eh_search_table_entry(const struct sbx_eh_search_table *table, uint32_t index, uint64_t *begin_out,
                               uint64_t *fde_address_out);

/* Read the next entry at or after *position, and move *position behind it. Returns 1: there is an entry; 0: end of the
 * section, or its terminator; -EINVAL: the length leaves the section; -ENOTSUP: a 64-bit entry, which is stepped
 * over. */
SBX_MUST_CHECK int sbx_eh_frame_next(const struct sbx_eh_section *section, uint32_t *position,
                                     struct sbx_eh_entry *entry_out);

/* Read the FDE at `position`. `cie` must be the CIE that the FDE names (see sbx_eh_fde_cie()). Returns 0 or -EINVAL. */
SBX_MUST_CHECK int sbx_eh_fde_read(const struct sbx_eh_section *section, uint32_t position,
                                   const struct sbx_eh_cie *cie, struct sbx_eh_fde *fde_out);

/* Read a code address in `encoding` from a reader inside the section. An encoding that no compiler uses for code
 * addresses counts as damage. */
uint64_t sbx_eh_read_address(struct sbx_byte_reader *reader, uint8_t encoding, const struct sbx_eh_section *section);

/* Find the position of the CIE that the FDE at `position` names. Returns 0, or -EINVAL when there is no FDE. */
SBX_MUST_CHECK int sbx_eh_fde_cie(const struct sbx_eh_section *section, uint32_t position, uint32_t *cie_position_out);

/* Read the CIE at `position`. Returns 0, or -EINVAL: damaged, or of an unknown version, augmentation or encoding. */
SBX_MUST_CHECK int sbx_eh_cie_read(const struct sbx_eh_section *section, uint32_t position, struct sbx_eh_cie *cie_out);

#endif
