/* SPDX-License-Identifier: Apache-2.0 */
/* app_symbols.h - symbols that were sent with a token of one application: a tenant of its own in the store of symbols. */
#ifndef SBX_APP_SYMBOLS_H
#define SBX_APP_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct sbx_symbol_store;

enum {
    SBX_APP_TENANT_BYTES = 24
};

/* What the tenant of an application is called. */
void sbx_app_symbols_tenant(uint64_t app, char tenant_out[SBX_APP_TENANT_BYTES]);

/* The tenant of the application, in the place of `common`, which is that of all. -ENOENT: there is none, and `may_create` is
 * false. Returns 0 and one (given: sbx_symbol_store_close), or -errno. */
int sbx_app_symbols_open(const struct sbx_symbol_store *common, uint64_t app, bool may_create,
                         struct sbx_symbol_store **own_out);

#endif
