/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_line_header.h - the header of a unit's lines: how its program is run, and where its tables of files are. */
#ifndef SBX_DWARF_LINE_HEADER_H
#define SBX_DWARF_LINE_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf_sections.h"

struct sbx_dwarf_line_header {
    uint16_t version;
    uint8_t offset_bytes, address_bytes;
    uint8_t min_instruction_bytes, max_operations, line_range, opcode_base;
    int8_t line_base;
    const uint8_t *opcode_lengths;          /* of standard opcode i at [i - 1] */
    struct sbx_dwarf_bytes tables, program; /* folders and files; opcodes */
};

/* Read the header at `offset`. False if there cannot be one. */
bool sbx_dwarf_line_header_read(const struct sbx_dwarf_section *section, uint64_t offset,
                                struct sbx_dwarf_line_header *header_out);

#endif
