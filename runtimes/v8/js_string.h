/* SPDX-License-Identifier: Apache-2.0 */
/* js_string.h - strings of V8: flat ones as characters, all of them as UTF-8. */
#ifndef JS_STRING_H
#define JS_STRING_H

#include "js_heap.h"

/* Characters that lie one behind the other: Latin-1 (width 1) or UTF-16 (width 2). */
struct js_characters {
    uint64_t at;
    uint32_t count, width;
};

/* The characters of a string. False: it is none, or its parts lie apart. */
bool js_string_open(struct js_pages *pages, uint64_t string, struct js_characters *characters_out);

/* How many characters a string has; false: it is none. */
bool js_string_length(struct js_pages *pages, uint64_t string, uint32_t *length_out);

/* UTF-8 on its way into a buffer. */
struct js_text {
    char *to;
    size_t bytes, room; /* never more than room; a character that has no place ends the text */
};

/* Append a string, also one of many parts (those deeper than a few are left out). False: it is none, or could not be read. */
bool js_string_append(struct js_pages *pages, uint64_t string, struct js_text *text);

/* Append `count` characters (units of UTF-16) of a string from one of them on, fewer at its end. False: its parts lie apart, or it could not be read. */
bool js_string_part(struct js_pages *pages, uint64_t string, uint32_t from, uint32_t count, struct js_text *text);

#endif
