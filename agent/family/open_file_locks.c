/* SPDX-License-Identifier: Apache-2.0 */
/* open_file_locks.c - lines of /proc/PID/fdinfo. */
#include "open_file_locks.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "folder_list.h"

enum {
    LISTING_BYTES = 2048,
    TEXT_BYTES = 4096, /* for one descriptor: some 50 locks of one file */
    LOOKS_MAX = 1024   /* descriptors for one question: 3 ms */
};

/* "lock:\t1: OFDLCK  ADVISORY  WRITE -1 fe:00:7 0 EOF": does the text have such a line for that lock? */
static bool has_line(const char *text, const char *lock, size_t bytes)
{
    static const char mark[] = "\nlock:";
    bool has_it = false;
    for (const char *at = strstr(text, mark); at != NULL && !has_it; at = strstr(at + 1, mark)) {
        const char *begin = strchr(at + sizeof mark - 1, ':'), *end = strchr(at + 1, '\n');
        has_it = begin != NULL && end != NULL && begin + 2 <= end && (size_t)(end - begin - 2) == bytes &&
                 memcmp(begin + 2, lock, bytes) == 0;
    }
    return has_it;
}

static bool is_beside(int folder, const char *entry, const char *lock, size_t bytes)
{
    char text[TEXT_BYTES];
    int file = openat(folder, entry, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0) {
        close(file);
    }
    text[got > 0 ? got : 0] = '\0';
    return has_line(text, lock, bytes);
}

static bool has_lock(uint32_t pid, const char *lock, size_t bytes, unsigned *looks_left)
{
    _Alignas(8) char listing[LISTING_BYTES];
    char path[32];
    bool has_it = false;
    long got;
    snprintf(path, sizeof path, "/proc/%u/fdinfo", pid);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && !has_it && *looks_left > 0 &&
           (got = syscall(SYS_getdents64, folder, listing, sizeof listing)) > 0) {
        for (long at = 0; at < got && !has_it && *looks_left > 0;) {
            const char *entry = sbx_folder_list_next(listing, &at);
            (*looks_left)--;
            has_it = entry[0] != '.' && is_beside(folder, entry, lock, bytes);
        }
    }
    if (folder >= 0) {
        close(folder);
    }
    return has_it;
}

uint32_t sbx_open_file_lock_find(const char *lock, const uint32_t *pids, uint32_t count)
{
    size_t bytes = strcspn(lock, "\n");
    unsigned looks_left = LOOKS_MAX;
    uint32_t found = 0, own = (uint32_t)getpid();
    for (uint32_t i = 0; i < count && looks_left > 0; i++) {
        if (pids[i] != 0 && has_lock(pids[i], lock, bytes, &looks_left)) {
            if (found != 0 || pids[i] == own) {
                return 0;
            }
            found = pids[i];
        }
    }
    return looks_left > 0 ? found : 0;
}
