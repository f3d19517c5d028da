/* SPDX-License-Identifier: Apache-2.0 */
/* zstd_file.c - expands a stream into a stream. */
#include "zstd_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "whole_write.h"

enum {
    WINDOW_LOG_MAX = 27,
    PART_BYTES = 128 << 10,
};

/* Expand one part. *hint_out: 0 at the end of a frame. */
static int expand_part(ZSTD_DStream *stream, ZSTD_inBuffer *part, char *buffer, int out, uint64_t bytes_max,
                       uint64_t *bytes, size_t *hint_out)
{
    bool is_full = true;
    while (part->pos < part->size || is_full) { /* when the buffer is full, more output may be waiting */
        ZSTD_outBuffer plain = {.dst = buffer, .size = PART_BYTES};
        size_t hint = ZSTD_decompressStream(stream, &plain, part);
        if (ZSTD_isError(hint))
            return -EBADMSG;
        *hint_out = hint;
        is_full = plain.pos == plain.size;
        if (plain.pos > bytes_max - *bytes)
            return -E2BIG;
        *bytes += plain.pos;
        int result = sbx_write_all(out, buffer, plain.pos);
        if (result < 0)
            return result;
        if (hint == 0 && part->pos == part->size)
            break;
    }
    return 0;
}

int sbx_zstd_file_expand(int in, int out, uint64_t bytes_max, uint64_t *bytes_out)
{
    char *compressed = malloc(PART_BYTES), *buffer = malloc(PART_BYTES);
    ZSTD_DStream *stream = ZSTD_createDStream();
    size_t hint = 1;
    off_t at = 0;
    int result = -ENOMEM;
    *bytes_out = 0;
    if (compressed && buffer && stream &&
        !ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
        result = 0;
    while (result == 0) {
        ssize_t got = pread(in, compressed, PART_BYTES, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            result = -errno;
        if (got <= 0)
            break;
        at += got;
        ZSTD_inBuffer part = {.src = compressed, .size = (size_t)got};
        result = expand_part(stream, &part, buffer, out, bytes_max, bytes_out, &hint);
    }
    if (result == 0 && hint != 0)
        result = -EBADMSG; /* empty, or cut within a frame */
    ZSTD_freeDStream(stream);
    free(buffer);
    free(compressed);
    return result;
}
