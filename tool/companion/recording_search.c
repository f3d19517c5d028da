/* SPDX-License-Identifier: Apache-2.0 */
/* recording_search.c - searches the folders, then /proc/PID/maps, then the rosters. */
#include "recording_search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "preload.h"
#include "recording_folder.h"
#include "roster.h"

/* What a process has mapped that tells about its recording. */
struct mapped {
    bool can_be_read, has_library;
    char recording[SBX_RECORDING_PATH_MAX]; /* path as the process sees it; "": none */
    dev_t device;                           /* device of the recording */
    ino_t inode;
};

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

static void read_maps(uint32_t pid, struct mapped *mapped_out)
{
    char path[48], line[SBX_RECORDING_PATH_MAX + 128];
    memset(mapped_out, 0, sizeof *mapped_out);
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    FILE *maps = fopen(path, "re");
    mapped_out->can_be_read = maps != NULL;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned major_number, minor_number;
        unsigned long inode;
        char rights[8];
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%*[0-9a-f-] %7s %*x %x:%x %lu %n", rights, &major_number, &minor_number, &inode, &path_at) <
                4 ||
            path_at == 0 || line[path_at] != '/') {
            continue;
        }
        const char *name = strrchr(line, '/') + 1;
        mapped_out->has_library |= strncmp(name, "libstallbox.so", 14) == 0;
        if (strcmp(rights, "rw-s") == 0 && ends_with(name, SBX_RECORDING_SUFFIX) &&
            strlen(line + path_at) < sizeof mapped_out->recording) {
            strcpy(mapped_out->recording, line + path_at);
            mapped_out->device = makedev(major_number, minor_number);
            mapped_out->inode = inode;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
}

/* The process of a recording, by its name; 0: none. */
static uint32_t pid_of_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (uint32_t)strtoul(slash != NULL ? slash + 1 : path, NULL, 10);
}

static int find_in(const char *folder_path, uint32_t pid, struct sbx_attachment *attachment,
                   char path_out[SBX_FOUND_PATH_BYTES])
{
    char prefix[24];
    int result = -ESRCH;
    snprintf(prefix, sizeof prefix, "%u-", pid);
    DIR *folder = opendir(folder_path);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL && result == -ESRCH;
         entry = readdir(folder)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(path_out, SBX_FOUND_PATH_BYTES, "%s/%s", folder_path, entry->d_name);
            result = sbx_attachment_open(attachment, path_out, pid);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return result;
}

/* Open the mapped file below the root of the process. Another file may be there now, so device and inode must be the
 * same. The file must belong to the process's user or to us, and no other user may have access. */
static int open_mapped(const struct mapped *mapped, uint32_t pid, struct sbx_attachment *attachment,
                       char path_out[SBX_FOUND_PATH_BYTES])
{
    char process[32];
    struct stat owner, file;
    snprintf(process, sizeof process, "/proc/%u", pid);
    snprintf(path_out, SBX_FOUND_PATH_BYTES, "/proc/%u/root%s", pid, mapped->recording);
    if (stat(process, &owner) != 0 || lstat(path_out, &file) != 0) {
        return -ESRCH;
    }
    bool is_it = file.st_dev == mapped->device && file.st_ino == mapped->inode && file.st_nlink == 1 &&
                 (file.st_uid == owner.st_uid || file.st_uid == geteuid()) && (file.st_mode & 0077) == 0;
    return is_it ? sbx_attachment_open_of(attachment, path_out, pid, file.st_uid) : -ESRCH;
}

/* Look in all rosters for a process that has no recording. */
static bool ask_rosters(const char *folder_path, uint32_t pid, struct sbx_roster_process *process_out)
{
    static struct sbx_roster roster;
    bool is_told = false;
    DIR *folder = opendir(folder_path);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL && !is_told;
         entry = readdir(folder)) {
        if (!ends_with(entry->d_name, SBX_ROSTER_SUFFIX)) {
            continue;
        }
        int file = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (sbx_roster_read(file, &roster)) {
            *process_out = sbx_roster_process(&roster, pid);
            is_told = process_out->state != SBX_ROSTER_UNTOLD;
        }
        if (file >= 0) {
            close(file);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return is_told;
}

static void explain(const struct mapped *mapped, uint32_t pid, const struct sbx_recording_folders *folders, char *why,
                    size_t why_bytes)
{
    struct sbx_roster_process process = {.state = SBX_ROSTER_UNTOLD};
    char path[32];
    snprintf(path, sizeof path, "/proc/%u", pid);
    for (unsigned i = 0; i < folders->count && process.state == SBX_ROSTER_UNTOLD; i++) {
        (void)ask_rosters(folders->paths[i], pid, &process);
    }
    uint32_t parent = mapped->recording[0] != '\0' ? pid_of_name(mapped->recording) : 0;
    if (access(path, F_OK) != 0) {
        snprintf(why, why_bytes, "there is no such process");
    } else if (parent != 0 && parent != pid) {
        snprintf(why, why_bytes, "process %u made it past the C library's fork() and is recorded itself", parent);
    } else if (process.state == SBX_ROSTER_FAILED && process.error == ENOSPC) {
        snprintf(why, why_bytes, "there was no room for its recording");
    } else if (process.state == SBX_ROSTER_FAILED) {
        snprintf(why, why_bytes, "its recorder could not start: %s", strerror((int)(process.error & 0xfff)));
    } else if (process.state == SBX_ROSTER_LEFT) {
        snprintf(why, why_bytes, "recording ended when it entered a sandbox, or another user or mount namespace");
    } else if (process.state == SBX_ROSTER_DECLINED) {
        snprintf(why, why_bytes, "it locks its memory, and has a small limit for that");
    } else if (!mapped->can_be_read) {
        snprintf(why, why_bytes, "looked in %s; it is another user's: ask as root",
                 folders->count != 0 ? folders->paths[0]
                                     : "/dev/shm, /run/user and /tmp: this user has no folder there");
    } else if (mapped->has_library) {
        snprintf(why, why_bytes, "it has begun none: the recorder of a child program begins when that program waits");
    } else {
        snprintf(why, why_bytes,
                 "libstallbox is not loaded into it: it was not started by `stallbox run`, or is static");
    }
}

int sbx_recording_search(uint32_t pid, struct sbx_attachment *attachment, char path_out[SBX_FOUND_PATH_BYTES],
                         char *why, size_t why_bytes)
{
    struct sbx_recording_folders folders;
    struct mapped mapped;
    int result = -ESRCH;
    sbx_recordings_find(sbx_recordings_given(), &folders);
    for (unsigned i = 0; i < folders.count && result == -ESRCH; i++) {
        result = find_in(folders.paths[i], pid, attachment, path_out);
    }
    if (result != -ESRCH) {
        snprintf(why, why_bytes, "%s", result != 0 ? strerror(-result) : "");
        return result;
    }
    read_maps(pid, &mapped);
    if (mapped.recording[0] != '\0' && pid_of_name(mapped.recording) == pid) {
        result = open_mapped(&mapped, pid, attachment, path_out);
    }
    if (result == -ESRCH) {
        explain(&mapped, pid, &folders, why, why_bytes);
    }
    return result;
}
