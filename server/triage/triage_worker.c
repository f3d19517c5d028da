/* SPDX-License-Identifier: Apache-2.0 */
/* triage_worker.c - decodes, names and judges a payload, and answers. */
#include "triage_worker.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "app_symbols.h"
#include "attribute.h"
#include "cause.h"
#include "envelope_format.h"
#include "grouping.h"
#include "rendering_make.h"
#include "report.h"
#include "shortage.h"
#include "stall_facts.h"
#include "stall_profile.h"
#include "symbol_sources.h"
#include "symbol_store.h"
#include "symbolizer.h"
#include "triage_wire.h"
#include "worker_sandbox.h"

enum {
    PLACES_BYTES_MAX = 1 << 20
};

/* ---- the socket ---- */

static bool read_all(int socket, void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = read(socket, (char *)bytes + done, count - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool write_all(int socket, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t put = write(socket, (const char *)bytes + done, count - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

/* ---- its places ---- */

static void put_text(struct sbx_byte_buffer *out, const char *text)
{
    sbx_byte_buffer_append(out, text ? text : "", text ? strlen(text) + 1 : 1);
}

int sbx_worker_pack_places(const struct sbx_worker_places *places, struct sbx_byte_buffer *greeting_out)
{
    struct sbx_byte_buffer text = {.limit = PLACES_BYTES_MAX};
    put_text(&text, places->provider_dir);
    put_text(&text, places->symbol_store);
    put_text(&text, places->symbol_tenant);
    for (size_t i = 0; i < places->symbol_dir_count; i++)
        put_text(&text, places->symbol_dirs[i]);
    for (size_t i = 0; i < places->index_path_count; i++)
        put_text(&text, places->index_paths[i]);
    const uint32_t numbers[4] = {(uint32_t)places->symbol_dir_count, (uint32_t)places->index_path_count,
                                 (uint32_t)text.used, places->skips_local_files};
    sbx_byte_buffer_append(greeting_out, numbers, sizeof(numbers));
    sbx_byte_buffer_append(greeting_out, text.data, text.used);
    int result = text.failed ? -E2BIG : greeting_out->failed ? -ENOMEM : 0;
    sbx_byte_buffer_finish(&text);
    return result;
}

/* The next text; "" at the end. */
static const char *next_text(const char **at, const char *end)
{
    const char *text = *at;
    if (text >= end)
        return "";
    *at += strlen(text) + 1;
    return text;
}

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

/* State of a worker for its whole life. */
struct worker {
    int socket; /* to the server */
    struct sbx_symbol_sources *sources;
    struct sbx_symbol_store *store; /* NULL: none */
    bool store_is_server;
    bool store_is_away;    /* since the start; part of the store could not be reached */
    char store_words[400]; /* words about it; "" when a probe finds the words */
};

/* Open the symbol store. A connection to a server is made now, because the sandbox forbids it later. */
static void open_store(struct worker *worker, const char *where, const char *tenant)
{
    char why[300];
    if (!*where)
        return;
    worker->store_is_server = sbx_symbol_store_is_server(where);
    int result = sbx_symbol_store_open_at(where, tenant, false, &worker->store, why, sizeof(why));
    if (result < 0) {
        worker->store = NULL;
        if (worker->store_is_server)
            snprintf(worker->store_words, sizeof(worker->store_words), "%.100s", *why ? why : strerror(-result));
    } else {
        result = sbx_symbol_store_connect_once(worker->store);
    }
    worker->store_is_away = worker->store_is_server && result < 0;
}

/* Read the places, and open what can be opened before the sandbox closes. NULL: the server is gone, or there is no
 * memory. */
static struct sbx_symbol_sources *open_sources(int socket, struct worker *worker)
{
    uint32_t numbers[4];
    if (!read_all(socket, numbers, sizeof(numbers)) || numbers[2] > PLACES_BYTES_MAX || numbers[0] > numbers[2] ||
        numbers[1] > numbers[2])
        return NULL;
    const size_t dirs = numbers[0], indexes = numbers[1], bytes = numbers[2];
    char *text = calloc(1, bytes + 1);
    const char **paths = calloc(dirs + indexes + 1, sizeof(*paths));
    if (!text || !paths || !read_all(socket, text, bytes))
        return NULL;
    const char *at = text, *end = text + bytes;
    const char *provider_dir = next_text(&at, end), *where = next_text(&at, end), *tenant = next_text(&at, end);
    for (size_t i = 0; i < dirs + indexes; i++)
        paths[i] = next_text(&at, end);
    open_store(worker, where, tenant);
    const struct sbx_symbol_places places = {.symbol_dirs = paths,
                                             .symbol_dir_count = dirs,
                                             .index_paths = paths + dirs,
                                             .index_path_count = indexes,
                                             .provider_dir = or_null(provider_dir),
                                             .store = worker->store,
                                             .skips_local_files = numbers[3] != 0};
    struct sbx_symbol_sources *sources = sbx_symbol_sources_create(&places, NULL);
    free(paths);
    free(text);
    return sources;
}

/* ---- one task ---- */

/* The profile of the stall as text (given: free); NULL without memory, or when no time is known. */
static char *print_profile(const struct sbx_report *report)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    int result = stream ? sbx_print_stall_profile(report, stream) : -ENOMEM;
    if (stream && fclose(stream) == 0 && result == 0 && bytes <= SBX_STALL_PROFILE_BYTES)
        return text;
    free(text);
    return NULL;
}

static void pack_verdict(const struct sbx_report *report, struct sbx_byte_buffer *body)
{
    const struct sbx_verdict *verdict = &report->verdict;
    const struct sbx_location *location = &verdict->location;
    struct sbx_grouping grouping;
    struct sbx_stall_fact facts[SBX_STALL_FACTS_MAX];
    struct sbx_said_row said[SBX_STALL_FACTS_MAX];
    size_t said_count = sbx_stall_facts(report, facts);
    for (size_t i = 0; i < said_count; i++)
        said[i] = (struct sbx_said_row){.kind = (int)facts[i].kind, .word = facts[i].word, .us = facts[i].us};
    sbx_grouping_make(report, &grouping);
    struct sbx_gap_row *gaps = calloc(report->gap_count + 1, sizeof(*gaps));
    if (!gaps) {
        body->failed = true;
        return;
    }
    for (uint32_t i = 0; i < report->gap_count; i++) {
        const struct sbx_report_gap *gap = &report->gaps[i];
        const struct sbx_stall_module *module = &report->stall->modules[gap->module];
        gaps[i] = (struct sbx_gap_row){.build_id = module->build_id,
                                       .build_id_bytes = gap->is_runtime ? 8 : module->build_id_bytes,
                                       .name = gap->name,
                                       .is_runtime = gap->is_runtime,
                                       .unnamed = gap->unnamed};
    }
    char *profile = print_profile(report);
    const struct sbx_verdict_row row = {
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
        .tenant = sbx_stall_tenant(report->stall),
        .said = said,
        .said_count = said_count,
        .profile = profile,
    };
    sbx_verdict_pack(&row, body);
    free(profile);
    free(gaps);
}

/* Add an end that was reported separately. */
static void complete(struct sbx_stall *stall, const struct sbx_end_row *end)
{
    if (!stall->trigger.in_progress || stall->end.how != SBX_END_NONE)
        return;
    stall->end.how = end->how;
    stall->end.signal = end->signal;
    stall->end.duration_ns = end->duration_ns;
}

/* Open the symbols that were sent for the stall's application only; NULL: there are none. */
static struct sbx_symbol_store *open_own(const struct worker *worker, uint64_t app)
{
    struct sbx_symbol_store *own;
    if (!worker->store || app == 0)
        return NULL;
    int result = sbx_app_symbols_open(worker->store, app, false, &own);
    if (result < 0)
        sbx_shortage_note(result); /* a shortage of descriptors or memory; a missing tenant is no shortage */
    return result < 0 ? NULL : own;
}

/* Do a task. Returns 0 and a body, or -errno with the reason. */
static int do_task(struct worker *worker, const struct sbx_task_head *head, const uint8_t *envelope,
                   struct sbx_byte_buffer *body, bool *has_gaps_out, char *why, size_t why_bytes)
{
    struct sbx_stall *stall;
    struct sbx_report *report = NULL;
    int result = sbx_stall_decode(envelope, head->envelope_bytes, &stall, why, why_bytes);
    if (result < 0)
        return result;
    complete(stall, &head->end);
    struct sbx_symbolizer *symbolizer = sbx_symbol_sources_renew(worker->sources);
    struct sbx_symbol_store *own_store = open_own(worker, sbx_stall_tenant(stall));
    if (symbolizer)
        sbx_symbolizer_use_own_store(symbolizer, own_store, sbx_stall_tenant(stall));
    result = symbolizer ? sbx_report_create(stall, symbolizer, &report) : -ENOMEM;
    for (uint32_t i = 0; result == 0 && i < report->gap_count; i++)
        *has_gaps_out |= !report->gaps[i].is_runtime;
    if (result == 0)
        result = sbx_attribute(report);
    if (result == 0 && head->kind == SBX_TASK_RENDERING) {
        result = sbx_rendering_make(report, (enum sbx_rendering)head->rendering, SBX_ANSWER_BYTES_MAX, body);
        if (result == -EFBIG)
            snprintf(why, why_bytes, "it would have more than %d MiB", SBX_ANSWER_BYTES_MAX >> 20);
    } else if (result == 0) {
        body->limit = SBX_ANSWER_BYTES_MAX;
        pack_verdict(report, body);
        result = body->failed ? -EFBIG : 0;
    }
    sbx_report_destroy(report);
    sbx_stall_destroy(stall);
    if (symbolizer)
        sbx_symbolizer_use_own_store(symbolizer, NULL, 0);
    sbx_symbol_store_close(own_store);
    return result;
}

static bool answer(int socket, const struct sbx_answer_head *head, const struct sbx_byte_buffer *body)
{
    return write_all(socket, head, sizeof(*head)) && write_all(socket, body->data, (size_t)head->body_bytes);
}

/* Ask the store for a build-id that does not exist. */
static void probe(struct worker *worker)
{
    static const uint8_t nobody[20];
    struct sbx_symbol_image *image;
    if (worker->store &&
        sbx_symbol_store_find(worker->store, nobody, sizeof(nobody), (uint64_t)time(NULL), 0, &image) == 0)
        sbx_symbol_image_close(image);
}

/* Report the state of the symbol store. Returns whether it was unreachable. */
static bool tell_store(struct worker *worker, bool is_probe, struct sbx_answer_head *said)
{
    enum sbx_store_trouble trouble = SBX_STORE_IS_WELL;
    if (worker->store)
        trouble = sbx_symbol_store_trouble(worker->store, said->store_words, sizeof(said->store_words));
    if (trouble != SBX_STORE_IS_AWAY && worker->store_is_away && (is_probe || !worker->store)) {
        trouble = SBX_STORE_IS_AWAY;
        snprintf(said->store_words, sizeof(said->store_words), "%s",
                 *worker->store_words ? worker->store_words : "not all of its servers are to be had");
    }
    said->store_trouble = trouble;
    return trouble == SBX_STORE_IS_AWAY;
}

/* Read the next task, do it and answer. Returns false when there was none. */
static bool serve_one(struct worker *worker)
{
    int socket = worker->socket;
    struct sbx_task_head head;
    struct sbx_arrival arrival;
    if (!read_all(socket, &head, sizeof(head)) || head.envelope_bytes > SBX_ENVELOPE_BYTES_MAX ||
        head.rendering >= SBX_RENDERING_KINDS)
        return false;
    for (uint32_t i = 0; i < head.arrival_count; i++) {
        if (!read_all(socket, &arrival, sizeof(arrival)))
            return false;
        sbx_symbol_sources_came(worker->sources, arrival.bytes ? arrival.build_id : NULL, arrival.bytes);
    }
    uint8_t *envelope = malloc(head.envelope_bytes + 1);
    if (!envelope || !read_all(socket, envelope, head.envelope_bytes))
        return false;
    struct sbx_byte_buffer body = {0};
    struct sbx_answer_head said = {0};
    uint64_t shortages = sbx_shortage_count();
    bool has_gaps = false, is_probe = head.kind == SBX_TASK_PROBE;
    if (is_probe)
        probe(worker);
    else
        said.result = do_task(worker, &head, envelope, &body, &has_gaps, said.why, sizeof(said.why));
    if (tell_store(worker, is_probe, &said) && has_gaps)
        said.lack = SBX_LACKS_STORE;
    bool is_short = sbx_shortage_count() != shortages; /* a file that could not be opened does not count as missing */
    if (is_short && sbx_shortage_newest() == ENOMEM && said.result == 0) {
        said.lack = said.lack == SBX_LACKS_NOTHING && has_gaps ? SBX_LACKS_MEMORY : said.lack;
    } else if (is_short) {
        said.result = -EAGAIN;
        snprintf(said.why, sizeof(said.why), "symbols cannot be read now: %s", strerror(sbx_shortage_newest()));
    }
    if (is_short)
        sbx_symbol_sources_came(worker->sources, NULL, 0);
    said.body_bytes = said.result == 0 ? body.used : 0;
    bool is_said = answer(socket, &said, &body);
    sbx_byte_buffer_finish(&body);
    free(envelope);
    return is_said;
}

_Noreturn void sbx_triage_worker_run(int socket)
{
    struct worker worker = {.socket = socket};
    worker.sources = open_sources(socket, &worker);
    if (!worker.sources || sbx_worker_sandbox_close(worker.store_is_server) < 0)
        _exit(SBX_WORKER_CANNOT_BEGIN);
    while (serve_one(&worker))
        ;
    _exit(0);
}
