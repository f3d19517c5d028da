/* SPDX-License-Identifier: Apache-2.0 */
/* deliver.c - from the spool to the server, one payload at a time.
 *
 * Between steps, only the times of the next tries are remembered, and these are in the spool, too (delivery_holds.h).
 * The payloads to send are read from the folder each time. So a restart, or another process that takes over, loses
 * nothing and does not try earlier. */
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

static const uint64_t gate_again_ms = 60000;     /* until the gate is asked again about a payload */
static const uint64_t other_deliverer_ms = 2000; /* until the other deliverer is looked for again */
static const uint64_t consent_look_ms = 250;
static const uint64_t denied_ms = 3600000; /* the user may change his mind */
static const char lock_name[] = ".deliver.lock";

enum {
    CHOKES_MAX = 3
}; /* a server that fails on so many payloads in a row fails on all of them */

struct sbx_deliverer {
    struct sbx_spool *spool;
    char *server_url, *token;
    int lock; /* descriptor of the locked file, or -1 */
    struct sbx_delivery_holds holds;
    uint32_t chokes;                        /* payloads in a row on which the server failed */
    uint64_t next_due_ms;                   /* in a step: the earliest time at which work may be due */
    uint64_t withheld_bytes;                /* in a step: the smallest payload that the gate held back */
    uint64_t unwanted_look_ms;              /* in a transfer: when the consent is read again */
    const struct sbx_delivery_clock *clock; /* NULL: the system's */
    bool (*is_over)(void *context);         /* NULL: never */
    void *is_over_context;
    struct sbx_delivery_now began;        /* when it was created; its boot id is used */
    const struct sbx_delivery_gate *gate; /* NULL: none */
    struct sbx_sealer *sealer;            /* NULL: none */
    struct sbx_deliver_counts counts;
    struct sbx_erasure_pace erasures;
    uint8_t audited_id[SBX_PAYLOAD_ID_BYTES]; /* the payload of the last pair of lines in the log */
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

/* CLOCK_BOOTTIME, because a Retry-After of a day includes the time in which the machine was suspended. */
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
        bits = clock_ms(CLOCK_BOOTTIME) * UINT64_C(0x9e3779b97f4a7c15); /* for jitter only: any distribution will do */
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
        close(deliverer->lock); /* this releases the lock; the file stays, because another process may have it open */
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

/* Tries to become the deliverer of this spool. Never waits, because a stopped lock holder must not stop us, too. */
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

/* May this payload be sent? It must be complete, have its own name, and pass the privacy check. This is checked again
 * here, because the folder may contain anything. A sealed payload passed the check before it was sealed (encode.c) and
 * cannot be read here. Returns 0, or a negative errno with `why`. */
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

/* If sealing is required, an older plain payload is sealed and replaced. The sealed payload is made durable before it
 * is sent, so that a second try sends the same bytes. Returns 0, or a negative errno with `why`. */
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

/* Does the answer concern the server or the path to it, so that other payloads need not be tried now? This is so for no
 * answer, an answer of a captive portal, a wrong token, an overloaded server, or a gateway without a server. Other
 * answers (such as a 500 for one payload) must not delay other payloads. */
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

/* The server has answered and works. */
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

/* Moves away a payload that was refused for good, or that cannot be read. */
static void give_up(struct sbx_deliverer *deliverer, const char *path, const uint8_t id[SBX_PAYLOAD_ID_BYTES],
                    const char *reason, uint64_t *count)
{
    report(deliverer, path, reason);
    (*count)++;
    int result = sbx_spool_mark_bad(deliverer->spool, id);
    if (result != 0) {
        /* The payload could not be moved. At least it is not sent again at once. */
        postpone(deliverer, id, &(struct sbx_send_result){.http_status = 500});
    }
}

/* Returns the longest delay before the first try of a payload. */
static uint32_t jitter_of(const struct sbx_delivery_gate *gate)
{
    struct sbx_delivery_terms terms = {.upload_jitter_s = 0};
    if (gate != NULL && gate->terms != NULL) {
        gate->terms(gate->context, &terms);
    }
    return terms.upload_jitter_s;
}

/* Sends, with a line in the audit log before and one after. If the first line cannot be written, nothing is sent. A
 * payload that is tried repeatedly has one pair of lines for each different answer, not one for each try. */
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
        /* The log already says that the payload was sent. The result is visible from where the payload is moved. */
    }
    memcpy(deliverer->audited_id, id, SBX_PAYLOAD_ID_BYTES);
    deliverer->audited_verdict = sent.verdict;
    deliverer->audited_status = sent.http_status;
    return sent;
}

/* Must sending stop because the user said no, or because this deliverer's time is over? */
static bool has_become_unwanted(const struct sbx_deliverer *deliverer)
{
    return sbx_spool_is_denied(deliverer->spool) ||
           (deliverer->is_over != NULL && deliverer->is_over(deliverer->is_over_context));
}

/* The same during a transfer, where it is called very often. */
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

/* Makes one attempt and handles its result. */
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
        deliverer->counts.sent += !sbx_spool_is_end(deliverer->spool, id); /* before its stall may be pruned */
        if (gate != NULL) {
            gate->was_sent(gate->context, bytes);
        }
        forgive_server(deliverer);
        deliverer->error[0] = '\0';
        int result = sbx_spool_mark_sent(deliverer->spool, id);
        if (result != 0 && result != -ENOENT) { /* the server has it, and it would be sent again: wait a little */
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
            break; /* we broke it off, so this says nothing about the server */
        }
        report(deliverer, deliverer->server_url, sent.why);
        postpone(deliverer, id, &sent);
        if (!concerns_server(&sent) && ++deliverer->chokes >= CHOKES_MAX) {
            begin_hold(deliverer, &deliverer->holds.server, sent.retry_after_ms);
        }
        break;
    }
}

/* Delivers one payload of the listing. A non-zero result ends the listing: the server must not be used for a while, or
 * nothing may be sent any more. */
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
        return 1; /* it changed while the earlier payloads were sent */
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
        return 0; /* a newer payload has pushed it out meanwhile */
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
    if (sealing == -ENOKEY) { /* no attempt: it waits unsent for a key */
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
        /* This is not remembered as an attempt, because a new policy may change the answer at any time. Within this
         * step, it is assumed for all payloads that are at least as large: the question takes a lock and reads files,
         * and a spool may hold 200 payloads. */
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

/* The user said no. Nothing is sent, and the waiting payloads are removed, unless the no is not certain, because the
 * consent file could not be read. */
static uint64_t refused(struct sbx_deliverer *deliverer)
{
    report(deliverer, deliverer->spool->path, "the user does not want it sent");
    (void)sbx_spool_empty_when_refused(deliverer->spool);
    release_lock(deliverer);
    return denied_ms;
}

/* Like sbx_deliverer_step(), for payloads only. */
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
        sbx_delivery_holds_forget_unseen(&deliverer->holds); /* all were listed: payloads not seen are gone */
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
        return 1; /* new payloads arrived during the step */
    }
    release_lock(deliverer);
    return UINT64_MAX;
}

uint64_t sbx_deliverer_step(struct sbx_deliverer *deliverer)
{
    char why[200] = "";
    /* First, and even if nothing else may be sent: a request for deletion is no payload. */
    uint64_t erasure_ms = sbx_erasures_step(deliverer->spool, deliverer->server_url, deliverer->token,
                                            &deliverer->erasures, now_ms(deliverer), random_bits(), why, sizeof why);
    uint64_t payload_ms = send_payloads(deliverer);
    if (why[0] != '\0') {
        report(deliverer, deliverer->server_url, why);
    }
    return erasure_ms < payload_ms ? erasure_ms : payload_ms;
}
