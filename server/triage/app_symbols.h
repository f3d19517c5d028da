/* SPDX-License-Identifier: Apache-2.0 */
/* app_symbols.h - symbols that were sent with a token of one application: they have their own tenant in the symbol
 * store. */
#ifndef SBX_APP_SYMBOLS_H
#define SBX_APP_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct sbx_symbol_store;

enum {
    SBX_APP_TENANT_BYTES = 24
};

/* The name of the application's tenant. */
void sbx_app_symbols_tenant(uint64_t app, char tenant_out[SBX_APP_TENANT_BYTES]);

/* Open the tenant of the application in the store of `common`, which is the tenant for all. Returns 0 and a store
 * (given: sbx_symbol_store_close), -ENOENT when there is none and `may_create` is false, or another -errno. */
int sbx_app_symbols_open(const struct sbx_symbol_store *common, uint64_t app, bool may_create,
                         struct sbx_symbol_store **own_out);

#endif
