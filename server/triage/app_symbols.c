/* SPDX-License-Identifier: Apache-2.0 */
/* app_symbols.c - makes the name of an application's tenant. */
#include "app_symbols.h"

#include <inttypes.h>
#include <stdio.h>

#include "symbol_store.h"

void sbx_app_symbols_tenant(uint64_t app, char tenant_out[SBX_APP_TENANT_BYTES])
{
    snprintf(tenant_out, SBX_APP_TENANT_BYTES, "app-%010" PRIx64, app);
}

int sbx_app_symbols_open(const struct sbx_symbol_store *common, uint64_t app, bool may_create,
                         struct sbx_symbol_store **own_out)
{
    char tenant[SBX_APP_TENANT_BYTES];
    sbx_app_symbols_tenant(app, tenant);
    return sbx_symbol_store_of_tenant(common, tenant, may_create, own_out);
}
