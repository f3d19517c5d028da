/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_places.h - where code was written: texts, functions, and places that share what they have in common.
 *
 * A place is a line of a function, and the place it was inlined into. A program has far fewer places than instructions,
 * and equal ones are kept once, so a range of addresses needs one number. Numbers begin at 1; 0 says that nothing is
 * known. Without memory, and past the limits, 0 is returned and sbx_places_failed() tells. */
#ifndef SBX_SYMBOL_PLACES_H
#define SBX_SYMBOL_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SBX_INLINES_MAX = 64,            /* places in one chain */
    SBX_SYMBOL_NAME_BYTES_MAX = 4096 /* of a stored text, with its NUL; longer ones are cut */
};

/* Where a name came from. Numbers are stored: append only. */
enum sbx_symbol_source {
    SBX_SYMBOLS_NONE = 0,
    SBX_SYMBOLS_DWARF = 1,
    SBX_SYMBOLS_SYMTAB = 2,
    SBX_SYMBOLS_DYNSYM = 3,
    SBX_SYMBOLS_SOURCES = 4 /* how many */
};
const char *sbx_symbol_source_name(enum sbx_symbol_source source); /* "dwarf", "symtab", "dynsym", "none" */

struct sbx_function {
    uint32_t name;    /* a text */
    uint8_t source;   /* enum sbx_symbol_source */
    bool is_readable; /* not to be demangled: it is what a person reads */
};

struct sbx_place {
    uint32_t function; /* 0: the line alone is known */
    uint32_t file;     /* a text; 0 unknown */
    uint32_t line;     /* 0 unknown */
    uint32_t into;     /* the place that this one was inlined into; 0: into none */
};

/* One logical frame of a chain, innermost first. Texts are borrowed from what was asked. */
struct sbx_code_frame {
    const char *name; /* "" when nothing names it */
    const char *file; /* NULL unknown */
    uint32_t line;    /* 0 unknown */
    uint8_t source;   /* of the name: enum sbx_symbol_source */
    bool is_readable; /* the name is not to be demangled */
    bool inlined;     /* into the next frame */
};

struct sbx_places;

struct sbx_places *sbx_places_create(void); /* NULL without memory */
void sbx_places_destroy(struct sbx_places *places);
bool sbx_places_failed(const struct sbx_places *places);

/* The number of a text, function or place; equal ones have one number. "" is 0. `place.into` must be a number that was
 * given before. */
uint32_t sbx_places_add_text(struct sbx_places *places, const char *text);
uint32_t sbx_places_add_function(struct sbx_places *places, struct sbx_function function);
uint32_t sbx_places_add(struct sbx_places *places, struct sbx_place place);

/* What a number stands for. A text is borrowed until the next text is added; that of 0 is "". */
const char *sbx_places_text(const struct sbx_places *places, uint32_t text);
struct sbx_function sbx_places_function(const struct sbx_places *places, uint32_t function);
struct sbx_place sbx_places_get(const struct sbx_places *places, uint32_t place);

/* The frames of a place, innermost first; returns how many. Texts are borrowed until the next text is added. */
size_t sbx_places_chain(const struct sbx_places *places, uint32_t place, struct sbx_code_frame *frames_out, size_t max);
/* Whether something names the outermost of them. */
bool sbx_places_is_named(const struct sbx_places *places, uint32_t place);

/* How many functions and places there are. */
size_t sbx_places_function_count(const struct sbx_places *places);
size_t sbx_places_count(const struct sbx_places *places);

#endif
