/* SPDX-License-Identifier: Apache-2.0 */
/* rows_cache.c - the folder of row files: get, put, trim. */
#include "rows_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* renameat alone */
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "file_bytes.h"
#include "folder_list.h"
#include "pages.h"
#include "sealed_pages.h"

enum {
    NAME_BYTES = 2 * SBX_ROWS_KEY_BYTES + 1 + 8 + sizeof ".rows", /* build-id, '-', encoding, suffix, zero */
    LISTING_BYTES = 32 * 1024,
    ENTRIES_MAX = 8192,        /* of one listing; a later process sees the files that do not fit */
    TOUCH_AFTER_S = 24 * 3600, /* a use is recorded once a day, because it is a write to the disk */
    LEFT_BEHIND_S = 3600       /* no write takes that long */
};
#define SUFFIX     ".rows"
#define NEW_PREFIX ".new-"

/* ---- names ---- */

static char *put_hex(char *to, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    return to;
}

/* The encoding is part of the name, so that two versions of this library on one machine keep one file each and do not
 * replace each other's again and again. */
static void name_file(const struct sbx_rows_key *key, char name[NAME_BYTES])
{
    uint32_t encoding = sbx_rows_encoding();
    const uint8_t bytes[4] = {(uint8_t)(encoding >> 24), (uint8_t)(encoding >> 16), (uint8_t)(encoding >> 8),
                              (uint8_t)encoding};
    char *at = put_hex(name, key->build_id, key->build_id_bytes);
    *at++ = '-';
    at = put_hex(at, bytes, sizeof bytes);
    memcpy(at, SUFFIX, sizeof SUFFIX);
}

static void name_new_file(char name[NAME_BYTES])
{
    uint8_t random[12];
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        struct timespec now = {0, 0}; /* no random bytes in early boot; an existing name is an error like any other */
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t mixed = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) ^ (uint64_t)getpid() << 40;
        memset(random, 0, sizeof random);
        memcpy(random, &mixed, sizeof mixed);
    }
    memcpy(name, NEW_PREFIX, sizeof NEW_PREFIX - 1);
    *put_hex(name + sizeof NEW_PREFIX - 1, random, sizeof random) = 0;
}

static bool has_name(const struct sbx_rows_key *key)
{
    return key->build_id_bytes >= SBX_ROWS_KEY_BYTES_MIN && key->build_id_bytes <= SBX_ROWS_KEY_BYTES;
}

/* ---- the folder ---- */

/* Is it owned by this user, and not writable by others? */
static bool is_ours(const struct stat *status)
{
    return status->st_uid == geteuid() && (status->st_mode & 0022) == 0;
}

static int open_folder(const char *path)
{
    struct stat status;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) {
        return -errno;
    }
    if (fstat(folder, &status) != 0 || !is_ours(&status)) {
        close(folder);
        return -EPERM;
    }
    return folder;
}

int sbx_rows_cache_open(struct sbx_rows_cache *cache, const char *folder_path)
{
    memset(cache, 0, sizeof *cache);
    cache->limit_bytes = SBX_ROWS_CACHE_BYTES;
    if (folder_path == NULL || folder_path[0] == 0) {
        return -ENOENT;
    }
    if (folder_path[0] != '/') {
        return -EINVAL; /* the program may change its working directory */
    }
    size_t length = strnlen(folder_path, sizeof cache->folder);
    if (length == sizeof cache->folder) {
        return -ENAMETOOLONG;
    }
    int folder = open_folder(folder_path);
    if (folder < 0) {
        return folder;
    }
    close(folder);
    memcpy(cache->folder, folder_path, length + 1);
    cache->may_write = true;
    return 0;
}

/* ---- get ---- */

/* The bytes of the file, in memory of this process; NULL when there is no memory or the file cannot be read. The file
 * itself is never mapped, because truncating it would then kill the process, and a cache is not worth that. */
static uint8_t *load(int file, size_t bytes)
{
    uint8_t *copy = sbx_pages_map(bytes);
    if (copy != NULL && sbx_file_bytes(file, 0, copy, bytes) != (ssize_t)bytes) {
        munmap(copy, bytes);
        return NULL;
    }
    return copy != NULL ? sbx_pages_seal(copy, bytes) : NULL;
}

/* Record the use: trimming takes out the files unused for longest. */
static void touch(int file, const struct stat *status)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec - status->st_mtim.tv_sec > TOUCH_AFTER_S) {
        const struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
        (void)futimens(file, times); /* fails on a read-only file system, but nothing is trimmed there either */
    }
}

/* Open and load FOLDER/NAME. Returns 0; -ENOENT; or -EINVAL when the file exists but cannot be used. */
static int get_from(int folder, const struct sbx_rows_key *key, struct sbx_unwind_rows *rows_out)
{
    char name[NAME_BYTES];
    struct stat status;
    name_file(key, name);
    /* O_NONBLOCK: a pipe with that name must not block this thread. */
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return errno == ENOENT ? -ENOENT : -EINVAL;
    }
    int result = -EINVAL;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && is_ours(&status) &&
        status.st_size >= (off_t)sizeof(struct sbx_rows_file_header) && status.st_size <= SBX_ROWS_FILE_MAX) {
        size_t bytes = (size_t)status.st_size;
        uint8_t *loaded = load(file, bytes);
        if (loaded != NULL && sbx_rows_file_check(loaded, bytes, key, rows_out) == 0) {
            rows_out->pages = loaded;
            rows_out->pages_bytes = bytes;
            touch(file, &status);
            result = 0;
        } else if (loaded != NULL) {
            munmap(loaded, bytes);
        }
    }
    close(file);
    return result;
}

int sbx_rows_cache_get(struct sbx_rows_cache *cache, const struct sbx_rows_key *key, struct sbx_unwind_rows *rows_out)
{
    *rows_out = (struct sbx_unwind_rows){0};
    if (cache->folder[0] == 0 || !has_name(key)) {
        return -ENOENT;
    }
    int folder = open_folder(cache->folder);
    int result = folder < 0 ? -ENOENT : get_from(folder, key, rows_out);
    if (folder >= 0) {
        close(folder);
    }
    (*(result == 0 ? &cache->found : result == -ENOENT ? &cache->missing : &cache->refused))++;
    return result == 0 ? 0 : -ENOENT;
}

/* ---- put ---- */

static bool write_whole(int file, const uint8_t *from, size_t bytes)
{
    while (bytes > 0) {
        ssize_t done = write(file, from, bytes);
        if (done <= 0) {
            errno = done == 0 ? ENOSPC : errno;
            return false;
        }
        from += done;
        bytes -= (size_t)done;
    }
    return true;
}

static int put_into(int folder, const struct sbx_rows_key *key, const struct sbx_rows_file_header *header,
                    const struct sbx_unwind_rows *rows)
{
    char name[NAME_BYTES], new_name[NAME_BYTES];
    name_file(key, name);
    name_new_file(new_name);
    int file = openat(folder, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
    if (file < 0) {
        return -errno;
    }
    int result = 0;
    /* No fsync: a file that a power failure damaged fails its checksum and is built again. */
    if (!write_whole(file, (const uint8_t *)header, sizeof *header) ||
        !write_whole(file, (const uint8_t *)rows->buckets, header->file_bytes - sizeof *header) ||
        renameat(folder, new_name, folder, name) != 0) {
        result = -errno;
        unlinkat(folder, new_name, 0);
    }
    close(file);
    return result;
}

int sbx_rows_cache_put(struct sbx_rows_cache *cache, const struct sbx_rows_key *key, const struct sbx_unwind_rows *rows)
{
    struct sbx_rows_file_header header;
    struct rlimit limit;
    if (cache->folder[0] == 0 || !cache->may_write || !has_name(key)) {
        return -ENOENT;
    }
    int result = sbx_rows_file_describe(key, rows, &header);
    if (result != 0) {
        return result;
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < header.file_bytes) {
        return -EFBIG; /* writing would send SIGXFSZ to the host */
    }
    int folder = open_folder(cache->folder);
    result = folder < 0 ? folder : put_into(folder, key, &header, rows);
    if (folder >= 0) {
        close(folder);
    }
    if (result == 0) {
        cache->written++;
    } else {
        cache->may_write = false; /* full, read-only, deleted or no permission: the next write would fail as well */
        cache->last_error = result;
    }
    return result;
}

/* ---- trim ---- */

struct kept {
    int64_t used_s;
    uint64_t bytes;
    char name[NAME_BYTES];
};

struct trimming {
    struct kept *files; /* mapped; only pages that are touched use memory */
    uint32_t count, taken_out;
    uint64_t bytes;
    int64_t now_s;
};

static void look_at_file(struct trimming *trimming, int folder, const char *name)
{
    struct stat status;
    size_t length = strnlen(name, NAME_BYTES);
    bool is_new = strncmp(name, NEW_PREFIX, sizeof NEW_PREFIX - 1) == 0;
    bool is_rows =
        length < NAME_BYTES && length > sizeof SUFFIX - 1 && strcmp(name + length - (sizeof SUFFIX - 1), SUFFIX) == 0;
    if ((!is_new && !is_rows) || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
        return; /* not a file of this cache */
    }
    if (is_new) {
        if (trimming->now_s - status.st_mtim.tv_sec > LEFT_BEHIND_S && unlinkat(folder, name, 0) == 0) {
            trimming->taken_out++;
        }
        return;
    }
    if (trimming->count == ENTRIES_MAX) {
        return;
    }
    struct kept *file = &trimming->files[trimming->count++];
    file->used_s = status.st_mtim.tv_sec;
    file->bytes = (uint64_t)status.st_size;
    memcpy(file->name, name, length + 1);
    trimming->bytes += file->bytes;
}

static void list_files(struct trimming *trimming, int folder, uint8_t *buffer)
{
    for (;;) {
        long got = syscall(SYS_getdents64, folder, buffer, (size_t)LISTING_BYTES);
        if (got <= 0) {
            return;
        }
        for (long at = 0; at < got;) {
            look_at_file(trimming, folder, sbx_folder_list_next(buffer, &at));
        }
    }
}

static void take_out_oldest(struct trimming *trimming, int folder)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < trimming->count; i++) {
        if (trimming->files[i].used_s < trimming->files[oldest].used_s) {
            oldest = i;
        }
    }
    trimming->taken_out += unlinkat(folder, trimming->files[oldest].name, 0) == 0;
    trimming->bytes -= trimming->files[oldest].bytes; /* the file is gone, or cannot be removed */
    trimming->files[oldest] = trimming->files[--trimming->count];
}

uint32_t sbx_rows_cache_trim(struct sbx_rows_cache *cache)
{
    struct trimming trimming = {0};
    struct timespec now = {0, 0};
    size_t bytes = LISTING_BYTES + ENTRIES_MAX * sizeof(struct kept);
    int folder = cache->folder[0] != 0 ? open_folder(cache->folder) : -ENOENT;
    if (folder < 0) {
        return 0;
    }
    uint8_t *pages = sbx_pages_map(bytes);
    if (pages != NULL) {
        clock_gettime(CLOCK_REALTIME, &now);
        trimming.now_s = now.tv_sec;
        trimming.files = (struct kept *)(void *)(pages + LISTING_BYTES);
        list_files(&trimming, folder, pages);
        while (trimming.bytes > cache->limit_bytes && trimming.count > 0) {
            take_out_oldest(&trimming, folder);
        }
        munmap(pages, bytes);
    }
    close(folder);
    return trimming.taken_out;
}
