/* SPDX-License-Identifier: Apache-2.0 */
/* handover_taker.c - waits for recordings that ask for a snapshot. */
#include "handover_taker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "attended_processes.h"
#include "handover_snapshot.h"
#include "order.h"
#include "recording_format.h"

enum {
    LOOK_EVERY_MS = 1000, /* without inotify: a third of what an agent waits */
    BETWEEN_MS = 5,       /* minimum time between two looks, however often a process writes */
    /* Closing an inotify descriptor takes the kernel 20 ms (a grace period of its marks), which is longer than many
     * commands run. So there is no inotify at first, and the folder is checked by the clock. */
    YOUNG_MS = 500,
    LOOK_YOUNG_MS = 50,
};

struct sbx_handover_taker {
    pthread_t thread;
    const char *recordings;
    int folder;                           /* folder of recordings */
    int watch;                            /* inotify; -1: none, or not yet */
    uint64_t watch_from_ns;               /* when to open it; UINT64_MAX: it was tried */
    int word;                             /* eventfd: the thread must end, or there are processes to attend */
    int ended;                            /* eventfd: processes have ended */
    uint32_t is_over, attends, child_pid; /* atomics; child_pid is valid when `attends` is set */
    struct sbx_handovers handovers;
    struct sbx_lost_images *images;
    struct sbx_attended *family; /* NULL: no processes to attend yet */
};

static bool is_recording(const char *name)
{
    size_t length = strlen(name), suffix = sizeof SBX_RECORDING_SUFFIX - 1;
    return name[0] != '.' && length > suffix && strcmp(name + length - suffix, SBX_RECORDING_SUFFIX) == 0;
}

static void look_at_all(struct sbx_handover_taker *taker)
{
    int again = openat(taker->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = again >= 0 ? fdopendir(again) : NULL;
    if (listing == NULL) {
        if (again >= 0) {
            close(again);
        }
        return;
    }
    if (taker->family != NULL) { /* before the recordings that came in their place by exec */
        sbx_attended_forget_missing(taker->family);
    }
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (is_recording(entry->d_name)) {
            (void)sbx_handover_serve(&taker->handovers, taker->folder, entry->d_name);
            if (taker->family != NULL) {
                sbx_attended_see(taker->family, entry->d_name);
            }
        }
    }
    closedir(listing);
}

static void look_at_event(struct sbx_handover_taker *taker, const struct inotify_event *event)
{
    if ((event->mask & IN_MODIFY) != 0) {
        (void)sbx_handover_serve(&taker->handovers, taker->folder, event->name);
    }
    if (taker->family == NULL) {
        return;
    }
    if ((event->mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
        sbx_attended_forget(taker->family, event->name);
    } else {
        sbx_attended_see(taker->family, event->name);
    }
}

/* Read the events: recordings that were written to (each once per batch), created or removed. */
static void look_at_events(struct sbx_handover_taker *taker)
{
    _Alignas(struct inotify_event) char events[8192];
    ssize_t got = read(taker->watch, events, sizeof events);
    const char *last = "";
    uint32_t last_mask = 0;
    for (ssize_t at = 0; at < got;) {
        const struct inotify_event *event = (const struct inotify_event *)(const void *)(events + at);
        at += (ssize_t)(sizeof *event + event->len);
        if ((event->mask & IN_Q_OVERFLOW) != 0) {
            look_at_all(taker);
        } else if (event->len != 0 && is_recording(event->name) &&
                   (event->mask != last_mask || strcmp(event->name, last) != 0)) {
            look_at_event(taker, event);
            last = event->name;
            last_mask = event->mask;
        }
    }
}

static void begin_to_attend(struct sbx_handover_taker *taker)
{
    const struct sbx_attended_options options = {
        .recordings = taker->recordings,
        .folder = taker->folder,
        .child_pid = taker->child_pid,
        .handovers = &taker->handovers,
        .images = taker->images,
    };
    taker->family = sbx_attended_create(&options);
    if (taker->family != NULL) { /* without it, they are settled when the companion ends */
        look_at_all(taker);
    }
}

/* Returns the milliseconds until the next look. */
static int attend(struct sbx_handover_taker *taker)
{
    unsigned ended = 0;
    int due_ms = -1;
    if (taker->family == NULL && sbx_load_acquire(&taker->attends) != 0) { /* order: acquire taker.attends */
        begin_to_attend(taker);
    }
    if (taker->family != NULL) {
        due_ms = sbx_attended_step(taker->family, &ended);
    }
    if (ended != 0) {
        (void)eventfd_write(taker->ended, ended);
    }
    return due_ms;
}

/* The caller then looks at all recordings, to find what came before. */
static void begin_to_watch(struct sbx_handover_taker *taker)
{
    taker->watch_from_ns = UINT64_MAX;
    taker->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (taker->watch >= 0 && inotify_add_watch(taker->watch, taker->recordings,
                                               IN_MODIFY | IN_CREATE | IN_MOVE | IN_DELETE | IN_ONLYDIR) < 0) {
        close(taker->watch);
        taker->watch = -1;
    }
}

static void *run(void *context)
{
    struct sbx_handover_taker *taker = context;
    for (;;) {
        eventfd_t word;
        int due_ms = attend(taker);
        if (taker->watch_from_ns != UINT64_MAX && sbx_now_ns() >= taker->watch_from_ns) {
            begin_to_watch(taker);
            look_at_all(taker);
        }
        struct pollfd fds[3] = {
            {.fd = taker->word, .events = POLLIN},
            {.fd = taker->watch, .events = POLLIN},
            {.fd = taker->family != NULL ? sbx_attended_descriptor(taker->family) : -1, .events = POLLIN}};
        int look_ms = taker->watch_from_ns != UINT64_MAX ? LOOK_YOUNG_MS : LOOK_EVERY_MS;
        if (taker->watch < 0 && (due_ms < 0 || due_ms > look_ms)) {
            due_ms = look_ms;
        }
        int ready = poll(fds, 3, due_ms);
        if (ready < 0 && errno != EINTR) {
            break;
        }
        if (ready > 0 && (fds[0].revents & POLLIN) != 0) {
            (void)eventfd_read(taker->word, &word);
        }
        if (sbx_load_acquire(&taker->is_over) != 0) { /* order: acquire taker.is_over */
            break;
        }
        if (taker->watch < 0) {
            look_at_all(taker);
        } else if (ready > 0) {
            const struct timespec pause = {0, BETWEEN_MS * 1000000};
            look_at_events(taker);
            nanosleep(&pause, NULL);
        }
    }
    look_at_all(taker); /* requests made at the end */
    return NULL;
}

static void release(struct sbx_handover_taker *taker)
{
    if (taker->folder >= 0) {
        close(taker->folder);
    }
    if (taker->watch >= 0) {
        close(taker->watch);
    }
    if (taker->word >= 0) {
        close(taker->word);
    }
    if (taker->ended >= 0) {
        close(taker->ended);
    }
    sbx_attended_destroy(taker->family);
    free(taker);
}

struct sbx_handover_taker *sbx_handover_taker_start(const char *recordings, const char *spool_path, uint64_t key,
                                                    uint64_t roster, struct sbx_lost_images *images)
{
    struct sbx_handover_taker *taker = calloc(1, sizeof *taker);
    if (taker == NULL) {
        return NULL;
    }
    sbx_handovers_init(&taker->handovers, spool_path, key, sbx_now_ns());
    taker->handovers.roster = roster;
    taker->recordings = recordings;
    taker->images = images;
    taker->folder = open(recordings, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    taker->word = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    taker->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    taker->watch = -1;
    taker->watch_from_ns = sbx_now_ns() + YOUNG_MS * UINT64_C(1000000);
    if (taker->folder < 0 || taker->word < 0 || taker->ended < 0 ||
        pthread_create(&taker->thread, NULL, run, taker) != 0) {
        release(taker);
        return NULL;
    }
    return taker;
}

void sbx_handover_taker_attend(struct sbx_handover_taker *taker, uint32_t child_pid)
{
    if (taker != NULL) {
        taker->child_pid = child_pid;
        sbx_store_release(&taker->attends, 1); /* order: release taker.attends - the number is whole */
        (void)eventfd_write(taker->word, 1);
    }
}

int sbx_handover_taker_ended(const struct sbx_handover_taker *taker)
{
    return taker != NULL ? taker->ended : -1;
}

void sbx_handover_taker_finish(struct sbx_handover_taker *taker, struct sbx_handover_counts *counts_out)
{
    *counts_out = (struct sbx_handover_counts){.made = 0};
    if (taker == NULL) {
        return;
    }
    sbx_store_release(&taker->is_over, 1); /* order: release taker.is_over */
    while (eventfd_write(taker->word, 1) < 0 && errno == EINTR) {
    }
    pthread_join(taker->thread, NULL);
    counts_out->made = taker->handovers.made;
    counts_out->failed = taker->handovers.failed;
    counts_out->last_error = taker->handovers.last_error;
    release(taker);
}
