/* SPDX-License-Identifier: Apache-2.0 */
/* macho_symbols.h - the names of code in the symbol table of a Mach-O image.
 *
 * The table tells where functions begin, but not where they end. A function ends where the next symbol begins, where
 * the next function begins by the linker's list of functions (LC_FUNCTION_STARTS), or at the end of its section. */
#ifndef SBX_MACHO_SYMBOLS_H
#define SBX_MACHO_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "macho_image.h"

struct sbx_macho_symbol {
    uint64_t begin, end; /* addresses; equal: the end is not known */
    const char *name;    /* as in the source code: without the '_' that the linker puts before names of C */
    uint8_t section;     /* sections[section - 1] of the image */
    bool is_external;
};

struct sbx_macho_symbols {
    struct sbx_macho_symbol *symbols; /* sorted by begin */
    size_t count;
    char *strings;
    size_t string_bytes; /* with a NUL after the last one */
    bool is_stripped;    /* symbols of functions that are not exported are missing */
    bool has_debug_map;  /* it refers to object files, which have the debug information */
};

/* Read the symbols of code of `image`, which is in `fd`. Returns 0, -ENOMEM, or -EIO if the file became shorter
 * meanwhile. */
int sbx_macho_symbols_read(int fd, const struct sbx_macho_image *image, struct sbx_macho_symbols *symbols_out);
void sbx_macho_symbols_finish(struct sbx_macho_symbols *symbols);

#endif
