/* SPDX-License-Identifier: Apache-2.0 */
/* spool_modules.c - the paths of modules on this machine: SPOOL/modules.
 *
 * A payload names modules only by build-id. With this file, which never leaves the machine, `stallbox report` finds
 * them again without a search. Lines are "HEX PATH", or "=HASH NAME" for a watch, newest first. The file is only a
 * hint, so if two processes write at the same time, the lost line does no harm. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "durable_file.h"
#include "recording_format.h"
#include "spool.h"
#include "spool_folders.h"

enum {
    LINE_BYTES = 2 * SBX_BUILD_ID_MAX + 1 + SBX_PATH_MAX + 1, /* hex, space, path, newline */
    FILE_BYTES_MAX = 2 << 20,                                 /* some 20,000 modules; the oldest lines are dropped */
    LOCK_TRIES = 20,
    LOCK_WAIT_MS = 10,
};

static const char modules_name[] = "modules";

/* Lines that were added since the last save, one after another, each with its newline. */
struct sbx_spool_modules {
    char *text;
    size_t bytes, room;
};

void sbx_spool_modules_destroy(struct sbx_spool_modules *modules)
{
    if (modules != NULL) {
        free(modules->text);
        free(modules);
    }
}

static bool has_line(const char *text, size_t bytes, const char *line, size_t line_bytes)
{
    for (const char *at = text; at < text + bytes;) {
        const char *end = memchr(at, '\n', (size_t)(text + bytes - at));
        size_t length = end == NULL ? (size_t)(text + bytes - at) : (size_t)(end - at) + 1;
        if (length == line_bytes && memcmp(at, line, line_bytes) == 0) {
            return true;
        }
        at += length;
    }
    return false;
}

static int append_line(struct sbx_spool_modules *modules, const char *line, size_t bytes)
{
    if (modules->bytes + bytes > modules->room) {
        size_t room = modules->room == 0 ? 4096 : 2 * modules->room;
        char *grown = realloc(modules->text, room); /* a line is shorter than 4096 bytes */
        if (grown == NULL) {
            return -ENOMEM;
        }
        modules->text = grown;
        modules->room = room;
    }
    memcpy(modules->text + modules->bytes, line, bytes);
    modules->bytes += bytes;
    return 0;
}

int sbx_spool_note_module(struct sbx_spool *spool, const uint8_t *build_id, size_t build_id_bytes, const char *path)
{
    if (build_id_bytes == 0 || build_id_bytes > SBX_BUILD_ID_MAX || path[0] != '/' || strlen(path) >= SBX_PATH_MAX ||
        strchr(path, '\n') != NULL) {
        return -EINVAL; /* no line can contain it */
    }
    if (spool->modules == NULL && (spool->modules = calloc(1, sizeof *spool->modules)) == NULL) {
        return -ENOMEM;
    }
    char line[LINE_BYTES + 1];
    for (size_t i = 0; i < build_id_bytes; i++) {
        snprintf(line + 2 * i, 3, "%02x", build_id[i]);
    }
    size_t bytes = 2 * build_id_bytes;
    bytes += (size_t)snprintf(line + bytes, sizeof line - bytes, " %s\n", path);
    if (has_line(spool->modules->text, spool->modules->bytes, line, bytes)) {
        return 0;
    }
    return append_line(spool->modules, line, bytes);
}

int sbx_spool_note_watch(struct sbx_spool *spool, uint64_t what, const char *name)
{
    if (name[0] == '\0' || strlen(name) >= SBX_WATCH_NAME_MAX || strchr(name, '\n') != NULL) {
        return -EINVAL;
    }
    if (spool->modules == NULL && (spool->modules = calloc(1, sizeof *spool->modules)) == NULL) {
        return -ENOMEM;
    }
    char line[LINE_BYTES + 1];
    size_t bytes = (size_t)snprintf(line, sizeof line, "=%010llx %s\n", (unsigned long long)what & 0xffffffffff, name);
    return has_line(spool->modules->text, spool->modules->bytes, line, bytes)
               ? 0
               : append_line(spool->modules, line, bytes);
}

/* Takes the folder's lock for the merge. After 200 ms it goes on without the lock, because a stopped lock holder must
 * not stop us, too. Returns a descriptor to close, or -1. */
static int lock_folder(int folder)
{
    int lock = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0) {
        return -1;
    }
    for (int i = 0; i < LOCK_TRIES && flock(lock, LOCK_EX | LOCK_NB) != 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = LOCK_WAIT_MS * 1000000L}, NULL);
    }
    return lock;
}

int sbx_spool_save_modules(struct sbx_spool *spool)
{
    if (spool->modules == NULL || spool->modules->bytes == 0) {
        return 0;
    }
    int lock = lock_folder(spool->root);
    uint8_t *old = NULL;
    size_t old_bytes = 0;
    int result = sbx_durable_file_read(spool->root, modules_name, FILE_BYTES_MAX, &old, &old_bytes);
    if (result != 0 && result != -ENOMEM) {
        old_bytes = 0; /* no file yet, or not readable: begin a new one */
    } else if (result != 0) {
        goto close_lock;
    }
    struct sbx_spool_modules merged = {.text = NULL};
    result = 0;
    bool news = false;
    for (const char *at = spool->modules->text, *end = at + spool->modules->bytes; at < end && result == 0;) {
        size_t length = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at) + 1;
        news |= !has_line((const char *)old, old_bytes, at, length);
        result = append_line(&merged, at, length);
        at += length;
    }
    for (const char *at = (const char *)old, *end = at + old_bytes; at < end && result == 0;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL) {
            break; /* an unfinished line is ignored */
        }
        size_t length = (size_t)(newline - at) + 1;
        bool known = has_line(spool->modules->text, spool->modules->bytes, at, length);
        if (!known && length <= LINE_BYTES && merged.bytes + length <= FILE_BYTES_MAX) {
            result = append_line(&merged, at, length);
        }
        at += length;
    }
    if (result == 0 && news) {
        result = sbx_durable_file_write(spool->root, modules_name, merged.text, merged.bytes);
    }
    if (result == 0) {
        spool->modules->bytes = 0;
    }
    free(merged.text);
    free(old);

close_lock:
    if (lock >= 0) {
        close(lock);
    }
    return result;
}
