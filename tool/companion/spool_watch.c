/* SPDX-License-Identifier: Apache-2.0 */
/* spool_watch.c - inotify on two folders of the spool. */
#include "spool_watch.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "consent.h"

static int64_t said_ns(const char *path)
{
    char consent[PATH_MAX + sizeof SBX_CONSENT_FILE];
    struct stat status;
    snprintf(consent, sizeof consent, "%s/" SBX_CONSENT_FILE, path);
    return stat(consent, &status) == 0 ? status.st_mtim.tv_sec * INT64_C(1000000000) + status.st_mtim.tv_nsec : 0;
}

void sbx_spool_watch_prepare(struct sbx_spool_watch *watch, const char *path)
{
    *watch = (struct sbx_spool_watch){.events = -1, .root = -1, .said_ns = said_ns(path)};
}

bool sbx_spool_watch_open(struct sbx_spool_watch *watch, const char *path)
{
    char raw[PATH_MAX + 8];
    snprintf(raw, sizeof raw, "%s/raw", path);
    watch->root = -1;
    watch->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch->events >= 0 && inotify_add_watch(watch->events, raw, IN_MOVED_TO) < 0) {
        close(watch->events);
        watch->events = -1; /* the courier looks at the end, and whenever it is called */
    }
    if (watch->events >= 0) { /* for the consent of the user */
        watch->root = inotify_add_watch(watch->events, path, IN_MOVED_TO | IN_DELETE);
    }
    return said_ns(path) != watch->said_ns;
}

bool sbx_spool_watch_read(const struct sbx_spool_watch *watch, bool *has_said_out)
{
    _Alignas(struct inotify_event) char events[4096];
    bool has_news = watch->events < 0;
    ssize_t bytes;
    *has_said_out = false;
    while (watch->events >= 0 && (bytes = read(watch->events, events, sizeof events)) > 0) {
        for (char *at = events; at < events + bytes;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            bool is_consent = event->len > 0 && strcmp(event->name, SBX_CONSENT_FILE) == 0;
            *has_said_out |= event->wd == watch->root && is_consent;
            has_news |= event->wd != watch->root || is_consent;
            at += sizeof *event + event->len;
        }
    }
    return has_news;
}
