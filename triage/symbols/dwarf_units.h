/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_units.h - debug information, looked up by address: functions, the calls inlined into them, lines. */
#ifndef SBX_DWARF_UNITS_H
#define SBX_DWARF_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

struct sbx_dwarf_units;

enum {
    SBX_INLINES_MAX = 64
};

/* One logical frame. Strings are borrowed from the Dwarf. */
struct sbx_dwarf_frame {
    const char *linkage_name; /* mangled; NULL when there is none */
    const char *name;         /* as written, without its scopes; NULL when there is none */
    Dwarf_Die die;            /* for sbx_dwarf_scope() */
    const char *file;         /* NULL unknown */
    uint32_t line;            /* 0 unknown */
    bool inlined;             /* into the next frame */
    bool is_c;                /* of a language whose names stand for themselves */
};

/* Index the units of `dwarf` (borrowed until destroy). Code below `text_begin` is what a linker threw away. NULL
 * without memory, and when the file is damaged so that its strings do not end. */
struct sbx_dwarf_units *sbx_dwarf_units_create(Dwarf *dwarf, uint64_t text_begin);
void sbx_dwarf_units_destroy(struct sbx_dwarf_units *units);

/* The logical frames at `address`, innermost first; returns how many. When a line is known but no function is, one
 * frame without a name. */
size_t sbx_dwarf_units_find(struct sbx_dwarf_units *units, uint64_t address, struct sbx_dwarf_frame *frames_out,
                            size_t max);

/* "outer::inner::" of the scopes the function was written in, "" at the top: for functions without a linkage name, such
 * as those of an unnamed namespace. Returns the length. */
size_t sbx_dwarf_scope(const struct sbx_dwarf_frame *frame, char *out, size_t out_bytes);

#endif
