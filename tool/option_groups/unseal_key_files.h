/* SPDX-License-Identifier: Apache-2.0 */
/* unseal_key_files.h - the option --unseal-key FILE of several commands: the keys that open sealed payloads, in
 * memory. */
#ifndef SBX_UNSEAL_KEY_FILES_H
#define SBX_UNSEAL_KEY_FILES_H

#include <stddef.h>

#include "unseal.h"

/* Read one more key into `keys`. Returns 0, or a negative errno with "PATH: reason": -EPERM when others may read the
 * file. The caller wipes `keys` at the end. */
int sbx_unseal_key_file_add(struct sbx_unseal_keys *keys, const char *path, char *why, size_t why_bytes);

#endif
