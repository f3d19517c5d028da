/* SPDX-License-Identifier: Apache-2.0 */
/* change_log.h - the found changes, and which of them the webhook has received: DATA/changes.db, or the database that
 * several servers share.
 *
 * Each change is sent once, by one server, also after a restart. A change has names of functions and counts, but no id
 * of a machine. Any thread; returns 0 or -errno. */
#ifndef SBX_CHANGE_LOG_H
#define SBX_CHANGE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot_id.h"

enum {
    SBX_CHANGE_KINDS = 8, /* values of enum sbx_change, which is only ever extended at its end */
    SBX_CHANGE_TELL_MS = 60000,
};

struct sbx_change_event {
    int64_t num, at_ms; /* num: order in which they were found, from 1 */
    int kind;           /* enum sbx_change */
    char app[64], version[40], base[40];
    uint8_t issue[SBX_ID_BYTES]; /* all 0: about all stalls together */
    char text[400];              /* a sentence for a person */
    double chance;
    int tries; /* attempts to send it to the webhook */
};

bool sbx_change_event_is_whole(const struct sbx_change_event *event);

struct sbx_change_log;

/* `where`: the data folder, or the URL of a database whose store is open already (store.h). Returns 0 or -errno with
 * the reason. */
int sbx_change_log_open(const char *where, struct sbx_change_log **log_out, char *why, size_t why_bytes);
void sbx_change_log_close(struct sbx_change_log *log); /* NULL is fine */

/* Was this look (regression.h) at an application's version made? 1, 0 or -errno. The second function notes that it
 * was. */
int sbx_change_log_was_looked(struct sbx_change_log *log, const char *app, const char *version, int look);
int sbx_change_log_looked(struct sbx_change_log *log, const char *app, const char *version, int look);

/* Add a change, unless the same one (application, version, issue and kind) was added before. `is_to_tell`: the webhook
 * will receive it. Returns 1 when it is new, 0, or -errno. */
int sbx_change_log_add(struct sbx_change_log *log, const struct sbx_change_event *event, bool is_to_tell);

/* Newest first; `before` 0: start with the newest. */
int sbx_change_log_list(struct sbx_change_log *log, int64_t before, struct sbx_change_event *events, size_t max,
                        size_t *count_out);

/* Get the oldest change that is due for the webhook. Returns 1 and the event, 0, or -errno. The caller has
 * SBX_CHANGE_TELL_MS to send it and to report the result; afterwards another server may take it. The results are: sent,
 * try again at `again_ms`, or (0) given up. */
int sbx_change_log_next(struct sbx_change_log *log, int64_t now_ms, struct sbx_change_event *event_out);
int sbx_change_log_told(struct sbx_change_log *log, int64_t num);
int sbx_change_log_not_told(struct sbx_change_log *log, int64_t num, int64_t again_ms);

struct sbx_change_counts {
    int64_t by_kind[SBX_CHANGE_KINDS], to_tell, given_up;
};
int sbx_change_log_count(struct sbx_change_log *log, struct sbx_change_counts *counts_out);
/* Remove changes that were found before `before_ms`. */
int sbx_change_log_forget(struct sbx_change_log *log, int64_t before_ms);

#endif
