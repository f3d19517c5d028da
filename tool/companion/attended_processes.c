/* SPDX-License-Identifier: Apache-2.0 */
/* attended_processes.c - recordings in a folder, and process descriptors in an epoll set. */
#include "attended_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "memory_kills.h"
#include "process_facts.h"
#include "recording_check.h"
#include "recording_file.h"
#include "recording_name.h"
#include "recording_recover.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum {
    YOUNG_FIRST_MS = 20,    /* first interval between looks at a recording that is being made */
    YOUNG_LAST_MS = 640,    /* longest interval; it doubles until the recorder is up or the process is gone */
    LOCK_EVERY_MS = 1000,   /* for a process without a process descriptor */
    REAPED_WITHIN_MS = 100, /* time for the parent to reap it; before that the kernel may not tell how it ended */
    REAPED_EVERY_MS = 10,
    EVENTS_AT_ONCE = 64,
    MEMBERS_MAX = 4096 /* further ones are settled when the companion ends */
};

/* What the kernel tells about a process (linux/pidfd.h of Linux 6.15), up to the last member that is used here. */
struct process_info {
    uint64_t mask, cgroup;
    uint32_t numbers[11]; /* pids, users, groups */
    int32_t exit_code;
};
#define PROCESS_INFO_EXIT UINT64_C(8)
#define PROCESS_INFO      _IOWR(0xff, 11, struct process_info)

enum state {
    YOUNG, /* not known yet whether it is ours: its process is still making the recording */
    LIVES,
    ENDED /* to be settled no later than `due_ms` */
};

struct member {
    struct member *next;
    char name[SBX_RECORDING_NAME_BYTES];
    uint32_t pid;
    uint64_t start_ticks; /* 0: not known */
    int descriptor;       /* pidfd; -1: none */
    enum state state;
    /* the recording is gone: the process ended well, or called exec. The member stays until the process ends */
    bool is_gone;
    uint64_t due_ms;  /* when to look at it again; UINT64_MAX: when its descriptor is readable */
    uint32_t wait_ms; /* YOUNG: the interval before the last look */
    uint64_t ended_ns;
};

struct sbx_attended {
    struct sbx_attended_options options;
    struct member *members;
    uint32_t members_count;
    int set; /* epoll */
    uint64_t own_namespace;
    struct sbx_memory_kills memory_kills;
    uint64_t memory_due_ms;
};

static uint64_t now_ms(void)
{
    return sbx_now_ns() / 1000000;
}

static uint64_t own_pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

struct sbx_attended *sbx_attended_create(const struct sbx_attended_options *options)
{
    struct sbx_attended *family = calloc(1, sizeof *family);
    if (family == NULL) {
        return NULL;
    }
    family->options = *options;
    family->own_namespace = own_pid_namespace();
    sbx_memory_kills_look(&family->memory_kills, getpid()); /* most processes are in our control group */
    family->set = epoll_create1(EPOLL_CLOEXEC);
    if (family->set < 0) {
        free(family);
        return NULL;
    }
    return family;
}

static void let_descriptor_go(struct member *member)
{
    if (member->descriptor >= 0) {
        close(member->descriptor); /* this also removes it from the epoll set */
        member->descriptor = -1;
    }
}

void sbx_attended_destroy(struct sbx_attended *family)
{
    if (family == NULL) {
        return;
    }
    for (struct member *member = family->members, *next; member != NULL; member = next) {
        next = member->next;
        let_descriptor_go(member);
        free(member);
    }
    close(family->set);
    free(family);
}

int sbx_attended_descriptor(const struct sbx_attended *family)
{
    return family->set;
}

static void drop(struct sbx_attended *family, struct member *gone)
{
    for (struct member **at = &family->members; *at != NULL; at = &(*at)->next) {
        if (*at == gone) {
            *at = gone->next;
            break;
        }
    }
    let_descriptor_go(gone);
    free(gone);
    family->members_count--;
}

static struct member *find(const struct sbx_attended *family, const char *name)
{
    struct member *member = family->members;
    while (member != NULL && strcmp(member->name, name) != 0) {
        member = member->next;
    }
    return member;
}

/* ---- who it is ---- */

enum identity {
    OURS,
    STARTING, /* not known yet */
    OTHERS
};

static enum identity identify(const struct sbx_attended *family, const char *name, struct sbx_recording_header *header)
{
    struct stat status;
    uint64_t key = 0;
    int error;
    enum identity identity = OTHERS;
    int file = openat(family->options.folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return OTHERS;
    }
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
        goto close_file;
    }
    ssize_t got = pread(file, header, sizeof *header, 0);
    if (got == 0 || (got == (ssize_t)sizeof *header && header->magic[0] == 0)) {
        identity = STARTING;
    } else if (got == (ssize_t)sizeof *header &&
               sbx_recording_check(header, (uint64_t)status.st_size, &error) == NULL &&
               pread(file, &key, sizeof key, SBX_CONTROL_AT + (off_t)offsetof(struct sbx_control_page, handover.key)) ==
                   (ssize_t)sizeof key) {
        identity = key == family->options.handovers->key             ? OURS
                   : key == 0 && header->state == SBX_STATE_STARTING ? STARTING
                                                                     : OTHERS;
    }
close_file:
    close(file);
    return identity;
}

/* Does its process hold the recording? The lock tells it; this is for processes without a process descriptor. */
static bool is_held(const struct sbx_attended *family, const char *name)
{
    int file = openat(family->options.folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool is_it = file >= 0 && flock(file, LOCK_SH | LOCK_NB) != 0;
    if (file >= 0) {
        close(file);
    }
    return is_it;
}

/* Open a process descriptor, so that no other process is taken for this one. */
static void hold_process(struct sbx_attended *family, struct member *member, const struct sbx_recording_header *header)
{
    bool is_here = header->pid_namespace == 0 || header->pid_namespace == family->own_namespace;
    member->descriptor = is_here ? (int)syscall(SYS_pidfd_open, (pid_t)member->pid, 0) : -1;
    member->start_ticks = is_here ? sbx_process_start_ticks(member->pid) : 0;
    if (member->descriptor >= 0 && member->start_ticks != header->process_start_ticks) {
        let_descriptor_go(member); /* another process has its number now */
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = member};
    if (member->descriptor >= 0 && epoll_ctl(family->set, EPOLL_CTL_ADD, member->descriptor, &event) != 0) {
        let_descriptor_go(member);
    }
    member->due_ms = member->descriptor >= 0 ? UINT64_MAX : now_ms() + LOCK_EVERY_MS;
    if (family->memory_due_ms == 0) {
        sbx_memory_kills_look(&family->memory_kills, (pid_t)member->pid);
        family->memory_due_ms = now_ms() + SBX_MEMORY_KILLS_EVERY_MS;
    }
}

/* The member for the same process before it called exec has ended. The next step removes it, because the caller may be
 * iterating over the list. */
static void end_former(struct sbx_attended *family, const struct member *now)
{
    for (struct member *member = family->members; member != NULL; member = member->next) {
        if (member != now && member->is_gone && member->pid == now->pid) {
            let_descriptor_go(member);
            member->state = ENDED;
            member->due_ms = 0;
        }
    }
}

/* Is the process gone? One in another pid namespace is not visible here and counts as gone, although it holds its
 * recording. */
static bool has_gone(const struct member *member)
{
    struct sbx_process_facts facts;
    return sbx_process_facts_read(member->pid, &facts) == 0 && !facts.is_running;
}

static void look_at_young(struct sbx_attended *family, struct member *member)
{
    struct sbx_recording_header header;
    switch (identify(family, member->name, &header)) {
    case OURS:
        member->state = LIVES;
        sbx_lost_images_see(family->options.images, member->pid);
        hold_process(family, member, &header);
        end_former(family, member);
        return;
    case STARTING:
        if (member->wait_ms >= YOUNG_LAST_MS && has_gone(member)) {
            member->state = ENDED; /* it ended before its recorder was up; what it left is removed */
            member->due_ms = 0;
            member->ended_ns = sbx_now_ns();
            return;
        }
        member->due_ms = now_ms() + member->wait_ms;
        member->wait_ms = 2 * member->wait_ms < YOUNG_LAST_MS ? 2 * member->wait_ms : YOUNG_LAST_MS;
        return;
    case OTHERS:
        drop(family, member);
        return;
    }
}

void sbx_attended_see(struct sbx_attended *family, const char *name)
{
    struct sbx_recording_name says;
    if (family->members_count >= MEMBERS_MAX || find(family, name) != NULL || !sbx_recording_name_parse(name, &says) ||
        says.pid == 0) {
        return;
    }
    if (says.pid == family->options.child_pid) {
        sbx_lost_images_see(family->options.images, says.pid);
        return;
    }
    struct member *member = calloc(1, sizeof *member);
    if (member == NULL) {
        return;
    }
    snprintf(member->name, sizeof member->name, "%s", name);
    member->pid = says.pid;
    member->descriptor = -1;
    member->wait_ms = YOUNG_FIRST_MS;
    member->next = family->members;
    family->members = member;
    family->members_count++;
    look_at_young(family, member);
}

static void forget(struct sbx_attended *family, struct member *member)
{
    if (member->state == LIVES && member->descriptor >= 0) {
        member->is_gone = true;
    } else if (member->state != ENDED) {
        drop(family, member);
    }
}

void sbx_attended_forget(struct sbx_attended *family, const char *name)
{
    struct member *member = find(family, name);
    if (member != NULL) {
        forget(family, member);
    }
}

void sbx_attended_forget_missing(struct sbx_attended *family)
{
    for (struct member *member = family->members, *next; member != NULL; member = next) {
        next = member->next;
        if (!member->is_gone && faccessat(family->options.folder, member->name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
            errno == ENOENT) {
            forget(family, member);
        }
    }
}

/* ---- how it ended ---- */

/* Read the wait status of a process that has ended and is not reaped yet: field 52 of its stat, which reads as 0 when
 * we may not trace it. False: it does not exist any more, or it is another process. */
static bool read_status_of_zombie(const struct member *member, int *status_out)
{
    char path[48], text[1024], state = 0;
    snprintf(path, sizeof path, "/proc/%u/stat", member->pid);
    FILE *file = fopen(path, "re");
    size_t got = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[got] = '\0';
    char *at = strrchr(text, ')'); /* the name may contain spaces and brackets */
    uint64_t start_ticks = 0;
    for (int field = 3; at != NULL && (at = strchr(at, ' ')) != NULL && field <= 52; field++, at++) {
        state = field == 3 ? at[1] : state;
        start_ticks = field == 22 ? strtoull(at + 1, NULL, 10) : start_ticks;
        *status_out = field == 52 ? atoi(at + 1) : *status_out;
    }
    return state == 'Z' && start_ticks == member->start_ticks && *status_out != 0;
}

/* Read the wait status. False: the kernel does not tell it, or not yet. After the process was reaped, Linux 6.15 still
 * tells it. */
static bool read_status(const struct member *member, int *status_out)
{
    struct process_info info = {.mask = PROCESS_INFO_EXIT};
    *status_out = 0;
    if (read_status_of_zombie(member, status_out)) {
        return true;
    }
    bool is_kept = member->descriptor >= 0 && ioctl(member->descriptor, PROCESS_INFO, &info) == 0 &&
                   (info.mask & PROCESS_INFO_EXIT) != 0;
    *status_out = is_kept ? info.exit_code : 0;
    return is_kept;
}

static void settle(struct sbx_attended *family, struct member *member, int status)
{
    if (member->is_gone) {
        drop(family, member);
        return;
    }
    const struct sbx_handovers *handovers = family->options.handovers;
    struct sbx_recovery_counts counts;
    uint32_t number = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
    const struct sbx_known_death death = {
        .pid = member->pid,
        .start_ticks = member->start_ticks,
        .signal = number,
        .had_no_memory = number == SIGKILL && sbx_memory_kills_have_grown(&family->memory_kills),
        .at_ns = member->ended_ns,
    };
    const struct sbx_recovery_order order = {
        .folder = family->options.recordings, .name = member->name, .spool = handovers->spool_path, .death = &death};
    (void)sbx_handover_serve(family->options.handovers, family->options.folder, member->name);
    if (sbx_recording_recover(&order, &counts) != 0) {
        /* The folder is gone with its contents. After any other failure the recording is still there for the next
         * process that looks. */
    }
    drop(family, member);
}

/* The process has ended: its descriptor is readable. */
static void on_end(struct sbx_attended *family, struct member *member)
{
    (void)epoll_ctl(family->set, EPOLL_CTL_DEL, member->descriptor, NULL);
    member->state = ENDED;
    member->ended_ns = sbx_now_ns();
    member->due_ms = now_ms() + REAPED_WITHIN_MS;
}

/* Returns when to look at it again; 0: it was removed. */
static uint64_t look_at(struct sbx_attended *family, struct member *member, uint64_t at_ms, unsigned *ended)
{
    int status = 0;
    if (member->state == ENDED) {
        bool is_told = member->is_gone || read_status(member, &status);
        if (!is_told && at_ms < member->due_ms) {
            return at_ms + REAPED_EVERY_MS;
        }
        settle(family, member, status);
        (*ended)++;
        return 0;
    }
    if (at_ms < member->due_ms) {
        return member->due_ms;
    }
    if (member->state == YOUNG) {
        look_at_young(family, member);
        return at_ms + 1;
    }
    if (is_held(family, member->name)) {
        return member->due_ms = at_ms + LOCK_EVERY_MS;
    }
    member->ended_ns = sbx_now_ns();
    settle(family, member, 0);
    (*ended)++;
    return 0;
}

int sbx_attended_step(struct sbx_attended *family, unsigned *ended_out)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = epoll_wait(family->set, events, EVENTS_AT_ONCE, 0);
    for (int i = 0; i < count; i++) {
        on_end(family, events[i].data.ptr);
    }
    *ended_out = 0;
    uint64_t at_ms = now_ms(), due_ms = UINT64_MAX;
    for (struct member *member = family->members, *next; member != NULL; member = next) {
        next = member->next;
        uint64_t its_ms = look_at(family, member, at_ms, ended_out);
        due_ms = its_ms != 0 && its_ms < due_ms ? its_ms : due_ms;
    }
    if (family->members != NULL &&
        at_ms >= family->memory_due_ms) { /* a kill counted before the last look cannot be one of them */
        sbx_memory_kills_look(&family->memory_kills, (pid_t)family->members->pid);
        family->memory_due_ms = at_ms + SBX_MEMORY_KILLS_EVERY_MS;
    }
    if (family->members != NULL && family->memory_due_ms < due_ms) {
        due_ms = family->memory_due_ms;
    }
    if (count == EVENTS_AT_ONCE) {
        return 0;
    }
    return due_ms == UINT64_MAX ? -1 : due_ms > at_ms ? (int)(due_ms - at_ms) : 0;
}
