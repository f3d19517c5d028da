/* SPDX-License-Identifier: Apache-2.0 */
/* recording_room.c - the file system, the recordings in it, the memory limit. */
#include "recording_room.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "folder_list.h"
#include "recording_format.h"

enum {
    LISTING_BYTES = 4096,
    GROUP_MAX = 512
};
#define LEFT_FREE_MOST (UINT64_C(256) << 20)

uint64_t sbx_recording_room(const struct sbx_recording_room *room)
{
    uint64_t room_bytes = UINT64_MAX;
    if (room->total_bytes != 0) {
        uint64_t left_free = room->total_bytes / 2 < LEFT_FREE_MOST ? room->total_bytes / 2 : LEFT_FREE_MOST;
        uint64_t share = room->total_bytes / 4;
        room_bytes = share > room->taken_bytes ? share - room->taken_bytes : 0;
        uint64_t spare = room->free_bytes > left_free ? room->free_bytes - left_free : 0;
        room_bytes = spare < room_bytes ? spare : room_bytes;
    }
    if (room->limit_bytes != UINT64_MAX) {
        uint64_t share = room->limit_bytes / 8;
        uint64_t spare = share > room->taken_bytes ? share - room->taken_bytes : 0;
        room_bytes = spare < room_bytes ? spare : room_bytes;
    }
    return room_bytes;
}

/* The sum of the recordings' full sizes, reserved or not. */
static uint64_t add_recordings(int folder)
{
    _Alignas(8) char listing[LISTING_BYTES];
    uint64_t sum = 0;
    long got;
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* for a file position of its own */
    while (copy >= 0 && (got = syscall(SYS_getdents64, copy, listing, sizeof listing)) > 0) {
        for (long at = 0; at < got;) {
            const char *name = sbx_folder_list_next(listing, &at);
            size_t length = strlen(name);
            struct stat status;
            if (length > sizeof SBX_RECORDING_SUFFIX - 1 &&
                strcmp(name + length - (sizeof SBX_RECORDING_SUFFIX - 1), SBX_RECORDING_SUFFIX) == 0 &&
                fstatat(copy, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode)) {
                sum += (uint64_t)status.st_size;
            }
        }
    }
    if (copy >= 0) {
        close(copy);
    }
    return sum;
}

static bool read_text(const char *path, char *text, size_t bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t got = read(file, text, bytes - 1);
    close(file);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

static uint64_t read_limit(const char *folder, const char *group, const char *name)
{
    char path[GROUP_MAX + 96], text[32];
    snprintf(path, sizeof path, "%s%s/%s", folder, group, name);
    if (!read_text(path, text, sizeof text) || text[0] < '0' || text[0] > '9') {
        return UINT64_MAX; /* there is no limit, or it is "max" */
    }
    return strtoull(text, NULL, 10);
}

/* The lowest limit of the control groups that we are in, of version 1 or 2. In a container the path of the group may
 * not exist in the mounted hierarchy: then the mounted root is read. */
static uint64_t find_memory_limit(void)
{
    char text[4096], group[GROUP_MAX];
    uint64_t limit = UINT64_MAX;
    if (!read_text("/proc/self/cgroup", text, sizeof text)) {
        return UINT64_MAX;
    }
    for (char *line = text; line != NULL && *line != 0;) {
        char *end = strchr(line, '\n'), *kind = strchr(line, ':'), *path = kind != NULL ? strchr(kind + 1, ':') : NULL;
        if (end != NULL) {
            *end = 0;
        }
        bool is_second = kind != NULL && kind[1] == ':';
        bool is_first = kind != NULL && strncmp(kind + 1, "memory:", 7) == 0;
        if (path != NULL && (is_second || is_first) && strlen(path + 1) < sizeof group) {
            const char *folder = is_first ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
            const char *name = is_first ? "memory.limit_in_bytes" : "memory.max";
            memcpy(group, path + 1, strlen(path + 1) + 1);
            for (;;) { /* the group and its parents */
                uint64_t of_group = read_limit(folder, strcmp(group, "/") == 0 ? "" : group, name);
                limit = of_group < limit ? of_group : limit;
                char *slash = strrchr(group, '/');
                if (slash == NULL || group[0] == 0) {
                    break;
                }
                *slash = 0;
            }
        }
        line = end != NULL ? end + 1 : NULL;
    }
    return limit;
}

void sbx_recording_room_look(int folder, struct sbx_recording_room *room_out)
{
    sbx_recording_room_look_below(folder, find_memory_limit(), room_out);
}

void sbx_recording_room_look_below(int folder, uint64_t limit_bytes, struct sbx_recording_room *room_out)
{
    struct statvfs space;
    *room_out = (struct sbx_recording_room){.limit_bytes = limit_bytes};
    if (fstatvfs(folder, &space) == 0) { /* a file system with no blocks does not report its size */
        room_out->total_bytes = (uint64_t)space.f_blocks * space.f_frsize;
        room_out->free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    }
    room_out->taken_bytes = add_recordings(folder);
}
