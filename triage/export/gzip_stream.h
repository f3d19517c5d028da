/* SPDX-License-Identifier: Apache-2.0 */
/* gzip_stream.h - writes bytes as a gzip member to a stream. Separate because it is the only user of zlib in this
 * folder. */
#ifndef SBX_GZIP_STREAM_H
#define SBX_GZIP_STREAM_H

#include <stddef.h>
#include <stdio.h>

/* Write `bytes` compressed. The header has no time and no name, so equal input gives equal output. Returns 0, -ENOMEM
 * or -errno of the stream. */
int sbx_gzip_write(const void *bytes, size_t count, FILE *out);

#endif
