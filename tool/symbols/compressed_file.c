/* SPDX-License-Identifier: Apache-2.0 */
/* compressed_file.c - a stream of zstd into a file without a name. */
#include "compressed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "nameless_file.h"

enum {
    LEVEL = 3,
    PART_BYTES = 256 << 10
};

static int write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? -errno : -EIO;
        }
        bytes += written;
        count -= (size_t)written;
    }
    return 0;
}

/* Compress one part; `is_last`: also end the stream. */
static int compress_part(ZSTD_CCtx *stream, ZSTD_inBuffer part, bool is_last, char *buffer, int out)
{
    for (;;) {
        ZSTD_outBuffer packed = {.dst = buffer, .size = PART_BYTES};
        size_t left = ZSTD_compressStream2(stream, &packed, &part, is_last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            return -ENOMEM;
        }
        int result = write_all(out, buffer, packed.pos);
        if (result != 0 || (is_last ? left == 0 : part.pos == part.size)) {
            return result;
        }
    }
}

static int compress(int in, int out, uint64_t *plain_out)
{
    char *plain = malloc(PART_BYTES), *buffer = malloc(PART_BYTES);
    ZSTD_CCtx *stream = ZSTD_createCCtx();
    int result = -ENOMEM;
    bool is_last = false;
    if (plain != NULL && buffer != NULL && stream != NULL) {
        (void)ZSTD_CCtx_setParameter(stream, ZSTD_c_compressionLevel, LEVEL);
        (void)ZSTD_CCtx_setParameter(stream, ZSTD_c_checksumFlag, 1);
        result = 0;
    }
    while (result == 0 && !is_last) {
        ssize_t got = read(in, plain, PART_BYTES);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            result = -errno;
            break;
        }
        is_last = got == 0;
        *plain_out += (uint64_t)got;
        result = compress_part(stream, (ZSTD_inBuffer){.src = plain, .size = (size_t)got}, is_last, buffer, out);
    }
    ZSTD_freeCCtx(stream);
    free(buffer);
    free(plain);
    return result;
}

int sbx_compressed_file_make(const char *path, struct sbx_compressed_file *file_out)
{
    struct stat status;
    int in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int result = in < 0 || fstat(in, &status) != 0 ? -errno : 0;
    if (result == 0 && (!S_ISREG(status.st_mode) || status.st_size == 0)) {
        result = -ENOEXEC;
    }
    int out = result == 0 ? sbx_nameless_file_open() : -1;
    result = result == 0 && out < 0 ? out : result;
    *file_out = (struct sbx_compressed_file){0};
    if (result == 0) {
        result = compress(in, out, &file_out->plain_count);
    }
    if (result == 0 && fstat(out, &status) != 0) {
        result = -errno;
    }
    if (result == 0) {
        file_out->count = (size_t)status.st_size;
        file_out->bytes = mmap(NULL, file_out->count, PROT_READ, MAP_PRIVATE, out, 0);
        result = file_out->bytes == MAP_FAILED ? -errno : 0;
        file_out->bytes = result == 0 ? file_out->bytes : NULL;
    }
    if (in >= 0) {
        close(in);
    }
    if (out >= 0) {
        close(out);
    }
    return result;
}

void sbx_compressed_file_finish(struct sbx_compressed_file *file)
{
    if (file->bytes != NULL) {
        munmap(file->bytes, file->count);
    }
    *file = (struct sbx_compressed_file){0};
}
