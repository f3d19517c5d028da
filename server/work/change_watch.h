/* SPDX-License-Identifier: Apache-2.0 */
/* change_watch.h - one thread that looks for changes, records them, and sends them to a webhook.
 *
 * Once an hour it compares each application's latest version with the one before it, when there are enough machines for
 * the next look (regression.h). Once a day it compares yesterday with the week before, for the issues of each
 * application that most machines met. Changes are in the change log, and each is sent once. */
#ifndef SBX_CHANGE_WATCH_H
#define SBX_CHANGE_WATCH_H

#include <stdbool.h>

#include "change_log.h"
#include "change_rules.h"
#include "operator_log.h"
#include "store.h"

struct sbx_change_watch;

struct sbx_change_watch_settings { /* borrowed until stop, except the texts, which are copied */
    struct sbx_store *store;
    struct sbx_change_log *log;
    const char *webhook_url, *webhook_secret; /* NULL: no webhook */
    struct sbx_change_rules rules;            /* which changes are sent; its texts are borrowed until stop */
    bool is_otlp;                             /* the URL takes OpenTelemetry logs: POST .../v1/logs */
    uint32_t every_ms;                        /* interval of looks; 0: an hour */
    const struct sbx_operator_log *say;       /* NULL: silent */
};

/* Returns 0 or -errno; -EINVAL: the URL is invalid. */
int sbx_change_watch_start(const struct sbx_change_watch_settings *settings, struct sbx_change_watch **watch_out);
/* NULL is fine; waits for one request to the webhook at most */
void sbx_change_watch_stop(struct sbx_change_watch *watch);

/* One look, as the thread does it. `now_ms` gives the day. `rules`: which changes the webhook receives; NULL: none.
 * Returns the number of new changes, or -errno. */
int sbx_change_watch_look(struct sbx_store *store, struct sbx_change_log *log, int64_t now_ms,
                          const struct sbx_change_rules *rules);

/* An event as the webhook receives it: JSON (given: free). NULL without memory. */
char *sbx_change_event_json(const struct sbx_change_event *event);
/* The same as a log record of OpenTelemetry (OTLP/HTTP, ExportLogsServiceRequest in JSON). */
char *sbx_change_event_otlp(const struct sbx_change_event *event);

#endif
