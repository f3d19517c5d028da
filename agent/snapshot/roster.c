/* SPDX-License-Identifier: Apache-2.0 */
/* roster.c - a small mapped file with many writers and one reader. */
#include "roster.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "order.h"
#include "own_folder.h"

enum {
    NAME_BYTES = 32,
    YOUNG_S = 60 /* a younger file without a lock may be one that is being created */
};

/* A number that changes when the struct does. */
static uint32_t layout(void)
{
    return (uint32_t)sizeof(struct sbx_roster) << 8 | 2;
}

static void print_name(uint64_t number, char name_out[NAME_BYTES])
{
    snprintf(name_out, NAME_BYTES, "%016llx" SBX_ROSTER_SUFFIX, (unsigned long long)number);
}

/* Become a member with a read lock of the open file (fcntl(2), "open file description locks"). The mapping keeps the
 * file open. Children of fork() share the mapping; exec() and the end of the process release it. So no descriptor is
 * needed, and no process has to sign off. The companion's own lock, which protects its roster from being swept, is a
 * separate flock(2) lock. */
static struct flock member_lock(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
}

static void become_member(int file)
{
    struct flock lock = member_lock(F_RDLCK);
    (void)fcntl(file, F_OFD_SETLK, &lock); /* without such locks the companion does not wait for this process */
}

static struct sbx_roster *map_in(int folder, uint64_t number, bool as_member)
{
    char name[NAME_BYTES];
    struct stat status;
    print_name(number, name);
    int file = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return NULL;
    }
    void *mapped = MAP_FAILED;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == sizeof(struct sbx_roster)) {
        mapped = mmap(NULL, sizeof(struct sbx_roster), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (mapped != MAP_FAILED && as_member) {
        become_member(file);
    }
    close(file);
    if (mapped == MAP_FAILED) {
        return NULL;
    }
    struct sbx_roster *roster = mapped;
    if (roster->layout != layout()) {
        munmap(mapped, sizeof *roster);
        return NULL;
    }
    return roster;
}

struct sbx_roster *sbx_roster_map(const char *folder_path, uint64_t number)
{
    int folder = number != 0 ? sbx_own_folder_open(folder_path) : -ENOENT;
    if (folder < 0) {
        return NULL;
    }
    struct sbx_roster *roster = map_in(folder, number, true);
    close(folder);
    return roster;
}

static struct sbx_roster_process *place_of(struct sbx_roster *roster, uint32_t pid)
{
    for (uint32_t i = 0; i < SBX_ROSTER_PROCESSES; i++) {
        struct sbx_roster_process *process = &roster->processes[i];
        uint32_t there = 0;
        /* order: acq_rel roster.pid - one process a place */
        if (sbx_load_relaxed(&process->pid) == pid || sbx_cas_acq_rel(&process->pid, &there, pid) || there == pid) {
            return process;
        }
    }
    return NULL; /* too many children: they are only counted */
}

void sbx_roster_say(struct sbx_roster *roster, uint32_t pid, enum sbx_roster_state state, uint32_t error)
{
    if (roster == NULL) {
        return;
    }
    struct sbx_roster_process *process = place_of(roster, pid);
    if (state == SBX_ROSTER_FAILED) {
        sbx_store_relaxed(&roster->last_error, error); /* relaxed: statistics, as are all of these */
        sbx_add_relaxed(&roster->failed, 1);
    }
    if (process != NULL) {
        sbx_store_relaxed(&process->has_loop, state == SBX_ROSTER_LEFT ? sbx_load_relaxed(&process->has_loop) : 0);
        sbx_store_relaxed(&process->error, error);
        sbx_store_relaxed(&process->state, (uint32_t)state);
    }
}

void sbx_roster_say_loop(struct sbx_roster *roster, uint32_t pid)
{
    struct sbx_roster_process *process = roster != NULL ? place_of(roster, pid) : NULL;
    if (process != NULL) {
        sbx_store_relaxed(&process->has_loop, 1);
    }
}

static bool has_id(const struct sbx_roster *roster, const uint8_t id[SBX_ROSTER_ID_BYTES])
{
    for (uint32_t i = 0; i < SBX_ROSTER_IDS; i++) {
        if (memcmp(roster->ids[i], id, SBX_ROSTER_ID_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

void sbx_roster_add(struct sbx_roster *roster, const uint8_t id[SBX_ROSTER_ID_BYTES])
{
    if (roster != NULL && !has_id(roster, id)) {
        uint32_t number = sbx_add_relaxed(&roster->snapshots, 1); /* relaxed: reserves a place of its own */
        memcpy(roster->ids[number % SBX_ROSTER_IDS], id, SBX_ROSTER_ID_BYTES);
    }
}

void sbx_roster_add_to(int folder, uint64_t number, const uint8_t id[SBX_ROSTER_ID_BYTES])
{
    struct sbx_roster *roster = number != 0 ? map_in(folder, number, false) : NULL;
    if (roster != NULL) {
        sbx_roster_add(roster, id);
        munmap(roster, sizeof *roster);
    }
}

/* ---- for the companion ---- */

static bool is_roster(const char *name)
{
    size_t length = strlen(name), suffix = sizeof SBX_ROSTER_SUFFIX - 1;
    return name[0] != '.' && length > suffix && strcmp(name + length - suffix, SBX_ROSTER_SUFFIX) == 0;
}

/* Removes the rosters of companions that were killed. */
static void sweep(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = again >= 0 ? fdopendir(again) : NULL;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        struct stat status;
        int file = is_roster(entry->d_name)
                       ? openat(folder, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                       : -1;
        if (file < 0) {
            continue;
        }
        if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
            (status.st_size == sizeof(struct sbx_roster) || now.tv_sec - status.st_mtim.tv_sec > YOUNG_S)) {
            unlinkat(folder, entry->d_name, 0);
        }
        close(file);
    }
    if (listing != NULL) {
        closedir(listing);
    } else if (again >= 0) {
        close(again);
    }
}

/* The memory must exist before a program maps it: a full file system must be an error here, not a SIGBUS there. */
static int fill(int file)
{
    static struct sbx_roster empty;
    empty.layout = layout();
    int result = -posix_fallocate(file, 0, sizeof empty);
    if (result == 0) {
        ssize_t wrote = pwrite(file, &empty, sizeof empty, 0);
        result = wrote == (ssize_t)sizeof empty ? 0 : wrote < 0 ? -errno : -ENOSPC;
    }
    return result;
}

int sbx_roster_create(const char *folder_path, uint64_t *number_out)
{
    char name[NAME_BYTES];
    uint64_t number = 0;
    int folder = sbx_own_folder_open(folder_path);
    if (folder < 0) {
        return folder;
    }
    sweep(folder);
    int result = -EIO, file = -1;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number || number == 0) {
        goto close_folder;
    }
    print_name(number, name);
    file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        result = -errno;
        goto close_folder;
    }
    result = flock(file, LOCK_EX) == 0 ? fill(file)
                                       : -errno; /* before it has its size: see sweep(), which unlocks it at once */
    if (result == 0) {
        *number_out = number;
        result = file;
    } else {
        unlinkat(folder, name, 0);
        close(file);
    }
close_folder:
    close(folder);
    return result;
}

bool sbx_roster_read(int roster, struct sbx_roster *copy_out)
{
    memset(copy_out, 0, sizeof *copy_out);
    return roster >= 0 && pread(roster, copy_out, sizeof *copy_out, 0) == (ssize_t)sizeof *copy_out;
}

bool sbx_roster_has_members(int roster)
{
    struct flock lock = member_lock(F_WRLCK);
    return roster >= 0 && fcntl(roster, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

struct sbx_roster_process sbx_roster_process(const struct sbx_roster *copy, uint32_t pid)
{
    for (uint32_t i = 0; i < SBX_ROSTER_PROCESSES; i++) {
        if (copy->processes[i].pid == pid) {
            return copy->processes[i];
        }
    }
    return (struct sbx_roster_process){.pid = pid};
}

void sbx_roster_remove(const char *folder_path, uint64_t number, int roster)
{
    char name[NAME_BYTES];
    int folder = roster >= 0 ? sbx_own_folder_open(folder_path) : -1;
    if (folder >= 0) {
        print_name(number, name);
        unlinkat(folder, name, 0);
        close(folder);
    }
    if (roster >= 0) {
        close(roster);
    }
}
