/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_store_option.h - which symbol store a command uses. */
#ifndef SBX_SYMBOL_STORE_OPTION_H
#define SBX_SYMBOL_STORE_OPTION_H

#include <stdbool.h>

#include "symbol_store.h"

#define SBX_SYMBOL_TENANT "default"

/* Open the store in `folder`, or, when that is NULL, the user's own ($XDG_DATA_HOME/stallbox/symbols or
 * ~/.local/share/stallbox/symbols). *store_out is NULL when a store that is only to be read is not there and nobody
 * named it. Returns 0, or an exit status after a message that names `command`. */
int sbx_symbol_store_option_open(const char *command, const char *folder, const char *tenant, bool may_create,
                                 struct sbx_symbol_store **store_out);

#endif
