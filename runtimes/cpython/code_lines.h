/* SPDX-License-Identifier: Apache-2.0 */
/* code_lines.h - the line of an instruction, from the line table of its code object.
 *
 * The tables are bytes of the host, read in a signal handler. Whatever they contain, the search ends within them. */
#ifndef CODE_LINES_H
#define CODE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "cpython_layout.h"

/* Returns the line of the instruction at byte `offset` of a code object whose definition is at `first_line`. A negative
 * offset means that the code has not begun: the result is the definition's line. 0: the instruction has no line, or the
 * table does not contain it. Signal safe. */
uint32_t cpython_line_of(enum cpython_line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
                         int64_t offset);

#endif
