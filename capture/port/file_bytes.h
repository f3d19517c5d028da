/* SPDX-License-Identifier: Apache-2.0 */
/* file_bytes.h - what a regular file has at a place: read(2) may give less than was asked for, and be interrupted. */
#ifndef SBX_FILE_BYTES_H
#define SBX_FILE_BYTES_H

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* Read `bytes` bytes of a file from `at` on, or as many as it has there. Returns the count or -errno. */
static inline ssize_t sbx_file_bytes(int file, off_t at, void *to, size_t bytes)
{
    size_t have = 0;
    while (have < bytes) {
        ssize_t got = pread(file, (uint8_t *)to + have, bytes - have, at + (off_t)have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        have += (size_t)got;
    }
    return (ssize_t)have;
}

#endif
