/* SPDX-License-Identifier: Apache-2.0 */
/* ca_file.h - the authorities a server's certificate must be signed by, from a file. */
#ifndef SBX_CA_FILE_H
#define SBX_CA_FILE_H

#include <stddef.h>

#include "marks.h"

/* Believe, in this process from now on, only servers whose certificate one of the authorities in `path` (PEM) has
 * signed; NULL leaves those of the system. Before the first request. 0, or -errno with "PATH: reason" in `why`. */
SBX_MUST_CHECK int sbx_ca_file_trust(const char *path, char *why, size_t why_bytes);

#endif
