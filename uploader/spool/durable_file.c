/* SPDX-License-Identifier: Apache-2.0 */
/* durable_file.c - temporary name, counted writes, fsync, rename, fsync of the folder. */
#include "durable_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file_bytes.h"
#include "recording_format.h"
#include "temporary_file.h"

enum {
    TEMPORARY_LIFE_S = 3600,         /* if locks do not work: no living writer has an older file */
    SNAPSHOT_LIFE_S = 7 * 24 * 3600, /* as long as its recording is kept */
};

/* Writes all bytes, even if the kernel writes fewer at a time. Returns 0 or -errno. */
static int write_whole(int file, const uint8_t *content, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t written = write(file, content + done, bytes - done);
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            return -errno;
        }
        if (written == 0) {
            return -EIO; /* no error and no progress: do not loop for ever */
        }
        done += (size_t)written;
    }
    return 0;
}

/* Allocates the blocks before the first write, so that a full disk is found before anything is written. On file systems
 * that cannot do this (EOPNOTSUPP, EINVAL), the counted writes find it. */
static int reserve_blocks(int file, size_t bytes)
{
    if (bytes == 0) {
        return 0;
    }
    int error;
    do {
        error = posix_fallocate(file, 0, (off_t)bytes);
    } while (error == EINTR);
    return error == EOPNOTSUPP || error == EINVAL || error == ENOSYS ? 0 : -error;
}

int sbx_durable_file_write(int folder, const char *name, const void *content, size_t bytes)
{
    char temporary[SBX_TEMPORARY_NAME_BYTES];
    int file = sbx_temporary_create(folder, name, temporary);
    if (file < 0) {
        return file;
    }
    int result = reserve_blocks(file, bytes);
    if (result == 0) {
        result = write_whole(file, content, bytes);
    }
    if (result == 0 && fsync(file) != 0) {
        result = -errno;
    }
    int lock = fcntl(file, F_DUPFD_CLOEXEC, 0); /* keeps the lock until the file has its name */
    if (close(file) != 0 && result == 0) {
        result = -errno; /* network file systems report a failed write only here */
    }
    if (result == 0 && renameat(folder, temporary, folder, name) != 0) {
        result = -errno;
    }
    if (lock >= 0) {
        close(lock);
    }
    if (result != 0) {
        goto remove_temporary;
    }
    if (fsync(folder) != 0) {
        result = -errno;
        unlinkat(folder, name, 0); /* its name may not survive a power failure, so it must not be reported as stored */
    }
    return result;

remove_temporary:
    unlinkat(folder, temporary, 0);
    return result;
}

int sbx_durable_file_read(int folder, const char *name, size_t bytes_max, uint8_t **content_out, size_t *bytes_out)
{
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return -errno;
    }
    int result;
    struct stat status;
    if (fstat(file, &status) != 0) {
        result = -errno;
        goto close_file;
    }
    if (!S_ISREG(status.st_mode)) {
        result = -EINVAL;
        goto close_file;
    }
    if (status.st_size < 0 || (uint64_t)status.st_size > bytes_max) {
        result = -EFBIG;
        goto close_file;
    }
    size_t bytes = (size_t)status.st_size;
    uint8_t *content = malloc(bytes == 0 ? 1 : bytes);
    if (content == NULL) {
        result = -ENOMEM;
        goto close_file;
    }
    ssize_t got = sbx_file_bytes(file, 0, content, bytes);
    if (got < 0 || (size_t)got < bytes) {
        result = got < 0 ? (int)got : -EIO; /* the file shrank meanwhile */
        free(content);
        goto close_file;
    }
    *content_out = content;
    *bytes_out = bytes;
    result = 0;

close_file:
    close(file);
    return result;
}

bool sbx_durable_file_is_temporary(const char *name)
{
    size_t length = strlen(name);
    if (name[0] != '.' || length < 7 || strcmp(name + length - 4, ".tmp") != 0) {
        return false;
    }
    size_t end = length - 4, begin = end;
    while (begin > 1 && isdigit((unsigned char)name[begin - 1])) {
        begin--;
    }
    return begin != end && end - begin <= 10 && begin >= 2 && name[begin - 1] == '.' && name[begin] != '0';
}

/* Is this ".ID.raw-RANDOM.PID.tmp"? It may be a complete snapshot whose process died before the rename. The dead
 * process's recording says so, and the process that finds this recording renames the file
 * (agent/snapshot/recovery_place.h). */
static bool is_snapshot(const char *name)
{
    return strspn(name + 1, "0123456789abcdef") == 32 &&
           strncmp(name + 33, SBX_RAW_SUFFIX "-", sizeof SBX_RAW_SUFFIX) == 0;
}

void sbx_durable_file_sweep(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir() closes this descriptor */
    if (again < 0) {
        return;
    }
    DIR *listing = fdopendir(again);
    if (listing == NULL) {
        close(again);
        return;
    }
    time_t now = time(NULL);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        struct stat status;
        if (!sbx_durable_file_is_temporary(entry->d_name) ||
            fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(status.st_mode)) {
            continue;
        }
        /* A negative age means that the clock was set back. The file is not younger for that. */
        time_t age_s = now > status.st_mtime ? now - status.st_mtime : status.st_mtime - now;
        if (is_snapshot(entry->d_name) && age_s <= SNAPSHOT_LIFE_S) {
            continue;
        }
        if (sbx_temporary_sweep(folder, entry->d_name) == SBX_WRITER_UNKNOWN && age_s > TEMPORARY_LIFE_S) {
            unlinkat(folder, entry->d_name, 0);
        }
    }
    closedir(listing);
}
