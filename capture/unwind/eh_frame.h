/* SPDX-License-Identifier: Apache-2.0 */
/* eh_frame.h - the entries of .eh_frame and the search table of .eh_frame_hdr, read without trusting a byte.
 *
 * Pure functions of borrowed memory: nothing is allocated, nothing outside [bytes, bytes + size) is read, every loop is
 * bounded by the bytes it consumes. What an entry's program means is cfa_program.h's business. */
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

/* What entries have in common. */
struct sbx_eh_cie {
    uint32_t position;        /* of its length field in the section */
    uint64_t code_align;      /* factor of advances */
    int64_t data_align;       /* factor of offsets */
    uint64_t return_register; /* column of the return address */
    uint8_t pointer_encoding; /* DW_EH_PE_*: how its FDEs write addresses ('R') */
    bool has_augmentation;    /* 'z': FDEs carry augmentation bytes */
    bool is_signal_frame;     /* 'S' */
    const uint8_t *program;   /* initial instructions */
    size_t program_bytes;
};

/* One function, or a part of one. */
struct sbx_eh_fde {
    uint32_t cie_position;
    uint64_t begin, end; /* code it describes, in the module's numbering; begin < end */
    const uint8_t *program;
    size_t program_bytes;
};

/* Where a linear walk through the section stands. */
struct sbx_eh_entry {
    uint32_t position; /* of its length field */
    bool is_fde;
};

/* .eh_frame_hdr. */
struct sbx_eh_search_table {
    uint64_t eh_frame_address; /* where .eh_frame begins; 0: not said */
    uint64_t address;          /* base of the table's numbers */
    const uint8_t *entries;    /* pairs of 32-bit numbers; NULL: no table, or one in a form nobody writes */
    uint32_t count;
};

/* A program longer than this is refused: real ones have some ten bytes, and an initial program is run for each change
 * of CIE, so this bounds what a damaged section can cost. */
enum {
    SBX_CIE_PROGRAM_MAX = 1024
};

/* Read .eh_frame_hdr. 0, or -EINVAL: not version 1, or shorter than it says. */
SBX_MUST_CHECK int sbx_eh_search_table_read(const struct sbx_eh_section *header, struct sbx_eh_search_table *table_out);

/* Entry `index` (below count): where the code begins, and where its FDE lies, both in the module's numbering. */
void sbx_eh_search_table_entry(const struct sbx_eh_search_table *table, uint32_t index, uint64_t *begin_out,
                               uint64_t *fde_address_out);

/* The next entry at or after *position, which moves behind it. 1: an entry; 0: end of the section or its terminator;
 * -EINVAL: its length leaves the section; -ENOTSUP: a 64-bit entry, stepped over. */
SBX_MUST_CHECK int sbx_eh_frame_next(const struct sbx_eh_section *section, uint32_t *position,
                                     struct sbx_eh_entry *entry_out);

/* Read the FDE at `position`. `cie` must be the CIE it names (cie_position, see sbx_eh_fde_cie()). 0 or -EINVAL. */
SBX_MUST_CHECK int sbx_eh_fde_read(const struct sbx_eh_section *section, uint32_t position,
                                   const struct sbx_eh_cie *cie, struct sbx_eh_fde *fde_out);

/* A code address in `encoding`, out of a reader that stands inside the section; damage when it is in a form no compiler
 * writes code addresses in. */
uint64_t sbx_eh_read_address(struct sbx_byte_reader *reader, uint8_t encoding, const struct sbx_eh_section *section);

/* The position of the CIE that the FDE at `position` names. 0 or -EINVAL: no FDE there. */
SBX_MUST_CHECK int sbx_eh_fde_cie(const struct sbx_eh_section *section, uint32_t position, uint32_t *cie_position_out);

/* Read the CIE at `position`. 0 or -EINVAL: damaged, or of a version, augmentation or encoding we do not know. */
SBX_MUST_CHECK int sbx_eh_cie_read(const struct sbx_eh_section *section, uint32_t position, struct sbx_eh_cie *cie_out);

#endif
