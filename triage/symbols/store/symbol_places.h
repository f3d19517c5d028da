/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_places.h - places in source code: texts, functions, and places that share equal parts.
 *
 * A place is a line of a function, and the place it was inlined into. A program has far fewer places than instructions,
 * and equal places are kept once, so a range of addresses needs only one number. Numbers begin at 1; 0 means that
 * nothing is known. If memory runs out or a limit is reached, 0 is returned and sbx_places_failed() is true. */
#ifndef SBX_SYMBOL_PLACES_H
#define SBX_SYMBOL_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SBX_INLINES_MAX = 64,            /* maximum length of one chain */
    SBX_SYMBOL_NAME_BYTES_MAX = 4096 /* of a stored text, with its NUL; longer texts are cut */
};

/* The source of a name. Numbers are stored: append only. */
enum sbx_symbol_source {
    SBX_SYMBOLS_NONE = 0,
    SBX_SYMBOLS_DWARF = 1,
    SBX_SYMBOLS_SYMTAB = 2,
    SBX_SYMBOLS_DYNSYM = 3,
    SBX_SYMBOLS_SOURCES = 4 /* number of sources */
};
const char *sbx_symbol_source_name(enum sbx_symbol_source source); /* "dwarf", "symtab", "dynsym", "none" */

struct sbx_function {
    uint32_t name;    /* number of a text */
    uint8_t source;   /* enum sbx_symbol_source */
    bool is_readable; /* must not be demangled: it is a readable name */
};

struct sbx_place {
    uint32_t function; /* 0: only the line is known */
    uint32_t file;     /* number of a text; 0 unknown */
    uint32_t line;     /* 0 unknown */
    uint32_t into;     /* the place that this one was inlined into; 0: not inlined */
};

/* One logical frame of a chain, innermost first. Texts are borrowed from the object that was asked. */
struct sbx_code_frame {
    const char *name; /* "": no name is known */
    const char *file; /* NULL unknown */
    uint32_t line;    /* 0 unknown */
    uint8_t source;   /* source of the name: enum sbx_symbol_source */
    bool is_readable; /* the name must not be demangled */
    bool inlined;     /* this frame is inlined into the next one */
};

struct sbx_places;

struct sbx_places *sbx_places_create(void); /* NULL if memory runs out. */
void sbx_places_destroy(struct sbx_places *places);
bool sbx_places_failed(const struct sbx_places *places);

/* The number of a text, function or place; equal ones have one number. The number of "" is 0. `place.into` must be a
 * number from an earlier call. */
uint32_t sbx_places_add_text(struct sbx_places *places, const char *text);
uint32_t sbx_places_add_function(struct sbx_places *places, struct sbx_function function);
uint32_t sbx_places_add(struct sbx_places *places, struct sbx_place place);

/* What a number stands for. A text is borrowed until the next text is added; text 0 is "". */
const char *sbx_places_text(const struct sbx_places *places, uint32_t text);
struct sbx_function sbx_places_function(const struct sbx_places *places, uint32_t function);
struct sbx_place sbx_places_get(const struct sbx_places *places, uint32_t place);

/* The frames of a place, innermost first. Returns their number. Texts are borrowed until the next text is added. */
size_t sbx_places_chain(const struct sbx_places *places, uint32_t place, struct sbx_code_frame *frames_out, size_t max);
/* Whether the outermost frame has a name. */
bool sbx_places_is_named(const struct sbx_places *places, uint32_t place);

/* The number of functions and of places. */
size_t sbx_places_function_count(const struct sbx_places *places);
size_t sbx_places_count(const struct sbx_places *places);

#endif
