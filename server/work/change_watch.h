/* SPDX-License-Identifier: Apache-2.0 */
/* change_watch.h - one thread that looks for what changed, notes it, and tells a webhook.
 *
 * Once an hour: each application's latest version against the one before it, when there are enough machines for the next look
 * (regression.h); once a day: each application's most met issues of yesterday against the week before. What was found is in the log of
 * changes, and told once. */
#ifndef SBX_CHANGE_WATCH_H
#define SBX_CHANGE_WATCH_H

#include <stdbool.h>

#include "change_log.h"
#include "change_rules.h"
#include "operator_log.h"
#include "store.h"

struct sbx_change_watch;

struct sbx_change_watch_settings { /* borrowed until stop, but the texts, which are copied */
    struct sbx_store *store;
    struct sbx_change_log *log;
    const char *webhook_url, *webhook_secret; /* NULL: nobody is told */
    struct sbx_change_rules rules;            /* of what; its texts are borrowed until stop */
    bool is_otlp;                             /* the address takes logs of OpenTelemetry: POST .../v1/logs */
    uint32_t every_ms;                        /* between looks; 0: an hour */
    const struct sbx_operator_log *say;       /* NULL: silent */
};

/* Returns 0 or -errno; -EINVAL: the address is none. */
int sbx_change_watch_start(const struct sbx_change_watch_settings *settings, struct sbx_change_watch **watch_out);
void sbx_change_watch_stop(struct sbx_change_watch *watch); /* NULL is fine; ends within a request of the webhook */

/* One look, as the thread makes it: `now_ms` says which day it is. `rules`: what the webhook is to be told; NULL: nothing. Returns how many changes
 * were new, or -errno. */
int sbx_change_watch_look(struct sbx_store *store, struct sbx_change_log *log, int64_t now_ms,
                          const struct sbx_change_rules *rules);

/* What the webhook is told of an event: JSON (given: free). NULL without memory. */
char *sbx_change_event_json(const struct sbx_change_event *event);
/* The same as a log record of OpenTelemetry (OTLP/HTTP, ExportLogsServiceRequest in JSON). */
char *sbx_change_event_otlp(const struct sbx_change_event *event);

#endif
