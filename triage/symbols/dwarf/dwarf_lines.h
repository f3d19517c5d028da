/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_lines.h - runs the line program of a unit (DWARF 2 to 5): the line of an address.
 *
 * Not by libdw, because it merges the sequences of a unit. A linker discards copies of a function, and lets their rows
 * point at the copy that it kept. After the merge such rows would cover code of other functions. */
#ifndef SBX_DWARF_LINES_H
#define SBX_DWARF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf_sections.h"

/* Code of one line. */
struct sbx_line_span {
    uint64_t begin, end;
    uint32_t file; /* number of the file in the unit's table */
    uint32_t line; /* 0: no line */
};

struct sbx_line_spans {
    struct sbx_line_span *spans; /* sorted, without overlap */
    size_t count, room;
};

/* Run the program at `offset` of .debug_line, in this machine's byte order. Sequences that begin outside [text_begin,
 * text_end) belong to code that a linker discarded. Of several rows at one address the last counts. Of sequences that
 * overlap, the one that ends first counts. A damaged program gives the rows before the damage. Returns 0, -ENOMEM, or
 * -E2BIG when the budget is spent. */
int sbx_dwarf_lines_read(const struct sbx_dwarf_section *section, uint64_t offset, uint64_t text_begin,
                         uint64_t text_end, struct sbx_dwarf_budget *budget, struct sbx_line_spans *spans_out);
void sbx_line_spans_finish(struct sbx_line_spans *spans);

#endif
