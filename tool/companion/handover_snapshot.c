/* SPDX-License-Identifier: Apache-2.0 */
/* handover_snapshot.c - copies the recording of a process that cannot write its snapshot, and trusts nothing in it. */
#include "handover_snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "consent.h"
#include "control_order.h"
#include "guest_copy.h"
#include "order.h"
#include "raw_snapshot.h"
#include "roster.h"
#include "recording_check.h"
#include "recording_file.h"
#include "shared_mapping.h"
#include "snapshot_copy.h"
#include "stall_end.h"
#include "temporary_file.h"

#define MIB (UINT64_C(1) << 20)

void sbx_handovers_init(struct sbx_handovers *handovers, const char *spool_path, uint64_t key, uint64_t now_ns)
{
    *handovers = (struct sbx_handovers){.spool_path = spool_path,
                                        .key = key,
                                        .left = SBX_HANDOVERS_AT_ONCE,
                                        .filled_ns = now_ns,
                                        .waiting_max = SBX_HANDOVER_WAITING_MIB * MIB};
}

/* ---- what may be asked ---- */

static bool is_sound(const struct sbx_trigger_entry *trigger, const struct sbx_recording_header *header)
{
    bool is_end = trigger->kind == SBX_TRIGGER_END && trigger->ended > SBX_END_NONE && trigger->ended < SBX_END_KINDS;
    bool is_living = is_end || trigger->kind == SBX_TRIGGER_ANR || trigger->kind == SBX_TRIGGER_DEADLINE ||
                     trigger->kind == SBX_TRIGGER_SLOW_MESSAGE || trigger->kind == SBX_TRIGGER_SLOW_FRAME ||
                     trigger->kind == SBX_TRIGGER_WATCHDOG || trigger->kind == SBX_TRIGGER_MANUAL;
    return is_living && (trigger->thread < header->threads.count || trigger->thread == UINT32_MAX) &&
           trigger->begin_ns <= trigger->end_ns && trigger->in_progress <= 1 &&
           trigger->watch <= header->watches.count && trigger->signal == 0 && trigger->fault == 0;
}

int sbx_handover_check(const struct sbx_handovers *handovers, const struct sbx_recording_header *header,
                       const struct sbx_control_page *control, uint64_t bytes, uint64_t now_ns)
{
    const struct sbx_handover *wanted = &control->handover;
    int error;
    if (sbx_recording_check(header, bytes, &error) != NULL || wanted->key != handovers->key ||
        wanted->request == wanted->answer || strnlen(header->spool_path, SBX_PATH_MAX) == SBX_PATH_MAX ||
        strcmp(header->spool_path, handovers->spool_path) != 0) {
        return 0;
    }
    if (header->state != SBX_STATE_LIVE && header->state != SBX_STATE_CLEAN) {
        return -EINVAL;
    }
    if (header->consent != SBX_CONSENT_GRANTED) {
        return -ENOKEY;
    }
    if (now_ns >= wanted->until_ns) {
        return -ETIME; /* the process has stopped waiting, and counted that */
    }
    if (header->file_bytes != bytes || bytes > SBX_HANDOVER_MIB_MAX * MIB) {
        return -EFBIG;
    }
    return is_sound(&wanted->trigger, header) ? 1 : -EINVAL;
}

/* A token bucket. */
static bool is_within_rate(struct sbx_handovers *handovers, uint64_t now_ns)
{
    const uint64_t every_ns = SBX_HANDOVER_EVERY_MS * UINT64_C(1000000);
    uint64_t due = (now_ns - handovers->filled_ns) / every_ns, missing = SBX_HANDOVERS_AT_ONCE - handovers->left;
    handovers->left += (uint32_t)(due < missing ? due : missing);
    handovers->filled_ns += due * every_ns;
    if (handovers->left == 0) {
        return false;
    }
    handovers->left--;
    return true;
}

/* Is there room in raw/? Snapshots are packed as they come. When they are not packed (no key to seal to), or come
 * faster, a process must not be able to fill the disk beyond a quota. */
static bool has_room(const struct sbx_handovers *handovers, int raw_folder)
{
    uint64_t bytes = 0;
    int again = openat(raw_folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = again >= 0 ? fdopendir(again) : NULL;
    if (listing == NULL) {
        if (again >= 0) {
            close(again);
        }
        return false;
    }
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        struct stat status;
        if (fstatat(raw_folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode)) {
            bytes += (uint64_t)status.st_blocks * 512;
        }
    }
    closedir(listing);
    return bytes < handovers->waiting_max;
}

/* ---- memory that may go away ---- */

/* A mapped recording, and the work on it. */
struct work {
    struct sbx_recording_header *live;
    size_t bytes;
    struct sbx_control_page control; /* the checked copy */
    int out;
    uint8_t id[16];
    int result;
};

static void copy(void *context)
{
    static uint64_t scratch[SBX_COPY_SCRATCH_MIN / sizeof(uint64_t)]; /* only one thread calls this */
    struct work *work = context;
    work->result = sbx_snapshot_copy_bounded(work->live, work->bytes, work->out, &work->control.handover.trigger,
                                             work->id, sbx_now_ns(), scratch, sizeof scratch);
}

static void answer(void *context)
{
    struct work *work = context;
    struct sbx_control_page *control = (struct sbx_control_page *)(void *)((uint8_t *)work->live + SBX_CONTROL_AT);
    if (work->result == 0) {
        control->handover.made++;
        memcpy(control->handover.snapshot_id, work->id, sizeof work->id);
        /* The snapshot has its final name, so nobody may make it again when the process dies now (recording_recover.h).
         * order: release pending.state - the process leaves it alone until it has its answer */
        sbx_store_release(&work->live->pending.state, SBX_PENDING_NONE);
    }
    control->handover.result = (uint32_t)-work->result;
    /* order: release handover.answer - result is that of the answer, and the snapshot has its name */
    sbx_store_release(&control->handover.answer, work->control.handover.request);
    syscall(SYS_futex, &control->handover.answer, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    sbx_control_ring(control);
}

/* ---- the file ---- */

/* Copy the header and the control page. The request number is read separately and first. So everything that belongs to
 * the request was stored before, in whatever order read(2) copies a page. */
static bool read_head(int file, struct sbx_recording_header *header, struct sbx_control_page *control)
{
    const off_t request_at = SBX_CONTROL_AT + (off_t)offsetof(struct sbx_control_page, handover.request);
    uint32_t request;
    if (pread(file, &request, sizeof request, request_at) != (ssize_t)sizeof request) {
        return false;
    }
    sbx_fence_acquire(); /* order: acquire handover.request - the trigger and the time are whole */
    if (pread(file, header, sizeof *header, 0) != (ssize_t)sizeof *header ||
        pread(file, control, sizeof *control, SBX_CONTROL_AT) != (ssize_t)sizeof *control) {
        return false;
    }
    control->handover.request = request; /* if there is a newer request, it wakes this thread again */
    return true;
}

/* Is the snapshot still wanted? During the copy, consent may be withdrawn, or the process may stop waiting. */
static int look_again(const struct sbx_handovers *handovers, int file)
{
    struct sbx_recording_header header;
    struct sbx_control_page control;
    if (!read_head(file, &header, &control)) {
        return -EINVAL;
    }
    /* The spool has the last word, because the process may not have been able to read it. */
    bool is_denied = sbx_consent_read(handovers->spool_path) == SBX_CONSENT_DENIED;
    if (is_denied || header.consent != SBX_CONSENT_GRANTED) {
        return -ENOKEY;
    }
    return sbx_now_ns() >= control.handover.until_ns ? -ETIME : 0;
}

/* Append the recordings of other processes that held what a thread waited for. The recording names these processes,
 * which is untrusted; but only recordings with our key are copied. */
static void add_guests(const struct sbx_handovers *handovers, int recordings, const struct work *work)
{
    static uint64_t scratch[SBX_GUEST_SCRATCH_MIN / sizeof(uint64_t)]; /* only one thread calls this */
    struct sbx_recording_header copied;
    if (pread(work->out, &copied, sizeof copied, 0) == (ssize_t)sizeof copied) {
        (void)sbx_guests_copy(&copied, handovers->key, &work->control.handover.trigger, recordings, work->out, scratch,
                              sizeof scratch);
    }
}

static int write_snapshot(const struct sbx_handovers *handovers, int recordings, int file, struct work *work)
{
    char name[SBX_RAW_NAME_BYTES], temporary[SBX_TEMPORARY_NAME_BYTES];
    int folder = sbx_raw_folder_open(handovers->spool_path);
    if (folder < 0) {
        return folder;
    }
    int result = look_again(handovers, file);
    if (result == 0 && !has_room(handovers, folder)) {
        result = -EDQUOT;
    }
    if (result != 0) {
        goto close_folder;
    }
    const struct sbx_trigger_entry *trigger = &work->control.handover.trigger;
    /* the first id is untrusted; an existing file of that name is not overwritten */
    if (trigger->kind == SBX_TRIGGER_END) {
        sbx_stall_end_id(trigger->first_id, work->id);
    } else if (getrandom(work->id, sizeof work->id, 0) != (ssize_t)sizeof work->id) {
        result = -errno;
        goto close_folder;
    }
    sbx_raw_name_print(work->id, name);
    /* The temporary name begins differently than those of agents, because no recording names what is left when this
     * process is killed here. */
    char base[sizeof name + 8];
    snprintf(base, sizeof base, "taken-%s", name);
    work->out = sbx_temporary_create(folder, base, temporary);
    if (work->out < 0) {
        result = work->out;
        goto close_folder;
    }
    result = sbx_mapping_survive(copy, work) ? work->result : -EFAULT;
    if (result == 0) {
        add_guests(handovers, recordings, work);
    }
    if (result == 0 && fsync(work->out) != 0) {
        result = -errno;
    }
    if (result == 0) {
        result = look_again(handovers, file);
    }
    if (result == 0) {
        result = sbx_raw_name_give(folder, temporary, name);
    }
    close(work->out); /* this also releases the lock */
    if (result == 0 && fsync(folder) != 0) {
        result = -errno;
    }
    if (result != 0) {
        unlinkat(folder, temporary, 0);
    }
close_folder:
    close(folder);
    return result;
}

/* Check that it is a file that an agent made and that no other user can open. Returns 0 and its size, or -errno. */
static int check_file(int file, uint64_t *bytes_out)
{
    struct stat status;
    if (fstat(file, &status) != 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 0077) != 0 || status.st_nlink > 1 ||
        status.st_size < SBX_CONTROL_AT + 4096) {
        return -EPERM;
    }
    *bytes_out = (uint64_t)status.st_size;
    return 0;
}

static void count(struct sbx_handovers *handovers, int result)
{
    if (result == 0) {
        handovers->made++;
    } else if (result != -ENOKEY) { /* missing consent of the user is no failure */
        handovers->failed++;
        handovers->last_error = -result;
    }
}

bool sbx_handover_serve(struct sbx_handovers *handovers, int folder, const char *name)
{
    struct sbx_recording_header header;
    struct work work = {.live = MAP_FAILED};
    uint64_t bytes = 0;
    bool has_asked = false;
    int file = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    if (check_file(file, &bytes) != 0 || !read_head(file, &header, &work.control)) {
        goto close_file;
    }
    int result = sbx_handover_check(handovers, &header, &work.control, bytes, sbx_now_ns());
    has_asked = result != 0;
    if (!has_asked) {
        goto close_file;
    }
    if (result > 0) {
        result = is_within_rate(handovers, sbx_now_ns()) ? 0 : -EAGAIN;
    }
    work.bytes = (size_t)bytes;
    if (bytes <= SBX_HANDOVER_MIB_MAX * MIB) {
        work.live = mmap(NULL, work.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (work.live == MAP_FAILED) {
        count(handovers, result != 0 ? result : -ENOMEM);
        goto close_file;
    }
    work.result = result != 0 ? result : write_snapshot(handovers, folder, file, &work);
    count(handovers, work.result);
    if (work.result == 0) {
        sbx_roster_add_to(folder, handovers->roster, work.id);
    }
    (void)sbx_mapping_survive(answer, &work); /* a process that truncated its file gets no answer */
    munmap(work.live, work.bytes);
close_file:
    close(file);
    return has_asked;
}
