/* SPDX-License-Identifier: Apache-2.0 */
/* recording_recover.c - what a process left behind: decide, and make the snapshot of a stall that killed it. */
#include "recording_recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "recording_check.h"
#include "snapshot_copy.h"

/* A process that dies between creating its recording and filling in the header leaves a file of zeroes. Starting takes
 * milliseconds; what is still empty after this long never began. */
enum { EMPTY_KEPT_S = 60 };

/* ---- decisions ---- */

enum sbx_recovery sbx_recovery_decide(const struct sbx_recording_header *header, const struct sbx_process_facts *facts)
{
    if (facts->is_running && facts->start_ticks == header->process_start_ticks &&
        memcmp(facts->boot_id, header->boot_id, sizeof facts->boot_id) == 0) {
        return SBX_RECOVERY_LIVE;
    }
    if (header->state == SBX_STATE_CLEAN) {
        return SBX_RECOVERY_CLEAN;
    }
    return header->state == SBX_STATE_LIVE && header->note.open == 1 ? SBX_RECOVERY_KILLED : SBX_RECOVERY_QUIET;
}

struct sbx_trigger_entry sbx_recovery_trigger(const struct sbx_snapshot *recording)
{
    const struct sbx_recording_header *header = &recording->header;
    uint64_t end_ns = header->heartbeat_ns;
    if (recording->record_count > 0 && recording->records[recording->record_count - 1].end_ns > end_ns) {
        end_ns = recording->records[recording->record_count - 1].end_ns;
    }
    return (struct sbx_trigger_entry){
        .kind = SBX_TRIGGER_KILLED,
        .thread = header->note.thread,
        .begin_ns = header->note.begin_ns,
        .end_ns = end_ns > header->note.begin_ns ? end_ns : header->note.begin_ns,
        .message = header->note.message,
        .threshold_ms = recording->settings.note_ms,
        .in_progress = 1,
    };
}

void sbx_recovery_snapshot_id(const uint8_t session_id[16], uint8_t snapshot_id_out[16])
{
    static const uint8_t recovered[16] = {'k', 'i', 'l', 'l', 'e', 'd', ' ', 'i',
                                          'n', ' ', 'a', ' ', 's', 't', 'a', 'l'};
    for (unsigned i = 0; i < sizeof recovered; i++) {
        snapshot_id_out[i] = session_id[i] ^ recovered[i];
    }
}

/* ---- facts ---- */

/* Read a small file whole and end it with NUL. Returns its length or -errno. */
static int read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    ssize_t got;
    do {
        got = read(fd, text, size - 1);
    } while (got < 0 && errno == EINTR);
    int error = got < 0 ? -errno : 0;
    close(fd);
    if (error != 0) {
        return error;
    }
    text[got] = 0;
    return (int)got;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "8a6b...-....\n": 16 bytes as the kernel writes a UUID, dashes anywhere. */
static int parse_boot_id(const char *text, uint8_t boot_id_out[16])
{
    unsigned digits = 0;
    for (; *text != 0 && *text != '\n' && digits < 32; text++) {
        int digit = hex_digit(*text);
        if (digit >= 0) {
            boot_id_out[digits / 2] = (uint8_t)(digits % 2 == 0 ? digit << 4 : boot_id_out[digits / 2] | digit);
            digits++;
        } else if (*text != '-') {
            return -EINVAL;
        }
    }
    return digits == 32 ? 0 : -EINVAL;
}

/* State and field 22 of a line of /proc/PID/stat. The name may hold anything, so count from the last ')'. */
static int parse_stat(const char *text, char *state_out, uint64_t *start_ticks_out)
{
    const char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ' || at[2] == 0) {
        return -EINVAL;
    }
    *state_out = at[2];
    at += 2; /* field 3 */
    for (int field = 3; field < 22; field++) {
        at = strchr(at, ' ');
        if (at == NULL) {
            return -EINVAL;
        }
        at++;
    }
    char *end;
    errno = 0;
    *start_ticks_out = strtoull(at, &end, 10);
    return errno == 0 && end != at ? 0 : -EINVAL;
}

int sbx_process_facts_read(uint32_t pid, struct sbx_process_facts *facts_out)
{
    char path[64], text[1024], state = 0;
    *facts_out = (struct sbx_process_facts){.is_running = false};
    int got = read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
    if (got < 0) {
        return got;
    }
    int error = parse_boot_id(text, facts_out->boot_id);
    if (error != 0) {
        return error;
    }
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    got = read_text(path, text, sizeof text);
    if (got == -ENOENT || got == -ESRCH) { /* gone before the open, gone before the read */
        return access("/proc/self/stat", F_OK) == 0 ? 0 : -errno; /* unless there is no /proc to ask */
    }
    if (got < 0) {
        return got;
    }
    error = parse_stat(text, &state, &facts_out->start_ticks);
    facts_out->is_running = error == 0 && state != 'Z' && state != 'X'; /* a zombie records nothing any more */
    return error;
}

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

/* Write the snapshot of `data`, a private copy of a whole recording, durably to FOLDER/ID.raw. Returns 0 or -errno. */
static int write_raw(const void *data, const char *folder, const struct sbx_trigger_entry *trigger,
                     const uint8_t id[16])
{
    char name[33], path[SBX_PATH_MAX + 64], temporary[SBX_PATH_MAX + 96];
    for (unsigned i = 0; i < 16; i++) {
        snprintf(name + 2 * i, 3, "%02x", id[i]);
    }
    if (snprintf(path, sizeof path, "%s/%s" SBX_RAW_SUFFIX, folder, name) >= (int)sizeof path ||
        snprintf(temporary, sizeof temporary, "%s/.%s" SBX_RAW_SUFFIX ".%ld.tmp", folder, name, (long)getpid()) >=
            (int)sizeof temporary) {
        return -ENAMETOOLONG;
    }
    void *scratch = malloc(SBX_COPY_SCRATCH_MIN);
    if (scratch == NULL) {
        return -ENOMEM;
    }
    int error;
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        error = -errno;
        goto free_scratch;
    }
    error = sbx_snapshot_copy(data, fd, trigger, id, sbx_now_ns(), scratch, SBX_COPY_SCRATCH_MIN);
    if (error == 0 && fsync(fd) != 0) {
        error = -errno;
    }
    if (close(fd) != 0 && error == 0) {
        error = -errno;
    }
    if (error == 0 && rename(temporary, path) != 0) {
        error = -errno;
    }
    if (error != 0) {
        unlink(temporary);
        goto free_scratch;
    }
    error = sync_folder(folder);
free_scratch:
    free(scratch);
    return error;
}

/* ---- one recording ---- */

struct recovery {
    const char *default_spool;
    sbx_recovery_complain *complain;
    void *context;
    struct sbx_recovery_counts counts;
};

static void __attribute__((format(printf, 3, 4))) fail(struct recovery *recovery, const char *path, const char *format,
                                                       ...)
{
    recovery->counts.failed++;
    if (recovery->complain != NULL) {
        char why[512];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(why, sizeof why, format, arguments);
        va_end(arguments);
        recovery->complain(recovery->context, path, why);
    }
}

/* Read the first `bytes` bytes of a file, or what it has of them. Returns the count or -errno. */
static ssize_t read_up_to(int fd, void *to, size_t bytes)
{
    uint8_t *data = to;
    size_t have = 0;
    while (have < bytes) {
        ssize_t got = pread(fd, data + have, bytes - have, (off_t)have);
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

/* Read a recording whole: a private copy, so that what is judged does not change whoever else has the file mapped.
 * Returns 0 and bytes and value (given: free, sbx_snapshot_destroy), or -errno with `why` told. */
static int read_recording(int fd, size_t bytes, void **data_out, struct sbx_snapshot **recording_out, char *why,
                          size_t why_bytes)
{
    void *data = malloc(bytes);
    if (data == NULL) {
        snprintf(why, why_bytes, "does not fit into memory");
        return -ENOMEM;
    }
    ssize_t got = read_up_to(fd, data, bytes);
    int error = got < 0 ? (int)got : 0;
    if (error != 0) {
        snprintf(why, why_bytes, "cannot be read: %s", strerror(-error));
    } else {
        error = sbx_snapshot_read(data, (size_t)got, recording_out, why, why_bytes);
    }
    if (error != 0) {
        free(data);
        return error;
    }
    *data_out = data;
    return 0;
}

/* Make the snapshot of a killed process's recording. False when it could not be made (told). */
static bool save_killed(struct recovery *recovery, const char *path, int fd, size_t bytes)
{
    struct sbx_snapshot *recording;
    void *data;
    char why[256], folder[SBX_PATH_MAX + 8];
    uint8_t id[16];
    int error = read_recording(fd, bytes, &data, &recording, why, sizeof why);
    if (error != 0) {
        fail(recovery, path, "%s", why);
        return false;
    }
    struct sbx_trigger_entry trigger = sbx_recovery_trigger(recording);
    sbx_recovery_snapshot_id(recording->header.session_id, id);
    const char *spool = recording->header.spool_path[0] == '/' ? recording->header.spool_path : recovery->default_spool;
    if (snprintf(folder, sizeof folder, "%s/raw", spool) >= (int)sizeof folder) {
        error = -ENAMETOOLONG;
    }
    if (error == 0) {
        error = make_folder(spool);
    }
    if (error == 0) {
        error = make_folder(folder);
    }
    if (error == 0) {
        error = write_raw(data, folder, &trigger, id);
    }
    if (error != 0) {
        fail(recovery, path, "is the recording of a killed process, but %s/raw cannot take its snapshot: %s", spool,
             strerror(-error));
    }
    sbx_snapshot_destroy(recording);
    free(data);
    return error == 0;
}

/* Whether a file that is no recording was abandoned before it became one. */
static bool never_began(const struct sbx_recording_header *header, const struct stat *status)
{
    static const char no_magic[sizeof header->magic];
    struct timespec now;
    return memcmp(header->magic, no_magic, sizeof no_magic) == 0 && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           now.tv_sec - status->st_mtime > EMPTY_KEPT_S;
}

/* Judge a locked recording. False when it cannot be judged (told). */
static bool judge(struct recovery *recovery, const char *path, int fd, const struct stat *status,
                  enum sbx_recovery *verdict_out)
{
    struct sbx_recording_header header = {.version = 0};
    struct sbx_process_facts facts;
    int error;
    ssize_t got = read_up_to(fd, &header, sizeof header);
    if (got < 0) {
        fail(recovery, path, "cannot be read: %s", strerror((int)-got));
        return false;
    }
    const char *complaint = sbx_recording_check(&header, (uint64_t)status->st_size, &error);
    if (complaint != NULL && never_began(&header, status)) {
        *verdict_out = SBX_RECOVERY_QUIET;
        return true;
    }
    if (complaint != NULL) {
        fail(recovery, path, "%s", complaint);
        return false;
    }
    error = sbx_process_facts_read(header.pid, &facts);
    if (error != 0) {
        fail(recovery, path, "cannot be judged: /proc does not tell about process %u: %s", header.pid,
             strerror(-error));
        return false;
    }
    *verdict_out = sbx_recovery_decide(&header, &facts);
    return true;
}

/* Deal with a locked recording. */
static void settle(struct recovery *recovery, const char *path, int fd, const struct stat *status)
{
    enum sbx_recovery verdict;
    if (!judge(recovery, path, fd, status, &verdict)) {
        return;
    }
    if (verdict == SBX_RECOVERY_LIVE) {
        recovery->counts.live++;
        return;
    }
    if (verdict == SBX_RECOVERY_KILLED && !save_killed(recovery, path, fd, (size_t)status->st_size)) {
        return; /* it stays; the next recoverer tries again */
    }
    if (unlink(path) != 0) {
        fail(recovery, path, "cannot be removed: %s", strerror(errno));
        return;
    }
    recovery->counts.clean += verdict == SBX_RECOVERY_CLEAN;
    recovery->counts.killed += verdict == SBX_RECOVERY_KILLED;
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

int sbx_recording_recover_folder(const char *folder, const char *default_spool, sbx_recovery_complain *complain,
                                 void *context, struct sbx_recovery_counts *counts_out)
{
    struct recovery recovery = {.default_spool = default_spool, .complain = complain, .context = context};
    int error = 0;
    *counts_out = recovery.counts;
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        return errno == ENOENT ? 0 : -errno;
    }
    for (;;) {
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
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) {
            fail(&recovery, entry->d_name, "has too long a path");
            continue;
        }
        recover_file(&recovery, path);
    }
    closedir(listing);
    *counts_out = recovery.counts;
    return error;
}
