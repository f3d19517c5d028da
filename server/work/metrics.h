/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - counters of the server, and their Prometheus text. Any thread may call. */
#ifndef SBX_METRICS_H
#define SBX_METRICS_H

#include <stdint.h>

#include "byte_buffer.h"
#include "change_log.h"
#include "store.h"
#include "store_issues.h"

enum sbx_metric {
    SBX_METRIC_RECEIVED = 0, /* posts to the collector, with any result */
    SBX_METRIC_STORED = 1,
    SBX_METRIC_DUPLICATES = 2, /* the same payload again: answered like the first time, stored once */
    SBX_METRIC_REJECTED_UNAUTHORIZED = 3,
    SBX_METRIC_REJECTED_FOREIGN = 4, /* sent by a web page, or with a foreign Host */
    SBX_METRIC_REJECTED_TOO_LARGE = 5,
    SBX_METRIC_REJECTED_INVALID = 6,
    SBX_METRIC_REJECTED_UNSUPPORTED = 7,
    SBX_METRIC_REJECTED_CONFLICT = 8,
    SBX_METRIC_REJECTED_BUSY = 9,   /* too many bytes in flight */
    SBX_METRIC_REJECTED_STORE = 10, /* could not be made durable */
    SBX_METRIC_INCOMPLETE = 11,     /* the connection ended before the body did */
    SBX_METRIC_TRIAGED = 12,
    SBX_METRIC_TRIAGE_FAILED = 13,
    SBX_METRIC_TRIAGE_MICROSECONDS = 14, /* time of triage, failures included */
    SBX_METRIC_CLOSED_LATE = 15,         /* connections cut at their deadline */
    SBX_METRIC_ERASURES = 16,            /* requests to delete */
    SBX_METRIC_ERASED = 17,              /* payloads erased for them */
    SBX_METRIC_AGED_PAYLOADS = 18,       /* payloads whose bytes were removed by age */
    SBX_METRIC_AGED_SNAPSHOTS = 19,      /* snapshots removed whole by age */
    SBX_METRIC_TRIAGED_ANEW = 20,        /* because symbols came; counted as triaged too */
    SBX_METRIC_SYMBOLS_ADDED = 21,       /* uploads of symbols, by result */
    SBX_METRIC_SYMBOLS_REPLACED = 22,
    SBX_METRIC_SYMBOLS_SAME = 23,
    SBX_METRIC_SYMBOLS_KEPT = 24,
    SBX_METRIC_SYMBOLS_DIFFERENT = 25,
    SBX_METRIC_SYMBOLS_REFUSED = 26, /* bad files, and senders without the right */
    SBX_METRIC_SYMBOLS_LATER = 27,   /* no room, too many at one time, or the server stops */
    SBX_METRIC_SYMBOLS_INCOMPLETE = 28,
    SBX_METRIC_RENDERED = 29,         /* reports made for a request */
    SBX_METRIC_NOT_RENDERED = 30,     /* reports that could not be made, or exceeded their bounds */
    SBX_METRIC_WORKERS_SLOW = 31,     /* ended because they used up their processor time */
    SBX_METRIC_WORKERS_LARGE = 32,    /* ended because their answer was too large */
    SBX_METRIC_WORKERS_DIED = 33,     /* ended by themselves */
    SBX_METRIC_WORKERS_KILLED = 34,   /* killed from outside, for example by the system for lack of memory */
    SBX_METRIC_WORKERS_NONE = 35,     /* no worker could be made */
    SBX_METRIC_REJECTED_PENDING = 36, /* too many wait for triage */
    SBX_METRIC_REJECTED_RATE = 37,    /* one machine sent too much */
    SBX_METRIC_FETCHED = 38,          /* questions to debuginfod, by result */
    SBX_METRIC_FETCHED_NONE = 39,     /* it has nothing of that build-id */
    SBX_METRIC_FETCH_FAILED = 40,
    SBX_METRIC_SYMBOLS_AWAY = 41, /* 1 while the symbol store is unreachable */
    SBX_METRIC_COUNT = 42,
};

struct sbx_metrics;

struct sbx_metrics *sbx_metrics_create(void); /* NULL without memory */
void sbx_metrics_destroy(struct sbx_metrics *metrics);
void sbx_metrics_add(struct sbx_metrics *metrics, enum sbx_metric metric, uint64_t count);
uint64_t sbx_metrics_read(struct sbx_metrics *metrics, enum sbx_metric metric);

void sbx_metrics_print(struct sbx_metrics *metrics, const struct sbx_store_counts *store, uint64_t rendering_bytes,
                       struct sbx_byte_buffer *out);

/* Machine-days of applications in the last week, and those with a stall. Nothing for applications whose sums are
 * withheld. */
void sbx_metrics_print_machine_days(const struct sbx_app_sum *apps, size_t count, struct sbx_byte_buffer *out);

/* Changes by kind, of those still in the change log. */
void sbx_metrics_print_changes(const struct sbx_change_counts *changes, struct sbx_byte_buffer *out);

#endif
