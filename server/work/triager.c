/* SPDX-License-Identifier: Apache-2.0 */
/* triager.c - one payload after the other: decode, report, record; and reports for those who wait for one. */
#include "triager.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attribute.h"
#include "cause.h"
#include "grouping.h"
#include "rendering_make.h"
#include "report.h"
#include "stall_facts.h"
#include "store_symbols.h"

enum {
    WISHES_MAX = 64,       /* renderings that somebody waits for */
    STORE_PAUSE_MS = 2000, /* after the store failed (disk full): try again, but not in a loop */
    /* Stalls that are triaged anew because symbols came leave the machine to everybody else: some 20 a second. */
    ANEW_PAUSE_MS = 50,
    AGAIN_MAX = 3, /* times that one stall is triaged because symbols came meanwhile; the mark in the store remains */
};

struct sbx_triager {
    struct sbx_store *store;
    struct sbx_sealed_store *sealed;
    struct sbx_renderings *renderings;
    struct sbx_metrics *metrics;
    FILE *log;
    pthread_t thread;

    pthread_mutex_t lock; /* of those up to the empty line */
    pthread_cond_t changed;
    bool stopping, is_woken, grants_no_more;
    struct sbx_wish *wishes, **wishes_end; /* oldest first */
    size_t wish_count;

    struct sbx_symbol_sources *sources;
    /* Below: the thread's own. */
    struct sbx_unseal_keys unseal_keys;
    bool is_renaming; /* the payload at hand is triaged anew because symbols came */
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

static void log_line(struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES], const char *what, const char *why)
{
    char text[SBX_ID_TEXT_BYTES];
    if (!triager->log)
        return;
    sbx_id_print(id, text);
    fprintf(triager->log, "stallbox serve: snapshot %s: %s: %s\n", text, what, why);
    fflush(triager->log);
}

/* ---- one payload ---- */

static int put_verdict(struct sbx_triager *triager, const struct sbx_report *report, const uint8_t id[SBX_ID_BYTES])
{
    const struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_location *location = &verdict->location;
    struct sbx_grouping grouping;
    struct sbx_stall_fact facts[SBX_STALL_FACTS_MAX];
    struct sbx_said_row said[SBX_STALL_FACTS_MAX];
    size_t said_count = sbx_stall_facts(report, facts);
    for (size_t i = 0; i < said_count; i++)
        said[i] = (struct sbx_said_row){.kind = (int)facts[i].kind, .word = facts[i].word, .us = facts[i].us};
    struct sbx_gap_row *gaps = calloc(report->gap_count + 1, sizeof(*gaps));
    sbx_grouping_make(report, &grouping);
    if (!gaps)
        return -ENOMEM;
    for (uint32_t i = 0; i < report->gap_count; i++) {
        const struct sbx_report_gap *gap = &report->gaps[i];
        const struct sbx_stall_module *module = &report->stall->modules[gap->module];
        gaps[i] = (struct sbx_gap_row){.build_id = module->build_id,
                                       .build_id_bytes = gap->is_runtime ? 8 : module->build_id_bytes,
                                       .name = gap->name,
                                       .is_runtime = gap->is_runtime,
                                       .unnamed = gap->unnamed};
    }
    struct sbx_verdict_row row = {
        .app = report->app_name,
        .cause = sbx_cause_name(verdict->cause),
        .class_ = sbx_class_name(verdict->class_),
        .function = location->function ? location->function : "",
        .module = location->module ? location->module : "",
        .headline = verdict->headline,
        .confidence = verdict->confidence,
        .gaps = gaps,
        .gap_count = report->gap_count,
        .key = grouping.key,
        .path = grouping.text,
        .rules = SBX_GROUPING_RULES,
        .said = said,
        .said_count = said_count,
    };
    int result = sbx_store_put_verdict(triager->store, id, &row);
    free(gaps);
    return result;
}

/* Name, judge, record. As triage_envelope(). */
static int triage_stall(struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES], const struct sbx_stall *stall,
                        char *why, size_t why_bytes)
{
    struct sbx_report *report = NULL;
    struct sbx_symbolizer *symbolizer = sbx_symbol_sources_renew(triager->sources);
    int result = symbolizer ? sbx_report_create(stall, symbolizer, &report) : -ENOMEM;
    if (result == 0)
        result = sbx_attribute(report);
    if (result < 0) {
        snprintf(why, why_bytes, "%s", strerror(-result));
        goto destroy;
    }
    result = put_verdict(triager, report, id);
    if (result == 0) /* what was rendered of it before says something else */
        sbx_renderings_drop(triager->renderings, id);
    else if (result == -ENOENT) /* erased meanwhile */
        result = 0;
    else
        snprintf(why, why_bytes, "the verdict could not be stored: %s", strerror(-result));
destroy:
    sbx_report_destroy(report);
    return result;
}

/* Decode and report. Returns 0, or -errno with the reason in `why`. */
static int triage_envelope(struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES],
                           const struct sbx_byte_buffer *envelope, char *why, size_t why_bytes)
{
    struct sbx_stall *stall;
    int result = sbx_stall_decode(envelope->data, envelope->used, &stall, why, why_bytes);
    if (result < 0)
        return result;
    result = sbx_store_complete(triager->store, stall);
    if (result < 0)
        snprintf(why, why_bytes, "%s", strerror(-result));
    /* Its end may come while we are at it; it finds the row as not triaged, and leaves it to us. So may symbols, which find
     * in the store what it lacked before. */
    int again = AGAIN_MAX;
    for (bool is_whole = false; result == 0 && !is_whole;) {
        uint32_t how = stall->end.how;
        uint64_t arrivals = sbx_symbol_sources_arrivals(triager->sources);
        result = triage_stall(triager, id, stall, why, why_bytes);
        if (result == 0)
            result = sbx_store_complete(triager->store, stall);
        is_whole = stall->end.how == how && (sbx_symbol_sources_arrivals(triager->sources) == arrivals || --again == 0);
    }
    sbx_stall_destroy(stall);
    return result;
}

/* Errors of the store, which pass; the others are the payload's and count as an attempt. */
static bool is_passing(int result)
{
    return result == -ENOSPC || result == -EIO || result == -EBUSY || result == -EACCES;
}

/* Triage one. Returns 0 when it is settled, or -errno when it is to be tried again later. */
static int triage_one(struct sbx_triager *triager, const uint8_t id[SBX_ID_BYTES])
{
    char why[200] = "";
    struct sbx_byte_buffer envelope = {0};
    int64_t begin_us = now_us();
    int result = sbx_store_begin_triage(triager->store, id);
    if (result == 0)
        result = sbx_store_envelope(triager->store, id, &envelope);
    else if (result == -EDEADLK)
        snprintf(why, sizeof(why), "triage began %d times and never came to an end", SBX_TRIAGE_ATTEMPTS_MAX);
    if (result == 0) {
        result = triage_envelope(triager, id, &envelope, why, sizeof(why));
        if (is_passing(result))
            sbx_store_put_off_triage(triager->store, id);
    }
    sbx_byte_buffer_finish(&envelope);
    if (result == 0) {
        sbx_metrics_add(triager->metrics, SBX_METRIC_TRIAGED, 1);
    } else if (result == -ENOENT && triager->is_renaming) {
        /* It went, or its bytes did: what was said of it stays. */
    } else if (result == -EDEADLK || result == -EPROTO || result == -ENOTSUP) {
        log_line(triager, id, triager->is_renaming ? "is not triaged anew" : "triage failed", why);
        sbx_metrics_add(triager->metrics, SBX_METRIC_TRIAGE_FAILED, 1);
        if (!triager->is_renaming) /* else what was said of it before is better than nothing */
            result = sbx_store_put_failure(triager->store, id, why);
        else
            result = 0;
    } else {
        log_line(triager, id, "triage is put off", why[0] ? why : strerror(-result));
    }
    sbx_metrics_add(triager->metrics, SBX_METRIC_TRIAGE_MICROSECONDS, (uint64_t)(now_us() - begin_us));
    return result;
}

/* ---- wishes ---- */

/* Of one payload that was triaged: decode, name and judge it again, and print. Returns 0, or -errno with the reason. */
static int make_rendering(struct sbx_triager *triager, struct sbx_wish *wish, const struct sbx_byte_buffer *envelope)
{
    struct sbx_stall *stall = NULL;
    struct sbx_report *report = NULL;
    int result = sbx_stall_decode(envelope->data, envelope->used, &stall, wish->why, sizeof(wish->why));
    if (result == 0)
        result = sbx_store_complete(triager->store, stall);
    struct sbx_symbolizer *symbolizer = result == 0 ? sbx_symbol_sources_renew(triager->sources) : NULL;
    if (result == 0)
        result = symbolizer ? sbx_report_create(stall, symbolizer, &report) : -ENOMEM;
    if (result == 0)
        result = sbx_attribute(report);
    if (result == 0)
        result = sbx_rendering_make(report, wish->kind, SBX_RENDERING_BYTES_MAX, &wish->body);
    sbx_report_destroy(report);
    sbx_stall_destroy(stall);
    return result;
}

/* Keep it for the next who asks, unless it is of yesterday already. */
static void keep_rendering(struct sbx_triager *triager, const struct sbx_wish *wish, uint64_t arrivals)
{
    struct sbx_snapshot_row row;
    if (sbx_symbol_sources_arrivals(triager->sources) != arrivals)
        return;
    int result = sbx_renderings_put(triager->renderings, wish->id, wish->kind, &wish->body);
    if (result < 0)
        log_line(triager, wish->id, "a report is not kept", strerror(-result));
    if (sbx_store_snapshot(triager->store, wish->id, &row) == -ENOENT) /* erased meanwhile: nothing of it stays */
        sbx_renderings_remove(triager->renderings, wish->id);
}

static void grant(struct sbx_triager *triager, struct sbx_wish *wish)
{
    struct sbx_byte_buffer envelope = {0};
    uint64_t arrivals = sbx_symbol_sources_arrivals(triager->sources);
    wish->result = sbx_store_envelope(triager->store, wish->id, &envelope);
    if (wish->result == 0)
        wish->result = make_rendering(triager, wish, &envelope);
    sbx_byte_buffer_finish(&envelope);
    if (wish->result == 0)
        keep_rendering(triager, wish, arrivals);
    else if (!*wish->why)
        snprintf(wish->why, sizeof(wish->why), "%s",
                 wish->result == -EFBIG ? "it would have more than 8 MiB" : strerror(-wish->result));
    sbx_metrics_add(triager->metrics, wish->result == 0 ? SBX_METRIC_RENDERED : SBX_METRIC_NOT_RENDERED, 1);
    wish->done(wish->context);
}

void sbx_wish_finish(struct sbx_wish *wish)
{
    sbx_byte_buffer_finish(&wish->body);
}

/* ---- what is sealed ---- */

/* Open the oldest that one of our keys opens and put it among those that wait for triage. Returns 0, -ENOENT when there
 * is none, or -errno when it is to be tried again later. */
static int unseal_one(struct sbx_triager *triager)
{
    uint8_t id[SBX_ID_BYTES], *plain = NULL;
    size_t plain_bytes = 0;
    char why[200] = "";
    int64_t received_ms;
    struct sbx_byte_buffer envelope = {0};
    struct sbx_stall *stall = NULL;
    enum sbx_stored stored = SBX_STORED_NEW;
    if (triager->unseal_keys.count == 0)
        return -ENOENT;
    int result = sbx_sealed_store_next(triager->sealed, &triager->unseal_keys, id, &received_ms, &envelope);
    if (result == -ENOENT)
        return result;
    bool has_payload = false;
    if (result == 0) {
        result = sbx_sealed_open(&triager->unseal_keys, envelope.data, envelope.used, &plain, &plain_bytes, why,
                                 sizeof(why));
        if (result == 0)
            result = sbx_stall_decode(plain, plain_bytes, &stall, why, sizeof(why));
        has_payload = result == 0;
        /* Stored before it goes from the other table: whoever is killed in between does it again, to the same end. */
        if (has_payload)
            result = sbx_store_put(triager->store, stall, plain, plain_bytes, received_ms, &stored);
    }
    if (result == 0) {
        if (stored == SBX_STORED_CONFLICT)
            log_line(triager, id, "was stored before with other bytes; what was sealed is dropped",
                     "the first one counts");
        result = sbx_sealed_store_opened(triager->sealed, id);
    } else if (!has_payload && (result == -EPROTO || result == -ENOTSUP || result == -ENOKEY)) {
        log_line(triager, id, "cannot be unsealed", why);
        result = sbx_sealed_store_failed(triager->sealed, id, why);
    } else {
        log_line(triager, id, "unsealing is put off", why[0] ? why : strerror(-result));
    }
    sbx_stall_destroy(stall);
    free(plain);
    sbx_byte_buffer_finish(&envelope);
    return result;
}

/* ---- symbols that came ---- */

static bool has_symbols(void *context, const uint8_t *build_id, size_t bytes, uint64_t *made_s)
{
    const struct sbx_triager *triager = context;
    return sbx_symbol_sources_has(triager->sources, build_id, bytes, made_s);
}

/* What came to the store behind our back, while no server ran. */
static void look_for_symbols(struct sbx_triager *triager)
{
    int result = sbx_store_look_for_symbols(triager->store, has_symbols, triager);
    if (result < 0 && triager->log) {
        fprintf(triager->log, "stallbox serve: symbols that came meanwhile are not looked for: %s\n",
                strerror(-result));
        fflush(triager->log);
    }
}

static void wait_for_work(struct sbx_triager *triager, int64_t at_most_ms, bool can_wake);

/* Triage one stall anew whose symbols came, and rest a little. Returns 0, -ENOENT when there is none, or -errno when it is
 * to be tried again later. */
static int rename_one(struct sbx_triager *triager)
{
    struct sbx_renamed renamed;
    int result = sbx_store_next_renamed(triager->store, &renamed);
    if (result < 0)
        return result;
    triager->is_renaming = true;
    result = triage_one(triager, renamed.id);
    triager->is_renaming = false;
    if (result == 0)
        sbx_metrics_add(triager->metrics, SBX_METRIC_TRIAGED_ANEW, 1);
    if (result == 0 || result == -ENOENT)
        result = sbx_store_end_renamed(triager->store, &renamed);
    if (result == 0)
        wait_for_work(triager, ANEW_PAUSE_MS, true);
    return result == -ENOENT ? -EIO : result;
}

/* ---- the thread ---- */

/* Sleep until stopping, or woken where that can be; `at_most_ms` 0: without end. */
static void wait_for_work(struct sbx_triager *triager, int64_t at_most_ms, bool can_wake)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += at_most_ms / 1000;
    until.tv_nsec += at_most_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&triager->lock);
    int code = 0;
    while (!triager->stopping && code == 0 && !(can_wake && (triager->is_woken || triager->wishes)))
        code = at_most_ms ? pthread_cond_timedwait(&triager->changed, &triager->lock, &until)
                          : pthread_cond_wait(&triager->changed, &triager->lock);
    triager->is_woken = false;
    pthread_mutex_unlock(&triager->lock);
}

/* The oldest wish; NULL: none. */
static struct sbx_wish *next_wish(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    struct sbx_wish *wish = triager->wishes;
    if (wish) {
        triager->wishes = wish->next;
        triager->wishes_end = wish->next ? triager->wishes_end : &triager->wishes;
        triager->wish_count--;
    }
    pthread_mutex_unlock(&triager->lock);
    return wish;
}

static bool is_stopping(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    bool stopping = triager->stopping;
    pthread_mutex_unlock(&triager->lock);
    return stopping;
}

static void *run(void *argument)
{
    struct sbx_triager *triager = argument;
    uint8_t id[SBX_ID_BYTES];
    look_for_symbols(triager);
    while (!is_stopping(triager)) {
        struct sbx_wish *wish = next_wish(triager);
        if (wish) {
            grant(triager, wish);
            continue;
        }
        int result = sbx_store_next_pending(triager->store, id);
        if (result == 0)
            result = triage_one(triager, id);
        else if (result == -ENOENT)
            result = unseal_one(triager);
        if (result == -ENOENT)
            result = rename_one(triager);
        if (result == -ENOENT)
            wait_for_work(triager, 0, true);
        else if (result < 0)
            wait_for_work(triager, STORE_PAUSE_MS, false);
    }
    return NULL;
}

static void destroy(struct sbx_triager *triager)
{
    sbx_symbol_sources_destroy(triager->sources);
    sbx_unseal_keys_wipe(&triager->unseal_keys);
    pthread_cond_destroy(&triager->changed);
    pthread_mutex_destroy(&triager->lock);
    free(triager);
}

int sbx_triager_start(struct sbx_store *store, struct sbx_sealed_store *sealed, struct sbx_renderings *renderings,
                      struct sbx_metrics *metrics, FILE *log, const struct sbx_symbol_places *places,
                      const struct sbx_unseal_keys *unseal_keys, struct sbx_triager **triager_out)
{
    struct sbx_triager *triager = calloc(1, sizeof(*triager));
    if (!triager)
        return -ENOMEM;
    *triager = (struct sbx_triager){
        .store = store, .sealed = sealed, .renderings = renderings, .metrics = metrics, .log = log};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&triager->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&triager->lock, NULL);
    triager->wishes_end = &triager->wishes;
    if (unseal_keys)
        triager->unseal_keys = *unseal_keys;
    triager->sources = sbx_symbol_sources_create(places, log);
    int result = triager->sources ? 0 : -ENOMEM;
    if (result == 0)
        result = -pthread_create(&triager->thread, NULL, run, triager);
    if (result < 0) {
        destroy(triager);
        return result;
    }
    *triager_out = triager;
    return 0;
}

void sbx_triager_stop(struct sbx_triager *triager)
{
    if (!triager)
        return;
    sbx_triager_end_wishes(triager);
    pthread_mutex_lock(&triager->lock);
    triager->stopping = true;
    pthread_cond_signal(&triager->changed);
    pthread_mutex_unlock(&triager->lock);
    pthread_join(triager->thread, NULL);
    destroy(triager);
}

void sbx_triager_wake(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    triager->is_woken = true;
    pthread_cond_signal(&triager->changed);
    pthread_mutex_unlock(&triager->lock);
}

void sbx_triager_symbols_came(struct sbx_triager *triager, const uint8_t *build_id, size_t bytes)
{
    sbx_symbol_sources_came(triager->sources, build_id, bytes);
    sbx_triager_wake(triager);
}

int sbx_triager_wish(struct sbx_triager *triager, struct sbx_wish *wish)
{
    wish->next = NULL;
    wish->result = 0;
    wish->why[0] = '\0';
    wish->body = (struct sbx_byte_buffer){0};
    pthread_mutex_lock(&triager->lock);
    bool is_taken = !triager->grants_no_more && triager->wish_count < WISHES_MAX;
    if (is_taken) {
        *triager->wishes_end = wish;
        triager->wishes_end = &wish->next;
        triager->wish_count++;
        pthread_cond_signal(&triager->changed);
    }
    pthread_mutex_unlock(&triager->lock);
    return is_taken ? 0 : -EAGAIN;
}

void sbx_triager_end_wishes(struct sbx_triager *triager)
{
    struct sbx_wish *wish;
    if (!triager)
        return;
    pthread_mutex_lock(&triager->lock);
    triager->grants_no_more = true;
    pthread_mutex_unlock(&triager->lock);
    while ((wish = next_wish(triager)) != NULL) {
        wish->result = -ECANCELED;
        wish->done(wish->context);
    }
}
