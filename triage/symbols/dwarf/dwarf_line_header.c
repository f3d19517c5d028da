/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_line_header.c - the header of a unit's lines (DWARF 2 to 5). */
#include "dwarf_line_header.h"

bool sbx_dwarf_line_header_read(const struct sbx_dwarf_section *section, uint64_t offset,
                                struct sbx_dwarf_line_header *header_out)
{
    struct sbx_dwarf_bytes bytes = sbx_dwarf_section_from(section, offset);
    struct sbx_dwarf_line_header header = {.offset_bytes = 4, .address_bytes = 8};
    uint64_t length = sbx_dwarf_fixed(&bytes, 4);
    if (length == 0xffffffff) {
        header.offset_bytes = 8;
        length = sbx_dwarf_fixed(&bytes, 8);
    }
    if (bytes.ended || length > sbx_dwarf_left(&bytes)) {
        return false;
    }
    bytes.end = bytes.at + length;
    header.version = (uint16_t)sbx_dwarf_fixed(&bytes, 2);
    if (header.version < 2 || header.version > 5) {
        return false;
    }
    if (header.version >= 5) {
        header.address_bytes = (uint8_t)sbx_dwarf_fixed(&bytes, 1);
        sbx_dwarf_skip(&bytes, 1); /* the size of segment selectors */
    }
    uint64_t header_length = sbx_dwarf_fixed(&bytes, header.offset_bytes);
    if (bytes.ended || header_length > sbx_dwarf_left(&bytes)) {
        return false;
    }
    struct sbx_dwarf_bytes rest = {bytes.at, bytes.at + header_length, false};
    header.min_instruction_bytes = (uint8_t)sbx_dwarf_fixed(&rest, 1);
    header.max_operations = header.version >= 4 ? (uint8_t)sbx_dwarf_fixed(&rest, 1) : 1;
    sbx_dwarf_skip(&rest, 1); /* default_is_stmt: not needed, because the line of a row does not depend on it */
    header.line_base = (int8_t)sbx_dwarf_fixed(&rest, 1);
    header.line_range = (uint8_t)sbx_dwarf_fixed(&rest, 1);
    header.opcode_base = (uint8_t)sbx_dwarf_fixed(&rest, 1);
    header.opcode_lengths = rest.at;
    sbx_dwarf_skip(&rest, header.opcode_base == 0 ? 0 : header.opcode_base - 1u);
    if (rest.ended || header.opcode_base == 0) {
        return false;
    }
    header.tables = rest;
    header.program = (struct sbx_dwarf_bytes){rest.end, bytes.end, false};
    *header_out = header;
    return true;
}
