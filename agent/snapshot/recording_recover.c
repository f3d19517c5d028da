/* SPDX-License-Identifier: Apache-2.0 */
/* recording_recover.c - what a process left behind: decide, and make the snapshot of a stall or a fault that killed it.
 *
 * Also runs inside applications, so: memory by mmap and given back, no stream, and the recording is read into memory of
 * our own, because a mapped file that somebody cuts short is a SIGBUS. */
#include "recording_recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "recording_check.h"
#include "snapshot_copy.h"

/* A process that dies between creating its recording and filling in the header leaves a file of zeroes. Starting takes
 * milliseconds; what is still empty after this long never began. */
enum {
    EMPTY_KEPT_S = 60
};

/* Of another version: left behind by a program that died before an upgrade, and nobody's news each time one is started. Its
 * own version may still come for it, when two are installed side by side; after so long nobody will. */
enum {
    FOREIGN_KEPT_S = 7 * 24 * 3600
};

/* ---- the snapshot ---- */

static int make_folder(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
}

static int sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int error = fsync(fd) == 0 ? 0 : -errno;
    close(fd);
    return error;
}

/* Where a recording's snapshot goes: the folder, the name it will have there, and the one it has until it is whole. */
struct place {
    char folder[SBX_PATH_MAX + 8], path[SBX_PATH_MAX + 64], temporary[SBX_PATH_MAX + 64];
};

/* Of the snapshot `id`, written by process `writer`; 0: by a recoverer. Returns 0, with the folders made, or -errno. */
static int find_place(const struct sbx_recording_header *header, const uint8_t id[16], const char *default_spool,
                      uint32_t writer, struct place *place_out)
{
    char name[33], of_writer[16] = "";
    const char *spool = header->spool_path[0] == '/' ? header->spool_path : default_spool;
    if (writer != 0) {
        snprintf(of_writer, sizeof of_writer, ".%u", writer); /* agent/snapshot_maker.c */
    }
    for (unsigned i = 0; i < 16; i++) {
        snprintf(name + 2 * i, 3, "%02x", id[i]);
    }
    if (snprintf(place_out->folder, sizeof place_out->folder, "%s/raw", spool) >= (int)sizeof place_out->folder) {
        return -ENAMETOOLONG;
    }
    snprintf(place_out->path, sizeof place_out->path, "%s/%s" SBX_RAW_SUFFIX, place_out->folder, name);
    snprintf(place_out->temporary, sizeof place_out->temporary, "%s/.%s" SBX_RAW_SUFFIX "%s.tmp", place_out->folder,
             name, of_writer);
    int error = make_folder(spool);
    return error != 0 ? error : make_folder(place_out->folder);
}

/* The same of the recording's own snapshot. */
static int find_own_place(const struct sbx_recording_header *header, const char *default_spool, struct place *place_out)
{
    uint8_t id[16];
    sbx_recovery_snapshot_id(header->session_id, id);
    return find_place(header, id, default_spool, 0, place_out);
}

/* Private memory that is zero and given back with munmap(); NULL without any. Not malloc(): in an application this would
 * be some megabytes of its heap. */
static void *take_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* Write the snapshot of `data`, a private copy of a whole recording, durably to its temporary name. Returns 0 or -errno. */
static int write_snapshot(const struct sbx_recording_header *data, const struct place *place,
                          const struct sbx_trigger_entry *trigger)
{
    uint8_t id[16];
    void *scratch = take_memory(SBX_COPY_SCRATCH_MIN);
    if (scratch == NULL) {
        return -ENOMEM;
    }
    int error;
    int fd = open(place->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        error = -errno;
        goto free_scratch;
    }
    sbx_recovery_snapshot_id(data->session_id, id);
    error = sbx_snapshot_copy(data, fd, trigger, id, sbx_now_ns(), scratch, SBX_COPY_SCRATCH_MIN);
    if (error == 0 && fsync(fd) != 0) {
        error = -errno;
    }
    if (close(fd) != 0 && error == 0) {
        error = -errno;
    }
    if (error != 0) {
        unlink(place->temporary);
    }
free_scratch:
    munmap(scratch, SBX_COPY_SCRATCH_MIN);
    return error;
}

/* Give the snapshot its name. A temporary file that is not there has it already. Returns 0 or -errno. */
static int publish(const struct place *place)
{
    if (rename(place->temporary, place->path) != 0 && errno != ENOENT) {
        return -errno;
    }
    return sync_folder(place->folder);
}

/* From here on no snapshot is made of this recording any more. Returns 0 or -errno. */
static int mark_published(int fd)
{
    const uint32_t state = SBX_STATE_PUBLISHED;
    ssize_t written;
    do {
        written = pwrite(fd, &state, sizeof state, offsetof(struct sbx_recording_header, state));
    } while (written < 0 && errno == EINTR);
    return written == (ssize_t)sizeof state ? 0 : written < 0 ? -errno : -EIO;
}

/* ---- one recording ---- */

struct recovery {
    const struct sbx_recovery_order *order;
    struct sbx_recovery_counts counts;
};

/* The first two pages of a recording, which decide about it. */
struct head {
    struct sbx_recording_header header;
    struct sbx_capture_settings settings; /* those that were in force */
    struct sbx_process_facts facts;
};

static void __attribute__((format(printf, 3, 4)))
fail(struct recovery *recovery, const char *path, const char *format, ...)
{
    recovery->counts.failed++;
    if (recovery->order->complain != NULL) {
        char why[512];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(why, sizeof why, format, arguments);
        va_end(arguments);
        recovery->order->complain(recovery->order->context, path, why);
    }
}

/* Read `bytes` bytes of a file from `at` on, or what it has of them. Returns the count or -errno. */
static ssize_t read_up_to(int fd, off_t at, void *to, size_t bytes)
{
    uint8_t *data = to;
    size_t have = 0;
    while (have < bytes) {
        ssize_t got = pread(fd, data + have, bytes - have, at + (off_t)have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        have += (size_t)got;
    }
    return (ssize_t)have;
}

/* Make the snapshot of a dead process's recording. False when it could not be made (told). */
static bool save(struct recovery *recovery, const char *path, int fd, size_t bytes, const struct head *head,
                 enum sbx_recovery verdict)
{
    struct place place;
    int error = 0;
    struct sbx_recording_header *data = take_memory(bytes);
    if (data == NULL) {
        fail(recovery, path, "does not fit into memory");
        return false;
    }
    ssize_t got = read_up_to(fd, 0, data, bytes);
    const char *complaint = got < 0 ? strerror((int)-got) : sbx_recording_check(data, (uint64_t)got, &error);
    if (complaint != NULL) {
        fail(recovery, path, "%s", complaint);
        munmap(data, bytes);
        return false;
    }
    data->spool_path[sizeof data->spool_path - 1] = 0;
    struct sbx_trigger_entry trigger =
        sbx_recovery_trigger(data, &head->settings, verdict, &head->facts, sbx_recovery_last_sign_ns(data));
    error = find_own_place(data, recovery->order->default_spool, &place);
    if (error == 0) {
        error = write_snapshot(data, &place, &trigger);
    }
    if (error == 0) {
        error = mark_published(fd);
    }
    if (error == 0) {
        error = publish(&place);
    }
    if (error != 0) {
        const char *spool = data->spool_path[0] == '/' ? data->spool_path : recovery->order->default_spool;
        fail(recovery, path, "is the recording of a %s process, but %.255s/raw cannot take its snapshot: %s",
             verdict == SBX_RECOVERY_CRASHED  ? "crashed"
             : verdict == SBX_RECOVERY_KILLED ? "killed"
                                              : "dead",
             spool, strerror(-error));
    }
    munmap(data, bytes);
    return error == 0;
}

/* End what a recoverer began that was broken off. False when it could not be ended (told). */
static bool finish(struct recovery *recovery, const char *path, const struct sbx_recording_header *header)
{
    struct place place;
    int error = find_own_place(header, recovery->order->default_spool, &place);
    if (error == 0) {
        error = publish(&place);
    }
    if (error != 0) {
        fail(recovery, path, "has a snapshot that cannot be given its name: %s", strerror(-error));
    }
    return error == 0;
}

/* What the dead process had begun to write: name it when it is whole, else take it away. 0 or -errno. */
static int end_pending(const struct recovery *recovery, const struct sbx_recording_header *header, bool *has_name_out)
{
    struct place place;
    int error = find_place(header, header->pending.snapshot_id, recovery->order->default_spool, header->pid, &place);
    *has_name_out = false;
    /* order: acquire pending.state - by the lock, which its dead writer has let go of */
    if (header->pending.state != SBX_PENDING_DURABLE || header->consent != SBX_CONSENT_GRANTED) {
        if (error == 0) {
            unlink(place.temporary); /* or it stays; nobody takes it for a snapshot */
        }
        return 0;
    }
    if (error == 0) {
        *has_name_out = access(place.temporary, F_OK) == 0;
        error = publish(&place);
    }
    return error;
}

static bool is_older_than(const struct stat *status, int64_t seconds)
{
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - status->st_mtime > seconds;
}

/* Whether a file is no recording yet: its process is just making it, or was killed at that. */
static bool has_not_begun(const struct sbx_recording_header *header)
{
    static const char no_magic[sizeof header->magic];
    return memcmp(header->magic, no_magic, sizeof no_magic) == 0;
}

/* What its parent knows of its death. */
static uint32_t known_signal(const struct recovery *recovery, const struct sbx_recording_header *header)
{
    const struct sbx_known_death *death = recovery->order->death;
    bool is_it = death != NULL && death->start_ticks != 0 && death->pid == header->pid &&
                 death->start_ticks == header->process_start_ticks;
    return is_it ? death->signal : 0;
}

/* Judge a locked recording. False when it cannot be judged (told). */
static bool judge(struct recovery *recovery, const char *path, int fd, const struct stat *status, struct head *head_out,
                  enum sbx_recovery *verdict_out)
{
    struct sbx_recording_header *header = &head_out->header;
    int error;
    memset(head_out, 0, sizeof *head_out);
    ssize_t got = read_up_to(fd, 0, header, sizeof *header);
    if (got >= 0) {
        got = read_up_to(fd, SBX_CONTROL_AT + (off_t)offsetof(struct sbx_control_page, in_force), &head_out->settings,
                         sizeof head_out->settings);
    }
    if (got < 0) {
        fail(recovery, path, "cannot be read: %s", strerror((int)-got));
        return false;
    }
    header->spool_path[sizeof header->spool_path - 1] = 0;
    const char *complaint = sbx_recording_check(header, (uint64_t)status->st_size, &error);
    if (complaint != NULL && has_not_begun(header)) {
        /* A young one is somebody's who starts at this moment. */
        *verdict_out = is_older_than(status, EMPTY_KEPT_S) ? SBX_RECOVERY_QUIET : SBX_RECOVERY_LIVE;
        return true;
    }
    if (complaint != NULL && error == -EPROTO) {
        recovery->counts.foreign++;
        *verdict_out = SBX_RECOVERY_QUIET;
        return is_older_than(status, FOREIGN_KEPT_S);
    }
    if (complaint != NULL) {
        fail(recovery, path, "%s", complaint);
        return false;
    }
    error = sbx_process_facts_read(header->pid, &head_out->facts);
    if (error != 0) {
        fail(recovery, path, "cannot be judged: /proc does not tell about process %u: %s", header->pid,
             strerror(-error));
        return false;
    }
    head_out->facts.has_let_go = true; /* we hold the lock */
    head_out->facts.signal = known_signal(recovery, header);
    *verdict_out = sbx_recovery_decide(header, &head_out->settings, &head_out->facts);
    return true;
}

/* Deal with a locked recording. */
static void settle(struct recovery *recovery, const char *path, int fd, const struct stat *status)
{
    enum sbx_recovery verdict;
    struct head head;
    if (!judge(recovery, path, fd, status, &head, &verdict)) {
        return;
    }
    if (verdict == SBX_RECOVERY_LIVE) {
        recovery->counts.live++;
        return;
    }
    bool has_name = false;
    int error = head.header.pending.state != SBX_PENDING_NONE ? end_pending(recovery, &head.header, &has_name) : 0;
    if (error != 0) {
        fail(recovery, path, "has begun a snapshot that cannot be ended: %s", strerror(-error));
        return;
    }
    recovery->counts.named += has_name;
    bool has_snapshot =
        verdict == SBX_RECOVERY_KILLED || verdict == SBX_RECOVERY_CRASHED || verdict == SBX_RECOVERY_FIRED;
    if ((has_snapshot && !save(recovery, path, fd, (size_t)status->st_size, &head, verdict)) ||
        (verdict == SBX_RECOVERY_PUBLISHED && !finish(recovery, path, &head.header))) {
        return; /* it stays; the next recoverer tries again */
    }
    if (unlink(path) != 0) {
        fail(recovery, path, "cannot be removed: %s", strerror(errno));
        return;
    }
    recovery->counts.clean += verdict == SBX_RECOVERY_CLEAN;
    recovery->counts.killed += verdict == SBX_RECOVERY_KILLED;
    recovery->counts.crashed += verdict == SBX_RECOVERY_CRASHED;
    recovery->counts.fired += verdict == SBX_RECOVERY_FIRED;
    recovery->counts.published += verdict == SBX_RECOVERY_PUBLISHED;
    recovery->counts.quiet += verdict == SBX_RECOVERY_QUIET;
}

static void recover_file(struct recovery *recovery, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        if (errno != ENOENT) { /* its process or another recoverer was faster */
            fail(recovery, path, "cannot be opened: %s", strerror(errno));
        }
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            recovery->counts.locked++;
        } else {
            fail(recovery, path, "cannot be locked: %s", strerror(errno));
        }
        goto close_file;
    }
    if (fstat(fd, &status) != 0) {
        fail(recovery, path, "cannot be read: %s", strerror(errno));
        goto close_file;
    }
    if (status.st_nlink == 0) {
        goto close_file; /* another recoverer finished between our open and our lock */
    }
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
        fail(recovery, path, "is not a file of this user");
        goto close_file;
    }
    uint64_t bytes_max = recovery->order->bytes_max;
    if (bytes_max != 0 && (uint64_t)status.st_size > bytes_max) {
        recovery->counts.live++; /* left for who has more room */
        goto close_file;
    }
    if (status.st_size > (off_t)SBX_CHUNKS_LIMIT * SBX_CHUNK_BYTES * 2) {
        fail(recovery, path, "is too large for a recording");
        goto close_file;
    }
    settle(recovery, path, fd, &status);
close_file:
    close(fd); /* and unlock */
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static bool is_enough(const struct recovery *recovery)
{
    uint32_t made = recovery->counts.killed + recovery->counts.crashed + recovery->counts.fired;
    return recovery->order->snapshots_max != 0 && made >= recovery->order->snapshots_max;
}

int sbx_recording_recover(const struct sbx_recovery_order *order, struct sbx_recovery_counts *counts_out)
{
    struct recovery recovery = {.order = order};
    int error = 0;
    *counts_out = recovery.counts;
    DIR *listing = opendir(order->folder);
    if (listing == NULL) {
        return errno == ENOENT ? 0 : -errno;
    }
    while (!is_enough(&recovery)) {
        errno = 0;
        const struct dirent *entry = readdir(listing);
        if (entry == NULL) {
            error = -errno;
            break;
        }
        if (entry->d_name[0] == '.' || !ends_with(entry->d_name, SBX_RECORDING_SUFFIX)) {
            continue;
        }
        char path[4096];
        if (snprintf(path, sizeof path, "%s/%s", order->folder, entry->d_name) >= (int)sizeof path) {
            fail(&recovery, entry->d_name, "has too long a path");
            continue;
        }
        recover_file(&recovery, path);
    }
    closedir(listing);
    *counts_out = recovery.counts;
    return error;
}

int sbx_recording_recover_folder(const char *folder, const char *default_spool, sbx_recovery_complain *complain,
                                 void *context, struct sbx_recovery_counts *counts_out)
{
    const struct sbx_recovery_order order = {
        .folder = folder, .default_spool = default_spool, .complain = complain, .context = context};
    return sbx_recording_recover(&order, counts_out);
}
