/* SPDX-License-Identifier: Apache-2.0 */
/* zstd_file.h - expands a compressed file into a plain one, in bounded memory and space. */
#ifndef SBX_ZSTD_FILE_H
#define SBX_ZSTD_FILE_H

#include <stdint.h>

/* Expand all frames of `in` (from its begin) into the empty file `out`: at most `bytes_max` bytes, with a window of at
 * most 128 MiB. The size that a frame claims is not trusted. Returns 0 and the number of bytes; -EBADMSG when it is not
 * zstd, is cut or damaged; -E2BIG; -ENOMEM; or -errno of reading or writing. */
int sbx_zstd_file_expand(int in, int out, uint64_t bytes_max, uint64_t *bytes_out);

#endif
