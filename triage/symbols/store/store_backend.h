/* SPDX-License-Identifier: Apache-2.0 */
/* store_backend.h - the functions of a store backend: a folder (folder_store.c) or Redis (redis_store.c). They mean the
 * same as the functions of symbol_store.h with the same names. */
#ifndef SBX_STORE_BACKEND_H
#define SBX_STORE_BACKEND_H

#include "symbol_store.h"

struct sbx_store_backend {
    int (*find)(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes, uint64_t now_s,
                size_t cache_bytes, struct sbx_symbol_image **image_out);
    int (*begin)(struct sbx_symbol_store *store, struct sbx_store_draft *draft, int *fd_out);
    int (*commit)(struct sbx_symbol_store *store, const struct sbx_store_draft *draft, const uint8_t *build_id,
                  size_t bytes, enum sbx_store_outcome *outcome_out, enum sbx_symbol_source *before_out);
    void (*abandon)(struct sbx_symbol_store *store, const struct sbx_store_draft *draft);
    int (*remove)(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes);
    int (*list)(struct sbx_symbol_store *store, struct sbx_store_entry **entries_out, size_t *count_out);
    int (*sweep)(struct sbx_symbol_store *store, uint64_t now_s);
    enum sbx_store_trouble (*trouble)(struct sbx_symbol_store *store, char *words_out, size_t bytes);
    int (*connect_once)(struct sbx_symbol_store *store);
    int (*of_tenant)(const struct sbx_symbol_store *store, const char *tenant, bool may_create,
                     struct sbx_symbol_store **store_out);
    void (*close)(struct sbx_symbol_store *store);
};

/* The first member of each backend's own structure. */
struct sbx_symbol_store {
    const struct sbx_store_backend *backend;
};

#endif
