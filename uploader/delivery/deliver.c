/* SPDX-License-Identifier: Apache-2.0 */
/* deliver.c - from the spool to the server, one payload at a time.
 *
 * What is remembered between steps is only when to try again, and that is in the spool too (delivery_holds.h); what is
 * to be sent is read from the folder each time. So a restart, or another process that takes over, loses nothing and
 * asks no sooner. */
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

#include "audit.h"
#include "delivery_holds.h"
#include "envelope.h"
#include "erasure.h"
#include "payload_verify.h"
#include "spool_folders.h"
#include "upload_jitter.h"

static const uint64_t gate_again_ms = 60000;     /* how soon to ask again whether a payload may go */
static const uint64_t other_deliverer_ms = 2000; /* how soon to look whether it is gone */
static const uint64_t consent_look_ms = 250;
static const uint64_t denied_ms = 3600000; /* he may change his mind */
static const char lock_name[] = ".deliver.lock";

enum {
    CHOKES_MAX = 3
}; /* a server that chokes on so many payloads in a row chokes on all of them */

struct sbx_deliverer {
    struct sbx_spool *spool;
    char *server_url, *token;
    int lock; /* descriptor of the locked file, or -1 */
    struct sbx_delivery_holds holds;
    uint32_t chokes;                        /* payloads in a row that the server choked on */
    uint64_t next_due_ms;                   /* in a step: the earliest time at which something may be due */
    uint64_t withheld_bytes;                /* in a step: the smallest payload that the gate held back */
    uint64_t unwanted_look_ms;              /* in a transfer: when the consent is looked at again */
    const struct sbx_delivery_clock *clock; /* NULL: the system's */
    bool (*is_over)(void *context);         /* NULL: never */
    void *is_over_context;
    struct sbx_delivery_now began;        /* for its boot */
    const struct sbx_delivery_gate *gate; /* NULL: none */
    struct sbx_sealer *sealer;            /* NULL: none */
    struct sbx_deliver_counts counts;
    struct sbx_erasure_pace erasures;
    uint8_t audited_id[SBX_PAYLOAD_ID_BYTES]; /* whom the log's last pair of lines is about */
    enum sbx_send_verdict audited_verdict;
    long audited_status;
    char error[256];
};

static uint64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* CLOCK_BOOTTIME: a day's Retry-After counts the time the machine slept. */
static uint64_t now_ms(const struct sbx_deliverer *deliverer)
{
    uint64_t boot_ms, wall_ms;
    if (deliverer->clock == NULL) {
        return clock_ms(CLOCK_BOOTTIME);
    }
    deliverer->clock->read(deliverer->clock->context, &boot_ms, &wall_ms);
    return boot_ms;
}

static void read_now(const struct sbx_deliverer *deliverer, struct sbx_delivery_now *now_out)
{
    *now_out = deliverer->began;
    if (deliverer->clock != NULL) {
        deliverer->clock->read(deliverer->clock->context, &now_out->boot_ms, &now_out->wall_ms);
    } else {
        now_out->boot_ms = clock_ms(CLOCK_BOOTTIME);
        now_out->wall_ms = clock_ms(CLOCK_REALTIME);
    }
}

static uint64_t random_bits(void)
{
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
        bits = clock_ms(CLOCK_BOOTTIME) * UINT64_C(0x9e3779b97f4a7c15); /* jitter only: any spread will do */
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
    sbx_delivery_now_read(&deliverer->began);
    deliverer->server_url = strdup(server_url);
    deliverer->token = token == NULL ? NULL : strdup(token);
    if (deliverer->server_url == NULL || (token != NULL && deliverer->token == NULL)) {
        sbx_deliverer_destroy(deliverer);
        return NULL;
    }
    return deliverer;
}

void sbx_deliverer_set_gate(struct sbx_deliverer *deliverer, const struct sbx_delivery_gate *gate)
{
    deliverer->gate = gate;
}

void sbx_deliverer_set_sealer(struct sbx_deliverer *deliverer, struct sbx_sealer *sealer)
{
    deliverer->sealer = sealer;
}

void sbx_deliverer_set_clock(struct sbx_deliverer *deliverer, const struct sbx_delivery_clock *clock)
{
    deliverer->clock = clock;
}

void sbx_deliverer_set_end(struct sbx_deliverer *deliverer, bool (*is_over)(void *context), void *context)
{
    deliverer->is_over = is_over;
    deliverer->is_over_context = context;
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
    sbx_delivery_holds_release(&deliverer->holds);
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

static void memorize(struct sbx_deliverer *deliverer)
{
    struct sbx_delivery_now now;
    read_now(deliverer, &now);
    sbx_delivery_holds_memorize(&deliverer->holds, deliverer->spool->root, deliverer->server_url, &now);
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
    struct sbx_delivery_now now;
    read_now(deliverer, &now);
    sbx_delivery_holds_recall(&deliverer->holds, deliverer->spool->root, deliverer->server_url, &now);
    return true;
}

/* Is this a payload that may leave: whole, under its own name, and passed by the privacy check? Asked again here
 * because anything may lie in a folder. What is sealed passed the check before it was (encode.c); nobody here can look
 * again. 0, or a negative errno with `why`. */
static int check_envelope(const uint8_t *bytes, size_t byte_count, const uint8_t id[SBX_PAYLOAD_ID_BYTES],
                          bool *is_sealed_out, char *why, size_t why_bytes)
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
    *is_sealed_out = envelope.is_sealed;
    if (envelope.is_sealed) {
        return 0;
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

/* Where sealing is demanded, a plain payload from before is sealed in its place: durably first, so that what is sent
 * twice is the same bytes. 0, or a negative errno with `why`. */
static int seal_late(struct sbx_deliverer *deliverer, const uint8_t id[SBX_PAYLOAD_ID_BYTES], uint8_t **envelope,
                     size_t *bytes, char *why, size_t why_bytes)
{
    uint8_t *sealed;
    size_t sealed_bytes;
    int result = sbx_sealer_seal(deliverer->sealer, *envelope, *bytes, &sealed, &sealed_bytes, why, why_bytes);
    if (result != 0) {
        return result;
    }
    result = sbx_audit_packed(deliverer->spool, *envelope, *bytes, sealed, sealed_bytes, 0);
    if (result == 0) {
        result = sbx_spool_replace(deliverer->spool, id, sealed, sealed_bytes);
    }
    if (result != 0) {
        snprintf(why, why_bytes, "cannot write it sealed: %s", strerror(-result));
        free(sealed);
        return result;
    }
    free(*envelope);
    *envelope = sealed;
    *bytes = sealed_bytes;
    return 0;
}

/* Whether the answer says something about the server or the way to it, so that other payloads need not be tried now: no
 * answer, a portal's, a wrong token, too much to do, or a gateway with nothing behind it. The rest (a 500 for this one,
 * say) must not hold the others up. */
static bool concerns_server(const struct sbx_send_result *result)
{
    long status = result->http_status;
    return status < 400 || status == 401 || status == 403 || status == 404 || status == 408 || status == 410 ||
           status == 429 || status == 502 || status == 503 || status == 504;
}

static void begin_hold(const struct sbx_deliverer *deliverer, struct sbx_hold *hold, uint64_t asked_ms)
{
    hold->fails += hold->fails != UINT32_MAX;
    hold->is_asked = asked_ms != 0;
    hold->wait_ms = sbx_backoff_ms(hold->fails, asked_ms, random_bits());
    hold->due_ms = now_ms(deliverer) + hold->wait_ms;
}

static void postpone(struct sbx_deliverer *deliverer, const uint8_t id[SBX_PAYLOAD_ID_BYTES],
                     const struct sbx_send_result *result)
{
    deliverer->counts.later++;
    deliverer->holds.is_news = true;
    if (concerns_server(result)) {
        begin_hold(deliverer, &deliverer->holds.server, result->retry_after_ms);
        return;
    }
    struct sbx_waiting *waiting = sbx_delivery_holds_remember(&deliverer->holds, id);
    if (waiting != NULL) {
        begin_hold(deliverer, &waiting->hold, result->retry_after_ms);
        deliverer->next_due_ms =
            waiting->hold.due_ms < deliverer->next_due_ms ? waiting->hold.due_ms : deliverer->next_due_ms;
    }
}

/* The server answered as one that works. */
static void forgive_server(struct sbx_deliverer *deliverer)
{
    deliverer->holds.is_news |= deliverer->holds.server.fails != 0;
    deliverer->holds.server = (struct sbx_hold){.fails = 0};
    deliverer->chokes = 0;
}

void sbx_deliverer_hurry(struct sbx_deliverer *deliverer)
{
    if (!take_lock(deliverer)) {
        return;
    }
    if (!deliverer->holds.server.is_asked) {
        deliverer->holds.server.due_ms = 0;
    }
    for (size_t i = 0; i < deliverer->holds.count; i++) {
        if (!deliverer->holds.waiting[i].hold.is_asked) {
            deliverer->holds.waiting[i].hold.due_ms = 0;
        }
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

/* How long payloads may be held back at first. */
static uint32_t jitter_of(const struct sbx_delivery_gate *gate)
{
    struct sbx_delivery_terms terms = {.upload_jitter_s = 0};
    if (gate != NULL && gate->terms != NULL) {
        gate->terms(gate->context, &terms);
    }
    return terms.upload_jitter_s;
}

/* Send, with a line in the audit log before and one after. What cannot be written down does not leave. A payload tried
 * again and again has one pair of lines an answer, not one a try. */
static struct sbx_send_result send_audited(struct sbx_deliverer *deliverer, const struct sbx_destination *to,
                                           const uint8_t id[SBX_PAYLOAD_ID_BYTES], const uint8_t *envelope,
                                           size_t bytes)
{
    static const char *const verdicts[] = {
        [SBX_SEND_STORED] = "stored", [SBX_SEND_LATER] = "later", [SBX_SEND_NEVER] = "refused"};
    bool is_again = memcmp(deliverer->audited_id, id, SBX_PAYLOAD_ID_BYTES) == 0;
    int result = is_again ? 0 : sbx_audit_leaving(deliverer->spool, id, envelope, bytes, deliverer->server_url);
    if (result != 0) {
        struct sbx_send_result unsent = {.verdict = SBX_SEND_LATER, .http_status = 500};
        snprintf(unsent.why, sizeof unsent.why, "not sent: the audit log cannot be written: %s", strerror(-result));
        return unsent;
    }
    struct sbx_send_result sent = sbx_send_to(to, id, envelope, bytes);
    bool is_same =
        is_again && sent.verdict == deliverer->audited_verdict && sent.http_status == deliverer->audited_status;
    if (!is_same && sbx_audit_answer(deliverer->spool, id, verdicts[sent.verdict], sent.http_status,
                                     sent.verdict == SBX_SEND_STORED ? "" : sent.why) != 0) {
        /* That it left is written down; the answer shows in where the payload goes. */
    }
    memcpy(deliverer->audited_id, id, SBX_PAYLOAD_ID_BYTES);
    deliverer->audited_verdict = sent.verdict;
    deliverer->audited_status = sent.http_status;
    return sent;
}

/* Is nothing to be sent any more: the user said no, or this deliverer's time is over? */
static bool has_become_unwanted(const struct sbx_deliverer *deliverer)
{
    return sbx_spool_is_denied(deliverer->spool) ||
           (deliverer->is_over != NULL && deliverer->is_over(deliverer->is_over_context));
}

/* The same in the middle of a transfer, where it is asked all the time. */
static bool is_unwanted(void *context)
{
    struct sbx_deliverer *deliverer = context;
    uint64_t now = clock_ms(CLOCK_BOOTTIME);
    if (now < deliverer->unwanted_look_ms) {
        return false;
    }
    deliverer->unwanted_look_ms = now + consent_look_ms;
    return has_become_unwanted(deliverer);
}

/* One attempt, and what comes of it. */
static void send_one(struct sbx_deliverer *deliverer, const char *path, const uint8_t id[16], const uint8_t *envelope,
                     size_t bytes)
{
    const struct sbx_delivery_gate *gate = deliverer->gate;
    uint8_t pins[SBX_GATE_PINS_MAX][32];
    const struct sbx_destination to = {
        .url = deliverer->server_url,
        .token = deliverer->token,
        .pins = pins,
        .pin_count = gate != NULL && gate->pins != NULL ? gate->pins(gate->context, pins) : 0,
        .is_unwanted = is_unwanted,
        .context = deliverer,
    };
    struct sbx_send_result sent = send_audited(deliverer, &to, id, envelope, bytes);
    switch (sent.verdict) {
    case SBX_SEND_STORED:
        deliverer->counts.sent += !sbx_spool_is_end(deliverer->spool, id); /* asked before its stall may be pruned */
        if (gate != NULL) {
            gate->was_sent(gate->context, bytes);
        }
        forgive_server(deliverer);
        deliverer->error[0] = '\0';
        int result = sbx_spool_mark_sent(deliverer->spool, id);
        if (result != 0 && result != -ENOENT) { /* it would be sent again: the server knows it, but wait a little */
            report(deliverer, path, strerror(-result));
            postpone(deliverer, id, &(struct sbx_send_result){.http_status = 500});
        }
        break;
    case SBX_SEND_NEVER:
        forgive_server(deliverer);
        give_up(deliverer, path, id, sent.why, &deliverer->counts.refused);
        break;
    case SBX_SEND_LATER:
        if (sent.http_status == 0 && has_become_unwanted(deliverer)) {
            break; /* we broke it off: that says nothing of the server */
        }
        report(deliverer, deliverer->server_url, sent.why);
        postpone(deliverer, id, &sent);
        if (!concerns_server(&sent) && ++deliverer->chokes >= CHOKES_MAX) {
            begin_hold(deliverer, &deliverer->holds.server, sent.retry_after_ms);
        }
        break;
    }
}

/* One payload of the listing. Non-zero ends it: the server is to be left alone for a while, or nothing may go any more.
 */
static int deliver_one(void *context, const char *path, const uint8_t id[16])
{
    struct sbx_deliverer *deliverer = context;
    struct sbx_waiting *waiting = sbx_delivery_holds_find(&deliverer->holds, id);
    if (waiting != NULL) {
        waiting->seen = true;
        if (waiting->hold.due_ms > now_ms(deliverer)) {
            deliverer->next_due_ms =
                waiting->hold.due_ms < deliverer->next_due_ms ? waiting->hold.due_ms : deliverer->next_due_ms;
            return 0;
        }
    }
    if (has_become_unwanted(deliverer)) {
        return 1; /* since the ones before were sent */
    }
    uint64_t early_ms = sbx_upload_jitter_left_ms(deliverer->spool->root, id, jitter_of(deliverer->gate));
    if (early_ms != 0) {
        uint64_t due_ms = now_ms(deliverer) + early_ms;
        deliverer->next_due_ms = due_ms < deliverer->next_due_ms ? due_ms : deliverer->next_due_ms;
        return 0;
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
        memorize(deliverer);
        return 0;
    }
    char why[200];
    bool is_sealed = false;
    result = check_envelope(envelope, bytes, id, &is_sealed, why, sizeof why);
    int sealing = 0;
    if (result == 0 && !is_sealed && deliverer->sealer != NULL && sbx_sealer_is_demanded(deliverer->sealer)) {
        sealing = seal_late(deliverer, id, &envelope, &bytes, why, sizeof why);
    }
    if (sealing == -ENOKEY) { /* not an attempt either: it waits for a key, unsent */
        report(deliverer, path, why);
        deliverer->counts.unsealed++;
        uint64_t again_ms = now_ms(deliverer) + gate_again_ms;
        deliverer->next_due_ms = again_ms < deliverer->next_due_ms ? again_ms : deliverer->next_due_ms;
    } else if (result == -ENOMEM || sealing != 0) {
        report(deliverer, path, why);
        postpone(deliverer, id, &(struct sbx_send_result){.http_status = 500});
    } else if (result != 0) {
        give_up(deliverer, path, id, why, &deliverer->counts.unreadable);
    } else if (deliverer->gate != NULL &&
               (bytes >= deliverer->withheld_bytes || !deliverer->gate->may_send(deliverer->gate->context, bytes))) {
        /* Not remembered as an attempt: the answer may be another whenever a policy comes. In this step it is taken to
         * hold for all that are no smaller: asking takes a lock and reads files, and a spool may hold 200 payloads. */
        deliverer->withheld_bytes = bytes < deliverer->withheld_bytes ? bytes : deliverer->withheld_bytes;
        uint64_t again_ms = now_ms(deliverer) + gate_again_ms;
        deliverer->next_due_ms = again_ms < deliverer->next_due_ms ? again_ms : deliverer->next_due_ms;
    } else {
        send_one(deliverer, path, id, envelope, bytes);
    }
    free(envelope);
    memorize(deliverer);
    return deliverer->holds.server.due_ms > now_ms(deliverer);
}

static int any_waiting(void *context, const char *path, const uint8_t id[16])
{
    (void)context;
    (void)path;
    (void)id;
    return 1;
}

/* The user said no: nothing is sent, and what waits goes, unless it is not sure that he did. */
static uint64_t refused(struct sbx_deliverer *deliverer)
{
    report(deliverer, deliverer->spool->path, "the user does not want it sent");
    (void)sbx_spool_empty_when_refused(deliverer->spool);
    release_lock(deliverer);
    return denied_ms;
}

/* As sbx_deliverer_step(), of payloads. */
static uint64_t send_payloads(struct sbx_deliverer *deliverer)
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
    if (!take_lock(deliverer)) {
        return other_deliverer_ms;
    }
    if (sbx_spool_is_denied(deliverer->spool)) {
        return refused(deliverer);
    }
    uint64_t now = now_ms(deliverer);
    if (deliverer->holds.server.due_ms > now) {
        return deliverer->holds.server.due_ms - now;
    }
    deliverer->next_due_ms = deliverer->withheld_bytes = UINT64_MAX;
    int result = sbx_spool_each(deliverer->spool, deliver_one, deliverer);
    if (result == 0) {
        sbx_delivery_holds_forget_unseen(&deliverer->holds); /* a whole listing: what was not in it is gone */
        memorize(deliverer);
    }
    if (sbx_spool_is_denied(deliverer->spool)) {
        return refused(deliverer);
    }
    now = now_ms(deliverer);
    if (deliverer->holds.server.due_ms > now) {
        return deliverer->holds.server.due_ms - now;
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

uint64_t sbx_deliverer_step(struct sbx_deliverer *deliverer)
{
    char why[200] = "";
    /* First, and whether or not anything may be sent: a request to delete is no payload. */
    uint64_t erasure_ms = sbx_erasures_step(deliverer->spool, deliverer->server_url, deliverer->token,
                                            &deliverer->erasures, now_ms(deliverer), random_bits(), why, sizeof why);
    uint64_t payload_ms = send_payloads(deliverer);
    if (why[0] != '\0') {
        report(deliverer, deliverer->server_url, why);
    }
    return erasure_ms < payload_ms ? erasure_ms : payload_ms;
}
