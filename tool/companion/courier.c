/* SPDX-License-Identifier: Apache-2.0 */
/* courier.c - encodes and delivers when the other thread calls it, or a delivery is due. */
#include "courier.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "deliver.h"
#include "pack.h"

struct sbx_courier {
    pthread_t thread;
    pthread_mutex_t lock; /* protects called, finishing, end_ms, redaction, counts */
    pthread_cond_t word;
    bool called, finishing;
    uint64_t end_ms; /* when finishing: the time to give up */
    struct sbx_spool *spool;
    struct sbx_redaction redaction;
    const struct sbx_delivery_gate *gate; /* NULL: none */
    struct sbx_sealer *sealer;            /* NULL: none */
    struct sbx_lost_images *images;       /* NULL: none are kept */
    struct sbx_deliverer *deliverer;      /* NULL: encode only */
    struct sbx_courier_counts counts;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static void pack(struct sbx_courier *courier)
{
    struct sbx_pack_counts counts = {0};
    pthread_mutex_lock(&courier->lock);
    struct sbx_redaction redaction = courier->redaction;
    pthread_mutex_unlock(&courier->lock);
    /* Snapshots that failed stay in raw/, or were moved to bad/. */
    (void)sbx_pack_raw_folder(courier->spool, &redaction, courier->gate, courier->sealer, &counts);
    if (counts.packed != 0) {
        (void)sbx_lost_images_keep(courier->images); /* on failure, names are missing in a report */
    }
    pthread_mutex_lock(&courier->lock);
    courier->counts.packed += counts.packed;
    courier->counts.unreadable += counts.unreadable;
    courier->counts.unsealed = counts.unsealed;
    courier->counts.expired += counts.expired;
    pthread_mutex_unlock(&courier->lock);
}

/* Wait for a call, at most `ms`. Returns false when it is time to end. */
static bool wait_for_word(struct sbx_courier *courier, uint64_t ms)
{
    struct timespec until;
    bool goes_on;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ms = ms > 3600000 ? 3600000 : ms;
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&courier->lock);
    while (!courier->called && !courier->finishing) {
        if (pthread_cond_timedwait(&courier->word, &courier->lock, &until) == ETIMEDOUT) {
            break;
        }
    }
    courier->called = false;
    goes_on = !courier->finishing;
    pthread_mutex_unlock(&courier->lock);
    return goes_on;
}

/* Is the grace period over? Even an attempt that hangs must not delay the end of the program. */
static bool is_over(void *context)
{
    struct sbx_courier *courier = context;
    pthread_mutex_lock(&courier->lock);
    bool is_late = courier->finishing && now_ms() >= courier->end_ms;
    pthread_mutex_unlock(&courier->lock);
    return is_late;
}

/* The last round: encode everything, and deliver what the grace period allows. */
static void finish_work(struct sbx_courier *courier)
{
    pack(courier);
    while (courier->deliverer != NULL) {
        uint64_t due_ms = sbx_deliverer_step(courier->deliverer);
        uint64_t now = now_ms();
        if (due_ms == UINT64_MAX || now >= courier->end_ms || due_ms > courier->end_ms - now) {
            return;
        }
        const struct timespec pause = {(time_t)(due_ms / 1000), (long)(due_ms % 1000) * 1000000};
        nanosleep(&pause, NULL);
    }
}

static void *run(void *context)
{
    struct sbx_courier *courier = context;
    uint64_t due_ms = 0;
    do {
        pack(courier);
        due_ms = courier->deliverer != NULL ? sbx_deliverer_step(courier->deliverer) : UINT64_MAX;
    } while (wait_for_word(courier, due_ms));
    finish_work(courier);
    return NULL;
}

struct sbx_courier *sbx_courier_start(struct sbx_spool *spool, const struct sbx_redaction *redaction,
                                      const char *server_url, const char *token, const struct sbx_delivery_gate *gate,
                                      struct sbx_sealer *sealer, struct sbx_lost_images *images)
{
    pthread_condattr_t attributes;
    struct sbx_courier *courier = calloc(1, sizeof *courier);
    if (courier == NULL) {
        return NULL;
    }
    courier->spool = spool;
    courier->redaction = *redaction;
    courier->gate = gate;
    courier->sealer = sealer;
    courier->images = images;
    if (server_url != NULL) {
        courier->deliverer = sbx_deliverer_create(spool, server_url, token);
        if (courier->deliverer == NULL) {
            goto free_courier;
        }
        sbx_deliverer_set_gate(courier->deliverer, gate);
        sbx_deliverer_set_sealer(courier->deliverer, sealer);
        sbx_deliverer_set_end(courier->deliverer, is_over, courier);
    }
    pthread_mutex_init(&courier->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&courier->word, &attributes);
    pthread_condattr_destroy(&attributes);
    sigset_t all, before; /* signals are for the thread of the command, which waits for them */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&courier->thread, NULL, run, courier);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        goto destroy_deliverer;
    }
    return courier;
destroy_deliverer:
    sbx_deliverer_destroy(courier->deliverer);
free_courier:
    free(courier);
    return NULL;
}

void sbx_courier_redact(struct sbx_courier *courier, const struct sbx_redaction *redaction)
{
    pthread_mutex_lock(&courier->lock);
    courier->redaction = *redaction;
    pthread_mutex_unlock(&courier->lock);
    sbx_courier_call(courier);
}

void sbx_courier_call(struct sbx_courier *courier)
{
    pthread_mutex_lock(&courier->lock);
    courier->called = true;
    pthread_cond_broadcast(&courier->word);
    pthread_mutex_unlock(&courier->lock);
}

struct waiting {
    const struct sbx_spool *spool;
    uint64_t count;
};

/* Count a stall; the report of a stall's end does not count. */
static int count_one(void *context, const char *path, const uint8_t id[16])
{
    struct waiting *waiting = context;
    (void)path;
    waiting->count += !sbx_spool_is_end(waiting->spool, id);
    return 0;
}

void sbx_courier_finish(struct sbx_courier *courier, uint64_t grace_ms, struct sbx_courier_counts *counts_out)
{
    pthread_mutex_lock(&courier->lock);
    courier->end_ms = now_ms() + grace_ms;
    courier->finishing = true;
    pthread_cond_broadcast(&courier->word);
    pthread_mutex_unlock(&courier->lock);
    pthread_join(courier->thread, NULL);
    *counts_out = courier->counts;
    struct waiting waiting = {.spool = courier->spool};
    (void)sbx_spool_each(courier->spool, count_one, &waiting);
    counts_out->waiting = waiting.count;
    if (courier->deliverer != NULL) {
        struct sbx_deliver_counts delivered;
        sbx_deliverer_counts(courier->deliverer, &delivered);
        counts_out->sent = delivered.sent;
        snprintf(counts_out->error, sizeof counts_out->error, "%s", sbx_deliverer_last_error(courier->deliverer));
        sbx_deliverer_destroy(courier->deliverer);
    }
    pthread_cond_destroy(&courier->word);
    pthread_mutex_destroy(&courier->lock);
    free(courier);
}
