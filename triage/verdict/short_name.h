/* SPDX-License-Identifier: Apache-2.0 */
/* short_name.h - a function's name, shortened to the room that a line has for it. Pure. */
#ifndef SBX_SHORT_NAME_H
#define SBX_SHORT_NAME_H

enum {
    SBX_SHORT_NAME_BYTES = 128 /* enough for every limit below */
};

/* `function` in at most `limit` bytes (10 to SBX_SHORT_NAME_BYTES - 1). A name that fits is kept whole. Else a C++ or
 * Rust name loses these parts, in this order, until it fits: the arguments between the first and the last, all
 * arguments, template arguments, then the scopes it lies in, outermost first. "..." marks each place. Brackets are kept
 * or emptied as a whole, and "(anonymous namespace)" is never cut. A name that is still too long loses its middle.
 * Returns `out`. */
const char *sbx_short_name(const char *function, int limit, char out[SBX_SHORT_NAME_BYTES]);

#endif
