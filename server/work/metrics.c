/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - counters behind one lock. They change with requests, which cost far more than a lock. */
#include "metrics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "regression.h"

struct sbx_metrics {
    pthread_mutex_t lock;
    uint64_t counts[SBX_METRIC_COUNT];
};

struct sbx_metrics *sbx_metrics_create(void)
{
    struct sbx_metrics *metrics = calloc(1, sizeof(*metrics));
    if (metrics)
        pthread_mutex_init(&metrics->lock, NULL);
    return metrics;
}

void sbx_metrics_destroy(struct sbx_metrics *metrics)
{
    if (!metrics)
        return;
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

void sbx_metrics_add(struct sbx_metrics *metrics, enum sbx_metric metric, uint64_t count)
{
    pthread_mutex_lock(&metrics->lock);
    metrics->counts[metric] += count;
    pthread_mutex_unlock(&metrics->lock);
}

uint64_t sbx_metrics_read(struct sbx_metrics *metrics, enum sbx_metric metric)
{
    pthread_mutex_lock(&metrics->lock);
    uint64_t count = metrics->counts[metric];
    pthread_mutex_unlock(&metrics->lock);
    return count;
}

static void print_head(struct sbx_byte_buffer *out, const char *name, const char *type, const char *help)
{
    sbx_byte_buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_one(struct sbx_byte_buffer *out, const char *name, const char *type, const char *help, uint64_t value)
{
    print_head(out, name, type, help);
    sbx_byte_buffer_format(out, "%s %llu\n", name, (unsigned long long)value);
}

static void print_rejections(struct sbx_byte_buffer *out, const uint64_t counts[SBX_METRIC_COUNT])
{
    static const struct {
        enum sbx_metric metric;
        const char *reason;
    } rejections[] = {
        {SBX_METRIC_REJECTED_UNAUTHORIZED, "unauthorized"},
        {SBX_METRIC_REJECTED_FOREIGN, "foreign"},
        {SBX_METRIC_REJECTED_TOO_LARGE, "too_large"},
        {SBX_METRIC_REJECTED_INVALID, "invalid"},
        {SBX_METRIC_REJECTED_UNSUPPORTED, "unsupported"},
        {SBX_METRIC_REJECTED_CONFLICT, "conflict"},
        {SBX_METRIC_REJECTED_BUSY, "busy"},
        {SBX_METRIC_REJECTED_PENDING, "pending"},
        {SBX_METRIC_REJECTED_RATE, "rate"},
        {SBX_METRIC_REJECTED_STORE, "store"},
        {SBX_METRIC_INCOMPLETE, "incomplete"},
    };
    print_head(out, "stallbox_snapshots_rejected_total", "counter", "Posts that were not stored, by reason.");
    for (size_t i = 0; i < sizeof(rejections) / sizeof(rejections[0]); i++)
        sbx_byte_buffer_format(out, "stallbox_snapshots_rejected_total{reason=\"%s\"} %llu\n", rejections[i].reason,
                               (unsigned long long)counts[rejections[i].metric]);
}

static void print_worker_ends(struct sbx_byte_buffer *out, const uint64_t counts[SBX_METRIC_COUNT])
{
    static const char *const reasons[] = {"time", "output", "crash", "killed", "none"};
    print_head(out, "stallbox_triage_workers_ended_total", "counter", "Triage workers that gave no answer, by reason.");
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        sbx_byte_buffer_format(out, "stallbox_triage_workers_ended_total{reason=\"%s\"} %llu\n", reasons[i],
                               (unsigned long long)counts[SBX_METRIC_WORKERS_SLOW + i]);
}

static void print_symbol_uploads(struct sbx_byte_buffer *out, const uint64_t counts[SBX_METRIC_COUNT])
{
    static const char *const results[] = {"added",     "replaced", "same",  "kept",
                                          "different", "refused",  "later", "incomplete"};
    print_head(out, "stallbox_symbol_uploads_total", "counter", "Uploads of symbols, by what came of them.");
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        sbx_byte_buffer_format(out, "stallbox_symbol_uploads_total{result=\"%s\"} %llu\n", results[i],
                               (unsigned long long)counts[SBX_METRIC_SYMBOLS_ADDED + i]);
}

static void print_fetches(struct sbx_byte_buffer *out, const uint64_t counts[SBX_METRIC_COUNT])
{
    static const char *const results[] = {"found", "none", "failed"};
    print_head(out, "stallbox_debuginfod_questions_total", "counter",
               "Build-ids that a debuginfod server was asked for, by its answer.");
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        sbx_byte_buffer_format(out, "stallbox_debuginfod_questions_total{result=\"%s\"} %llu\n", results[i],
                               (unsigned long long)counts[SBX_METRIC_FETCHED + i]);
}

void sbx_metrics_print(struct sbx_metrics *metrics, const struct sbx_store_counts *store, uint64_t rendering_bytes,
                       struct sbx_byte_buffer *out)
{
    uint64_t counts[SBX_METRIC_COUNT];
    pthread_mutex_lock(&metrics->lock);
    memcpy(counts, metrics->counts, sizeof(counts));
    pthread_mutex_unlock(&metrics->lock);

    print_one(out, "stallbox_snapshots_received_total", "counter", "Posts to /v1/snapshots since start.",
              counts[SBX_METRIC_RECEIVED]);
    print_one(out, "stallbox_snapshots_stored_total", "counter", "Payloads stored since start.",
              counts[SBX_METRIC_STORED]);
    print_one(out, "stallbox_snapshots_duplicates_total", "counter", "Payloads that were stored already.",
              counts[SBX_METRIC_DUPLICATES]);
    print_rejections(out, counts);
    print_one(out, "stallbox_triaged_total", "counter", "Payloads triaged since start.", counts[SBX_METRIC_TRIAGED]);
    print_one(out, "stallbox_triage_failed_total", "counter", "Payloads whose triage failed since start.",
              counts[SBX_METRIC_TRIAGE_FAILED]);
    print_one(out, "stallbox_triaged_anew_total", "counter", "Payloads triaged anew because symbols came.",
              counts[SBX_METRIC_TRIAGED_ANEW]);
    print_symbol_uploads(out, counts);
    print_fetches(out, counts);
    print_one(out, "stallbox_symbol_store_away", "gauge", "1 while the server of symbols does not answer.",
              counts[SBX_METRIC_SYMBOLS_AWAY]);
    print_worker_ends(out, counts);
    print_head(out, "stallbox_triage_seconds", "summary", "Time spent triaging one payload.");
    sbx_byte_buffer_format(out, "stallbox_triage_seconds_sum %.6f\nstallbox_triage_seconds_count %llu\n",
                           (double)counts[SBX_METRIC_TRIAGE_MICROSECONDS] / 1e6,
                           (unsigned long long)(counts[SBX_METRIC_TRIAGED] + counts[SBX_METRIC_TRIAGE_FAILED]));
    print_one(out, "stallbox_reports_made_total", "counter", "Reports rendered on request.",
              counts[SBX_METRIC_RENDERED]);
    print_one(out, "stallbox_reports_failed_total", "counter", "Reports that could not be made, or not within bounds.",
              counts[SBX_METRIC_NOT_RENDERED]);
    print_one(out, "stallbox_connections_closed_late_total", "counter", "Connections cut at their deadline.",
              counts[SBX_METRIC_CLOSED_LATE]);
    print_one(out, "stallbox_erasures_total", "counter", "Requests to delete what a machine sent.",
              counts[SBX_METRIC_ERASURES]);
    print_one(out, "stallbox_snapshots_erased_total", "counter", "Payloads deleted on request.",
              counts[SBX_METRIC_ERASED]);
    print_one(out, "stallbox_erasures_waiting", "gauge", "Machines of which not all is deleted yet that is to be.",
              (uint64_t)store->erasing);
    print_one(out, "stallbox_payloads_aged_total", "counter", "Payloads whose bytes were deleted for their age.",
              counts[SBX_METRIC_AGED_PAYLOADS]);
    print_one(out, "stallbox_snapshots_aged_total", "counter", "Snapshots that went for their age.",
              counts[SBX_METRIC_AGED_SNAPSHOTS]);
    print_one(out, "stallbox_store_snapshots", "gauge", "Payloads in the store.", (uint64_t)store->snapshots);
    print_one(out, "stallbox_store_pending", "gauge", "Payloads that wait for triage.", (uint64_t)store->pending);
    print_one(out, "stallbox_store_failed", "gauge", "Payloads whose triage failed.", (uint64_t)store->failed);
    print_one(out, "stallbox_store_sealed", "gauge", "Sealed payloads that wait for a process with their key.",
              (uint64_t)store->sealed);
    print_one(out, "stallbox_store_unsealing_failed", "gauge", "Sealed payloads with nothing inside that is one.",
              (uint64_t)store->unsealing_failed);
    print_one(out, "stallbox_store_issues", "gauge", "Distinct issues.", (uint64_t)store->issues);
    print_one(out, "stallbox_store_bytes", "gauge", "Bytes of the store on disk.", (uint64_t)store->bytes);
    print_one(out, "stallbox_renderings_bytes", "gauge", "Bytes of rendered reports, which may be dropped.",
              rendering_bytes);
}

/* The value of a label: backslash, quote and newline are escaped. */
static void print_label(struct sbx_byte_buffer *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            sbx_byte_buffer_text(out, "\\n");
        else
            sbx_byte_buffer_format(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
}

static void print_days(struct sbx_byte_buffer *out, const char *name, const char *app, int64_t days)
{
    sbx_byte_buffer_format(out, "%s{app=\"", name);
    print_label(out, app);
    sbx_byte_buffer_format(out, "\"} %lld\n", (long long)days);
}

void sbx_metrics_print_machine_days(const struct sbx_app_sum *apps, size_t count, struct sbx_byte_buffer *out)
{
    static const char active[] = "stallbox_active_machine_days", hit[] = "stallbox_hit_machine_days";
    print_head(out, active, "gauge", "Machine-days that were told in the last seven days, by application.");
    for (size_t i = 0; i < count; i++)
        if (apps[i].penetration.active > 0)
            print_days(out, active, apps[i].app, apps[i].penetration.active);
    print_head(out, hit, "gauge", "Of days of which machine-days were told, those with a stall, by application.");
    for (size_t i = 0; i < count; i++)
        if (apps[i].penetration.active > 0)
            print_days(out, hit, apps[i].app, apps[i].penetration.hit);
}

void sbx_metrics_print_changes(const struct sbx_change_counts *changes, struct sbx_byte_buffer *out)
{
    print_head(out, "stallbox_changes", "gauge", "Issues that were found to have changed in the last 90 days, by how.");
    for (int kind = SBX_CHANGE_NONE + 1; kind < SBX_CHANGES; kind++)
        sbx_byte_buffer_format(out, "stallbox_changes{change=\"%s\"} %lld\n", sbx_change_name((enum sbx_change)kind),
                               (long long)changes->by_kind[kind]);
    print_one(out, "stallbox_webhook_waiting", "gauge", "Changes that wait for the webhook.",
              (uint64_t)changes->to_tell);
    print_one(out, "stallbox_webhook_given_up", "gauge", "Changes that the webhook did not take.",
              (uint64_t)changes->given_up);
}
