/* SPDX-License-Identifier: Apache-2.0 */
/* deliver.c - from the spool to the server, one payload at a time.
 *
 * What is remembered between steps is only when to try again; what is to be sent is read from the folder each time, so
 * that a restart, or another process that takes over, loses nothing. */
#include "deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "envelope.h"
#include "payload_verify.h"
#include "spool_folders.h"

static const uint64_t other_deliverer_ms = 2000; /* how soon to look whether it is gone */
static const char lock_name[] = ".deliver.lock";

/* A payload that was tried and has to wait. */
struct waiting {
    uint8_t id[SBX_PAYLOAD_ID_BYTES];
    uint32_t attempts;
    uint64_t due_ms;
    bool seen; /* in this step's listing; those not seen are forgotten */
};

struct sbx_deliverer {
    struct sbx_spool *spool;
    char *server_url, *token;
    int lock; /* descriptor of the locked file, or -1 */
    struct waiting *waiting;
    size_t waiting_count, waiting_room;
    uint32_t server_fails;  /* in a row: the server, not a payload, is the matter */
    uint64_t server_due_ms; /* nothing is sent before */
    uint64_t next_due_ms;   /* in a step: the earliest time at which something may be due */
    struct sbx_deliver_counts counts;
    char error[256];
};

/* CLOCK_BOOTTIME: a day's Retry-After counts the time the machine slept. */
static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static uint64_t random_bits(void)
{
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
        bits = now_ms() * UINT64_C(0x9e3779b97f4a7c15); /* jitter only: any spread will do */
    }
    return bits;
}

struct sbx_deliverer *sbx_deliverer_create(struct sbx_spool *spool, const char *server_url, const char *token)
{
    struct sbx_deliverer *deliverer = calloc(1, sizeof *deliverer);
    if (deliverer == NULL) {
        return NULL;
    }
    deliverer->spool = spool;
    deliverer->lock = -1;
    deliverer->server_url = strdup(server_url);
    deliverer->token = token == NULL ? NULL : strdup(token);
    if (deliverer->server_url == NULL || (token != NULL && deliverer->token == NULL)) {
        sbx_deliverer_destroy(deliverer);
        return NULL;
    }
    return deliverer;
}

static void release_lock(struct sbx_deliverer *deliverer)
{
    if (deliverer->lock >= 0) {
        close(deliverer->lock); /* which unlocks; the file stays, since another may have it open */
        deliverer->lock = -1;
    }
}

void sbx_deliverer_destroy(struct sbx_deliverer *deliverer)
{
    if (deliverer == NULL) {
        return;
    }
    release_lock(deliverer);
    if (deliverer->token != NULL) {
        explicit_bzero(deliverer->token, strlen(deliverer->token));
    }
    free(deliverer->token);
    free(deliverer->server_url);
    free(deliverer->waiting);
    free(deliverer);
}

void sbx_deliverer_counts(const struct sbx_deliverer *deliverer, struct sbx_deliver_counts *counts_out)
{
    *counts_out = deliverer->counts;
}

const char *sbx_deliverer_last_error(const struct sbx_deliverer *deliverer)
{
    return deliverer->error;
}

/* Become the one that delivers from this spool. Never waits: a stopped holder must not stop us too. */
static bool take_lock(struct sbx_deliverer *deliverer)
{
    if (deliverer->lock >= 0) {
        return true;
    }
    int lock = openat(deliverer->spool->root, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0) {
        snprintf(deliverer->error, sizeof deliverer->error, "%s/%s: %s", deliverer->spool->path, lock_name,
                 strerror(errno));
        return false;
    }
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        close(lock);
        return false;
    }
    deliverer->lock = lock;
    return true;
}

static struct waiting *find_waiting(struct sbx_deliverer *deliverer, const uint8_t id[SBX_PAYLOAD_ID_BYTES])
{
    for (size_t i = 0; i < deliverer->waiting_count; i++) {
        if (memcmp(deliverer->waiting[i].id, id, SBX_PAYLOAD_ID_BYTES) == 0) {
            return &deliverer->waiting[i];
        }
    }
    return NULL;
}

/* Remember that `id` has to wait. NULL without memory: then it is tried again in the next step, too soon at worst. */
static struct waiting *remember(struct sbx_deliverer *deliverer, const uint8_t id[SBX_PAYLOAD_ID_BYTES])
{
    struct waiting *known = find_waiting(deliverer, id);
    if (known != NULL) {
        return known;
    }
    if (deliverer->waiting_count == deliverer->waiting_room) {
        size_t room = deliverer->waiting_room == 0 ? 16 : 2 * deliverer->waiting_room;
        struct waiting *grown = reallocarray(deliverer->waiting, room, sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        deliverer->waiting = grown;
        deliverer->waiting_room = room;
    }
    struct waiting *fresh = &deliverer->waiting[deliverer->waiting_count++];
    *fresh = (struct waiting){.seen = true};
    memcpy(fresh->id, id, SBX_PAYLOAD_ID_BYTES);
    return fresh;
}

static void forget_unseen(struct sbx_deliverer *deliverer)
{
    size_t kept = 0;
    for (size_t i = 0; i < deliverer->waiting_count; i++) {
        if (deliverer->waiting[i].seen) {
            deliverer->waiting[kept] = deliverer->waiting[i];
            deliverer->waiting[kept++].seen = false;
        }
    }
    deliverer->waiting_count = kept;
}

/* Is this a payload that may leave: whole, under its own name, and passed by the privacy check? Asked again here
 * because anything may lie in a folder. 0, or a negative errno with `why`. */
static int check_envelope(const uint8_t *bytes, size_t byte_count, const uint8_t id[SBX_PAYLOAD_ID_BYTES], char *why,
                          size_t why_bytes)
{
    struct sbx_envelope envelope;
    int result = sbx_envelope_read(bytes, byte_count, &envelope, why, why_bytes);
    if (result != 0) {
        return result;
    }
    if (memcmp(envelope.id, id, SBX_PAYLOAD_ID_BYTES) != 0) {
        snprintf(why, why_bytes, "it is another payload than its name says");
        return -EPROTO;
    }
    uint8_t *payload;
    size_t payload_bytes;
    result = sbx_envelope_payload(&envelope, &payload, &payload_bytes, why, why_bytes);
    if (result != 0) {
        return result;
    }
    result = sbx_payload_verify(payload, payload_bytes, NULL, why, why_bytes);
    free(payload);
    return result;
}

/* Whether the answer says something about the server or the way to it, so that other payloads need not be tried now.
 * The rest (a 500 for this one, say) must not hold the others up. */
static bool concerns_server(const struct sbx_send_result *result)
{
    long status = result->http_status;
    return status < 400 || status == 401 || status == 403 || status == 404 || status == 429 || status == 503;
}

static void postpone(struct sbx_deliverer *deliverer, const uint8_t id[SBX_PAYLOAD_ID_BYTES],
                     const struct sbx_send_result *result)
{
    deliverer->counts.later++;
    if (concerns_server(result)) {
        deliverer->server_fails++;
        deliverer->server_due_ms =
            now_ms() + sbx_backoff_ms(deliverer->server_fails, result->retry_after_ms, random_bits());
        return;
    }
    struct waiting *waiting = remember(deliverer, id);
    if (waiting != NULL) {
        waiting->attempts++;
        waiting->due_ms = now_ms() + sbx_backoff_ms(waiting->attempts, result->retry_after_ms, random_bits());
        deliverer->next_due_ms = waiting->due_ms < deliverer->next_due_ms ? waiting->due_ms : deliverer->next_due_ms;
    }
}

static void report(struct sbx_deliverer *deliverer, const char *path, const char *reason)
{
    snprintf(deliverer->error, sizeof deliverer->error, "%.90s: %.160s", path, reason);
}

/* Move what was refused for good, or nobody can read, out of the way. */
static void give_up(struct sbx_deliverer *deliverer, const char *path, const uint8_t id[SBX_PAYLOAD_ID_BYTES],
                    const char *reason, uint64_t *count)
{
    report(deliverer, path, reason);
    (*count)++;
    int result = sbx_spool_mark_bad(deliverer->spool, id);
    if (result != 0) {
        /* It could not be moved: at least do not send it in a circle. */
        postpone(deliverer, id, &(struct sbx_send_result){.http_status = 500});
    }
}

/* One payload of the listing. Non-zero ends it: the server is to be left alone for a while. */
static int deliver_one(void *context, const char *path, const uint8_t id[16])
{
    struct sbx_deliverer *deliverer = context;
    struct waiting *waiting = find_waiting(deliverer, id);
    if (waiting != NULL) {
        waiting->seen = true;
        if (waiting->due_ms > now_ms()) {
            deliverer->next_due_ms =
                waiting->due_ms < deliverer->next_due_ms ? waiting->due_ms : deliverer->next_due_ms;
            return 0;
        }
    }
    uint8_t *envelope;
    size_t bytes;
    int result = sbx_spool_read(deliverer->spool, id, &envelope, &bytes);
    if (result == -ENOENT) {
        return 0; /* pushed out by a newer one meanwhile */
    }
    if (result != 0) {
        report(deliverer, path, strerror(-result));
        postpone(deliverer, id, &(struct sbx_send_result){.http_status = 500});
        return 0;
    }
    char why[200];
    result = check_envelope(envelope, bytes, id, why, sizeof why);
    if (result == -ENOMEM) {
        report(deliverer, path, why);
        postpone(deliverer, id, &(struct sbx_send_result){.http_status = 500});
    } else if (result != 0) {
        give_up(deliverer, path, id, why, &deliverer->counts.unreadable);
    } else {
        struct sbx_send_result sent = sbx_send(deliverer->server_url, deliverer->token, id, envelope, bytes);
        switch (sent.verdict) {
        case SBX_SEND_STORED:
            deliverer->counts.sent++;
            deliverer->server_fails = 0;
            deliverer->error[0] = '\0';
            result = sbx_spool_mark_sent(deliverer->spool, id);
            if (result != 0 && result != -ENOENT) { /* it would be sent again: the server knows it, but wait a little */
                report(deliverer, path, strerror(-result));
                postpone(deliverer, id, &(struct sbx_send_result){.http_status = 500});
            }
            break;
        case SBX_SEND_NEVER:
            deliverer->server_fails = 0;
            give_up(deliverer, path, id, sent.why, &deliverer->counts.refused);
            break;
        case SBX_SEND_LATER:
            report(deliverer, deliverer->server_url, sent.why);
            postpone(deliverer, id, &sent);
            break;
        }
    }
    free(envelope);
    return deliverer->server_due_ms > now_ms();
}

static int any_waiting(void *context, const char *path, const uint8_t id[16])
{
    (void)context;
    (void)path;
    (void)id;
    return 1;
}

uint64_t sbx_deliverer_step(struct sbx_deliverer *deliverer)
{
    int waiting = sbx_spool_each(deliverer->spool, any_waiting, NULL);
    if (waiting == 0) {
        release_lock(deliverer);
        return UINT64_MAX;
    }
    if (waiting < 0) {
        report(deliverer, deliverer->spool->path, strerror(-waiting));
        return other_deliverer_ms;
    }
    uint64_t now = now_ms();
    if (deliverer->server_due_ms > now) {
        return deliverer->server_due_ms - now;
    }
    if (!take_lock(deliverer)) {
        return other_deliverer_ms;
    }
    deliverer->next_due_ms = UINT64_MAX;
    int result = sbx_spool_each(deliverer->spool, deliver_one, deliverer);
    if (result == 0) {
        forget_unseen(deliverer); /* a whole listing: what was not in it is gone */
    }
    now = now_ms();
    if (deliverer->server_due_ms > now) {
        return deliverer->server_due_ms - now;
    }
    if (deliverer->next_due_ms != UINT64_MAX) {
        return deliverer->next_due_ms > now ? deliverer->next_due_ms - now : 1;
    }
    if (sbx_spool_each(deliverer->spool, any_waiting, NULL) != 0) {
        return 1; /* new ones came while these were sent */
    }
    release_lock(deliverer);
    return UINT64_MAX;
}
