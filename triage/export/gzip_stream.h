/* SPDX-License-Identifier: Apache-2.0 */
/* gzip_stream.h - bytes -> a gzip member on a stream; apart because it is the one user of zlib. */
#ifndef SBX_GZIP_STREAM_H
#define SBX_GZIP_STREAM_H

#include <stddef.h>
#include <stdio.h>

/* Write `bytes` compressed. The header holds no time and no name, so equal input gives equal output. Returns 0, -ENOMEM
 * or -errno of the stream. */
int sbx_gzip_write(const void *bytes, size_t count, FILE *out);

#endif
