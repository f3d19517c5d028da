/* SPDX-License-Identifier: Apache-2.0 */
/* own_folder.c - opens first, and checks what was opened, because that cannot be exchanged any more. */
#include "own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OTHERS_WRITE = S_IWGRP | S_IWOTH,
    PATH_BYTES = 512 /* of a path whose folders are created; on the stack of an application thread */
};

static int open_checked(int parent, const char *name, bool may_be_roots)
{
    struct stat status;
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) {
        return -errno;
    }
    int result = fstat(folder, &status) == 0 ? 0 : -errno;
    if (result == 0 && ((status.st_uid != geteuid() && !(may_be_roots && status.st_uid == 0)) ||
                        (status.st_mode & (mode_t)OTHERS_WRITE) != 0)) {
        result = -EPERM;
    }
    if (result != 0) {
        close(folder);
        return result;
    }
    return folder;
}

int sbx_own_folder_open(const char *path)
{
    return open_checked(AT_FDCWD, path, false);
}

int sbx_believed_folder_open(const char *path)
{
    return open_checked(AT_FDCWD, path, true);
}

int sbx_make_folders(const char *path)
{
    char part[PATH_BYTES];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part) {
        return length == 0 ? -ENOENT : -ENAMETOOLONG;
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0) {
            continue;
        }
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0700) != 0 && errno != EEXIST && !(errno == EROFS || errno == EACCES)) {
            return -errno; /* the last component shows whether a folder exists on a read-only or closed file system */
        }
    }
    struct stat status;
    if (stat(path, &status) != 0) {
        return -errno;
    }
    return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
}

int sbx_own_folder_make(const char *path)
{
    int result = sbx_make_folders(path);
    return result == 0 ? sbx_own_folder_open(path) : result;
}

int sbx_own_folder_open_at(int parent, const char *name, bool makes_it)
{
    if (makes_it && mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
        return -errno;
    }
    return open_checked(parent, name, false);
}

void sbx_own_folder_explain(const char *path, int error, char *why, size_t why_bytes)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(-error));
    } else if (S_ISLNK(status.st_mode)) {
        snprintf(why, why_bytes, "%s: is a symbolic link, which is not followed", path);
    } else if (!S_ISDIR(status.st_mode)) {
        snprintf(why, why_bytes, "%s: is no folder", path);
    } else if (status.st_uid != geteuid()) {
        snprintf(why, why_bytes, "%s: belongs to user %u, not to us", path, (unsigned)status.st_uid);
    } else if ((status.st_mode & (mode_t)OTHERS_WRITE) != 0) {
        snprintf(why, why_bytes, "%s: others may write there (mode %04o)", path, (unsigned)status.st_mode & 07777);
    } else {
        snprintf(why, why_bytes, "%s: %s", path, strerror(-error));
    }
}
