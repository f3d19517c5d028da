/* SPDX-License-Identifier: Apache-2.0 */
/* handover_taker.c - waiting for recordings that ask. */
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
#include "handover_snapshot.h"
#include "recording_format.h"

enum {
    LOOK_EVERY_MS = 1000, /* without inotify: a third of what an agent waits */
    BETWEEN_MS = 5,       /* so far apart at least are two looks, however often a process writes */
};

struct sbx_handover_taker {
    pthread_t thread;
    int folder; /* of recordings */
    int watch;  /* inotify; -1: none */
    int word;   /* eventfd: it is over */
    struct sbx_handovers handovers;
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
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (is_recording(entry->d_name)) {
            (void)sbx_handover_serve(&taker->handovers, taker->folder, entry->d_name);
        }
    }
    closedir(listing);
}

/* Look at what was written to, each once a batch. */
static void look_at_events(struct sbx_handover_taker *taker)
{
    _Alignas(struct inotify_event) char events[8192];
    ssize_t got = read(taker->watch, events, sizeof events);
    const char *last = "";
    for (ssize_t at = 0; at < got;) {
        const struct inotify_event *event = (const struct inotify_event *)(const void *)(events + at);
        at += (ssize_t)(sizeof *event + event->len);
        if ((event->mask & IN_Q_OVERFLOW) != 0) {
            look_at_all(taker);
        } else if (event->len != 0 && is_recording(event->name) && strcmp(event->name, last) != 0) {
            (void)sbx_handover_serve(&taker->handovers, taker->folder, event->name);
            last = event->name;
        }
    }
}

static void *run(void *context)
{
    struct sbx_handover_taker *taker = context;
    struct pollfd fds[2] = {{.fd = taker->word, .events = POLLIN}, {.fd = taker->watch, .events = POLLIN}};
    for (;;) {
        int ready = poll(fds, 2, taker->watch < 0 ? LOOK_EVERY_MS : -1);
        if (ready < 0 && errno != EINTR) {
            break;
        }
        if (ready > 0 && (fds[0].revents & POLLIN) != 0) {
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
    look_at_all(taker); /* what was asked for at the end */
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
    free(taker);
}

struct sbx_handover_taker *sbx_handover_taker_start(const char *recordings, const char *spool_path, uint64_t key,
                                                    uint64_t roster)
{
    struct sbx_handover_taker *taker = calloc(1, sizeof *taker);
    if (taker == NULL) {
        return NULL;
    }
    sbx_handovers_init(&taker->handovers, spool_path, key, sbx_now_ns());
    taker->handovers.roster = roster;
    taker->folder = open(recordings, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    taker->word = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    taker->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (taker->watch >= 0 && inotify_add_watch(taker->watch, recordings, IN_MODIFY | IN_ONLYDIR) < 0) {
        close(taker->watch);
        taker->watch = -1;
    }
    if (taker->folder < 0 || taker->word < 0 || pthread_create(&taker->thread, NULL, run, taker) != 0) {
        release(taker);
        return NULL;
    }
    return taker;
}

void sbx_handover_taker_finish(struct sbx_handover_taker *taker, struct sbx_handover_counts *counts_out)
{
    *counts_out = (struct sbx_handover_counts){.made = 0};
    if (taker == NULL) {
        return;
    }
    const uint64_t one = 1;
    while (write(taker->word, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(taker->thread, NULL);
    counts_out->made = taker->handovers.made;
    counts_out->failed = taker->handovers.failed;
    counts_out->last_error = taker->handovers.last_error;
    release(taker);
}
