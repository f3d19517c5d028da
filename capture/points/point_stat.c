/* SPDX-License-Identifier: Apache-2.0 */
/* point_stat.c - queries about files: the stat family, access, readlink, realpath, statfs.
 *
 * They are quick on a local disk with a warm cache, but take seconds on a network file system whose server is down.
 * Programs built against a glibc before 2.33 call the __xstat forms. */
#include "point.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "wide_names.h"

/* Functions that take a path do not name a descriptor. */
#define ASKS(type, name, parameters, arguments, op, failed) \
    SBX_BLOCKING_HOOK(type, name, parameters, arguments, SBX_GROUP_STAT, SBX_RECORD_FILE, op, 0, 0, failed, -1)
#define ASKS_FD(name, parameters, arguments, op)                                                                  \
    SBX_BLOCKING_HOOK(int, name, parameters, arguments, SBX_GROUP_STAT, SBX_RECORD_FILE, op, (uint64_t)fd + 1, 0, \
                      result < 0, fd)

ASKS(int, stat, (const char *path, struct stat *out), (path, out), SBX_OP_STAT, result < 0)
ASKS(int, stat64, (const char *path, struct stat64 *out), (path, out), SBX_OP_STAT, result < 0)
ASKS(int, lstat, (const char *path, struct stat *out), (path, out), SBX_OP_STAT, result < 0)
ASKS(int, lstat64, (const char *path, struct stat64 *out), (path, out), SBX_OP_STAT, result < 0)
ASKS_FD(fstat, (int fd, struct stat *out), (fd, out), SBX_OP_FSTAT)
ASKS_FD(fstat64, (int fd, struct stat64 *out), (fd, out), SBX_OP_FSTAT)
ASKS(int, fstatat, (int folder, const char *path, struct stat *out, int flags), (folder, path, out, flags), SBX_OP_STAT,
     result < 0)
ASKS(int, fstatat64, (int folder, const char *path, struct stat64 *out, int flags), (folder, path, out, flags),
     SBX_OP_STAT, result < 0)
ASKS(int, statx, (int folder, const char *path, int flags, unsigned mask, struct statx *out),
     (folder, path, flags, mask, out), SBX_OP_STATX, result < 0)
ASKS(int, xstat, (int version, const char *path, struct stat *out), (version, path, out), SBX_OP_STAT, result < 0)
ASKS(int, xstat64, (int version, const char *path, struct stat64 *out), (version, path, out), SBX_OP_STAT, result < 0)
ASKS(int, lxstat, (int version, const char *path, struct stat *out), (version, path, out), SBX_OP_STAT, result < 0)
ASKS(int, lxstat64, (int version, const char *path, struct stat64 *out), (version, path, out), SBX_OP_STAT, result < 0)
ASKS_FD(fxstat, (int version, int fd, struct stat *out), (version, fd, out), SBX_OP_FSTAT)
ASKS_FD(fxstat64, (int version, int fd, struct stat64 *out), (version, fd, out), SBX_OP_FSTAT)
ASKS(int, fxstatat, (int version, int folder, const char *path, struct stat *out, int flags),
     (version, folder, path, out, flags), SBX_OP_STAT, result < 0)
ASKS(int, fxstatat64, (int version, int folder, const char *path, struct stat64 *out, int flags),
     (version, folder, path, out, flags), SBX_OP_STAT, result < 0)
ASKS(int, access, (const char *path, int mode), (path, mode), SBX_OP_ACCESS, result < 0)
ASKS(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags), SBX_OP_ACCESS,
     result < 0)
ASKS(int, euidaccess, (const char *path, int mode), (path, mode), SBX_OP_ACCESS, result < 0)
ASKS(ssize_t, readlink, (const char *path, char *out, size_t bytes), (path, out, bytes), SBX_OP_READLINK, result < 0)
ASKS(ssize_t, readlink_chk, (const char *path, char *out, size_t bytes, size_t room), (path, out, bytes, room),
     SBX_OP_READLINK, result < 0)
ASKS(ssize_t, readlinkat, (int folder, const char *path, char *out, size_t bytes), (folder, path, out, bytes),
     SBX_OP_READLINK, result < 0)
ASKS(ssize_t, readlinkat_chk, (int folder, const char *path, char *out, size_t bytes, size_t room),
     (folder, path, out, bytes, room), SBX_OP_READLINK, result < 0)
/* libc makes one readlink call for each component. */
ASKS(char *, realpath, (const char *path, char *out), (path, out), SBX_OP_READLINK, result == NULL)
ASKS(char *, realpath_chk, (const char *path, char *out, size_t room), (path, out, room), SBX_OP_READLINK,
     result == NULL)
ASKS(int, statfs, (const char *path, struct statfs *out), (path, out), SBX_OP_STATFS, result < 0)
ASKS(int, statfs64, (const char *path, struct statfs64 *out), (path, out), SBX_OP_STATFS, result < 0)
ASKS_FD(fstatfs, (int fd, struct statfs *out), (fd, out), SBX_OP_STATFS)
ASKS_FD(fstatfs64, (int fd, struct statfs64 *out), (fd, out), SBX_OP_STATFS)
ASKS(int, statvfs, (const char *path, struct statvfs *out), (path, out), SBX_OP_STATFS, result < 0)
ASKS(int, statvfs64, (const char *path, struct statvfs64 *out), (path, out), SBX_OP_STATFS, result < 0)
ASKS_FD(fstatvfs, (int fd, struct statvfs *out), (fd, out), SBX_OP_STATFS)
ASKS_FD(fstatvfs64, (int fd, struct statvfs64 *out), (fd, out), SBX_OP_STATFS)

#define POINT(name)       SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_STAT)
#define INNER_POINT(name) SBX_POINT("__" #name, hook_##name, real_##name, SBX_GROUP_STAT)
static const struct sbx_point points[] = {
    POINT(stat),
    POINT(stat64),
    POINT(lstat),
    POINT(lstat64),
    POINT(fstat),
    POINT(fstat64),
    POINT(fstatat),
    POINT(fstatat64),
    POINT(statx),
    INNER_POINT(xstat),
    INNER_POINT(xstat64),
    INNER_POINT(lxstat),
    INNER_POINT(lxstat64),
    INNER_POINT(fxstat),
    INNER_POINT(fxstat64),
    INNER_POINT(fxstatat),
    INNER_POINT(fxstatat64),
    POINT(access),
    POINT(faccessat),
    POINT(euidaccess),
    POINT(readlink),
    INNER_POINT(readlink_chk),
    POINT(readlinkat),
    INNER_POINT(readlinkat_chk),
    POINT(realpath),
    INNER_POINT(realpath_chk),
    POINT(statfs),
    POINT(statfs64),
    POINT(fstatfs),
    POINT(fstatfs64),
    POINT(statvfs),
    POINT(statvfs64),
    POINT(fstatvfs),
    POINT(fstatvfs64),
};
const struct sbx_point_list sbx_points_stat = SBX_POINT_LIST(points);
