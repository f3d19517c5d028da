/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_spans.h - a unit of debug information, read completely: spans of code, each of one place. */
#ifndef SBX_DWARF_SPANS_H
#define SBX_DWARF_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf_unit.h"
#include "symbol_spans.h"

/* Read the functions, inlined calls and lines of `unit`. If a span's place has no function, its code has a line and no
 * function: hand-written assembly, or padding. Returns 0, -ENOMEM, or -E2BIG if it takes more work than its size
 * allows. */
int sbx_dwarf_spans_read(struct sbx_dwarf_reading *reading, const struct sbx_dwarf_unit *unit,
                         struct sbx_spans *spans_out);

#endif
