/* SPDX-License-Identifier: Apache-2.0 */
/* recording_file.c - making the mapped file that outlives the process.
 *
 * Its folder is in a memory file system where there is one: writing costs memory bandwidth, and what must survive is
 * the death of the process, not of the machine. */
#include "recording_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

int sbx_recordings_default_folder(char *path_out, size_t path_bytes)
{
    bool has_shm = access("/dev/shm", W_OK | X_OK) == 0;
    int length = snprintf(path_out, path_bytes, "%s/stallbox-%u", has_shm ? "/dev/shm" : "/tmp", (unsigned)geteuid());
    return length < 0 || (size_t)length >= path_bytes ? -ENAMETOOLONG : 0;
}

int sbx_spool_default_path(char *path_out, size_t path_bytes)
{
    const char *state = getenv("XDG_STATE_HOME");
    int length;
    if (state != NULL && state[0] == '/') {
        length = snprintf(path_out, path_bytes, "%s/stallbox/spool", state);
    } else {
        const char *home = getenv("HOME");
        if (home == NULL || home[0] != '/') {
            return -ENOENT;
        }
        length = snprintf(path_out, path_bytes, "%s/.local/state/stallbox/spool", home);
    }
    return length < 0 || (size_t)length >= path_bytes ? -ENAMETOOLONG : 0;
}

int sbx_rows_default_folder(char *path_out, size_t path_bytes)
{
    const char *given = getenv("STALLBOX_ROWS"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat status;
    int length;
    if (given != NULL) {
        if (given[0] != '/') {
            return -ENOENT;
        }
        length = snprintf(path_out, path_bytes, "%s", given);
    } else if (cache != NULL && cache[0] == '/') {
        length = snprintf(path_out, path_bytes, "%s/stallbox/rows", cache);
    } else if (home != NULL && home[0] == '/' && stat(home, &status) == 0 && status.st_uid == geteuid()) {
        length = snprintf(path_out, path_bytes, "%s/.cache/stallbox/rows", home);
    } else {
        return -ENOENT;
    }
    return length < 0 || (size_t)length >= path_bytes ? -ENAMETOOLONG : 0;
}

int sbx_make_folders(const char *path)
{
    char part[SBX_RECORDING_PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part) {
        return -ENAMETOOLONG;
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0) {
            continue;
        }
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0700) != 0 && errno != EEXIST && !(errno == EROFS || errno == EACCES)) {
            return -errno; /* what exists on a read-only or closed file system is found out by the last component */
        }
    }
    struct stat status;
    if (stat(path, &status) != 0) {
        return -errno;
    }
    return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
}

uint64_t sbx_process_start_ticks(uint32_t pid)
{
    char path[48], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) {
        return 0;
    }
    text[got] = 0;
    char *at = strrchr(text, ')'); /* the name may hold spaces and brackets */
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

static void read_boot_id(uint8_t boot_id[16])
{
    char text[40];
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return; /* zero: equal to any other unknown boot; pid and start time still tell processes apart */
    }
    ssize_t got = read(file, text, sizeof text);
    close(file);
    unsigned digits = 0;
    for (ssize_t i = 0; i < got && digits < 32; i++) {
        char c = text[i];
        unsigned value;
        if (c >= '0' && c <= '9') {
            value = (unsigned)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            value = (unsigned)(c - 'a') + 10;
        } else {
            continue;
        }
        boot_id[digits / 2] = (uint8_t)(boot_id[digits / 2] << 4 | value);
        digits++;
    }
}

static uint64_t lay_out(struct sbx_recording_header *header)
{
    uint64_t at = SBX_CONTROL_AT + 4096;
    struct {
        struct sbx_section *section;
        uint32_t count, entry_bytes;
    } sections[] = {
        {&header->modules, SBX_MODULES_MAX, sizeof(struct sbx_module_entry)},
        {&header->threads, SBX_THREADS_MAX, sizeof(struct sbx_thread_entry)},
        {&header->frames, SBX_FRAMES_MAX, sizeof(uint64_t)},
        {&header->nodes, 2 * SBX_NODES_MAX, sizeof(uint64_t)},
        {&header->chunks, SBX_CHUNKS_DEFAULT, sizeof(struct sbx_chunk)},
    };
    for (size_t i = 0; i < SBX_COUNT_OF(sections); i++) {
        *sections[i].section = (struct sbx_section){at, sections[i].count, sections[i].entry_bytes};
        at += (uint64_t)sections[i].count * sections[i].entry_bytes;
        at = (at + 4095) & ~UINT64_C(4095);
    }
    return at;
}

/* A folder of ours that nobody else may write: a recording tells what the process does. */
static int check_folder(int folder)
{
    struct stat status;
    if (fstat(folder, &status) != 0) {
        return -errno;
    }
    return status.st_uid == geteuid() && (status.st_mode & 0022) == 0 ? 0 : -EPERM;
}

/* The path by which the program was started, when it is absolute and leads to what runs; else what the kernel says
 * runs. The first tells more: Debian's redis-server is a link to redis-check-rdb, and nobody runs a redis-check-rdb. */
static void find_executable(char path_out[SBX_PATH_MAX])
{
    const char *given = (const char *)getauxval(AT_EXECFN);
    struct stat named, running;
    if (given != NULL && given[0] == '/' && strlen(given) < SBX_PATH_MAX && stat(given, &named) == 0 &&
        stat("/proc/self/exe", &running) == 0 && named.st_dev == running.st_dev && named.st_ino == running.st_ino) {
        memcpy(path_out, given, strlen(given) + 1);
        return;
    }
    ssize_t length = readlink("/proc/self/exe", path_out, SBX_PATH_MAX - 1);
    path_out[length > 0 ? length : 0] = 0;
}

/* Take away what this very process recorded before it called exec: its pid and start time are ours. What a dead process
 * of the same pid left is somebody's evidence and stays. */
static void forget_before_exec(int folder, const struct sbx_recording_header *draft)
{
    char prefix[24];
    int listing_fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = listing_fd >= 0 ? fdopendir(listing_fd) : NULL;
    if (listing == NULL) {
        if (listing_fd >= 0) {
            close(listing_fd);
        }
        return;
    }
    snprintf(prefix, sizeof prefix, "%u-", draft->pid);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        struct sbx_recording_header old;
        int file = openat(folder, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (file >= 0 && read(file, &old, sizeof old) == (ssize_t)sizeof old && old.pid == draft->pid &&
            old.process_start_ticks == draft->process_start_ticks &&
            memcmp(old.boot_id, draft->boot_id, sizeof old.boot_id) == 0) {
            unlinkat(folder, entry->d_name, 0);
        }
        if (file >= 0) {
            close(file);
        }
    }
    closedir(listing);
}

int sbx_recording_create(const char *folder_path, const char *spool_path, struct sbx_recording_file *file_out)
{
    struct sbx_recording_header draft;
    struct rlimit limit;
    int result = sbx_make_folders(folder_path);
    if (result != 0) {
        return result;
    }
    int folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) {
        return -errno;
    }
    result = check_folder(folder);
    if (result != 0) {
        goto close_folder;
    }
    memset(&draft, 0, sizeof draft);
    draft.file_bytes = lay_out(&draft);
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < draft.file_bytes) {
        result = -EFBIG; /* asking for it all the same would send the host SIGXFSZ */
        goto close_folder;
    }
    memcpy(draft.magic, SBX_RECORDING_MAGIC, sizeof draft.magic);
    draft.version = SBX_RECORDING_VERSION;
    draft.layout_hash = sbx_layout_hash();
    draft.state = SBX_STATE_STARTING;
    draft.pid = (uint32_t)getpid();
    draft.process_start_ticks = sbx_process_start_ticks(draft.pid);
    read_boot_id(draft.boot_id);
    if (getrandom(draft.session_id, sizeof draft.session_id, GRND_NONBLOCK) != (ssize_t)sizeof draft.session_id) {
        uint64_t now = sbx_now_ns() ^ (uint64_t)draft.pid << 40; /* early boot: unique on this machine is enough */
        memcpy(draft.session_id, &now, sizeof now);
    }
    draft.started_ns = sbx_now_ns();
    draft.started_real_s = sbx_read_clock_ns(CLOCK_REALTIME) / 1000000000u;
    draft.epoch = 1;
    draft.main_thread = UINT32_MAX;
    snprintf(draft.spool_path, sizeof draft.spool_path, "%s", spool_path);
    find_executable(draft.executable_path);

    forget_before_exec(folder, &draft);
    char name[64];
    snprintf(name, sizeof name, "%u-%02x%02x%02x%02x" SBX_RECORDING_SUFFIX, draft.pid, draft.session_id[0],
             draft.session_id[1], draft.session_id[2], draft.session_id[3]);
    int written = snprintf(file_out->path, sizeof file_out->path, "%s/%s", folder_path, name);
    if (written < 0 || (size_t)written >= sizeof file_out->path) {
        result = -ENAMETOOLONG;
        goto close_folder;
    }
    int file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        result = -errno;
        goto close_folder;
    }
    /* Reserve the memory now: a full /dev/shm must be an error here, not a SIGBUS in a hook. */
    result = -posix_fallocate(file, 0, (off_t)draft.file_bytes);
    if (result == 0) {
        void *mapping = mmap(NULL, draft.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapping == MAP_FAILED) {
            result = -errno;
        } else {
            memcpy(mapping, &draft, sizeof draft);
            file_out->header = mapping;
            file_out->bytes = draft.file_bytes;
        }
    }
    close(file);
    if (result != 0) {
        unlinkat(folder, name, 0);
    }
close_folder:
    close(folder);
    return result;
}

void sbx_recording_unlink(struct sbx_recording_file *file)
{
    if (file->path[0] != 0) {
        unlink(file->path);
        file->path[0] = 0;
    }
}
