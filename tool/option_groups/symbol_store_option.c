/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_store_option.c - which symbol store a command uses. */
#include "symbol_store_option.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

/* The user's own folder; false when it is not known. */
static bool usual_folder(char *out, size_t bytes)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data != NULL && data[0] == '/') {
        return (size_t)snprintf(out, bytes, "%s/stallbox/symbols", data) < bytes;
    }
    return home != NULL && home[0] == '/' &&
           (size_t)snprintf(out, bytes, "%s/.local/share/stallbox/symbols", home) < bytes;
}

int sbx_symbol_store_option_open(const char *command, const char *folder, const char *tenant, bool may_create,
                                 struct sbx_symbol_store **store_out)
{
    char usual[PATH_MAX], why[300];
    bool was_named = folder != NULL;
    *store_out = NULL;
    if (!was_named && !usual_folder(usual, sizeof usual)) {
        return may_create ? sbx_failure(command, "neither XDG_DATA_HOME nor HOME says where symbols are kept; use "
                                                 "--store DIR")
                          : SBX_EXIT_DONE;
    }
    folder = was_named ? folder : usual;
    int result = sbx_symbol_store_open_at(folder, tenant, may_create, store_out, why, sizeof why);
    if (result == 0 || (result == -ENOENT && !was_named)) {
        return SBX_EXIT_DONE;
    }
    if (result == -EINVAL) {
        return sbx_usage_error(command, "'%s' is no tenant: letters, digits, '-', '_' and '.' are wanted", tenant);
    }
    if (result == -EPERM) {
        return sbx_failure(command, "%s: not used, because it is another user's or others may write to it", folder);
    }
    if (result == -EDESTADDRREQ) { /* the URL may have a password, which must not be printed */
        return sbx_usage_error(command, "the URL of the store: %s", why);
    }
    return result == -EKEYREJECTED ? sbx_failure(command, "%s", why)
                                   : sbx_failure(command, "%s: %s", folder, strerror(-result));
}

int sbx_symbol_store_option_tell(const char *command, struct sbx_symbol_store *store)
{
    char words[800];
    return store != NULL && sbx_symbol_store_trouble(store, words, sizeof words) ? sbx_failure(command, "%s", words)
                                                                                 : SBX_EXIT_DONE;
}

int sbx_symbol_store_option_failed(const char *command, struct sbx_symbol_store *store, const char *what, int result)
{
    int told = sbx_symbol_store_option_tell(command, store);
    return told != SBX_EXIT_DONE ? told : sbx_failure(command, "%s: %s", what, strerror(-result));
}
