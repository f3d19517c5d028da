/* SPDX-License-Identifier: Apache-2.0 */
/* recording_recover.c - judges what a process left behind, and makes the snapshot of a stall or a fault that killed it.
 *
 * Also runs inside applications. So it takes memory with mmap and returns it, and uses no stream. The recording is read
 * into private memory, because a mapped file that another process cuts short causes a SIGBUS. */
#include "recording_recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "file_bytes.h"
#include "folder_list.h"
#include "own_folder.h"
#include "recording_check.h"
#include "recording_name.h"
#include "recovery_place.h"
#include "roster.h"
#include "stall_end.h"

/* A process that dies between creating its recording and filling in the header leaves a file of zeroes. If we cannot
 * find out whether the process lives, the file's age decides: a start takes milliseconds, so a file that is still empty
 * after this time will never be filled. */
enum {
    LISTING_BYTES = 2048,
    EMPTY_KEPT_S = 60
};

/* A recording of another version was left by a program that died before an upgrade. It is not reported at each later
 * start. If two versions are installed side by side, the other version may still recover it; after this time none
 * will. */
enum {
    FOREIGN_KEPT_S = 7 * 24 * 3600
};

/* The largest possible recording: a ring of 64 MiB, the most that a policy allows, and the tables. */
#define BYTES_MAX (UINT64_C(96) << 20)

/* Marks the recording of a dead process as seen and left to its owner. The modification time is then the time when it
 * was first seen; before that, it is the time when the process began, perhaps weeks ago. */
#define SEEN_DEAD S_IXUSR

/* ---- one recording ---- */

struct recovery {
    const struct sbx_recovery_order *order;
    struct sbx_recovery_counts counts;
    struct sbx_recovery_place place;
    int folder;    /* of the recordings */
    uint64_t mark; /* of our spool; 0: it does not exist yet */
    bool is_denied;
};

/* The recording that is being processed. */
struct dead {
    const char *path, *name; /* for messages; in the folder of recordings */
    int file;
    struct stat status;
    struct sbx_recording_name says; /* parsed from its name; a pid of 0: the name contains nothing */
    struct sbx_process_facts facts;
    uint8_t id[16]; /* of the snapshot that is made of it */
};

/* The first two pages of a recording, which decide what to do with it. They are read once, and the copy of the
 * recording begins with the same bytes. */
union head {
    struct sbx_recording_header header;
    uint8_t bytes[SBX_CONTROL_AT + 4096];
};

static const struct sbx_control_page *control_of(const union head *head)
{
    return (const struct sbx_control_page *)(const void *)(head->bytes + SBX_CONTROL_AT);
}

static const struct sbx_capture_settings *settings_of(const union head *head)
{
    return &control_of(head)->in_force;
}

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

/* Private zeroed memory, returned with munmap(); NULL if there is none. Not malloc(), because in an application this
 * would take some megabytes of its heap. */
static void *take_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* From here on no snapshot is made of this recording. Returns 0 or -errno. */
static int mark_published(int fd)
{
    const uint32_t state = SBX_STATE_PUBLISHED;
    ssize_t written;
    do {
        written = pwrite(fd, &state, sizeof state, offsetof(struct sbx_recording_header, state));
    } while (written < 0 && errno == EINTR);
    return written == (ssize_t)sizeof state ? 0 : written < 0 ? -errno : -EIO;
}

static bool is_older_than(const struct stat *status, int64_t seconds)
{
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - status->st_mtime > seconds;
}

/* Has the owner had a week to process it? The first recoverer that calls this notes the time in the file. */
static bool has_waited(const struct dead *dead)
{
    if ((dead->status.st_mode & SEEN_DEAD) != 0) {
        return is_older_than(&dead->status, FOREIGN_KEPT_S);
    }
    if (fchmod(dead->file, 0600 | SEEN_DEAD) == 0 && futimens(dead->file, NULL) != 0) {
        return false; /* then the file keeps its old time */
    }
    return false;
}

/* Is the file no recording yet? Its process is just creating it, or was killed while doing so. */
static bool has_not_begun(const struct sbx_recording_header *header)
{
    static const char no_magic[sizeof header->magic];
    return memcmp(header->magic, no_magic, sizeof no_magic) == 0;
}

/* Has the process that created such a file ended? Only the name tells which process this is, so only names with our
 * spool are trusted. A process in another pid namespace that shares our spool looks ended here, but it locks its file
 * some microseconds after creating it. */
static bool has_died_young(const struct recovery *recovery, const struct dead *dead)
{
    struct sbx_process_facts facts;
    return dead->says.pid != 0 && dead->says.spool != 0 && dead->says.spool == recovery->mark &&
           sbx_process_facts_read(dead->says.pid, &facts) == 0 && !facts.is_running;
}

/* Is this the process whose death its parent reports? */
static bool is_known_death(const struct recovery *recovery, const struct sbx_recording_header *header)
{
    const struct sbx_known_death *death = recovery->order->death;
    return death != NULL && death->start_ticks != 0 && death->pid == header->pid &&
           death->start_ticks == header->process_start_ticks;
}

/* Adds what the parent knows of the death. */
static void learn_death(const struct recovery *recovery, const struct sbx_recording_header *header,
                        struct sbx_process_facts *facts)
{
    bool is_it = is_known_death(recovery, header);
    facts->signal = is_it ? recovery->order->death->signal : 0;
    facts->had_no_memory = is_it && recovery->order->death->had_no_memory;
}

/* Reads the whole recording into private memory of dead->status.st_size bytes; NULL: impossible, and reported. Given:
 * munmap(). */
static struct sbx_recording_header *load(struct recovery *recovery, const struct dead *dead, const union head *head)
{
    size_t bytes = (size_t)dead->status.st_size;
    struct sbx_recording_header *data = take_memory(bytes);
    if (data == NULL) {
        fail(recovery, dead->path, "does not fit into memory");
        return NULL;
    }
    /* No byte is read twice: the bytes that were judged are the bytes that are kept. */
    memcpy(data, head, sizeof *head);
    ssize_t got = sbx_file_bytes(dead->file, sizeof *head, (uint8_t *)data + sizeof *head, bytes - sizeof *head);
    if (got < 0 || (uint64_t)got + sizeof *head < data->file_bytes) {
        fail(recovery, dead->path, "%s", got < 0 ? strerror((int)-got) : "is a truncated recording");
        munmap(data, bytes);
        return NULL;
    }
    return data;
}

/* A process that died before any of its threads came to a point has no thread in its recording. Its first thread is
 * added here, because a death is reported of a thread. */
static void show_first_thread(struct sbx_recording_header *data, struct sbx_trigger_entry *trigger)
{
    struct sbx_thread_entry *entries = (struct sbx_thread_entry *)(void *)((uint8_t *)data + data->threads.at);
    for (uint32_t i = 0; i < data->thread_count && i < data->threads.count; i++) {
        if (entries[i].generation != 0) {
            return;
        }
    }
    if (data->threads.count == 0) {
        return;
    }
    entries[0] = (struct sbx_thread_entry){
        .state = SBX_THREAD_LIVE, .tid = data->pid, .generation = 1, .born_ns = trigger->begin_ns};
    data->thread_count = 1;
    trigger->thread = 0;
}

/* Makes the snapshot of a dead process's recording. False when this failed, and was reported. */
static bool save(struct recovery *recovery, const struct dead *dead, struct sbx_recording_header *data,
                 const union head *head, enum sbx_recovery verdict)
{
    int error = 0;
    bool has_named;
    struct sbx_trigger_entry trigger =
        sbx_recovery_trigger(data, settings_of(head), verdict, &dead->facts, sbx_recovery_last_sign_ns(data));
    show_first_thread(data, &trigger);
    error = sbx_recovery_place_open(&recovery->place);
    if (error == 0) {
        error = sbx_recovery_place_write(&recovery->place, data, dead->id, &trigger);
    }
    if (error == 0) {
        error = mark_published(dead->file);
    }
    if (error == 0) {
        error = sbx_recovery_place_name(&recovery->place, dead->id, data->session_id, &has_named);
    }
    if (error != 0) {
        fail(recovery, dead->path, "is the recording of a %s process, but %.255s/raw cannot take its snapshot: %s",
             verdict == SBX_RECOVERY_CRASHED  ? "crashed"
             : verdict == SBX_RECOVERY_KILLED ? "killed"
                                              : "dead",
             recovery->place.spool, strerror(-error));
    }
    return error == 0;
}

/* When the process died, as seen by its parent, or the last sign of life in the recording. */
static uint64_t end_ns_of(const struct recovery *recovery, const struct sbx_recording_header *data)
{
    uint64_t sign_ns = sbx_recovery_last_sign_ns(data);
    return is_known_death(recovery, data) && recovery->order->death->at_ns > sign_ns ? recovery->order->death->at_ns
                                                                                     : sign_ns;
}

/* The signal that ended the process, as recorded by itself or seen by its parent. */
static uint32_t signal_of(const struct dead *dead, const struct sbx_recording_header *data)
{
    return sbx_signal_is_fatal(data->crash.signal) ? data->crash.signal : dead->facts.signal;
}

/* Reports the ends of the stalls that the process had reported while they went on. Nothing stores that this was done: a
 * repetition makes the same snapshot under the same id, which is packed and sent once. False when one could not be
 * made, and was reported. */
static bool save_ends(struct recovery *recovery, const struct dead *dead, const struct sbx_recording_header *data)
{
    for (uint32_t i = 0; i < SBX_TOLD_MAX; i++) {
        struct sbx_trigger_entry trigger;
        uint8_t id[16];
        bool has_named;
        if (!sbx_stall_end_of_dead(&data->told[i], end_ns_of(recovery, data), signal_of(dead, data), &trigger)) {
            continue;
        }
        sbx_stall_end_id(trigger.first_id, id);
        int error = sbx_recovery_place_open(&recovery->place);
        if (error == 0) {
            error = sbx_recovery_place_write(&recovery->place, data, id, &trigger);
        }
        if (error == 0) {
            error = sbx_recovery_place_name(&recovery->place, id, data->session_id, &has_named);
        }
        if (error != 0) {
            fail(recovery, dead->path, "tells how a stall ended, but %.255s/raw cannot take that: %s",
                 recovery->place.spool, strerror(-error));
            return false;
        }
        recovery->counts.ends++;
    }
    return true;
}

static bool has_ends(const struct sbx_recording_header *header)
{
    bool has = false;
    for (uint32_t i = 0; i < SBX_TOLD_MAX; i++) {
        has |= header->told[i].state == SBX_TOLD_STANDS || header->told[i].state == SBX_TOLD_ENDED;
    }
    return has && header->consent == SBX_CONSENT_GRANTED;
}

/* Makes everything that is to be made of the recording. False when something failed, and was reported; then the
 * recording stays for the next recoverer. */
static bool keep(struct recovery *recovery, const struct dead *dead, const union head *head, enum sbx_recovery verdict,
                 bool has_snapshot, bool tells_ends)
{
    if (!has_snapshot && !tells_ends) {
        return true;
    }
    struct sbx_recording_header *data = load(recovery, dead, head);
    if (data == NULL) {
        return false;
    }
    bool is_kept = (!tells_ends || save_ends(recovery, dead, data)) &&
                   (!has_snapshot || save(recovery, dead, data, head, verdict));
    munmap(data, (size_t)dead->status.st_size);
    return is_kept;
}

/* Completes what an interrupted recoverer began. False when this failed, and was reported. */
static bool finish(struct recovery *recovery, const struct dead *dead, const struct sbx_recording_header *header)
{
    bool has_named;
    int error = sbx_recovery_place_open(&recovery->place);
    if (error == 0) {
        error = sbx_recovery_place_name(&recovery->place, dead->id, header->session_id, &has_named);
    }
    if (error != 0) {
        fail(recovery, dead->path, "has a snapshot that cannot be given its name: %s", strerror(-error));
    }
    return error == 0;
}

/* Handles the snapshot that the dead process had begun to write: if it is complete it gets its name, otherwise it is
 * removed. The id comes from the recording, so only a file whose own header names this session gets the name. 0 or
 * -errno. */
static int end_pending(struct recovery *recovery, const struct sbx_recording_header *header, bool *has_name_out)
{
    int error = sbx_recovery_place_open(&recovery->place);
    *has_name_out = false;
    /* order: acquire pending.state - through the lock, which its dead writer has released */
    bool is_whole = header->pending.state == SBX_PENDING_DURABLE && header->consent == SBX_CONSENT_GRANTED;
    if (error == 0 && !is_whole) {
        sbx_recovery_place_sweep(&recovery->place, header->pending.snapshot_id);
    }
    if (!is_whole) {
        return 0;
    }
    return error != 0 ? error
                      : sbx_recovery_place_name(&recovery->place, header->pending.snapshot_id, header->session_id,
                                                has_name_out);
}

/* Judges a locked recording. False when it cannot be judged, which was reported. */
static bool judge(struct recovery *recovery, struct dead *dead, union head *head_out, enum sbx_recovery *verdict_out)
{
    struct sbx_recording_header *header = &head_out->header;
    int error;
    memset(head_out, 0, sizeof *head_out);
    ssize_t got = sbx_file_bytes(dead->file, 0, head_out, sizeof *head_out);
    if (got < 0) {
        fail(recovery, dead->path, "cannot be read: %s", strerror((int)-got));
        return false;
    }
    header->spool_path[sizeof header->spool_path - 1] = 0;
    const char *complaint = sbx_recording_check(header, (uint64_t)dead->status.st_size, &error);
    if (complaint != NULL) {
        memset(header->told, 0, sizeof header->told); /* it is no recording, or one of another version */
    }
    if (complaint != NULL && has_not_begun(header)) {
        /* A young file may belong to a process that starts at this moment. */
        bool is_over = is_older_than(&dead->status, EMPTY_KEPT_S) || has_died_young(recovery, dead);
        *verdict_out = is_over ? SBX_RECOVERY_QUIET : SBX_RECOVERY_LIVE;
        return true;
    }
    if (complaint != NULL && error == -EPROTO) {
        recovery->counts.foreign++;
        *verdict_out = SBX_RECOVERY_QUIET;
        return has_waited(dead);
    }
    if (complaint != NULL) {
        fail(recovery, dead->path, "%s", complaint);
        return false;
    }
    if (dead->says.pid != 0) { /* trust the name more than the content */
        header->pid = dead->says.pid;
        memcpy(header->session_id, dead->says.session_id, sizeof header->session_id);
    }
    sbx_recovery_snapshot_id(header->session_id, dead->id);
    error = sbx_process_facts_read(header->pid, &dead->facts);
    if (error != 0) {
        fail(recovery, dead->path, "cannot be judged: /proc does not tell about process %u: %s", header->pid,
             strerror(-error));
        return false;
    }
    dead->facts.has_let_go = true; /* we hold the lock */
    learn_death(recovery, header, &dead->facts);
    *verdict_out = sbx_recovery_decide(header, settings_of(head_out), &dead->facts);
    return true;
}

/* May we process it? A recording of another spool waits for that spool's users, for a week. */
static bool is_ours(const struct recovery *recovery, const struct dead *dead)
{
    return dead->says.spool == 0 || dead->says.spool == recovery->mark;
}

/* Processes a locked recording. */
static void settle(struct recovery *recovery, struct dead *dead)
{
    enum sbx_recovery verdict;
    union head head;
    if (!judge(recovery, dead, &head, &verdict)) {
        return;
    }
    if (verdict == SBX_RECOVERY_LIVE) {
        recovery->counts.live++;
        return;
    }
    bool has_snapshot =
        verdict == SBX_RECOVERY_KILLED || verdict == SBX_RECOVERY_CRASHED || verdict == SBX_RECOVERY_FIRED;
    bool is_pending = head.header.pending.state != SBX_PENDING_NONE, tells_ends = has_ends(&head.header);
    if (!is_ours(recovery, dead) && (has_snapshot || is_pending || tells_ends || verdict == SBX_RECOVERY_PUBLISHED)) {
        recovery->counts.others++;
        if (!has_waited(dead)) {
            return;
        }
        has_snapshot = is_pending = tells_ends = false;
        verdict = SBX_RECOVERY_QUIET;
    }
    if (recovery->is_denied) { /* the consent in the spool overrides the consent in the recording */
        head.header.consent = SBX_CONSENT_DENIED;
        has_snapshot = tells_ends = false;
        verdict = verdict == SBX_RECOVERY_CLEAN ? verdict : SBX_RECOVERY_QUIET;
    }
    bool has_name = false;
    int error = is_pending ? end_pending(recovery, &head.header, &has_name) : 0;
    if (error != 0) {
        fail(recovery, dead->path, "has begun a snapshot that cannot be ended: %s", strerror(-error));
        return;
    }
    recovery->counts.named += has_name;
    if (has_name) {
        sbx_roster_add_to(recovery->folder, control_of(&head)->handover.roster, head.header.pending.snapshot_id);
    }
    if (!keep(recovery, dead, &head, verdict, has_snapshot, tells_ends) ||
        (verdict == SBX_RECOVERY_PUBLISHED && !finish(recovery, dead, &head.header))) {
        return; /* it stays; the next recoverer tries again */
    }
    if (has_snapshot || verdict == SBX_RECOVERY_PUBLISHED) {
        sbx_roster_add_to(recovery->folder, control_of(&head)->handover.roster, dead->id);
    }
    if (unlinkat(recovery->folder, dead->name, 0) != 0) {
        fail(recovery, dead->path, "cannot be removed: %s", strerror(errno));
        return;
    }
    recovery->counts.clean += verdict == SBX_RECOVERY_CLEAN;
    recovery->counts.killed += verdict == SBX_RECOVERY_KILLED;
    recovery->counts.crashed += verdict == SBX_RECOVERY_CRASHED;
    recovery->counts.fired += verdict == SBX_RECOVERY_FIRED;
    recovery->counts.published += verdict == SBX_RECOVERY_PUBLISHED;
    recovery->counts.quiet += verdict == SBX_RECOVERY_QUIET;
}

static void recover_file(struct recovery *recovery, const char *path, const char *name)
{
    struct dead dead = {.path = path, .name = name};
    dead.file = openat(recovery->folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (dead.file < 0) {
        if (errno != ENOENT) { /* ENOENT: its process or another recoverer was faster */
            fail(recovery, path, "cannot be opened: %s", strerror(errno));
        }
        return;
    }
    struct stat *status = &dead.status;
    if (fstat(dead.file, status) != 0) {
        fail(recovery, path, "cannot be read: %s", strerror(errno));
        goto close_file;
    }
    if (!S_ISREG(status->st_mode) || status->st_uid != geteuid() || (status->st_mode & 0022) != 0 ||
        status->st_nlink > 1) {
        fail(recovery, path, "is not a file of this user alone");
        goto close_file;
    }
    if (flock(dead.file, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            recovery->counts.locked++;
        } else {
            fail(recovery, path, "cannot be locked: %s", strerror(errno));
        }
        goto close_file;
    }
    if (fstat(dead.file, status) != 0) { /* again: now nobody else changes the file */
        fail(recovery, path, "cannot be read: %s", strerror(errno));
        goto close_file;
    }
    if (status->st_nlink == 0) {
        goto close_file; /* another recoverer finished between our open and our lock */
    }
    uint64_t bytes_max = recovery->order->bytes_max;
    if (bytes_max != 0 && (uint64_t)status->st_size > bytes_max) {
        recovery->counts.live++; /* left to a recoverer with more room */
        goto close_file;
    }
    if ((uint64_t)status->st_size > BYTES_MAX) {
        fail(recovery, path, "is too large for a recording");
        goto close_file;
    }
    if (!sbx_recording_name_parse(name, &dead.says)) {
        dead.says = (struct sbx_recording_name){.pid = 0};
    }
    settle(recovery, &dead);
close_file:
    close(dead.file); /* this also unlocks it */
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

static void recover_name(struct recovery *recovery, const char *name)
{
    char path[4096];
    if (name[0] == '.' || !ends_with(name, SBX_RECORDING_SUFFIX)) {
        return;
    }
    if (snprintf(path, sizeof path, "%s/%s", recovery->order->folder, name) >= (int)sizeof path) {
        fail(recovery, name, "has too long a path");
        return;
    }
    recover_file(recovery, path, name);
}

/* Returns 0, or -errno when the folder cannot be read. Not by opendir(), which allocates: a thread of the recorder
 * would get a malloc arena, and each fork of the program would copy it. */
static int recover_all(struct recovery *recovery)
{
    _Alignas(8) char listing[LISTING_BYTES];
    long got = 0;
    int folder = openat(recovery->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* for a file position of its own */
    int error = folder < 0 ? -errno : 0;
    while (error == 0 && !is_enough(recovery) &&
           (got = syscall(SYS_getdents64, folder, listing, sizeof listing)) != 0) {
        error = got < 0 ? -errno : 0;
        for (long at = 0; at < got && !is_enough(recovery);) {
            recover_name(recovery, sbx_folder_list_next(listing, &at));
        }
    }
    if (folder >= 0) {
        close(folder);
    }
    return error;
}

int sbx_recording_recover(const struct sbx_recovery_order *order, struct sbx_recovery_counts *counts_out)
{
    struct recovery recovery = {.order = order, .place = {.spool = order->spool, .folder = -1}};
    int error = 0;
    *counts_out = recovery.counts;
    recovery.folder = sbx_own_folder_open(order->folder);
    if (recovery.folder < 0) {
        return recovery.folder == -ENOENT ? 0 : recovery.folder;
    }
    recovery.mark = sbx_recovery_place_mark(order->spool);
    recovery.is_denied = sbx_recovery_place_is_denied(order->spool);
    if (order->name != NULL) {
        recover_name(&recovery, order->name);
    } else {
        error = recover_all(&recovery);
    }
    sbx_recovery_place_close(&recovery.place);
    close(recovery.folder);
    *counts_out = recovery.counts;
    return error;
}

int sbx_recording_recover_folder(const char *folder, const char *spool, sbx_recovery_complain *complain, void *context,
                                 struct sbx_recovery_counts *counts_out)
{
    const struct sbx_recovery_order order = {
        .folder = folder, .spool = spool, .complain = complain, .context = context};
    return sbx_recording_recover(&order, counts_out);
}
