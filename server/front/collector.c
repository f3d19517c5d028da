/* SPDX-License-Identifier: Apache-2.0 */
/* collector.c - limits what an untrusted sender can make the server do: hold one bounded body, decode it once, store it
 * once. */
#include "collector.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "envelope_format.h"
#include "rate_limit.h"
#include "stall.h"
#include "wall_clock.h"

enum {
    /* Bytes of all bodies in memory at one time: 64 of the largest. A usual body is some 20 KiB. */
    IN_FLIGHT_BYTES_MAX = 64 * SBX_ENVELOPE_BYTES_MAX,
    RETRY_AFTER_S = 5,
    PENDING_AGAIN_S = 60, /* when too many payloads wait for triage: in that time some thousand are done */
};

struct sbx_collector {
    struct sbx_store *store;
    struct sbx_sealed_store *sealed;
    struct sbx_unseal_keys unseal_keys; /* none: the server does not open sealed payloads */
    struct sbx_triager *triager;
    struct sbx_metrics *metrics;
    struct sbx_rate_limit *machines; /* NULL: no limit */
    pthread_mutex_t lock;
    size_t in_flight_bytes; /* the lock protects it */
};

struct sbx_upload {
    struct sbx_collector *collector;
    struct sbx_byte_buffer body;
    uint64_t app;         /* the only application that it may belong to; 0: any */
    size_t counted_bytes; /* bytes counted in in_flight_bytes, which destroy takes off again */
    bool is_too_large, is_busy, has_ended;
};

struct sbx_collector *sbx_collector_create(struct sbx_store *store, struct sbx_sealed_store *sealed,
                                           const struct sbx_unseal_keys *unseal_keys, struct sbx_triager *triager,
                                           struct sbx_metrics *metrics, struct sbx_rate_limit *machines)
{
    struct sbx_collector *collector = malloc(sizeof(*collector));
    if (!collector)
        return NULL;
    *collector = (struct sbx_collector){
        .store = store, .sealed = sealed, .triager = triager, .metrics = metrics, .machines = machines};
    if (unseal_keys)
        collector->unseal_keys = *unseal_keys;
    pthread_mutex_init(&collector->lock, NULL);
    return collector;
}

void sbx_collector_destroy(struct sbx_collector *collector)
{
    if (!collector)
        return;
    pthread_mutex_destroy(&collector->lock);
    sbx_unseal_keys_wipe(&collector->unseal_keys);
    free(collector);
}

static void refuse_too_large(struct sbx_collector *collector, struct sbx_reply *reply)
{
    sbx_metrics_add(collector->metrics, SBX_METRIC_REJECTED_TOO_LARGE, 1);
    sbx_reply_text(reply, 413, "a payload has at most %d bytes", SBX_ENVELOPE_BYTES_MAX);
}

static void refuse_busy(struct sbx_collector *collector, struct sbx_reply *reply)
{
    sbx_metrics_add(collector->metrics, SBX_METRIC_REJECTED_BUSY, 1);
    sbx_reply_text(reply, 503, "too many payloads are arriving; try again");
    reply->retry_after_s = RETRY_AFTER_S;
}

struct sbx_upload *sbx_upload_begin(struct sbx_collector *collector, const char *content_length,
                                    const char *content_encoding, uint64_t app, struct sbx_reply *reply)
{
    if (content_encoding && *content_encoding && strcasecmp(content_encoding, "identity") != 0) {
        sbx_metrics_add(collector->metrics, SBX_METRIC_REJECTED_UNSUPPORTED, 1);
        sbx_reply_text(reply, 415, "a payload is compressed inside; Content-Encoding is not taken");
        return NULL;
    }
    /* Refuse by Content-Length, before any byte is read. A body without that header (chunked) is counted while it
     * arrives. */
    if (content_length && strtoull(content_length, NULL, 10) > SBX_ENVELOPE_BYTES_MAX) {
        refuse_too_large(collector, reply);
        return NULL;
    }
    if (!sbx_triager_has_room(collector->triager)) {
        sbx_metrics_add(collector->metrics, SBX_METRIC_REJECTED_PENDING, 1);
        sbx_reply_text(reply, 503, "too many payloads wait for triage; try again");
        reply->retry_after_s = PENDING_AGAIN_S;
        return NULL;
    }
    struct sbx_upload *upload = calloc(1, sizeof(*upload));
    if (!upload) {
        refuse_busy(collector, reply);
        return NULL;
    }
    upload->collector = collector;
    upload->app = app;
    upload->body.limit = SBX_ENVELOPE_BYTES_MAX;
    return upload;
}

/* Count bytes as in flight. Returns false when they would be too many. */
static bool take_in_flight(struct sbx_collector *collector, size_t count)
{
    pthread_mutex_lock(&collector->lock);
    bool fits = count <= IN_FLIGHT_BYTES_MAX - collector->in_flight_bytes;
    if (fits)
        collector->in_flight_bytes += count;
    pthread_mutex_unlock(&collector->lock);
    return fits;
}

static void give_in_flight(struct sbx_collector *collector, size_t count)
{
    pthread_mutex_lock(&collector->lock);
    collector->in_flight_bytes -= count;
    pthread_mutex_unlock(&collector->lock);
}

void sbx_upload_append(struct sbx_upload *upload, const void *bytes, size_t count)
{
    if (upload->is_too_large || upload->is_busy)
        return;
    if (count > SBX_ENVELOPE_BYTES_MAX - upload->body.used) {
        upload->is_too_large = true;
    } else if (!take_in_flight(upload->collector, count)) {
        upload->is_busy = true;
    } else {
        upload->counted_bytes += count;
        sbx_byte_buffer_append(&upload->body, bytes, count);
        upload->is_busy = upload->body.failed; /* the buffer had no memory */
    }
    if (upload->is_too_large || upload->is_busy)
        sbx_byte_buffer_finish(&upload->body);
}

/* Turn the result of a store for this id into an answer. */
static void answer_stored(struct sbx_collector *collector, int result, enum sbx_stored stored, const char *id_text,
                          struct sbx_reply *reply)
{
    if (result < 0) {
        sbx_metrics_add(collector->metrics, SBX_METRIC_REJECTED_STORE, 1);
        sbx_reply_text(reply, 503, "the store did not take it: %s", strerror(-result));
        reply->retry_after_s = RETRY_AFTER_S;
        return;
    }
    if (stored == SBX_STORED_CONFLICT) {
        sbx_metrics_add(collector->metrics, SBX_METRIC_REJECTED_CONFLICT, 1);
        sbx_reply_text(reply, 409, "payload %s is stored already, with other bytes", id_text);
        return;
    }
    sbx_metrics_add(collector->metrics, stored == SBX_STORED_NEW ? SBX_METRIC_STORED : SBX_METRIC_DUPLICATES, 1);
    reply->status = 200;
    reply->content_type = SBX_TEXT_PLAIN;
    sbx_byte_buffer_format(&reply->body, SBX_STORED_PREFIX "%s\n", id_text);
}

/* Does the machine of this payload send too much? A payload without a machine counts by its process. The refusal is in
 * `reply`. */
static bool is_too_much(struct sbx_collector *collector, const struct sbx_stall *stall, struct sbx_reply *reply)
{
    uint64_t sender;
    struct timespec now;
    if (!collector->machines)
        return false;
    memcpy(&sender, stall->has_rotating_id ? stall->rotating_id : stall->session_id, sizeof(sender));
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned after_s = sbx_rate_limit_take(collector->machines, sender, now.tv_sec * 1000ll + now.tv_nsec / 1000000);
    if (after_s == 0)
        return false;
    sbx_metrics_add(collector->metrics, SBX_METRIC_REJECTED_RATE, 1);
    sbx_reply_text(reply, 429, "this machine has sent more than one may; the rest can come later");
    reply->retry_after_s = after_s;
    return true;
}

/* Does the payload belong to another application than the token? Then the refusal is in `reply`. */
static bool is_foreign(const struct sbx_upload *upload, const struct sbx_stall *stall, struct sbx_reply *reply)
{
    if (upload->app == 0 || upload->app == sbx_stall_tenant(stall))
        return false;
    sbx_metrics_add(upload->collector->metrics, SBX_METRIC_REJECTED_UNAUTHORIZED, 1);
    sbx_reply_text(reply, 403, "this payload is of another application than the token it came with");
    return true;
}

/* Store the decoded stall and answer. */
static void store_stall(struct sbx_upload *upload, const struct sbx_stall *stall, struct sbx_reply *reply)
{
    enum sbx_stored stored = SBX_STORED_NEW;
    if (is_foreign(upload, stall, reply) || is_too_much(upload->collector, stall, reply))
        return;
    int result = sbx_store_put(upload->collector->store, stall, upload->body.data, upload->body.used,
                               sbx_wall_clock_ms(), &stored);
    answer_stored(upload->collector, result, stored, stall->payload_id_text, reply);
    if (result == 0 && stored == SBX_STORED_NEW)
        sbx_triager_came(upload->collector->triager, stall);
}

/* Refuse a body that is not a payload, so that the sender does not try again. */
static void refuse_payload(struct sbx_collector *collector, int result, const char *why, struct sbx_reply *reply)
{
    bool is_unsupported = result == -ENOTSUP;
    if (result == -ENOMEM) {
        refuse_busy(collector, reply);
        return;
    }
    sbx_metrics_add(collector->metrics, is_unsupported ? SBX_METRIC_REJECTED_UNSUPPORTED : SBX_METRIC_REJECTED_INVALID,
                    1);
    sbx_reply_text(reply, is_unsupported ? 415 : 400, "%s", why[0] ? why : "not a payload");
}

/* Open the sealed body and check that it is a payload. Returns -ENOKEY without the key, and -EPERM when the refusal is
 * in `reply`. */
static int look_inside(struct sbx_upload *upload, char *why, size_t why_bytes, struct sbx_reply *reply)
{
    struct sbx_collector *collector = upload->collector;
    const struct sbx_byte_buffer *body = &upload->body;
    uint8_t *plain;
    size_t plain_bytes;
    struct sbx_stall *stall;
    int result = sbx_sealed_open(&collector->unseal_keys, body->data, body->used, &plain, &plain_bytes, why, why_bytes);
    if (result < 0)
        return result;
    result = sbx_stall_decode(plain, plain_bytes, &stall, why, why_bytes);
    free(plain);
    if (result < 0)
        return result;
    if (is_foreign(upload, stall, reply) || is_too_much(collector, stall, reply))
        result = -EPERM;
    sbx_stall_destroy(stall);
    return result;
}

/* Keep a sealed payload as it came, whether or not this server has the key. The triager, or another process, opens it
 * later. */
static void end_sealed(struct sbx_upload *upload, struct sbx_reply *reply)
{
    struct sbx_collector *collector = upload->collector;
    struct sbx_sealed sealed;
    enum sbx_stored stored = SBX_STORED_NEW;
    char why[200] = "", id_text[SBX_ID_TEXT_BYTES];
    int result = sbx_sealed_look(upload->body.data, upload->body.used, &sealed, why, sizeof(why));
    if (result < 0) {
        refuse_payload(collector, result, why, reply);
        return;
    }
    sbx_id_print(sealed.id, id_text);
    /* Look before anything is opened, so that repeated posts of the same bytes cost no public-key work. */
    result = sbx_sealed_store_look(collector->sealed, sealed.id, upload->body.data, upload->body.used, &stored);
    if (result == 0 && stored == SBX_STORED_NEW) {
        int inside = look_inside(upload, why, sizeof(why), reply);
        if (inside == -EPERM)
            return;
        if (inside < 0 && inside != -ENOKEY) {
            refuse_payload(collector, inside, why, reply);
            return;
        }
        result = sbx_sealed_store_put(collector->sealed, &sealed, upload->app, upload->body.data, upload->body.used,
                                      sbx_wall_clock_ms(), &stored);
    }
    answer_stored(collector, result, stored, id_text, reply);
    if (result == 0 && stored == SBX_STORED_NEW)
        sbx_triager_wake(collector->triager);
}

void sbx_upload_end(struct sbx_upload *upload, struct sbx_reply *reply)
{
    struct sbx_collector *collector = upload->collector;
    char why[200] = "";
    struct sbx_stall *stall;
    upload->has_ended = true;
    if (upload->is_too_large) {
        refuse_too_large(collector, reply);
        return;
    }
    if (upload->is_busy) {
        refuse_busy(collector, reply);
        return;
    }
    if (sbx_sealed_is(upload->body.used ? upload->body.data : "", upload->body.used)) {
        end_sealed(upload, reply);
        return;
    }
    int result =
        sbx_stall_decode(upload->body.used ? upload->body.data : "", upload->body.used, &stall, why, sizeof(why));
    if (result < 0) {
        refuse_payload(collector, result, why, reply);
        return;
    }
    store_stall(upload, stall, reply);
    sbx_stall_destroy(stall);
}

void sbx_upload_destroy(struct sbx_upload *upload)
{
    if (!upload)
        return;
    if (!upload->has_ended)
        sbx_metrics_add(upload->collector->metrics, SBX_METRIC_INCOMPLETE, 1);
    give_in_flight(upload->collector, upload->counted_bytes);
    sbx_byte_buffer_finish(&upload->body);
    free(upload);
}
