/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_store.c - images by build-id: calls the functions of the backend. */
#include "symbol_store.h"

#include <errno.h>
#include <string.h>

#include "folder_store.h"
#include "redis_store.h"
#include "store_backend.h"

int sbx_symbol_store_open(const char *folder, const char *tenant, bool may_create, struct sbx_symbol_store **store_out)
{
    return sbx_folder_store_open(folder, tenant, may_create, store_out);
}

int sbx_symbol_store_open_at(const char *where, const char *tenant, bool may_create,
                             struct sbx_symbol_store **store_out, char *why, size_t why_bytes)
{
    if (why_bytes > 0) {
        why[0] = '\0';
    }
    if (sbx_redis_url_is(where)) {
        struct sbx_redis_url url;
        if (sbx_redis_url_parse(where, &url, why, why_bytes) != 0) {
            return -EDESTADDRREQ;
        }
        if (sbx_redis_url_read_password(&url, why, why_bytes) != 0) {
            return -EKEYREJECTED;
        }
        int result = sbx_redis_store_open(&url, where, tenant, store_out);
        explicit_bzero(url.password, sizeof url.password);
        return result;
    }
    return sbx_folder_store_open(where, tenant, may_create, store_out);
}

int sbx_symbol_store_of_tenant(const struct sbx_symbol_store *store, const char *tenant, bool may_create,
                               struct sbx_symbol_store **store_out)
{
    return store->backend->of_tenant(store, tenant, may_create, store_out);
}

void sbx_symbol_store_close(struct sbx_symbol_store *store)
{
    if (store != NULL) {
        store->backend->close(store);
    }
}

int sbx_symbol_store_find(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes, uint64_t now_s,
                          size_t cache_bytes, struct sbx_symbol_image **image_out)
{
    return store->backend->find(store, build_id, bytes, now_s, cache_bytes, image_out);
}

int sbx_symbol_store_begin(struct sbx_symbol_store *store, struct sbx_store_draft *draft, int *fd_out)
{
    draft->file = -1;
    return store->backend->begin(store, draft, fd_out);
}

int sbx_symbol_store_commit(struct sbx_symbol_store *store, const struct sbx_store_draft *draft,
                            const uint8_t *build_id, size_t bytes, enum sbx_store_outcome *outcome_out,
                            enum sbx_symbol_source *before_out)
{
    return store->backend->commit(store, draft, build_id, bytes, outcome_out, before_out);
}

void sbx_symbol_store_abandon(struct sbx_symbol_store *store, const struct sbx_store_draft *draft)
{
    store->backend->abandon(store, draft);
}

int sbx_symbol_store_remove(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes)
{
    return store->backend->remove(store, build_id, bytes);
}

int sbx_symbol_store_list(struct sbx_symbol_store *store, struct sbx_store_entry **entries_out, size_t *count_out)
{
    return store->backend->list(store, entries_out, count_out);
}

int sbx_symbol_store_sweep(struct sbx_symbol_store *store, uint64_t now_s)
{
    return store->backend->sweep(store, now_s);
}

enum sbx_store_trouble sbx_symbol_store_trouble(struct sbx_symbol_store *store, char *words_out, size_t bytes)
{
    return store->backend->trouble(store, words_out, bytes);
}

bool sbx_symbol_store_is_server(const char *where)
{
    return sbx_redis_url_is(where);
}

int sbx_symbol_store_connect_once(struct sbx_symbol_store *store)
{
    return store->backend->connect_once(store);
}
