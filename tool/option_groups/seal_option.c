/* SPDX-License-Identifier: Apache-2.0 */
/* seal_option.c - --seal-key FILE. */
#include "seal_option.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "options.h"
#include "policy_key_file.h"

struct sbx_sealer *sbx_sealer_of_options(const char *command, const char *key_path, bool has_policy)
{
    char why[PATH_MAX + 128] = "";
    uint8_t key[SBX_SEAL_KEY_BYTES];
    struct sbx_sealer *sealer = sbx_sealer_create();
    if (sealer == NULL) {
        sbx_failure(command, "%s", strerror(ENOMEM));
        return NULL;
    }
    if (has_policy) {
        sbx_sealer_await(sealer);
    }
    int result = 0;
    if (key_path != NULL) {
        result = sbx_seal_public_read(key_path, key, why, sizeof why);
        if (result == 0) {
            result = sbx_sealer_hold(sealer, key);
        }
    }
    if (result != 0) {
        if (why[0] != '\0') {
            sbx_failure(command, "%s", why);
        } else {
            sbx_failure(command, "%s: %s", key_path,
                        result == -EINVAL ? "nobody can seal to this key" : strerror(-result));
        }
        sbx_sealer_destroy(sealer);
        return NULL;
    }
    return sealer;
}
