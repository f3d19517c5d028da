/* SPDX-License-Identifier: Apache-2.0 */
/* code_lines.h - the line of an instruction, by the table of its code object.
 *
 * Tables are the host's bytes, read in a handler: whatever they hold, a look ends within them. */
#ifndef CODE_LINES_H
#define CODE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "cpython_layout.h"

/* The line of the instruction at byte `offset` of the code whose definition is at `first_line`; a negative offset: not begun,
 * the definition's line. 0: the instruction has no line, or the table does not have it. Signal safe. */
uint32_t cpython_line_of(enum cpython_line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
                         int64_t offset);

#endif
