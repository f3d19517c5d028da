/* SPDX-License-Identifier: Apache-2.0 */
/* spool_watch.h - news in a spool: a snapshot to be packed, or an answer of the user about consent. */
#ifndef SBX_SPOOL_WATCH_H
#define SBX_SPOOL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct sbx_spool_watch {
    int events;      /* inotify, to poll; -1: there is none, and the caller must look from time to time */
    int root;        /* the watch of the spool's own folder; -1: none */
    int64_t said_ns; /* time of the user's last answer that is known; 0: none */
};

/* Prepare to watch the spool at `path`, which is absolute. Nothing is opened yet, because closing an inotify descriptor
 * takes the kernel 20 ms (a grace period of its marks), which is longer than many commands run. */
void sbx_spool_watch_prepare(struct sbx_spool_watch *watch, const char *path);

/* Start watching, until the process ends. Snapshots that came before are for the caller to find. Returns whether the
 * user answered meanwhile. */
bool sbx_spool_watch_open(struct sbx_spool_watch *watch, const char *path);

/* Read the events, without waiting. Returns whether there may be work for the courier. *has_said_out: the user
 * answered. Payloads in the spool do not count, because the courier itself moves them. */
bool sbx_spool_watch_read(const struct sbx_spool_watch *watch, bool *has_said_out);

#endif
