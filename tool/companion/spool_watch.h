/* SPDX-License-Identifier: Apache-2.0 */
/* spool_watch.h - news in a spool: a snapshot that is to be packed, a word of the user's about consent. */
#ifndef SBX_SPOOL_WATCH_H
#define SBX_SPOOL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct sbx_spool_watch {
    int events;      /* inotify, to be polled; -1: there is none, and a look now and then has to do */
    int root;        /* which of its watches is the spool's own folder; -1: none */
    int64_t said_ns; /* when the user had said something last, by then; 0: never */
};

/* The spool at `path`, absolute, is going to be watched. Nothing is opened yet: to let go of an inotify descriptor takes the kernel 20 ms
 * (a grace period of its marks), which is longer than many a command lives. */
void sbx_spool_watch_prepare(struct sbx_spool_watch *watch, const char *path);

/* Watch it from now on. Ends with the process. Snapshots that came since are the caller's to look for; returns whether the user said something
 * since. */
bool sbx_spool_watch_open(struct sbx_spool_watch *watch, const char *path);

/* Read what happened, without waiting. Returns whether something may be to do for the courier; *has_said_out: the user said
 * something. Payloads come and go in the spool by the courier's own hand: these it knows of. */
bool sbx_spool_watch_read(const struct sbx_spool_watch *watch, bool *has_said_out);

#endif
