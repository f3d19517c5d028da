/* SPDX-License-Identifier: Apache-2.0 */
/* seal_option.h - the key on a command line that payloads are sealed to. */
#ifndef SBX_SEAL_OPTION_H
#define SBX_SEAL_OPTION_H

#include <stdbool.h>

#include "sealer.h"

/* Make a sealer for the public key in `key_path` (NULL: none). With `has_policy` a KEYSET will give more keys, and
 * until then nothing is sent unsealed. Returns it (given: sbx_sealer_destroy), or NULL after a message. */
struct sbx_sealer *sbx_sealer_of_options(const char *command, const char *key_path, bool has_policy);

#endif
