/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_store_option.h - which symbol store a command uses. */
#ifndef SBX_SYMBOL_STORE_OPTION_H
#define SBX_SYMBOL_STORE_OPTION_H

#include <stdbool.h>

#include "symbol_store.h"

#define SBX_SYMBOL_TENANT "default"

/* Open the store in `folder`, which may be a URL of Redis (redis_url.h), or, when that is NULL, the user's own ($XDG_DATA_HOME/stallbox/symbols or
 * ~/.local/share/stallbox/symbols). *store_out is NULL when a store that is only to be read is not there and nobody
 * named it. Returns 0, or an exit status after a message that names `command`. */
int sbx_symbol_store_option_open(const char *command, const char *folder, const char *tenant, bool may_create,
                                 struct sbx_symbol_store **store_out);

/* Report trouble with the store since it was opened. Returns SBX_EXIT_DONE when there was none, else SBX_EXIT_FAILED
 * after a message. `store` may be NULL. */
int sbx_symbol_store_option_tell(const char *command, struct sbx_symbol_store *store);
/* Print why a call of the store returned `result`, in the store's own words or as "WHAT: ...". Returns
 * SBX_EXIT_FAILED. */
int sbx_symbol_store_option_failed(const char *command, struct sbx_symbol_store *store, const char *what, int result);

#endif
