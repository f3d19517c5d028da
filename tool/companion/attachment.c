/* SPDX-License-Identifier: Apache-2.0 */
/* attachment.c - maps a recording, wakes its agent, and gives orders. */
#include "attachment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "control_order.h"
#include "order.h"
#include "recording_check.h"
#include "shared_mapping.h"

enum {
    LOCK_WAIT_MS = 20 /* time for another order that waits for nothing */
};

/* The size of the largest recording: a ring of 64 MiB and its tables. The process wrote the contents, perhaps after it
 * dropped its privileges, so they are untrusted. */
#define BYTES_MAX (UINT64_C(96) << 20)

int sbx_attachment_open(struct sbx_attachment *attachment, const char *path, uint32_t pid)
{
    return sbx_attachment_open_of(attachment, path, pid, geteuid());
}

int sbx_attachment_open_of(struct sbx_attachment *attachment, const char *path, uint32_t pid, uid_t owner)
{
    struct stat status;
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return -errno;
    }
    int result = -EPROTO;
    void *mapping = NULL;
    if (fstat(file, &status) != 0) {
        result = -errno;
    } else if (S_ISREG(status.st_mode) && status.st_uid == owner && status.st_size >= SBX_CONTROL_AT + 4096 &&
               (uint64_t)status.st_size <= BYTES_MAX) {
        /* its process may truncate the file */
        mapping = sbx_shared_map(file, (size_t)status.st_size, PROT_READ | PROT_WRITE);
        result = mapping == NULL ? -errno : 0;
    }
    if (result != 0) {
        close(file);
        return result;
    }
    struct sbx_recording_header *header = mapping;
    if (sbx_recording_check(header, (uint64_t)status.st_size, &result) != NULL) {
        result = -EPROTO;
    } else if (header->pid != pid ||
               sbx_load_acquire(&header->state) != SBX_STATE_LIVE /* order: acquire header.state */ ||
               header->process_start_ticks != sbx_process_start_ticks(pid)) {
        result = -ESRCH;
    }
    if (result != 0) {
        sbx_shared_unmap(mapping, (size_t)status.st_size);
        close(file);
        return result;
    }
    attachment->header = header;
    attachment->control = (struct sbx_control_page *)((char *)mapping + SBX_CONTROL_AT);
    attachment->bytes = (size_t)status.st_size;
    attachment->file = file;
    return 0;
}

void sbx_attachment_close(struct sbx_attachment *attachment)
{
    sbx_shared_unmap(attachment->header, attachment->bytes);
    close(attachment->file);
}

void sbx_attachment_ring(const struct sbx_attachment *attachment)
{
    sbx_control_ring(attachment->control);
}

bool sbx_attachment_wait(uint32_t *word, uint32_t wanted, uint32_t timeout_ms)
{
    for (uint32_t waited_ms = 0;; waited_ms += 50) {
        uint32_t now = sbx_load_acquire(word); /* order: acquire - pairs with the watch thread's answer */
        if (now == wanted) {
            return true;
        }
        if (waited_ms >= timeout_ms) {
            return false;
        }
        const struct timespec pause = {0, 50000000};
        syscall(SYS_futex, word, FUTEX_WAIT, now, &pause, NULL, 0);
    }
}

int sbx_attachment_order(const struct sbx_attachment *attachment, const struct sbx_capture_settings *settings,
                         uint32_t timeout_ms, uint32_t *generation_out)
{
    struct sbx_control_page *control = attachment->control;
    int result = -EAGAIN;
    /* Not flock(2): the agent holds that lock for its whole life (agent/shared/recording_file.c). */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SBX_CONTROL_AT, .l_len = 1};
    /* Not a blocking lock: the recorded process has the file too, and may hold this lock for ever. */
    for (uint32_t waited_ms = 0; fcntl(attachment->file, F_OFD_SETLK, &lock) != 0; waited_ms++) {
        if (errno != EINTR && errno != EAGAIN && errno != EACCES) {
            return -errno;
        }
        if (waited_ms >= timeout_ms + LOCK_WAIT_MS) {
            return -EAGAIN;
        }
        const struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    /* The agent copies `wanted` when it sees a new generation, so `wanted` must not change meanwhile. */
    uint32_t before = sbx_load_acquire(&control->generation);         /* order: acquire control.generation */
    if (sbx_attachment_wait(&control->applied, before, timeout_ms)) { /* order: acquire control.applied */
        control->wanted = *settings;
        *generation_out = sbx_control_order(control);
        result = 0;
    }
    lock.l_type = F_UNLCK;
    (void)fcntl(attachment->file, F_OFD_SETLK, &lock);
    return result;
}
