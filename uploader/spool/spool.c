/* SPDX-License-Identifier: Apache-2.0 */
/* spool.c - the folder of payloads: open, put, list, move.
 *
 * A payload exists when its final name does: a process that sees ID.sbx sees all of it. So every change is a durable
 * write or a rename. Everything else (order, limits, the newest few of sent/) is read from the folder each time instead
 * of being remembered, because several processes may use it. */
#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "durable_file.h"
#include "recording_format.h"
#include "spool_folders.h"
#include "stall_end.h"

enum {
    FUTURE_S = 60, /* after a small correction of the clock, no file is in the future */
    CONSENT_BYTES = 16,
};

static const struct sbx_spool_limits default_limits = {
    .bytes_max = 16 << 20, .files_max = 200, .sent_kept = 20, .hours_max = 168};

/* If other users could write into a folder, they could fill it, empty it, or replace its files. */
static int check_owner(int folder, const char *path, char *why, size_t why_bytes)
{
    struct stat status;
    if (fstat(folder, &status) != 0) {
        int error = errno;
        snprintf(why, why_bytes, "%s: %s", path, strerror(error));
        return -error;
    }
    if (status.st_uid != geteuid()) {
        snprintf(why, why_bytes, "%s: belongs to user %u, not to us", path, (unsigned)status.st_uid);
        return -EPERM;
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        snprintf(why, why_bytes, "%s: others may write there (mode %04o)", path, (unsigned)status.st_mode & 07777);
        return -EPERM;
    }
    return 0;
}

/* Like mkdir -p with mode 0700. Existing folders keep their modes. */
static int make_path(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL) {
        return -ENOMEM;
    }
    int result = 0;
    for (char *slash = copy + 1;; slash++) {
        if (*slash != '/' && *slash != '\0') {
            continue;
        }
        char kept = *slash;
        *slash = '\0';
        if (mkdir(copy, 0700) != 0 && errno != EEXIST) {
            struct stat status;
            int error = errno;
            if (stat(copy, &status) != 0 || !S_ISDIR(status.st_mode)) { /* EROFS or EACCES, but the folder exists */
                result = -error;
                break;
            }
        }
        if (kept == '\0') {
            break;
        }
        *slash = kept;
    }
    free(copy);
    return result;
}

/* Open the folder `name` below `parent`, and create it if needed. Returns a descriptor, or -errno with `why` filled. */
static int open_folder(int parent, const char *name, const char *path, char *why, size_t why_bytes)
{
    if (parent != AT_FDCWD && mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
        int error = errno;
        snprintf(why, why_bytes, "%s: cannot make the folder: %s", path, strerror(error));
        return -error;
    }
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) {
        int error = errno;
        struct stat status;
        bool is_link = fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
        snprintf(why, why_bytes, "%s: %s", path,
                 is_link ? "is a symbolic link, which is not followed" : strerror(error));
        return -error;
    }
    int result = check_owner(folder, path, why, why_bytes);
    if (result != 0) {
        close(folder);
        return result;
    }
    return folder;
}

static int open_subfolder(const struct sbx_spool *spool, const char *name, char *why, size_t why_bytes)
{
    char path[4200];
    snprintf(path, sizeof path, "%.4096s/%s", spool->path, name);
    return open_folder(spool->root, name, path, why, why_bytes);
}

static void close_folder(int folder)
{
    if (folder >= 0) {
        close(folder);
    }
}

int sbx_spool_open(const char *path, const struct sbx_spool_limits *limits, struct sbx_spool **spool_out, char *why,
                   size_t why_bytes)
{
    char ignored[1];
    if (why == NULL || why_bytes == 0) {
        why = ignored;
        why_bytes = sizeof ignored;
    }
    if (path == NULL || path[0] == '\0') {
        snprintf(why, why_bytes, "spool: no folder is named");
        return -EINVAL;
    }
    int result;
    struct sbx_spool *spool = calloc(1, sizeof *spool);
    if (spool == NULL || (spool->path = strdup(path)) == NULL) {
        snprintf(why, why_bytes, "%s: out of memory", path);
        free(spool);
        return -ENOMEM;
    }
    for (size_t length = strlen(spool->path); length > 1 && spool->path[length - 1] == '/'; length--) {
        spool->path[length - 1] = '\0'; /* with "DIR/", O_NOFOLLOW would follow a link */
    }
    spool->root = spool->raw = spool->sent = spool->bad = -1;
    spool->limits = default_limits;
    if (limits != NULL) { /* 0 means the default */
        spool->limits.bytes_max = limits->bytes_max != 0 ? limits->bytes_max : default_limits.bytes_max;
        spool->limits.files_max = limits->files_max != 0 ? limits->files_max : default_limits.files_max;
        spool->limits.sent_kept = limits->sent_kept != 0 ? limits->sent_kept : default_limits.sent_kept;
        spool->limits.hours_max = limits->hours_max != 0 ? limits->hours_max : default_limits.hours_max;
    }
    result = make_path(spool->path);
    if (result != 0) {
        snprintf(why, why_bytes, "%s: cannot make the folder: %s", spool->path, strerror(-result));
        goto destroy_spool;
    }
    result = spool->root = open_folder(AT_FDCWD, spool->path, spool->path, why, why_bytes);
    if (result < 0) {
        goto destroy_spool;
    }
    result = spool->raw = open_subfolder(spool, "raw", why, why_bytes);
    if (result < 0) {
        goto destroy_spool;
    }
    result = spool->sent = open_subfolder(spool, "sent", why, why_bytes);
    if (result < 0) {
        goto destroy_spool;
    }
    result = spool->bad = open_subfolder(spool, "bad", why, why_bytes);
    if (result < 0) {
        goto destroy_spool;
    }
    sbx_durable_file_sweep(spool->root);
    sbx_durable_file_sweep(spool->raw);
    *spool_out = spool;
    return 0;

destroy_spool:
    sbx_spool_close(spool);
    return result;
}

void sbx_spool_close(struct sbx_spool *spool)
{
    if (spool == NULL) {
        return;
    }
    close_folder(spool->root);
    close_folder(spool->raw);
    close_folder(spool->sent);
    close_folder(spool->bad);
    sbx_spool_modules_destroy(spool->modules);
    free(spool->path);
    free(spool);
}

const char *sbx_spool_path(const struct sbx_spool *spool)
{
    return spool->path;
}

uint64_t sbx_spool_dropped(const struct sbx_spool *spool)
{
    return spool->dropped;
}

/* ---- names ---- */

void sbx_spool_name(const uint8_t id[SBX_PAYLOAD_ID_BYTES], const char *suffix, char name_out[SBX_SPOOL_NAME_BYTES])
{
    for (int i = 0; i < SBX_PAYLOAD_ID_BYTES; i++) {
        snprintf(name_out + 2 * i, 3, "%02x", id[i]);
    }
    snprintf(name_out + 2 * SBX_PAYLOAD_ID_BYTES, 5, "%s", suffix);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses "0123...ef.sbx" to an id. Only files with such names are payloads. Other files in the folder are not ours. */
static bool parse_name(const char *name, uint8_t id_out[SBX_PAYLOAD_ID_BYTES])
{
    if (strlen(name) != SBX_SPOOL_NAME_BYTES - 1 || strcmp(name + 2 * SBX_PAYLOAD_ID_BYTES, SBX_ENVELOPE_SUFFIX) != 0) {
        return false;
    }
    for (int i = 0; i < SBX_PAYLOAD_ID_BYTES; i++) {
        int high = hex_digit(name[2 * i]), low = hex_digit(name[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        id_out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- listing ---- */

struct listed {
    char name[256];
    struct timespec changed;
    bool is_future; /* its time is in the future: the clock was set back */
    uint64_t bytes;
    uint8_t id[SBX_PAYLOAD_ID_BYTES];
};

/* Sorts by age, then by name, so that the order is the same in every process. A file with a time in the future was
 * written before the clock was set back, so it is older than all files since then. Otherwise it would never be the
 * oldest, and would push out every new file. */
static int by_age(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    if (a->is_future != b->is_future) {
        return a->is_future ? -1 : 1;
    }
    if (a->changed.tv_sec != b->changed.tv_sec) {
        return a->changed.tv_sec < b->changed.tv_sec ? -1 : 1;
    }
    if (a->changed.tv_nsec != b->changed.tv_nsec) {
        return a->changed.tv_nsec < b->changed.tv_nsec ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

int sbx_spool_list(int folder, DIR **listing_out)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir() closes this descriptor */
    if (again < 0) {
        return -errno;
    }
    *listing_out = fdopendir(again);
    if (*listing_out == NULL) {
        int error = errno;
        close(again);
        return -error;
    }
    return 0;
}

/* Lists the regular files of a folder, oldest first. With `payloads_only`, only those with the name and size of a
 * payload. Returns 0 and an array (given: free; NULL if empty) or -errno. */
static int list_folder(int folder, bool payloads_only, struct listed **files_out, size_t *count_out)
{
    DIR *listing;
    int result = sbx_spool_list(folder, &listing);
    if (result != 0) {
        return result;
    }
    struct listed *files = NULL;
    size_t count = 0, room = 0;
    time_t now = time(NULL);
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(listing);
        if (entry == NULL) {
            result = -errno;
            break;
        }
        struct listed file = {.bytes = 0};
        struct stat status;
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof file.name ||
            (payloads_only && !parse_name(entry->d_name, file.id)) ||
            fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
            continue;
        }
        if (payloads_only && (status.st_size < 0 || status.st_size > SBX_ENVELOPE_BYTES_MAX)) {
            continue;
        }
        strcpy(file.name, entry->d_name);
        file.changed = status.st_mtim;
        file.is_future = status.st_mtim.tv_sec > now + FUTURE_S;
        file.bytes = (uint64_t)status.st_size;
        if (count == room) {
            room = room == 0 ? 32 : 2 * room;
            struct listed *grown = realloc(files, room * sizeof *files);
            if (grown == NULL) {
                result = -ENOMEM;
                break;
            }
            files = grown;
        }
        files[count++] = file;
    }
    closedir(listing);
    if (result != 0) {
        free(files);
        return result;
    }
    if (count > 1) {
        qsort(files, count, sizeof *files, by_age);
    }
    *files_out = files;
    *count_out = count;
    return 0;
}

/* Remove the oldest files of `folder` until at most `files_max` files and `bytes_max` bytes are left, but never `spare`
 * (may be NULL). Returns how many were removed. Errors are ignored: the next put tries again. */
static uint64_t prune_folder(int folder, bool payloads_only, uint32_t files_max, uint64_t bytes_max, const char *spare)
{
    struct listed *files;
    size_t count;
    if (list_folder(folder, payloads_only, &files, &count) != 0) {
        return 0;
    }
    uint64_t bytes = 0, removed = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += files[i].bytes;
    }
    size_t left = count;
    for (size_t i = 0; i < count && (left > files_max || bytes > bytes_max); i++) {
        if (spare != NULL && strcmp(files[i].name, spare) == 0) {
            continue;
        }
        if (unlinkat(folder, files[i].name, 0) == 0) {
            removed++;
        }
        left--; /* counted also if another process has removed it */
        bytes -= files[i].bytes;
    }
    free(files);
    return removed;
}

/* ---- putting, reading, moving ---- */

static bool has_file(int folder, const char *name)
{
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

int sbx_spool_put(struct sbx_spool *spool, const uint8_t id[16], const void *envelope, size_t bytes)
{
    if (bytes > SBX_ENVELOPE_BYTES_MAX || bytes > spool->limits.bytes_max) {
        return -EFBIG;
    }
    char name[SBX_SPOOL_NAME_BYTES];
    sbx_spool_name(id, SBX_ENVELOPE_SUFFIX, name);
    if (has_file(spool->root, name) || has_file(spool->sent, name) || has_file(spool->bad, name)) {
        return 0; /* a payload in bad/ counts as known: the same bytes would be refused again */
    }
    int result = sbx_durable_file_write(spool->root, name, envelope, bytes);
    if ((result == -ENOSPC || result == -EDQUOT) &&
        prune_folder(spool->sent, false, 0, 0, NULL) + prune_folder(spool->bad, false, 0, 0, NULL) != 0) {
        /* Files kept only for a person are removed to make room for a file that must still be sent. */
        result = sbx_durable_file_write(spool->root, name, envelope, bytes);
    }
    if (result != 0) {
        return result;
    }
    /* Only now, when the new payload is durable, may it push out older ones. */
    spool->dropped += prune_folder(spool->root, true, spool->limits.files_max, spool->limits.bytes_max, name);
    return 0;
}

int sbx_spool_replace(struct sbx_spool *spool, const uint8_t id[16], const void *envelope, size_t bytes)
{
    char name[SBX_SPOOL_NAME_BYTES];
    sbx_spool_name(id, SBX_ENVELOPE_SUFFIX, name);
    return bytes > SBX_ENVELOPE_BYTES_MAX ? -EFBIG
           : !has_file(spool->root, name) ? -ENOENT
                                          : sbx_durable_file_write(spool->root, name, envelope, bytes);
}

int sbx_spool_read(struct sbx_spool *spool, const uint8_t id[SBX_PAYLOAD_ID_BYTES], uint8_t **envelope_out,
                   size_t *bytes_out)
{
    char name[SBX_SPOOL_NAME_BYTES];
    sbx_spool_name(id, SBX_ENVELOPE_SUFFIX, name);
    return sbx_durable_file_read(spool->root, name, SBX_ENVELOPE_BYTES_MAX, envelope_out, bytes_out);
}

int sbx_spool_each(struct sbx_spool *spool, int (*each)(void *context, const char *path, const uint8_t id[16]),
                   void *context)
{
    struct listed *files;
    size_t count;
    int result = list_folder(spool->root, true, &files, &count);
    if (result != 0) {
        return result;
    }
    size_t path_bytes = strlen(spool->path) + 1 + SBX_SPOOL_NAME_BYTES;
    char *path = malloc(path_bytes);
    if (path == NULL) {
        free(files);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count && result == 0; i++) {
        snprintf(path, path_bytes, "%s/%s", spool->path, files[i].name);
        result = each(context, path, files[i].id);
    }
    free(path);
    free(files);
    return result;
}

/* Rename `name` from `from` to `to`, and make the change of both folders durable. The target comes first, so that a
 * power failure in between leaves the file in both folders rather than in none. */
static int move_file(int from, int to, const char *name)
{
    if (renameat(from, name, to, name) != 0) {
        return -errno;
    }
    return fsync(to) != 0 || fsync(from) != 0 ? -errno : 0;
}

bool sbx_spool_is_end(const struct sbx_spool *spool, const uint8_t id[16])
{
    char name[SBX_SPOOL_NAME_BYTES];
    uint8_t first_id[16];
    sbx_stall_end_first_id(id, first_id);
    sbx_spool_name(first_id, SBX_ENVELOPE_SUFFIX, name);
    return faccessat(spool->root, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           faccessat(spool->sent, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int sbx_spool_mark_sent(struct sbx_spool *spool, const uint8_t id[16])
{
    char name[SBX_SPOOL_NAME_BYTES];
    sbx_spool_name(id, SBX_ENVELOPE_SUFFIX, name);
    utimensat(spool->root, name, NULL, AT_SYMLINK_NOFOLLOW); /* orders sent/ by delivery, not by creation */
    int result = move_file(spool->root, spool->sent, name);
    if (result == 0) {
        prune_folder(spool->sent, true, spool->limits.sent_kept, UINT64_MAX, name);
    }
    return result;
}

int sbx_spool_move_to_bad(struct sbx_spool *spool, int folder, const char *name)
{
    utimensat(folder, name, NULL, AT_SYMLINK_NOFOLLOW);
    int result = move_file(folder, spool->bad, name);
    if (result == 0) {
        prune_folder(spool->bad, false, spool->limits.sent_kept, spool->limits.bytes_max, name);
    }
    return result;
}

int sbx_spool_mark_bad(struct sbx_spool *spool, const uint8_t id[16])
{
    char name[SBX_SPOOL_NAME_BYTES];
    sbx_spool_name(id, SBX_ENVELOPE_SUFFIX, name);
    return sbx_spool_move_to_bad(spool, spool->root, name);
}

/* Returns the text of the consent file, as agent/shared/consent.c writes it. NULL: there is none; "": not known. */
static const char *read_consent(const struct sbx_spool *spool, char text[CONSENT_BYTES])
{
    int file = openat(spool->root, "consent", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    text[0] = '\0';
    if (file < 0) {
        return errno == ENOENT ? NULL : text;
    }
    ssize_t got = read(file, text, CONSENT_BYTES - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

bool sbx_spool_is_denied(const struct sbx_spool *spool)
{
    char text[CONSENT_BYTES];
    const char *said = read_consent(spool, text);
    return said != NULL && strcmp(said, "granted\n") != 0;
}

bool sbx_spool_empty_when_refused(struct sbx_spool *spool)
{
    char text[CONSENT_BYTES];
    const char *said = read_consent(spool, text);
    return said != NULL && strcmp(said, "denied\n") == 0 && sbx_spool_empty(spool) == 0;
}

/* Remove the files whose names end in `suffix`. */
static int empty_folder(int folder, const char *suffix)
{
    DIR *listing;
    int result = sbx_spool_list(folder, &listing);
    if (result != 0) {
        return result;
    }
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        size_t length = strlen(entry->d_name), suffix_length = strlen(suffix);
        if (length > suffix_length && strcmp(entry->d_name + length - suffix_length, suffix) == 0 &&
            unlinkat(folder, entry->d_name, 0) != 0 && errno != ENOENT && result == 0) {
            result = -errno;
        }
    }
    closedir(listing);
    return result;
}

int sbx_spool_empty(struct sbx_spool *spool)
{
    int payloads = empty_folder(spool->root, SBX_ENVELOPE_SUFFIX);
    int raw = empty_folder(spool->raw, SBX_RAW_SUFFIX);
    return payloads != 0 ? payloads : raw;
}
