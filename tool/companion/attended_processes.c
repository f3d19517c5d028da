/* SPDX-License-Identifier: Apache-2.0 */
/* attended_processes.c - names in a folder, process descriptors in an epoll set. */
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
    YOUNG_FIRST_MS = 20,    /* a recording that is being made is looked at again, */
    YOUNG_LAST_MS = 640,    /* each time after twice as long at most so long, until its process is up or gone */
    LOCK_EVERY_MS = 1000,   /* who has no process descriptor */
    REAPED_WITHIN_MS = 100, /* only then its parent has let the kernel say how it ended */
    REAPED_EVERY_MS = 10,
    EVENTS_AT_ONCE = 64,
    MEMBERS_MAX = 4096 /* what is beyond is settled when the companion ends */
};

/* What the kernel says of a process (linux/pidfd.h of Linux 6.15): the begin of it that has what we ask for. */
struct process_info {
    uint64_t mask, cgroup;
    uint32_t numbers[11]; /* pids, users, groups */
    int32_t exit_code;
};
#define PROCESS_INFO_EXIT UINT64_C(8)
#define PROCESS_INFO      _IOWR(0xff, 11, struct process_info)

enum state {
    YOUNG, /* not known yet whether it is ours: its process is just making it */
    LIVES,
    ENDED /* to be settled at `due_ms` at the latest */
};

struct member {
    struct member *next;
    char name[SBX_RECORDING_NAME_BYTES];
    uint32_t pid;
    uint64_t start_ticks; /* 0: not known */
    int descriptor;       /* pidfd; -1: none */
    enum state state;
    bool is_gone;     /* its recording: it ended well, or calls exec. Kept for the news of its end */
    uint64_t due_ms;  /* when to look at it again; UINT64_MAX: its descriptor tells */
    uint32_t wait_ms; /* YOUNG: how long it was until the last look */
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
        close(member->descriptor); /* and it leaves the epoll set */
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
    STARTING, /* it cannot be known yet */
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

/* Does its process hold the recording? Asked of the lock, which is the truth, but for who has none. */
static bool is_held(const struct sbx_attended *family, const char *name)
{
    int file = openat(family->options.folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool is_it = file >= 0 && flock(file, LOCK_SH | LOCK_NB) != 0;
    if (file >= 0) {
        close(file);
    }
    return is_it;
}

/* Hold the process itself, so that no other can be taken for it. */
static void hold_process(struct sbx_attended *family, struct member *member, const struct sbx_recording_header *header)
{
    bool is_here = header->pid_namespace == 0 || header->pid_namespace == family->own_namespace;
    member->descriptor = is_here ? (int)syscall(SYS_pidfd_open, (pid_t)member->pid, 0) : -1;
    member->start_ticks = is_here ? sbx_process_start_ticks(member->pid) : 0;
    if (member->descriptor >= 0 && member->start_ticks != header->process_start_ticks) {
        let_descriptor_go(member); /* its number is another's by now */
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

/* What a process was before it called exec is over; the next step takes it out, because one may be going through the list. */
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

/* Who is in another pid namespace is gone for us, and holds its recording. */
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
            member->state = ENDED; /* before its recorder was up: what it left is taken away */
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

/* Of a process that has ended and that its parent has not asked for yet: field 52 of its stat, which who may not trace it reads as
 * 0. False: it is not there any more, or it is another. */
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
    char *at = strrchr(text, ')'); /* the name may hold spaces and brackets */
    uint64_t start_ticks = 0;
    for (int field = 3; at != NULL && (at = strchr(at, ' ')) != NULL && field <= 52; field++, at++) {
        state = field == 3 ? at[1] : state;
        start_ticks = field == 22 ? strtoull(at + 1, NULL, 10) : start_ticks;
        *status_out = field == 52 ? atoi(at + 1) : *status_out;
    }
    return state == 'Z' && start_ticks == member->start_ticks && *status_out != 0;
}

/* The wait status. False: the kernel does not say it, or not yet: of who is gone altogether Linux 6.15 does. */
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
        /* The folder is gone, and what was in it. What failed else is still there for the next who looks. */
    }
    drop(family, member);
}

/* Its descriptor is readable. */
static void on_end(struct sbx_attended *family, struct member *member)
{
    (void)epoll_ctl(family->set, EPOLL_CTL_DEL, member->descriptor, NULL);
    member->state = ENDED;
    member->ended_ns = sbx_now_ns();
    member->due_ms = now_ms() + REAPED_WITHIN_MS;
}

/* Returns when it is to be looked at again; 0: it is not there any more. */
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
        at_ms >= family->memory_due_ms) { /* only what was counted since can be one of them */
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
