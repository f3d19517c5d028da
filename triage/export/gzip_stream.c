/* SPDX-License-Identifier: Apache-2.0 */
/* gzip_stream.c - writes bytes as a gzip member to a stream. Separate because it is the only user of zlib in this
 * folder. */
#include "gzip_stream.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <zlib.h>

enum {
    GZIP_WINDOW = 15 + 16,
    MEMORY_LEVEL = 8,
    CHUNK_BYTES = 16384
};

int sbx_gzip_write(const void *bytes, size_t count, FILE *out)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return -ENOMEM;
    }
    const uint8_t *from = bytes;
    uint8_t chunk[CHUNK_BYTES];
    int result = 0, state = Z_OK;
    while (state != Z_STREAM_END && result == 0) {
        if (stream.avail_in == 0 && count > 0) {
            stream.next_in = (uint8_t *)from; /* zlib's old interface lacks const; it does not write there */
            stream.avail_in = count < INT_MAX ? (uInt)count : INT_MAX;
            from += stream.avail_in;
            count -= stream.avail_in;
        }
        stream.next_out = chunk;
        stream.avail_out = sizeof chunk;
        state = deflate(&stream, count == 0 ? Z_FINISH : Z_NO_FLUSH);
        size_t made = sizeof chunk - stream.avail_out;
        if (fwrite(chunk, 1, made, out) != made) {
            result = errno != 0 ? -errno : -EIO;
        }
    }
    deflateEnd(&stream);
    return result;
}
