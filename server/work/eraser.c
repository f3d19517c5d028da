/* SPDX-License-Identifier: Apache-2.0 */
/* eraser.c - erases batch after batch. Between two batches, threads that wait for the store get it
 * (store_removal.c). */
#include "eraser.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "monotonic_in.h"
#include "wall_clock.h"

enum {
    LOOK_EVERY_MS = 60000 /* for what other servers left, and after a shortage */
};

struct sbx_eraser {
    struct sbx_eraser_boxes boxes;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_wanted, is_stopping; /* the lock protects them */
    bool has_trouble;            /* the trouble was logged; only the thread uses it */
};

void sbx_eraser_forget(void *context, const uint8_t id[SBX_ID_BYTES])
{
    const struct sbx_eraser_boxes *boxes = context;
    /* a rendering that stays because of a disk error belongs to a snapshot that is no longer found */
    sbx_renderings_remove(boxes->renderings, id);
    sbx_metrics_add(boxes->metrics, SBX_METRIC_ERASED, 1);
}

static bool is_stopping(struct sbx_eraser *eraser)
{
    pthread_mutex_lock(&eraser->lock);
    bool result = eraser->is_stopping;
    pthread_mutex_unlock(&eraser->lock);
    return result;
}

/* Erase all data of one machine. Returns the number of stalls, or -errno. On an error or a stop, the rest waits. */
static int erase(struct sbx_eraser *eraser, const uint8_t rotating_id[SBX_ROTATING_ID_BYTES])
{
    struct sbx_store *store = eraser->boxes.store;
    int went = 1, count = 0;
    while (went > 0 && !is_stopping(eraser)) {
        went = sbx_store_erase_some(store, rotating_id, SIZE_MAX, sbx_eraser_forget, &eraser->boxes);
        count += went > 0 ? went : 0;
    }
    if (went == 0)
        went = sbx_store_end_erasure(store, rotating_id, sbx_wall_clock_ms(), (size_t)count);
    return went < 0 ? went : count;
}

/* Log trouble once. */
static void say(struct sbx_eraser *eraser, int result)
{
    if (result < 0 && !eraser->has_trouble)
        sbx_operator_log(eraser->boxes.log, SBX_LOG_WARNING, "erasure",
                         "what a machine wants deleted could not be: %s; it is tried again", strerror(-result));
    else if (result > 0)
        sbx_operator_log(eraser->boxes.log, SBX_LOG_INFO, "erasure", "%d stalls of a machine are deleted", result);
    eraser->has_trouble = result < 0;
}

/* Erase for all machines, until nothing is left, or there is a shortage. */
static void erase_all(struct sbx_eraser *eraser)
{
    uint8_t rotating_id[SBX_ROTATING_ID_BYTES];
    int result = 0;
    while (result >= 0 && !is_stopping(eraser)) {
        result = sbx_store_next_erasing(eraser->boxes.store, rotating_id);
        if (result == -ENOENT)
            return;
        if (result == 0)
            result = erase(eraser, rotating_id);
        say(eraser, result);
    }
}

/* Sleep until there is work. Returns whether the thread goes on. */
static bool rest(struct sbx_eraser *eraser)
{
    struct timespec until = sbx_monotonic_in_ms(LOOK_EVERY_MS);
    pthread_mutex_lock(&eraser->lock);
    for (int code = 0; !eraser->is_stopping && !eraser->is_wanted && code == 0;)
        code = pthread_cond_timedwait(&eraser->changed, &eraser->lock, &until);
    eraser->is_wanted = false;
    bool goes_on = !eraser->is_stopping;
    pthread_mutex_unlock(&eraser->lock);
    return goes_on;
}

static void *run(void *argument)
{
    struct sbx_eraser *eraser = argument;
    do
        erase_all(eraser);
    while (rest(eraser));
    return NULL;
}

int sbx_eraser_start(const struct sbx_eraser_boxes *boxes, struct sbx_eraser **eraser_out)
{
    struct sbx_eraser *eraser = calloc(1, sizeof(*eraser));
    pthread_condattr_t attributes;
    if (!eraser)
        return -ENOMEM;
    eraser->boxes = *boxes;
    pthread_mutex_init(&eraser->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&eraser->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    int result = -pthread_create(&eraser->thread, NULL, run, eraser);
    if (result < 0) {
        pthread_cond_destroy(&eraser->changed);
        pthread_mutex_destroy(&eraser->lock);
        free(eraser);
        return result;
    }
    *eraser_out = eraser;
    return 0;
}

void sbx_eraser_wake(struct sbx_eraser *eraser)
{
    pthread_mutex_lock(&eraser->lock);
    eraser->is_wanted = true;
    pthread_cond_signal(&eraser->changed);
    pthread_mutex_unlock(&eraser->lock);
}

void sbx_eraser_stop(struct sbx_eraser *eraser)
{
    if (!eraser)
        return;
    pthread_mutex_lock(&eraser->lock);
    eraser->is_stopping = true;
    pthread_cond_signal(&eraser->changed);
    pthread_mutex_unlock(&eraser->lock);
    pthread_join(eraser->thread, NULL);
    pthread_cond_destroy(&eraser->changed);
    pthread_mutex_destroy(&eraser->lock);
    free(eraser);
}
