/* SPDX-License-Identifier: Apache-2.0 */
/* point_file.c - data moved through descriptors: the read and write families, truncation, copies between descriptors.
 *
 * The 64-bit names, the fortified names (__read_chk) and the plain ones are different symbols of libc, and a program
 * calls the one that its compiler chose. So each is a point. What kind of descriptor it is (file, pipe, socket) is only
 * asked for slow calls. */
#include "point.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "descriptor_hooks.h"
#include "notify_socket.h"
#include "wide_names.h"

/* A call on descriptor `fd` that returns how many bytes it moved. */
#define MOVES(name, parameters, arguments, op) \
    SBX_MOVING_HOOK(ssize_t, name, parameters, arguments, SBX_GROUP_FILE, SBX_RECORD_FILE, op, (uint64_t)fd + 1, fd)
/* The same for a descriptor that may be a client's. */
#define READS(name, parameters, arguments, op, asked) SBX_READ_HOOK(name, parameters, arguments, FILE, op, asked)
/* A write between two descriptors, which is not made as a prompt call. */
#define WRITES(name, parameters, arguments, op) SBX_SLOW_WRITE_HOOK(name, parameters, arguments, FILE, op, (void)0)

/* An eventfd reads and writes eight bytes, so a thread that writes eight bytes may end such a read. */
enum {
    EVENT_BYTES = 8
};

/* These are macros for the same reason as those of descriptor_hooks.h. */
#define BEGIN_READ(call, fd, bytes, known)                                                             \
    if ((bytes) == EVENT_BYTES && ((known)&SBX_FD_IS_QUICK) == 0) {                                    \
        sbx_wait_begin(call, SBX_GROUP_FILE, SBX_RECORD_FILE, SBX_OP_READ, (uint64_t)(fd) + 1, 0);     \
    } else {                                                                                           \
        sbx_blocking_begin(call, SBX_GROUP_FILE, SBX_RECORD_FILE, SBX_OP_READ, (uint64_t)(fd) + 1, 0); \
    }                                                                                                  \
    (void)0

#define READ_BODY                                                                                  \
    if (SBX_UNLIKELY(sbx_read_is_count(known))) {                                                  \
        ssize_t moved = real_read(fd, buffer, bytes);                                              \
        sbx_self_pipe_read(fd, bytes, moved);                                                      \
        sbx_leaf_here(SBX_RECORD_LEAF, SBX_OP_READ, SBX_GROUP_FILE);                               \
        return moved;                                                                              \
    }                                                                                              \
    SBX_READ_BODY(ssize_t, fd, known, SBX_CALL_WHAT(SBX_RECORD_FILE, SBX_OP_READ, SBX_GROUP_FILE), \
                  BEGIN_READ(&call, fd, bytes, known), bytes, real_read(fd, buffer, bytes))

#define WRITE_BODY                                                                                   \
    if (SBX_UNLIKELY((known & SBX_FD_IS_END) != 0)) {                                                \
        sbx_self_pipe_write(fd, SBX_OP_WRITE);                                                       \
    }                                                                                                \
    if (bytes == EVENT_BYTES) {                                                                      \
        sbx_wake_check((uint64_t)fd + 1, SBX_OP_EVENTFD_WRITE, SBX_WAKE_ALL);                        \
        if (sbx_write_is_count(known)) {                                                             \
            ssize_t moved = real_write(fd, buffer, bytes);                                           \
            sbx_leaf_here(SBX_RECORD_LEAF, SBX_OP_WRITE, SBX_GROUP_FILE);                            \
            return moved;                                                                            \
        }                                                                                            \
    }                                                                                                \
    SBX_WRITE_BODY(ssize_t, fd, known, SBX_CALL_WHAT(SBX_RECORD_FILE, SBX_OP_WRITE, SBX_GROUP_FILE), \
                   real_write(fd, buffer, bytes), sbx_notify_sent(fd, NULL, 0, buffer, (size_t)result))

SBX_PROMPT_READ_HOOK(read, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes), FILE, SBX_OP_READ, READ_BODY)
SBX_PROMPT_WRITE_HOOK(write, (int fd, const void *buffer, size_t bytes), (fd, buffer, bytes), FILE, SBX_OP_WRITE,
                      WRITE_BODY)

READS(read_chk, (int fd, void *buffer, size_t bytes, size_t room), (fd, buffer, bytes, room), SBX_OP_READ, bytes)
MOVES(pread, (int fd, void *buffer, size_t bytes, off_t at), (fd, buffer, bytes, at), SBX_OP_PREAD)
MOVES(pread64, (int fd, void *buffer, size_t bytes, off64_t at), (fd, buffer, bytes, at), SBX_OP_PREAD)
MOVES(pread_chk, (int fd, void *buffer, size_t bytes, off_t at, size_t room), (fd, buffer, bytes, at, room),
      SBX_OP_PREAD)
MOVES(pread64_chk, (int fd, void *buffer, size_t bytes, off64_t at, size_t room), (fd, buffer, bytes, at, room),
      SBX_OP_PREAD)
MOVES(pwrite, (int fd, const void *buffer, size_t bytes, off_t at), (fd, buffer, bytes, at), SBX_OP_PWRITE)
MOVES(pwrite64, (int fd, const void *buffer, size_t bytes, off64_t at), (fd, buffer, bytes, at), SBX_OP_PWRITE)
READS(readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), SBX_OP_READV, SIZE_MAX)
SBX_WRITE_HOOK(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), FILE, SBX_OP_WRITEV, (void)0)
MOVES(preadv, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at), SBX_OP_PREADV)
MOVES(preadv64, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at), SBX_OP_PREADV)
MOVES(preadv2, (int fd, const struct iovec *parts, int count, off_t at, int flags), (fd, parts, count, at, flags),
      SBX_OP_PREADV)
MOVES(preadv64v2, (int fd, const struct iovec *parts, int count, off64_t at, int flags), (fd, parts, count, at, flags),
      SBX_OP_PREADV)
MOVES(pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at), SBX_OP_PWRITEV)
MOVES(pwritev64, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at), SBX_OP_PWRITEV)
MOVES(pwritev2, (int fd, const struct iovec *parts, int count, off_t at, int flags), (fd, parts, count, at, flags),
      SBX_OP_PWRITEV)
MOVES(pwritev64v2, (int fd, const struct iovec *parts, int count, off64_t at, int flags), (fd, parts, count, at, flags),
      SBX_OP_PWRITEV)
/* Of the two descriptors, the record names the one that is written to, because that is the one that fills up. */
WRITES(sendfile, (int fd, int from, off_t *at, size_t bytes), (fd, from, at, bytes), SBX_OP_SENDFILE)
WRITES(sendfile64, (int fd, int from, off64_t *at, size_t bytes), (fd, from, at, bytes), SBX_OP_SENDFILE)
MOVES(copy_file_range, (int from, off64_t *from_at, int fd, off64_t *at, size_t bytes, unsigned flags),
      (from, from_at, fd, at, bytes, flags), SBX_OP_COPY_FILE_RANGE)
WRITES(splice, (int from, off64_t *from_at, int fd, off64_t *at, size_t bytes, unsigned flags),
       (from, from_at, fd, at, bytes, flags), SBX_OP_SPLICE)

#define SHAPES(name, parameters, arguments, op, fd)                                          \
    SBX_BLOCKING_HOOK(int, name, parameters, arguments, SBX_GROUP_FILE, SBX_RECORD_FILE, op, \
                      (fd) >= 0 ? (uint64_t)(fd) + 1 : 0, bytes > 0 ? bytes : 0, result != 0, fd)

SHAPES(truncate, (const char *path, off_t bytes), (path, bytes), SBX_OP_TRUNCATE, -1)
SHAPES(truncate64, (const char *path, off64_t bytes), (path, bytes), SBX_OP_TRUNCATE, -1)
SHAPES(ftruncate, (int fd, off_t bytes), (fd, bytes), SBX_OP_TRUNCATE, fd)
SHAPES(ftruncate64, (int fd, off64_t bytes), (fd, bytes), SBX_OP_TRUNCATE, fd)
SHAPES(fallocate, (int fd, int mode, off_t at, off_t bytes), (fd, mode, at, bytes), SBX_OP_FALLOCATE, fd)
SHAPES(fallocate64, (int fd, int mode, off64_t at, off64_t bytes), (fd, mode, at, bytes), SBX_OP_FALLOCATE, fd)
SHAPES(posix_fallocate, (int fd, off_t at, off_t bytes), (fd, at, bytes), SBX_OP_FALLOCATE, fd)
SHAPES(posix_fallocate64, (int fd, off64_t at, off64_t bytes), (fd, at, bytes), SBX_OP_FALLOCATE, fd)

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_FILE)
static const struct sbx_point points[] = {
    POINT(read),
    SBX_POINT("__read_chk", hook_read_chk, real_read_chk, SBX_GROUP_FILE),
    POINT(write),
    POINT(pread),
    POINT(pread64),
    SBX_POINT("__pread_chk", hook_pread_chk, real_pread_chk, SBX_GROUP_FILE),
    SBX_POINT("__pread64_chk", hook_pread64_chk, real_pread64_chk, SBX_GROUP_FILE),
    POINT(pwrite),
    POINT(pwrite64),
    POINT(readv),
    POINT(writev),
    POINT(preadv),
    POINT(preadv64),
    POINT(preadv2),
    POINT(preadv64v2),
    POINT(pwritev),
    POINT(pwritev64),
    POINT(pwritev2),
    POINT(pwritev64v2),
    POINT(sendfile),
    POINT(sendfile64),
    POINT(copy_file_range),
    POINT(splice),
    POINT(truncate),
    POINT(truncate64),
    POINT(ftruncate),
    POINT(ftruncate64),
    POINT(fallocate),
    POINT(fallocate64),
    POINT(posix_fallocate),
    POINT(posix_fallocate64),
};
const struct sbx_point_list sbx_points_file = SBX_POINT_LIST(points);
