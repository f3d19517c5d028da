/* SPDX-License-Identifier: Apache-2.0 */
/* js_lines.h - the line of a place in a script's source, counted in parts.
 *
 * V8 knows where lines end once it was asked for a stack, and then has a table. Before, somebody has to count: a bundle has megabytes,
 * and a walk may not take that long. So a walk counts some blocks on and notes how far it came; the next goes on there. */
#ifndef JS_LINES_H
#define JS_LINES_H

#include "js_function.h"
#include "js_numbers.h"

enum {
    JS_LINES_BLOCK = 4096,  /* characters */
    JS_LINES_BUDGET = 16,   /* blocks that a walk may count */
    JS_LINES_BLOCKS = 4096, /* of a longer source the table alone is asked */
};

/* The line, from 1, of the character at `position`. 0: not counted yet, or not known. *budget is what of the blocks is left to
 * this walk. */
uint32_t js_line_of(struct js_pages *pages, const struct js_layout *layout, const struct js_function *function,
                    struct js_numbers *counted, uint32_t position, uint32_t *budget);

#endif
