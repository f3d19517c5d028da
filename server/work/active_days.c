/* SPDX-License-Identifier: Apache-2.0 */
/* active_days.c - rows are added up in memory, and a thread stores them once a second. */
#include "active_days.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "monotonic_in.h"
#include "store_active.h"

enum {
    ROWS_MAX = 1024,
    STORE_EVERY_MS = 1000,
    DAY_MS = 86400000
};

struct sbx_active_days {
    struct sbx_store *store;
    const struct sbx_operator_log *log;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* the lock protects the members from here on */
    bool is_stopping;
    size_t count;
    struct sbx_active_row rows[ROWS_MAX];
    /* only the thread uses the members from here on */
    struct sbx_active_row taken[ROWS_MAX];
    bool has_trouble; /* the trouble was logged */
};

static int add(struct sbx_active_days *days, const struct sbx_active_row *row)
{
    for (size_t i = 0; i < days->count; i++) {
        struct sbx_active_row *known = &days->rows[i];
        if (known->app == row->app && known->day == row->day && strcmp(known->version, row->version) == 0) {
            known->machines += row->machines;
            return 0;
        }
    }
    if (days->count == ROWS_MAX)
        return -EAGAIN;
    days->rows[days->count++] = *row;
    return 0;
}

int sbx_active_days_count(struct sbx_active_days *days, uint64_t app, const char *version, int64_t now_ms)
{
    struct sbx_active_row row = {.app = app, .day = now_ms / DAY_MS, .machines = 1};
    snprintf(row.version, sizeof(row.version), "%s", version);
    pthread_mutex_lock(&days->lock);
    int result = add(days, &row);
    pthread_cond_signal(&days->changed);
    pthread_mutex_unlock(&days->lock);
    return result;
}

static void say(struct sbx_active_days *days, int result)
{
    bool is_news = result != 0 && !days->has_trouble;
    days->has_trouble = result != 0;
    if (!is_news)
        return;
    if (result < 0)
        sbx_operator_log(days->log, SBX_LOG_WARNING, "machine-days",
                         "machine-days could not be stored: %s; it is tried again", strerror(-result));
    else
        sbx_operator_log(days->log, SBX_LOG_WARNING, "machine-days",
                         "machine-days of more than %d applications and versions a day are not counted",
                         SBX_ACTIVE_ROWS_OF_DAY);
}

/* Store all rows. Rows that could not be stored wait together with new ones; when there is no room for them, they are
 * lost. The lock is not held. */
static void store_all(struct sbx_active_days *days)
{
    pthread_mutex_lock(&days->lock);
    size_t count = days->count;
    memcpy(days->taken, days->rows, count * sizeof(days->rows[0]));
    days->count = 0;
    pthread_mutex_unlock(&days->lock);
    int result = count ? sbx_store_add_active(days->store, days->taken, count) : 0;
    if (count)
        say(days, result);
    pthread_mutex_lock(&days->lock);
    for (size_t i = 0; i < count && result < 0; i++)
        (void)add(days, &days->taken[i]);
    pthread_mutex_unlock(&days->lock);
}

static void *run(void *argument)
{
    struct sbx_active_days *days = argument;
    for (bool is_on = true; is_on;) {
        pthread_mutex_lock(&days->lock);
        while (!days->is_stopping && days->count == 0)
            pthread_cond_wait(&days->changed, &days->lock);
        struct timespec until = sbx_monotonic_in_ms(STORE_EVERY_MS);
        for (int code = 0; !days->is_stopping && code == 0;)
            code = pthread_cond_timedwait(&days->changed, &days->lock, &until);
        is_on = !days->is_stopping;
        pthread_mutex_unlock(&days->lock);
        store_all(days);
    }
    return NULL;
}

int sbx_active_days_start(struct sbx_store *store, const struct sbx_operator_log *log,
                          struct sbx_active_days **days_out)
{
    pthread_condattr_t monotonic;
    struct sbx_active_days *days = calloc(1, sizeof(*days));
    if (!days)
        return -ENOMEM;
    days->store = store;
    days->log = log;
    pthread_mutex_init(&days->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&days->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int result = -pthread_create(&days->thread, NULL, run, days);
    if (result < 0) {
        pthread_cond_destroy(&days->changed);
        pthread_mutex_destroy(&days->lock);
        free(days);
        return result;
    }
    *days_out = days;
    return 0;
}

void sbx_active_days_stop(struct sbx_active_days *days)
{
    if (!days)
        return;
    pthread_mutex_lock(&days->lock);
    days->is_stopping = true;
    pthread_cond_signal(&days->changed);
    pthread_mutex_unlock(&days->lock);
    pthread_join(days->thread, NULL);
    pthread_cond_destroy(&days->changed);
    pthread_mutex_destroy(&days->lock);
    free(days);
}
