/* SPDX-License-Identifier: Apache-2.0 */
/* guest_recording.c - the processes that a header names, the listing of the folder, and the owner of a file. */
#include "guest_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "file_bytes.h"
#include "folder_list.h"
#include "guest_copy.h"
#include "process_facts.h"
#include "recording_check.h"
#include "recording_name.h"

enum {
    LISTING_BYTES = 4096
};
#define LATE_NS UINT64_C(1000000000) /* a wait that was seen so long before the judged time may extend into it */

void sbx_guests_want(struct sbx_guests_wanted *wanted, const struct sbx_recording_header *header,
                     const struct sbx_trigger_entry *trigger, uint32_t host_pid)
{
    for (uint32_t i = 0; i < SBX_HOLDERS_MAX && trigger->kind != SBX_TRIGGER_END; i++) {
        struct sbx_holder_entry holder = header->holders[i];
        bool is_in_time = holder.kind != SBX_HOLDER_NONE && holder.pid != 0 && holder.pid != host_pid &&
                          holder.begin_ns <= trigger->end_ns && holder.seen_ns + LATE_NS >= trigger->begin_ns;
        for (uint32_t k = 0; k < wanted->count && is_in_time; k++) {
            is_in_time = wanted->pids[k] != holder.pid;
        }
        if (is_in_time && wanted->count < SBX_GUESTS_WANTED_MAX) {
            wanted->pids[wanted->count++] = holder.pid;
        }
    }
}

int sbx_guest_read(int file, uint64_t at, void *to, size_t bytes)
{
    ssize_t got = sbx_file_bytes(file, (off_t)at, to, bytes);
    return got < 0 ? (int)got : (size_t)got < bytes ? -ENODATA : 0;
}

/* ---- identity ---- */

static bool is_same_family(const struct sbx_recording_header *host, const struct sbx_recording_header *guest)
{
    return guest->family.role != SBX_ROLE_NONE && host->family.role != SBX_ROLE_NONE &&
           memcmp(guest->family.id, host->family.id, sizeof guest->family.id) == 0 &&
           strnlen(guest->spool_path, SBX_PATH_MAX) < SBX_PATH_MAX && strcmp(guest->spool_path, host->spool_path) == 0;
}

static bool is_alive(const struct sbx_recording_header *header, uint32_t pid)
{
    struct sbx_process_facts facts;
    return sbx_process_facts_read(pid, &facts) == 0 && facts.is_running &&
           facts.start_ticks == header->process_start_ticks &&
           (header->pid_namespace == 0 || header->pid_namespace == facts.pid_namespace);
}

/* Is the open file the recording of process `pid`, of the host's family, and may it be kept? *header_out: its header,
 * checked. */
static bool identify(const struct sbx_recording_header *host, uint64_t key, uint32_t pid, int file,
                     struct sbx_recording_header *header_out)
{
    struct stat status;
    uint64_t its_key = 0;
    int error;
    const uint64_t key_at = SBX_CONTROL_AT + offsetof(struct sbx_control_page, handover.key);
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 0077) == 0 && status.st_nlink <= 1 &&
           sbx_guest_read(file, 0, header_out, sizeof *header_out) == 0 &&
           sbx_recording_check(header_out, (uint64_t)status.st_size, &error) == NULL && header_out->pid == pid &&
           header_out->file_bytes <= (uint64_t)SBX_GUEST_MIB_MAX << 20 && is_same_family(host, header_out) &&
           header_out->consent == SBX_CONSENT_GRANTED && sbx_guest_read(file, key_at, &its_key, sizeof its_key) == 0 &&
           its_key == key && is_alive(header_out, pid);
}

/* ---- the folder ---- */

/* Opens the recording of process `pid` in the folder. A descriptor, or -1. */
static int open_by_name(int folder, uint32_t pid)
{
    _Alignas(8) char listing[LISTING_BYTES];
    long got;
    int file = -1, copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (copy >= 0 && file < 0 && (got = syscall(SYS_getdents64, copy, listing, sizeof listing)) > 0) {
        for (long at = 0; at < got && file < 0;) {
            const char *name = sbx_folder_list_next(listing, &at);
            struct sbx_recording_name says;
            if (sbx_recording_name_parse(name, &says) && says.pid == pid) {
                file = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
            }
        }
    }
    if (copy >= 0) {
        close(copy);
    }
    return file;
}

int sbx_guest_open(const struct sbx_recording_header *host, uint64_t key, uint32_t pid, int folder,
                   struct sbx_recording_header *header_out)
{
    int file = open_by_name(folder, pid);
    if (file >= 0 && !identify(host, key, pid, file, header_out)) {
        close(file);
        return -1;
    }
    return file;
}
