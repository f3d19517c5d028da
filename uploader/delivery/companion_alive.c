/* SPDX-License-Identifier: Apache-2.0 */
/* companion_alive.c - lock files: the stores of one process hold a shared lock, and a process that asks tries an
 * exclusive one. */
#include "companion_alive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAME_BYTES = 48,
    TRIES = 4
};
#define PREFIX "alive."

static void name_file(uint32_t pid, uint64_t start_ticks, char name_out[NAME_BYTES])
{
    snprintf(name_out, NAME_BYTES, PREFIX "%u.%llu", pid, (unsigned long long)start_ticks);
}

int sbx_companion_show(int folder, uint32_t pid, uint64_t start_ticks)
{
    char name[NAME_BYTES];
    struct stat status;
    name_file(pid, start_ticks, name);
    for (int i = 0; i < TRIES; i++) {
        int file = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        if (file < 0) {
            return -1;
        }
        /* The lock fails while another process removes dead files. That process holds the lock, and then unlinks the
         * file. */
        if (flock(file, LOCK_SH | LOCK_NB) == 0 && fstat(file, &status) == 0 && status.st_nlink != 0) {
            return file;
        }
        close(file);
    }
    return -1;
}

bool sbx_companion_lives(int folder, uint32_t pid, uint64_t start_ticks)
{
    char name[NAME_BYTES];
    name_file(pid, start_ticks, name);
    int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_held = file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (file >= 0) {
        close(file);
    }
    return is_held;
}

void sbx_companions_sweep(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir() closes this descriptor */
    DIR *listing = again >= 0 ? fdopendir(again) : NULL;
    if (listing == NULL) {
        if (again >= 0) {
            close(again);
        }
        return;
    }
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0) {
            int file = openat(folder, entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
            if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0) {
                unlinkat(folder, entry->d_name, 0);
            }
            if (file >= 0) {
                close(file);
            }
        }
    }
    closedir(listing);
}
