/* SPDX-License-Identifier: Apache-2.0 */
/* js_string.h - V8's strings: flat strings as characters, all strings as UTF-8. */
#ifndef JS_STRING_H
#define JS_STRING_H

#include "js_heap.h"

/* Consecutive characters: Latin-1 (width 1) or UTF-16 (width 2). */
struct js_characters {
    uint64_t at;
    uint32_t count, width;
};

/* Gets the characters of a string. Returns false if it is no string, or is in several parts. */
bool js_string_open(struct js_pages *pages, uint64_t string, struct js_characters *characters_out);

/* Gets the number of characters. Returns false if it is no string. */
bool js_string_length(struct js_pages *pages, uint64_t string, uint32_t *length_out);

/* UTF-8 that is written into a buffer. */
struct js_text {
    char *to;
    size_t bytes, room; /* at most room; the text ends at the first character without room */
};

/* Append a string, which may be in several parts; deeply nested parts are left out. Returns false if it is no string,
 * or could not be read. */
bool js_string_append(struct js_pages *pages, uint64_t string, struct js_text *text);

/* Append `count` characters (UTF-16 units) of a string, from index `from` on; fewer at its end. Returns false if it is
 * in several parts, or could not be read. */
bool js_string_part(struct js_pages *pages, uint64_t string, uint32_t from, uint32_t count, struct js_text *text);

#endif
