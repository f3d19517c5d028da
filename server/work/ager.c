/* SPDX-License-Identifier: Apache-2.0 */
/* ager.c - a thread that runs once an hour. */
#include "ager.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "monotonic_in.h"
#include "symbol_store.h"
#include "store_active.h"
#include "store_blobs.h"
#include "wall_clock.h"

enum {
    PASS_EVERY_S = 3600,
    DAYS_AHEAD = 2,    /* days whose tables are made in advance */
    PAUSE_MS = 2,      /* after each removal of a sealed payload */
    SPOOL_DAYS = 30,   /* the longest time that a machine keeps a payload (uploader/spool/spool_ages.h) */
    ROTATING_DAYS = 90 /* and the time for which it makes payloads with one id (proto/erasure_format.h) */
};
#define DAY_MS INT64_C(86400000)

struct sbx_ager {
    struct sbx_ager_boxes boxes;
    uint32_t payload_days, retention_days;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_stopping; /* the lock protects it */
};

/* Wait, or less when stopping. Returns whether the thread goes on. */
static bool pause_for(struct sbx_ager *ager, int64_t ms)
{
    struct timespec until = sbx_monotonic_in_ms(ms);
    pthread_mutex_lock(&ager->lock);
    int code = 0;
    while (!ager->is_stopping && code == 0)
        code = pthread_cond_timedwait(&ager->changed, &ager->lock, &until);
    bool goes_on = !ager->is_stopping;
    pthread_mutex_unlock(&ager->lock);
    return goes_on;
}

static void say(const struct sbx_ager *ager, const char *what, uint64_t count, int result)
{
    if (result < 0)
        sbx_operator_log(ager->boxes.log, SBX_LOG_WARNING, "ageing", "ageing %s: %s; it is tried again", what,
                         strerror(-result));
    else if (count != 0)
        sbx_operator_log(ager->boxes.log, SBX_LOG_INFO, "ageing", "%llu %s aged out", (unsigned long long)count, what);
}

static void forget_rendering(void *context, const uint8_t id[SBX_ID_BYTES])
{
    const struct sbx_ager *ager = context;
    /* a rendering that stays because of a disk error is no longer found */
    sbx_renderings_remove(ager->boxes.renderings, id);
}

/* Remove payloads or snapshots, oldest first. Returns the number, or -errno. */
static int age(struct sbx_ager *ager, enum sbx_store_aged what, int64_t before_ms)
{
    int result, count = 0;
    while ((result = sbx_store_age(ager->boxes.store, what, before_ms, SIZE_MAX, forget_rendering, ager)) > 0) {
        sbx_metrics_add(ager->boxes.metrics,
                        what == SBX_AGED_PAYLOAD ? SBX_METRIC_AGED_PAYLOADS : SBX_METRIC_AGED_SNAPSHOTS,
                        (uint64_t)result);
        count += result;
        if (!pause_for(ager, 0))
            break;
    }
    say(ager, what == SBX_AGED_PAYLOAD ? "payloads" : "snapshots", (uint64_t)count, result < 0 ? result : 0);
    return result < 0 ? result : count;
}

static int age_sealed(struct sbx_ager *ager, int64_t before_ms)
{
    int result, count = 0;
    while ((result = sbx_sealed_store_age_one(ager->boxes.sealed, before_ms)) > 0) {
        sbx_metrics_add(ager->boxes.metrics, SBX_METRIC_AGED_PAYLOADS, 1);
        count++;
        if (!pause_for(ager, PAUSE_MS))
            break;
    }
    say(ager, "sealed payloads", (uint64_t)count, result < 0 ? result : 0);
    return result < 0 ? result : count;
}

/* Drop the sums of days before `before_ms`, and make the tables of coming days. */
static void age_days(struct sbx_ager *ager, int64_t before_ms)
{
    int result, count = 0;
    while ((result = sbx_store_close_day(ager->boxes.store, before_ms / DAY_MS)) > 0 && pause_for(ager, 0))
        count++;
    say(ager, "days of sums", (uint64_t)count, result < 0 ? result : 0);
}

static int has_payload(void *context, const uint8_t id[SBX_ID_BYTES])
{
    return sbx_store_has_payload(context, id);
}

/* What fails is tried again in the next pass. */
static void pass(struct sbx_ager *ager)
{
    int64_t now = sbx_wall_clock_ms(), erased_before_ms = INT64_MIN;
    int gone = 0, result = sbx_renderings_sweep(ager->boxes.renderings, has_payload, ager->boxes.store);
    say(ager, "reports without a payload", result > 0 ? (uint64_t)result : 0, result < 0 ? result : 0);
    if (ager->payload_days != 0) {
        int64_t before_ms = now - ager->payload_days * DAY_MS;
        result = age(ager, SBX_AGED_PAYLOAD, before_ms);
        gone += result > 0 ? result : 0;
        result = age_sealed(ager, before_ms);
        erased_before_ms = before_ms - (SPOOL_DAYS + ROTATING_DAYS) * DAY_MS;
    }
    result = sbx_store_open_days(ager->boxes.store, now / DAY_MS, now / DAY_MS + DAYS_AHEAD);
    say(ager, "tables of days to come", 0, result);
    if (ager->retention_days != 0) {
        age_days(ager, now - ager->retention_days * DAY_MS);
        result = age(ager, SBX_AGED_SNAPSHOT, now - ager->retention_days * DAY_MS);
        gone += result > 0 ? result : 0;
        result = sbx_store_forget_active(ager->boxes.store, now / DAY_MS - ager->retention_days);
        say(ager, "machine-days", 0, result);
    }
    result = sbx_store_settle_blobs(ager->boxes.store, now, SIZE_MAX);
    say(ager, "blobs without a payload", result > 0 ? (uint64_t)result : 0, result < 0 ? result : 0);
    result = sbx_store_end_ageing(ager->boxes.store, now, erased_before_ms, gone != 0);
    if (result == 0)
        result = sbx_sealed_store_forget(ager->boxes.sealed, now);
    say(ager, "what is remembered", 0, result);
    result = sbx_symbol_store_sweep(ager->boxes.symbols, (uint64_t)(now / 1000));
    say(ager, "symbol images", result > 0 ? (uint64_t)result : 0, result < 0 ? result : 0);
}

static void *run(void *argument)
{
    struct sbx_ager *ager = argument;
    do
        pass(ager);
    while (pause_for(ager, PASS_EVERY_S * INT64_C(1000)));
    return NULL;
}

int sbx_ager_start(const struct sbx_ager_boxes *boxes, uint32_t payload_days, uint32_t retention_days,
                   struct sbx_ager **ager_out)
{
    struct sbx_ager *ager = calloc(1, sizeof(*ager));
    pthread_condattr_t attributes;
    if (!ager)
        return -ENOMEM;
    *ager = (struct sbx_ager){.boxes = *boxes, .payload_days = payload_days, .retention_days = retention_days};
    if (retention_days != 0 && (payload_days == 0 || payload_days > retention_days))
        ager->payload_days = retention_days; /* payloads are not kept longer than the rows about them */
    pthread_mutex_init(&ager->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ager->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    int result = -pthread_create(&ager->thread, NULL, run, ager);
    if (result < 0) {
        pthread_cond_destroy(&ager->changed);
        pthread_mutex_destroy(&ager->lock);
        free(ager);
        return result;
    }
    *ager_out = ager;
    return 0;
}

void sbx_ager_stop(struct sbx_ager *ager)
{
    if (!ager)
        return;
    pthread_mutex_lock(&ager->lock);
    ager->is_stopping = true;
    pthread_cond_signal(&ager->changed);
    pthread_mutex_unlock(&ager->lock);
    pthread_join(ager->thread, NULL);
    pthread_cond_destroy(&ager->changed);
    pthread_mutex_destroy(&ager->lock);
    free(ager);
}
