/* SPDX-License-Identifier: Apache-2.0 */
/* js_lines.h - the line of a position in a script's source, counted in parts.
 *
 * V8 has a table of line ends once a stack was requested. Before that, the lines must be counted. A bundle has
 * megabytes, and a walk must not take that long. So each walk counts a few blocks and stores the result, and the next
 * walk continues there. */
#ifndef JS_LINES_H
#define JS_LINES_H

#include "js_function.h"
#include "js_numbers.h"

enum {
    JS_LINES_BLOCK = 4096,  /* characters */
    JS_LINES_BUDGET = 16,   /* blocks that one walk may count */
    JS_LINES_BLOCKS = 4096, /* for a longer source, only the table is used */
};

/* Returns the line, from 1, of the character at `position`. 0: not counted yet, or not known. *budget is the number of
 * blocks that this walk may still count. */
uint32_t js_line_of(struct js_pages *pages, const struct js_layout *layout, const struct js_function *function,
                    struct js_numbers *counted, uint32_t position, uint32_t *budget);

#endif
