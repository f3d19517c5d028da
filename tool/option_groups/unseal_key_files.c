/* SPDX-License-Identifier: Apache-2.0 */
/* unseal_key_files.c - a secret key's file to a key that opens. */
#include "unseal_key_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy_key_file.h"

int sbx_unseal_key_file_add(struct sbx_unseal_keys *keys, const char *path, char *why, size_t why_bytes)
{
    uint8_t secret[SBX_SEAL_KEY_BYTES];
    if (keys->count == SBX_UNSEAL_KEYS_MAX) {
        snprintf(why, why_bytes, "%s: more than %d keys", path, SBX_UNSEAL_KEYS_MAX);
        return -E2BIG;
    }
    int result = sbx_seal_secret_read(path, secret, why, why_bytes);
    if (result == 0) {
        result = sbx_unseal_key_init(secret, &keys->keys[keys->count]);
        keys->count += result == 0;
        if (result != 0) {
            snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
        }
    }
    explicit_bzero(secret, sizeof secret);
    return result;
}
