/* SPDX-License-Identifier: Apache-2.0 */
/* seal_option.h - the key that payloads are sealed to, by a command line. */
#ifndef SBX_SEAL_OPTION_H
#define SBX_SEAL_OPTION_H

#include <stdbool.h>

#include "sealer.h"

/* A sealer to the public key in `key_path` (NULL: none). With `has_policy` a KEYSET will say more, and until it does
 * nothing leaves plain. Returns it (given: sbx_sealer_destroy), or NULL after a message. */
struct sbx_sealer *sbx_sealer_of_options(const char *command, const char *key_path, bool has_policy);

#endif
