/* SPDX-License-Identifier: Apache-2.0 */
/* blob_folder.c - a key is a path below a folder. A file is written under another name, synced and renamed, so a reader
 * never sees half a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob_ways.h"

struct folder {
    int fd;
    char *path;
};

static int say(const struct folder *folder, const char *verb, const char *key, int result, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%s %s/%s: %s", verb, folder->path, key, strerror(-result));
    switch (result) {
    case -ENOENT:
    case -EACCES:
    case -ENOSPC:
    case -ENOMEM:
        return result;
    case -EDQUOT:
        return -ENOSPC;
    case -EMFILE:
    case -ENFILE:
    case -EINTR:
    case -ESTALE: /* from a network file system */
    case -ETIMEDOUT:
        return -EAGAIN;
    default:
        return -EIO;
    }
}

int sbx_blob_folder_open(const char *path, void **self_out, char *why, size_t why_bytes)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    if (!folder || !(folder->path = strdup(path))) {
        free(folder);
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    folder->fd = mkdir(path, 0700) < 0 && errno != EEXIST ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0) {
        int result = -errno;
        snprintf(why, why_bytes, "%s: %s", path, strerror(-result));
        free(folder->path);
        free(folder);
        return result;
    }
    *self_out = folder;
    return 0;
}

static void close_folder(void *self)
{
    struct folder *folder = self;
    close(folder->fd);
    free(folder->path);
    free(folder);
}

/* Open the folder of a key. With `may_make`, make missing folders on the way, and make them durable. Returns a
 * descriptor of the last folder, or -errno. */
static int open_above(const struct folder *folder, const char *key, int may_make)
{
    char part[SBX_BLOB_KEY_BYTES];
    int at = fcntl(folder->fd, F_DUPFD_CLOEXEC, 3);
    for (const char *slash; at >= 0 && (slash = strchr(key, '/')) != NULL; key = slash + 1) {
        snprintf(part, sizeof(part), "%.*s", (int)(slash - key), key);
        int result = 0;
        if (may_make && mkdirat(at, part, 0700) == 0 && fsync(at) < 0)
            result = -errno;
        int next = result == 0 ? openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (result == 0 && next < 0)
            result = -errno;
        close(at);
        if (result < 0)
            return result;
        at = next;
    }
    return at < 0 ? -errno : at;
}

static const char *name_of(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash ? slash + 1 : key;
}

static int write_whole(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno != EINTR)
            return -errno;
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return fsync(fd) < 0 ? -errno : 0;
}

static int put(void *self, const char *key, const void *bytes, size_t count, char *why, size_t why_bytes)
{
    const struct folder *folder = self;
    char aside[SBX_BLOB_KEY_BYTES + 8];
    int above = open_above(folder, key, 1);
    if (above < 0)
        return say(folder, "put", key, above, why, why_bytes);
    snprintf(aside, sizeof(aside), "%s.new", name_of(key));
    int fd = openat(above, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int result = fd < 0 ? -errno : write_whole(fd, bytes, count);
    if (fd >= 0 && close(fd) < 0 && result == 0)
        result = -errno;
    if (result == 0 && renameat(above, aside, above, name_of(key)) < 0)
        result = -errno;
    if (result == 0 && fsync(above) < 0)
        result = -errno;
    if (result < 0 && fd >= 0)
        unlinkat(above, aside, 0);
    close(above);
    return result < 0 ? say(folder, "put", key, result, why, why_bytes) : 0;
}

static int read_whole(int fd, size_t max, struct sbx_byte_buffer *out)
{
    char piece[1 << 16];
    for (size_t taken = 0;;) {
        ssize_t got = read(fd, piece, sizeof(piece));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : out->failed ? -ENOMEM : 0;
        taken += (size_t)got;
        if (taken > max)
            return -EPROTO;
        sbx_byte_buffer_append(out, piece, (size_t)got);
    }
}

static int get(void *self, const char *key, size_t max, struct sbx_byte_buffer *out, char *why, size_t why_bytes)
{
    const struct folder *folder = self;
    int above = open_above(folder, key, 0), fd = -1;
    int result = above < 0 ? above : 0;
    if (result == 0 && (fd = openat(above, name_of(key), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)) < 0)
        result = -errno;
    if (result == 0)
        result = read_whole(fd, max, out);
    if (fd >= 0)
        close(fd);
    if (above >= 0)
        close(above);
    return result < 0 ? say(folder, "get", key, result, why, why_bytes) : 0;
}

static int remove_file(void *self, const char *key, char *why, size_t why_bytes)
{
    const struct folder *folder = self;
    char aside[SBX_BLOB_KEY_BYTES + 8];
    int above = open_above(folder, key, 0), result = above < 0 ? above : 0;
    if (result == 0) {
        /* left behind by a process that was killed while it wrote */
        snprintf(aside, sizeof(aside), "%s.new", name_of(key));
        unlinkat(above, aside, 0);
        if (unlinkat(above, name_of(key), 0) < 0)
            result = -errno;
        if (result == 0 && fsync(above) < 0)
            result = -errno;
        close(above);
    }
    return result == 0 || result == -ENOENT ? 0 : say(folder, "remove", key, result, why, why_bytes);
}

const struct sbx_blob_way sbx_blob_folder = {put, get, remove_file, close_folder};
