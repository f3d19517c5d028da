/* SPDX-License-Identifier: Apache-2.0 */
/* symbolizer.h - the cache of opened symbol files behind report.h's struct sbx_symbolizer. */
#ifndef SBX_SYMBOLIZER_H
#define SBX_SYMBOLIZER_H

#include "provider_map.h"
#include "report.h"
#include "symbol_file.h"

/* The symbol file of a module, or NULL when none is to be had. `name` (may be NULL) is what it is probably called.
 * *path_out (may be NULL as argument) gets the path that says what it is called, NULL when none does. Both borrowed
 * until the next call. */
struct sbx_symbol_file *sbx_symbolizer_file(struct sbx_symbolizer *symbolizer, const uint8_t *build_id, size_t bytes,
                                            const char *name, const char **path_out);

/* The name of a watch or deadline; NULL: not known here. Borrowed until the symbolizer's destroy. */
const char *sbx_symbolizer_watch_name(const struct sbx_symbolizer *symbolizer, uint64_t what);

/* Names of functions of embedded runtimes, borrowed; NULL without a symbolizer. */
struct sbx_provider_map *sbx_symbolizer_providers(struct sbx_symbolizer *symbolizer);

#endif
