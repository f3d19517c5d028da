/* SPDX-License-Identifier: Apache-2.0 */
/* point_file.c - file input and output. What a descriptor is (file, pipe, socket) is asked only of calls that were
 * slow. */
#include "point.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

SBX_BLOCKING_HOOK(ssize_t, read, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes), SBX_GROUP_FILE, SBX_RECORD_FILE,
                  SBX_OP_READ, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, read_chk, (int fd, void *buffer, size_t bytes, size_t room), (fd, buffer, bytes, room),
                  SBX_GROUP_FILE, SBX_RECORD_FILE, SBX_OP_READ, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, write, (int fd, const void *buffer, size_t bytes), (fd, buffer, bytes), SBX_GROUP_FILE, SBX_RECORD_FILE,
                  SBX_OP_WRITE, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, pread, (int fd, void *buffer, size_t bytes, off_t at), (fd, buffer, bytes, at),
                  SBX_GROUP_FILE, SBX_RECORD_FILE, SBX_OP_PREAD, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, pread64, (int fd, void *buffer, size_t bytes, off64_t at), (fd, buffer, bytes, at),
                  SBX_GROUP_FILE, SBX_RECORD_FILE, SBX_OP_PREAD, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, pwrite, (int fd, const void *buffer, size_t bytes, off_t at), (fd, buffer, bytes, at),
                  SBX_GROUP_FILE, SBX_RECORD_FILE, SBX_OP_PWRITE, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, pwrite64, (int fd, const void *buffer, size_t bytes, off64_t at), (fd, buffer, bytes, at),
                  SBX_GROUP_FILE, SBX_RECORD_FILE, SBX_OP_PWRITE, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), SBX_GROUP_FILE, SBX_RECORD_FILE,
                  SBX_OP_READV, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), SBX_GROUP_FILE, SBX_RECORD_FILE,
                  SBX_OP_WRITEV, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)
SBX_BLOCKING_HOOK(int, fsync, (int fd), (fd), SBX_GROUP_SYNC, SBX_RECORD_SYNC, SBX_OP_FSYNC, (uint64_t)fd + 1, 0, result < 0, fd)
SBX_BLOCKING_HOOK(int, fdatasync, (int fd), (fd), SBX_GROUP_SYNC, SBX_RECORD_SYNC, SBX_OP_FDATASYNC, (uint64_t)fd + 1, 0, result < 0,
                  fd)
SBX_BLOCKING_HOOK(int, flock, (int fd, int operation), (fd, operation), SBX_GROUP_FILE_LOCK, SBX_RECORD_FILE, SBX_OP_FLOCK, (uint64_t)fd + 1,
                  0, result < 0, fd)

/* open() takes its mode only when it may create: the kernel's rule, and the reason these are not the macro above. */
#define OPEN_HOOK(name, parameters, arguments)                            \
    static int(*real_##name) parameters;                                  \
    static int hook_##name parameters                                     \
    {                                                                     \
        mode_t mode = 0;                                                  \
        if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) { \
            va_list rest;                                                 \
            va_start(rest, flags);                                        \
            mode = va_arg(rest, mode_t);                                  \
            va_end(rest);                                                 \
        }                                                                 \
        struct sbx_blocking call;                                         \
        SBX_SAVE_FRAME_POINTER();                                         \
        sbx_blocking_begin(&call, SBX_GROUP_OPEN, SBX_RECORD_FILE, SBX_OP_OPEN, 0, 0);    \
        int result = real_##name arguments;                               \
        sbx_blocking_end(&call, 0, result < 0, result);                   \
        return result;                                                    \
    }

OPEN_HOOK(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN_HOOK(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN_HOOK(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPEN_HOOK(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))

static const struct sbx_point points[] = {
    SBX_POINT("read", hook_read, real_read, SBX_GROUP_FILE),
    SBX_POINT("__read_chk", hook_read_chk, real_read_chk, SBX_GROUP_FILE),
    SBX_POINT("write", hook_write, real_write, SBX_GROUP_FILE),
    SBX_POINT("pread", hook_pread, real_pread, SBX_GROUP_FILE),
    SBX_POINT("pread64", hook_pread64, real_pread64, SBX_GROUP_FILE),
    SBX_POINT("pwrite", hook_pwrite, real_pwrite, SBX_GROUP_FILE),
    SBX_POINT("pwrite64", hook_pwrite64, real_pwrite64, SBX_GROUP_FILE),
    SBX_POINT("readv", hook_readv, real_readv, SBX_GROUP_FILE),
    SBX_POINT("writev", hook_writev, real_writev, SBX_GROUP_FILE),
    SBX_POINT("fsync", hook_fsync, real_fsync, SBX_GROUP_SYNC),
    SBX_POINT("fdatasync", hook_fdatasync, real_fdatasync, SBX_GROUP_SYNC),
    SBX_POINT("flock", hook_flock, real_flock, SBX_GROUP_FILE_LOCK),
    SBX_POINT("open", hook_open, real_open, SBX_GROUP_OPEN),
    SBX_POINT("open64", hook_open64, real_open64, SBX_GROUP_OPEN),
    SBX_POINT("openat", hook_openat, real_openat, SBX_GROUP_OPEN),
    SBX_POINT("openat64", hook_openat64, real_openat64, SBX_GROUP_OPEN),
};
const struct sbx_point_list sbx_points_file = SBX_POINT_LIST(points);
