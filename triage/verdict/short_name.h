/* SPDX-License-Identifier: Apache-2.0 */
/* short_name.h - a function's name in the room that a line has for it. Pure. */
#ifndef SBX_SHORT_NAME_H
#define SBX_SHORT_NAME_H

enum {
    SBX_SHORT_NAME_BYTES = 128 /* enough for every limit below */
};

/* `function` in at most `limit` bytes (10 to SBX_SHORT_NAME_BYTES - 1); the whole name where it fits. Else a C++ or Rust
 * name gives up, until it fits: the arguments between the first and the last, all arguments, what its templates are made
 * of, the scopes it lies in, outermost first. Each place is marked "...". What is in brackets is kept whole or left out
 * whole, "(anonymous namespace)" is never cut, and a name that is still too long loses its middle. Returns `out`. */
const char *sbx_short_name(const char *function, int limit, char out[SBX_SHORT_NAME_BYTES]);

#endif
