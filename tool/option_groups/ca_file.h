/* SPDX-License-Identifier: Apache-2.0 */
/* ca_file.h - reads, from a file, the authorities that must have signed a server's certificate. */
#ifndef SBX_CA_FILE_H
#define SBX_CA_FILE_H

#include <stddef.h>

#include "marks.h"

/* From now on this process trusts only servers whose certificate was signed by one of the authorities in `path` (PEM);
 * NULL keeps those of the system. Call this before the first request. Returns 0, or -errno with "PATH: reason" in
 * `why`. */
SBX_MUST_CHECK int sbx_ca_file_trust(const char *path, char *why, size_t why_bytes);

#endif
