/* SPDX-License-Identifier: Apache-2.0 */
/* recording_file.c - creates the mapped file that outlives the process.
 *
 * Its folder is in a memory file system if there is one: then writing costs only memory bandwidth, and the file must
 * survive the death of the process, not of the machine. */
#include "recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "folder_list.h"
#include "order.h"
#include "own_folder.h"
#include "recording_name.h"
#include "recording_room.h"
#include "temporary_file.h"

enum {
    LOCK_TRIES = 3,
    LISTING_BYTES = 4096,
    TURN_TRIES = 100, /* half a millisecond each */
    /* The limits of a policy, checked here because the value comes from an environment variable. */
    CHUNKS_LEAST = 256,
    CHUNKS_MOST = 16384
};

/* How many entries of each kind the recording has room for. Both tables of callstacks are accessed at random places, so
 * the whole recording uses memory. */
struct shape {
    uint32_t modules, threads, frames, nodes, ids, tasks, chunks, chunks_least;
    uint32_t chunks_first; /* of a worker's recording: reserved at once, and used alone until there is more to record */
    bool is_workers;
};

static const struct shape of_program = {.modules = SBX_MODULES_MAX,
                                        .threads = SBX_THREADS_MAX,
                                        .frames = SBX_FRAMES_MAX,
                                        .nodes = 2 * SBX_NODES_MAX,
                                        .ids = SBX_IDS_MAX,
                                        .tasks = SBX_TASKS_MAX,
                                        .chunks = SBX_CHUNKS_DEFAULT,
                                        .chunks_least = CHUNKS_LEAST};

/* A worker process of few threads, and one of many: some 0.9 MiB. A thread that works all the time fills the ring in
 * half a minute. */
static const struct shape of_worker = {.modules = 128,
                                       .threads = 128,
                                       .frames = SBX_FRAMES_MAX / 8,
                                       .nodes = 2 * SBX_NODES_MAX / 8,
                                       .ids = SBX_IDS_MAX / 8,
                                       .tasks = SBX_TASKS_MAX / 8,
                                       .chunks = 128,
                                       .chunks_least = 64,
                                       .chunks_first = 32,
                                       .is_workers = true};

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

static uint64_t start_ticks_of(const char *path)
{
    char text[1024];
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
    char *at = strrchr(text, ')'); /* the name may contain spaces and brackets */
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

uint64_t sbx_process_start_ticks(uint32_t pid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    return start_ticks_of(path);
}

/* Read once: a forked child inherits the value. */
static void read_boot_id(uint8_t boot_id[16])
{
    static uint8_t boot_of_all[16];
    static const uint8_t unknown[16];
    char text[40];
    memcpy(boot_id, boot_of_all, sizeof boot_of_all);
    if (memcmp(boot_id, unknown, sizeof unknown) != 0) {
        return;
    }
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return; /* zero: equal to any other unknown boot; pid and start time still distinguish processes */
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
    memcpy(boot_of_all, boot_id, sizeof boot_of_all);
}

static uint64_t lay_out(struct sbx_recording_header *header, const struct shape *shape, uint32_t chunks)
{
    uint64_t at = SBX_CONTROL_AT + 4096;
    struct {
        struct sbx_section *section;
        uint32_t count, entry_bytes;
    } sections[] = {
        {&header->modules, shape->modules, sizeof(struct sbx_module_entry)},
        {&header->threads, shape->threads, sizeof(struct sbx_thread_entry)},
        {&header->watches, SBX_WATCHES_MAX, sizeof(struct sbx_watch_entry)},
        {&header->kinds, SBX_MESSAGE_KINDS + SBX_SCENES, sizeof(struct sbx_kind_entry)},
        {&header->tasks, shape->tasks, sizeof(struct sbx_task_entry)},
        {&header->queues, SBX_QUEUES_MAX, sizeof(struct sbx_queue_entry)},
        {&header->frames, shape->frames, sizeof(uint64_t)},
        {&header->nodes, shape->nodes, sizeof(uint64_t)},
        {&header->ids, shape->ids, sizeof(uint64_t)},
        {&header->chunks, chunks, sizeof(struct sbx_chunk)},
    };
    for (size_t i = 0; i < SBX_COUNT_OF(sections); i++) {
        *sections[i].section = (struct sbx_section){at, sections[i].count, sections[i].entry_bytes};
        at += (uint64_t)sections[i].count * sections[i].entry_bytes;
        at = (at + 4095) & ~UINT64_C(4095);
    }
    return at;
}

static uint64_t chunks_bytes(const struct sbx_recording_header *header)
{
    return (uint64_t)header->chunks.count * sizeof(struct sbx_chunk);
}

/* The path by which the program was started, if it is absolute and leads to the running file; otherwise the path that
 * the kernel reports, because /proc/self/exe means another file in another process. The first path tells more: Debian's
 * redis-server is a link to redis-check-rdb, and no user starts a redis-check-rdb. */
static void look_for_executable(char path_out[SBX_PATH_MAX])
{
    const char *given = (const char *)getauxval(AT_EXECFN);
    static const char deleted[] = " (deleted)";
    struct stat named, running;
    if (given != NULL && given[0] == '/' && strncmp(given, "/proc/", 6) != 0 && strlen(given) < SBX_PATH_MAX &&
        stat(given, &named) == 0 && stat("/proc/self/exe", &running) == 0 && named.st_dev == running.st_dev &&
        named.st_ino == running.st_ino) {
        memcpy(path_out, given, strlen(given) + 1);
        return;
    }
    ssize_t length = readlink("/proc/self/exe", path_out, SBX_PATH_MAX - 1);
    path_out[length > 0 ? length : 0] = 0;
    size_t bytes = strlen(path_out), mark = sizeof deleted - 1;
    if (bytes > mark && strcmp(path_out + bytes - mark, deleted) == 0 && stat(path_out, &named) != 0) {
        path_out[bytes - mark] = 0; /* the kernel has added this word to the path */
    }
}

/* Looked up once: a forked child runs the same program as its parent. */
static void find_executable(char path_out[SBX_PATH_MAX])
{
    static char path_of_all[SBX_PATH_MAX];
    if (path_of_all[0] == 0) {
        look_for_executable(path_of_all);
    }
    memcpy(path_out, path_of_all, sizeof path_of_all);
}

/* Is the file locked by a process? */
static bool is_locked(int folder, const char *name)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_it = file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (file >= 0) {
        close(file);
    }
    return is_it;
}

/* Hold a lock on the recording for as long as this process lives. A process that gets the lock knows that we have
 * ended, from any pid namespace and whatever the state of our main thread is. A flock(2) belongs to the open file, and
 * a mapping keeps that file open. So no descriptor is needed, which the host could close (closefrom(3)). A child of
 * fork() does not inherit the mapping (MADV_DONTFORK), so it does not hold the lock of its dead parent. exec() drops
 * the lock with the memory. Some kernels or emulators do not keep the lock with the mapping. This is detected here, and
 * then processes are identified by pid and start time. */
static bool hold_lock(int folder, const char *name)
{
    static bool mapping_holds; /* a worker inherits the result and need not test again */
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) {
        return false;
    }
    bool is_held = false;
    for (int tries = 0; !is_held && tries < LOCK_TRIES; tries++) {
        is_held = flock(file, LOCK_EX | LOCK_NB) == 0;
        if (!is_held) { /* a recoverer has opened this file and holds the lock until it has judged it */
            const struct timespec pause = {0, 1000000};
            nanosleep(&pause, NULL);
        }
    }
    is_held = is_held && sbx_lock_keep(file) != NULL;
    close(file);
    mapping_holds = is_held && (mapping_holds || is_locked(folder, name));
    return mapping_holds;
}

static uint64_t own_pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* Removes the recording that this very process made before it called exec: its pid and start time are ours. The
 * recording of a dead process with the same pid is evidence and stays. */
static void forget_it_before_exec(int folder, const char *name, const struct sbx_recording_header *draft)
{
    struct sbx_recording_header old;
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file >= 0 && read(file, &old, sizeof old) == (ssize_t)sizeof old && old.pid == draft->pid &&
        old.process_start_ticks == draft->process_start_ticks &&
        memcmp(old.boot_id, draft->boot_id, sizeof old.boot_id) == 0) {
        unlinkat(folder, name, 0);
    }
    if (file >= 0) {
        close(file);
    }
}

static void forget_before_exec(int folder, const struct sbx_recording_header *draft)
{
    _Alignas(8) char listing[LISTING_BYTES];
    char prefix[24];
    long got;
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(prefix, sizeof prefix, "%u-", draft->pid);
    while (again >= 0 && (got = syscall(SYS_getdents64, again, listing, sizeof listing)) > 0) {
        for (long at = 0; at < got;) {
            const char *name = sbx_folder_list_next(listing, &at);
            if (strncmp(name, prefix, strlen(prefix)) == 0) {
                forget_it_before_exec(folder, name, draft);
            }
        }
    }
    if (again >= 0) {
        close(again);
    }
}

static struct {
    dev_t device;
    ino_t inode;
} root_at_start;

bool sbx_root_is_unchanged(void)
{
    struct stat now;
    return stat("/", &now) == 0 && now.st_dev == root_at_start.device && now.st_ino == root_at_start.inode;
}

/* Processes that start at the same time take turns while they look for room and reserve their part. A process that is
 * stopped meanwhile delays the others only for a short time. The lock is dropped when the descriptor is closed. */
static void wait_for_turn(int folder)
{
    for (int tries = 0; tries < TURN_TRIES && flock(folder, LOCK_EX | LOCK_NB) != 0; tries++) {
        const struct timespec pause = {0, 500000};
        nanosleep(&pause, NULL);
    }
}

/* Lays the recording out in the available room, with the wanted size or with the smallest one. 0, or -ENOSPC. */
static int find_room(int folder, struct sbx_recording_header *draft, const struct shape *shape)
{
    static uint64_t limit_bytes; /* 0: not read yet */
    struct sbx_recording_room room;
    wait_for_turn(folder);
    if (!shape->is_workers || limit_bytes == 0) {
        sbx_recording_room_look(folder, &room);
        limit_bytes = room.limit_bytes;
    } else {
        sbx_recording_room_look_below(folder, limit_bytes, &room);
    }
    uint64_t room_bytes = sbx_recording_room(&room);
    draft->file_bytes = lay_out(draft, shape, shape->chunks);
    if (draft->file_bytes > room_bytes) {
        draft->file_bytes = lay_out(draft, shape, shape->chunks_least);
    }
    if (shape->chunks_first != 0) {
        draft->chunks.count = shape->chunks_first;
    }
    return draft->file_bytes <= room_bytes ? 0 : -ENOSPC;
}

bool sbx_recording_fits(const char *folder_path)
{
    struct sbx_recording_header draft;
    struct sbx_recording_room room;
    int folder = sbx_own_folder_open(folder_path);
    if (folder < 0) {
        return false;
    }
    sbx_recording_room_look_below(folder, UINT64_MAX, &room); /* the group's limit is the same for every folder */
    close(folder);
    return lay_out(&draft, &of_program, of_program.chunks_least) <= sbx_recording_room(&room);
}

/* Reserves memory through the mapping, which needs no access to the file (Linux 5.14). A full file system is an error
 * here as well. */
static bool populate(void *mapping, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    return madvise(mapping, bytes, MADV_POPULATE_WRITE) == 0;
#else
    (void)mapping;
    (void)bytes;
    return false;
#endif
}

/* The memory must exist before it is written to: a full /dev/shm must be an error here, not a SIGBUS in a hook. The
 * part that the start itself and the application's calls write before anything is recorded is reserved at once. The
 * rest costs a millisecond or two and is reserved by sbx_recording_reserve(). */
static int reserve_head(int file, const struct sbx_recording_header *header)
{
    struct statvfs space;
    uint64_t head_bytes = header->frames.at;
    int result = -posix_fallocate(file, 0, (off_t)head_bytes);
    if (result == 0 && fstatvfs(file, &space) == 0 && space.f_blocks != 0 &&
        (uint64_t)space.f_bavail * space.f_frsize < header->file_bytes - head_bytes) {
        result = -ENOSPC;
    }
    return result != 0 || ftruncate(file, (off_t)header->file_bytes) == 0 ? result : -errno;
}

static int reserve(const struct sbx_recording_file *file, uint64_t bytes)
{
    int descriptor = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) {
        return -errno;
    }
    int result = -posix_fallocate(descriptor, 0, (off_t)bytes);
    close(descriptor);
    return result;
}

/* The part of the file that the header names. For a program's recording this is the whole file. */
static uint64_t named_bytes(const struct sbx_recording_file *file)
{
    return file->header->chunks.at + chunks_bytes(file->header);
}

int sbx_recording_reserve(const struct sbx_recording_file *file)
{
    return reserve(file, named_bytes(file));
}

int sbx_recording_reserve_again(const struct sbx_recording_file *file)
{
    int result = sbx_recording_reserve(file);
    return result != 0 && populate(file->header, named_bytes(file)) ? 0 : result;
}

static bool remove_section(const struct sbx_recording_file *file, uint64_t at, uint64_t end)
{
    return madvise((uint8_t *)file->header + at, end - at, MADV_REMOVE) == 0;
}

bool sbx_recording_release(const struct sbx_recording_file *file)
{
    const struct sbx_recording_header *header = file->header;
    bool can_reserve = access(file->path, R_OK | W_OK) == 0 || populate(file->header, SBX_CONTROL_AT);
    /* The ids between the two sections stay: providers use the ids that they have seen once for ever. */
    return can_reserve && remove_section(file, header->chunks.at, file->bytes) &&
           remove_section(file, header->frames.at, header->ids.at);
}

static uint32_t chunks_that_fit(const struct sbx_recording_file *file)
{
    return (uint32_t)((file->bytes - file->header->chunks.at) / sizeof(struct sbx_chunk));
}

bool sbx_recording_may_grow(const struct sbx_recording_file *file)
{
    return file->header->chunks.count < chunks_that_fit(file);
}

int sbx_recording_grow(struct sbx_recording_file *file)
{
    int result = reserve(file, file->bytes);
    if (result == 0 || populate(file->header, file->bytes)) {
        sbx_store_relaxed(&file->header->chunks.count,
                          chunks_that_fit(file)); /* relaxed: the memory exists for all threads */
        return 0;
    }
    return result;
}

static void name_recording(const struct sbx_recording_header *draft, const char *spool_path,
                           char name_out[SBX_RECORDING_NAME_BYTES])
{
    struct sbx_recording_name name = {.pid = draft->pid};
    struct stat spool;
    memcpy(name.session_id, draft->session_id, sizeof name.session_id);
    name.spool = stat(spool_path, &spool) == 0 ? sbx_spool_mark(&spool) : 0;
    sbx_recording_name_print(&name, name_out);
}

int sbx_recording_create(const char *folder_path, const char *spool_path, struct sbx_recording_file *file_out)
{
    return sbx_recording_create_sized(folder_path, spool_path, 0, file_out);
}

static int create(const char *folder_path, const char *spool_path, const struct shape *shape,
                  struct sbx_recording_file *file_out)
{
    struct sbx_recording_header draft;
    struct rlimit limit;
    /* A recording shows what the process does, so its folder must be ours alone. A worker uses its parent's folder; if
     * this is missing, the worker has changed its root meanwhile. */
    int folder = shape->is_workers ? sbx_own_folder_open(folder_path) : sbx_own_folder_make(folder_path);
    if (folder < 0) {
        return folder;
    }
    memset(&draft, 0, sizeof draft);
    int result = find_room(folder, &draft, shape);
    if (result != 0) {
        goto close_folder;
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < draft.file_bytes) {
        result = -EFBIG; /* otherwise reserving would send SIGXFSZ to the host */
        goto close_folder;
    }
    struct stat root;
    if (stat("/", &root) == 0) {
        root_at_start.device = root.st_dev;
        root_at_start.inode = root.st_ino;
    }
    memcpy(draft.magic, SBX_RECORDING_MAGIC, sizeof draft.magic);
    draft.version = SBX_RECORDING_VERSION;
    draft.layout_hash = sbx_layout_hash();
#if defined(__x86_64__)
    draft.architecture = SBX_ARCHITECTURE_X86_64;
#elif defined(__aarch64__)
    draft.architecture = SBX_ARCHITECTURE_AARCH64;
#endif
    draft.state = SBX_STATE_STARTING;
    draft.pid = (uint32_t)getpid();
    draft.process_start_ticks = start_ticks_of("/proc/self/stat"); /* our pid may be another process's in this /proc */
    read_boot_id(draft.boot_id);
    draft.pid_namespace = own_pid_namespace();
    if (getrandom(draft.session_id, sizeof draft.session_id, GRND_NONBLOCK) != (ssize_t)sizeof draft.session_id) {
        uint64_t now = sbx_now_ns() ^ (uint64_t)draft.pid << 40; /* early boot: unique on this machine is enough */
        memcpy(draft.session_id, &now, sizeof now);
    }
    draft.started_ns = sbx_now_ns();
    draft.started_real_s = sbx_read_clock_ns(CLOCK_REALTIME) / 1000000000u;
    draft.epoch = 1;
    draft.main_thread = UINT32_MAX;
    draft.consent = SBX_CONSENT_GRANTED; /* an application that requires consent sets it later (agent/stallbox.c) */
    snprintf(draft.spool_path, sizeof draft.spool_path, "%s", spool_path);
    find_executable(draft.executable_path);

    if (!shape->is_workers) { /* a worker has not called exec since the fork */
        forget_before_exec(folder, &draft);
    }
    char name[SBX_RECORDING_NAME_BYTES];
    name_recording(&draft, spool_path, name);
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
    result = reserve_head(file, &draft);
    if (result == 0) {
        void *mapping = mmap(NULL, draft.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapping == MAP_FAILED) {
            result = -errno;
        } else {
            draft.owner_locked = hold_lock(folder, name);
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

int sbx_recording_create_sized(const char *folder_path, const char *spool_path, uint32_t ring_kib,
                               struct sbx_recording_file *file_out)
{
    struct shape shape = of_program;
    uint32_t chunks = ring_kib != 0 ? ring_kib / (SBX_CHUNK_BYTES / 1024) : SBX_CHUNKS_DEFAULT;
    shape.chunks = chunks < CHUNKS_LEAST ? CHUNKS_LEAST : chunks > CHUNKS_MOST ? CHUNKS_MOST : chunks;
    return create(folder_path, spool_path, &shape, file_out);
}

int sbx_recording_create_for_worker(const char *folder_path, const char *spool_path, uint32_t modules,
                                    struct sbx_recording_file *file_out)
{
    struct shape shape = of_worker;
    uint32_t room = modules + modules / 2 < SBX_MODULES_MAX ? modules + modules / 2 : SBX_MODULES_MAX;
    shape.modules = room > shape.modules ? room : shape.modules;
    return create(folder_path, spool_path, &shape, file_out);
}

void sbx_recording_unlink(struct sbx_recording_file *file)
{
    if (file->path[0] != 0 && sbx_root_is_unchanged()) {
        unlink(file->path);
        file->path[0] = 0;
    }
}
