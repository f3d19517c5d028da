/* SPDX-License-Identifier: Apache-2.0 */
/* point_directory.c - names in directories: created, renamed, removed, listed.
 *
 * readdir() answers from a buffer of some hundred entries and asks the kernel when the buffer is empty. A hook cannot
 * see which of the two a call does, so each call is timed. */
#include "point.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wide_names.h"

#define NAMES(name, parameters, arguments, op) \
    SBX_BLOCKING_HOOK(int, name, parameters, arguments, SBX_GROUP_DIRECTORY, SBX_RECORD_FILE, op, 0, 0, result < 0, -1)

NAMES(rename, (const char *old, const char *new_name), (old, new_name), SBX_OP_RENAME)
NAMES(renameat, (int old_folder, const char *old, int folder, const char *new_name),
      (old_folder, old, folder, new_name), SBX_OP_RENAME)
NAMES(renameat2, (int old_folder, const char *old, int folder, const char *new_name, unsigned flags),
      (old_folder, old, folder, new_name, flags), SBX_OP_RENAME)
NAMES(unlink, (const char *path), (path), SBX_OP_UNLINK)
NAMES(unlinkat, (int folder, const char *path, int flags), (folder, path, flags), SBX_OP_UNLINK)
NAMES(remove, (const char *path), (path), SBX_OP_UNLINK)
NAMES(mkdir, (const char *path, mode_t mode), (path, mode), SBX_OP_MKDIR)
NAMES(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), SBX_OP_MKDIR)
NAMES(rmdir, (const char *path), (path), SBX_OP_RMDIR)
NAMES(link, (const char *old, const char *new_name), (old, new_name), SBX_OP_LINK)
NAMES(linkat, (int old_folder, const char *old, int folder, const char *new_name, int flags),
      (old_folder, old, folder, new_name, flags), SBX_OP_LINK)
NAMES(symlink, (const char *target, const char *path), (target, path), SBX_OP_LINK)
NAMES(symlinkat, (const char *target, int folder, const char *path), (target, folder, path), SBX_OP_LINK)
NAMES(closedir, (DIR * folder), (folder), SBX_OP_CLOSE)

#define LISTS(type, name, parameters, arguments, op, failed) \
    SBX_BLOCKING_HOOK(type, name, parameters, arguments, SBX_GROUP_DIRECTORY, SBX_RECORD_FILE, op, 0, 0, failed, -1)

LISTS(DIR *, opendir, (const char *path), (path), SBX_OP_OPENDIR, result == NULL)
LISTS(struct dirent *, readdir, (DIR * folder), (folder), SBX_OP_READDIR, false)
LISTS(struct dirent64 *, readdir64, (DIR * folder), (folder), SBX_OP_READDIR, false)

#ifdef __GLIBC__
typedef ssize_t listed_bytes;
#else
typedef int listed_bytes; /* musl: the upper half of the register is undefined, and an error would look like 4 GiB */
#endif
SBX_BLOCKING_HOOK(listed_bytes, getdents64, (int fd, void *out, size_t bytes), (fd, out, bytes), SBX_GROUP_DIRECTORY,
                  SBX_RECORD_FILE, SBX_OP_GETDENTS, (uint64_t)fd + 1, result > 0 ? result : 0, result < 0, fd)

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_DIRECTORY)
static const struct sbx_point points[] = {
    POINT(rename),    POINT(renameat), POINT(renameat2), POINT(unlink),  POINT(unlinkat),  POINT(remove),
    POINT(mkdir),     POINT(mkdirat),  POINT(rmdir),     POINT(link),    POINT(linkat),    POINT(symlink),
    POINT(symlinkat), POINT(closedir), POINT(opendir),   POINT(readdir), POINT(readdir64), POINT(getdents64),
};
const struct sbx_point_list sbx_points_directory = SBX_POINT_LIST(points);
