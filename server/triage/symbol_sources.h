/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_sources.h - the sources of a triage worker's names, and symbols that came since the last look. Any thread may
 * report that symbols came; that takes effect with the next payload. */
#ifndef SBX_SYMBOL_SOURCES_H
#define SBX_SYMBOL_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operator_log.h"

struct sbx_symbol_store;
struct sbx_symbolizer;

struct sbx_symbol_places {
    const char *const *symbol_dirs;
    size_t symbol_dir_count;
    const char *const *index_paths;
    size_t index_path_count;
    const char *provider_dir;       /* sent names for functions of embedded runtimes; NULL: none */
    struct sbx_symbol_store *store; /* asked before any file; borrowed until destroy; NULL: none */
    bool skips_local_files;         /* use no other files of this machine */
};

struct sbx_symbol_sources;

/* `places` is copied, except the store. `log` (NULL: none) is borrowed. Returns NULL without memory. */
struct sbx_symbol_sources *sbx_symbol_sources_create(const struct sbx_symbol_places *places,
                                                     const struct sbx_operator_log *log);
void sbx_symbol_sources_destroy(struct sbx_symbol_sources *sources); /* NULL is fine */

/* A symbolizer that knows the present files, borrowed until the next call; NULL without memory. One thread at a
 * time. */
struct sbx_symbolizer *sbx_symbol_sources_renew(struct sbx_symbol_sources *sources);

/* Symbols of a build-id came; NULL: names of an embedded runtime. Any thread. */
void sbx_symbol_sources_came(struct sbx_symbol_sources *sources, const uint8_t *build_id, size_t bytes);
#endif
