/* SPDX-License-Identifier: Apache-2.0 */
/* macho_symbols.h - what the symbol table of a Mach-O image calls its code.
 *
 * It says where functions begin, not where they end. A function ends where the next symbol or, by the linker's list of
 * functions (LC_FUNCTION_STARTS), the next function begins, and at the end of its section. */
#ifndef SBX_MACHO_SYMBOLS_H
#define SBX_MACHO_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "macho_image.h"

struct sbx_macho_symbol {
    uint64_t begin, end; /* addresses; equal ones: how far it reaches is not known */
    const char *name;    /* as in source: without the '_' that the linker puts before names of C */
    uint8_t section;     /* sections[section - 1] of the image */
    bool is_external;
};

struct sbx_macho_symbols {
    struct sbx_macho_symbol *symbols; /* by begin */
    size_t count;
    char *strings;
    size_t string_bytes; /* with a NUL behind the last */
    bool is_stripped;    /* functions are missing: of those that are not exported, nothing is known */
    bool has_debug_map;  /* it names object files, which have the debug information */
};

/* Read the symbols of code of `image`, which is that of `fd`. Returns 0, -ENOMEM, or -EIO when the file has become
 * shorter than it was. */
int sbx_macho_symbols_read(int fd, const struct sbx_macho_image *image, struct sbx_macho_symbols *symbols_out);
void sbx_macho_symbols_finish(struct sbx_macho_symbols *symbols);

#endif
