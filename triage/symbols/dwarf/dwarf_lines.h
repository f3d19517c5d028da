/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_lines.h - the line program of a unit (DWARF 2 to 5), run: which line an address is of.
 *
 * Not by libdw, because it merges the sequences of a unit: the rows of a function that the linker discarded, which point
 * at the copy that was kept, then lie open over foreign code. */
#ifndef SBX_DWARF_LINES_H
#define SBX_DWARF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf_sections.h"

/* Code of one line. */
struct sbx_line_span {
    uint64_t begin, end;
    uint32_t file; /* its number in the unit's table */
    uint32_t line; /* 0: of no line */
};

struct sbx_line_spans {
    struct sbx_line_span *spans; /* sorted, without overlap */
    size_t count, room;
};

/* Run the program at `offset` of .debug_line, in this machine's byte order. Sequences that begin outside
 * [text_begin, text_end) are of code that a linker threw away. Of several rows at one address the last counts, of sequences
 * that overlap the one that ends first. A damaged program gives what it gave before the damage. Returns 0, -ENOMEM, or
 * -E2BIG when the budget is spent. */
int sbx_dwarf_lines_read(const struct sbx_dwarf_section *section, uint64_t offset, uint64_t text_begin,
                         uint64_t text_end, struct sbx_dwarf_budget *budget, struct sbx_line_spans *spans_out);
void sbx_line_spans_finish(struct sbx_line_spans *spans);

#endif
