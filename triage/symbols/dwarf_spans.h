/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_spans.h - a unit of debug information, read completely: spans of code, each of one place. */
#ifndef SBX_DWARF_SPANS_H
#define SBX_DWARF_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "dwarf_names.h"
#include "symbol_places.h"
#include "symbol_spans.h"

/* A unit, and what it is read with. */
struct sbx_dwarf_unit {
    Dwarf_Die die;      /* of the unit with code: the split one when there is one */
    Dwarf_Die line_die; /* of the unit with the line table */
};
struct sbx_dwarf_reading {
    struct sbx_dwarf_names *names;
    struct sbx_places *places;
    uint64_t text_begin, text_end; /* code outside is what a linker threw away */
    const uint8_t *line_section;   /* .debug_line, decompressed; NULL: there is none */
    size_t line_section_bytes;
};

/* Read the functions, inlined calls and lines of `unit`. A span whose place has no function is of code that has a line
 * and no function: hand-written assembly, or padding. Returns 0 or -ENOMEM. */
int sbx_dwarf_spans_read(const struct sbx_dwarf_reading *reading, struct sbx_dwarf_unit *unit,
                         struct sbx_spans *spans_out);

#endif
