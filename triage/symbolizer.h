/* SPDX-License-Identifier: Apache-2.0 */
/* symbolizer.h - the cache of opened symbol files behind report.h's struct sbx_symbolizer. */
#ifndef SBX_SYMBOLIZER_H
#define SBX_SYMBOLIZER_H

#include "report.h"
#include "symbol_file.h"

/* The symbol file of a module, or NULL when none is to be had. `name` (may be NULL) is what it is probably called.
 * *path_out (may be NULL as argument) gets the path that says what it is called, NULL when none does. Both borrowed
 * until the next call. */
struct sbx_symbol_file *sbx_symbolizer_file(struct sbx_symbolizer *symbolizer, const uint8_t *build_id, size_t bytes,
                                            const char *name, const char **path_out);

#endif
