/* SPDX-License-Identifier: Apache-2.0 */
/* file_bytes.h - reads and writes at a place of a regular file. read(2) and write(2) may move fewer bytes than asked
 * for, and may be interrupted. */
#ifndef SBX_FILE_BYTES_H
#define SBX_FILE_BYTES_H

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "raw_syscall.h"

/* Read `bytes` bytes of a file from `at` on, or as many as the file has there. Returns the count or -errno. */
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

/* Write all bytes at `at`, by direct system calls, for threads of the agent. Returns 0 or -errno; errno is left
 * alone. */
static inline int sbx_file_write(int file, uint64_t at, const void *bytes, size_t count)
{
    const uint8_t *from = (const uint8_t *)bytes;
    while (count > 0) {
        long wrote = sbx_raw_pwrite(file, from, count, at);
        if (wrote == -EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return wrote == 0 ? -EIO : (int)wrote;
        }
        from += wrote;
        at += (uint64_t)wrote;
        count -= (size_t)wrote;
    }
    return 0;
}

#endif
