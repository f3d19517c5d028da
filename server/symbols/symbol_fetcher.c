/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_fetcher.c - asks for missing symbols one by one, and decides when to ask again. */
#include "symbol_fetcher.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_id.h"
#include "debug_link.h"
#include "fetch_helper.h"
#include "monotonic_in.h"
#include "store_symbols.h"
#include "symbol_intake.h"

enum {
    LOOK_EVERY_MS = 30000,
    FIRST_LOOK_MS = 1000,
    MISSING_MAX = 1000, /* per search: those that most stalls lack */
    MEMORY_MAX = 8192,  /* build-ids that were asked for and are remembered */
    AGAIN_MIN_S = 600,
    AGAIN_MAX_S = 86400,
    AWAY_MIN_S = 60, /* pause after a server did not answer; doubled up to an hour */
    AWAY_MAX_S = 3600,
    NAME_BYTES_MAX = 63
};

/* ---- what was asked for ---- */

struct asked {
    char build_id[65];
    uint32_t times;
    uint64_t until_s; /* not asked for again before this time */
};

struct sbx_fetch_memory {
    struct asked *rows; /* a ring, in the order in which they came */
    size_t count, max, oldest;
};

uint32_t sbx_fetch_again_s(uint32_t times)
{
    uint32_t seconds = AGAIN_MIN_S;
    for (uint32_t i = 1; i < times && seconds < AGAIN_MAX_S; i++)
        seconds *= 2;
    return seconds < AGAIN_MAX_S ? seconds : AGAIN_MAX_S;
}

struct sbx_fetch_memory *sbx_fetch_memory_create(size_t max)
{
    struct sbx_fetch_memory *memory = calloc(1, sizeof(*memory));
    if (memory && !(memory->rows = calloc(max, sizeof(*memory->rows)))) {
        free(memory);
        return NULL;
    }
    if (memory)
        memory->max = max;
    return memory;
}

void sbx_fetch_memory_destroy(struct sbx_fetch_memory *memory)
{
    if (!memory)
        return;
    free(memory->rows);
    free(memory);
}

static struct asked *find(const struct sbx_fetch_memory *memory, const char *build_id)
{
    for (size_t i = 0; i < memory->count; i++)
        if (strcmp(memory->rows[i].build_id, build_id) == 0)
            return &memory->rows[i];
    return NULL;
}

int sbx_fetch_memory_allows(const struct sbx_fetch_memory *memory, const char *build_id, uint64_t now_s)
{
    const struct asked *row = find(memory, build_id);
    return !row || now_s >= row->until_s;
}

void sbx_fetch_memory_note(struct sbx_fetch_memory *memory, const char *build_id, uint64_t now_s)
{
    struct asked *row = find(memory, build_id);
    if (!row) {
        row = &memory->rows[memory->count < memory->max ? memory->count++ : memory->oldest++ % memory->max];
        *row = (struct asked){0};
        snprintf(row->build_id, sizeof(row->build_id), "%s", build_id);
    }
    row->until_s = now_s + sbx_fetch_again_s(++row->times);
}

/* ---- the thread ---- */

struct sbx_symbol_fetcher {
    struct sbx_fetcher_settings settings;
    char *url, *folder;
    struct sbx_fetch_memory *memory;
    struct sbx_missing_row *rows; /* MISSING_MAX */
    uint64_t away_until_s;        /* end of the pause after the server did not answer; 0: none */
    uint32_t away_s;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t changed;
    bool is_stopping, is_taken;
};

static uint64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

static bool goes_on(struct sbx_symbol_fetcher *fetcher)
{
    pthread_mutex_lock(&fetcher->lock);
    bool is_stopping = fetcher->is_stopping;
    pthread_mutex_unlock(&fetcher->lock);
    return !is_stopping;
}

static void note_taken(void *context)
{
    struct sbx_symbol_fetcher *fetcher = context;
    pthread_mutex_lock(&fetcher->lock);
    fetcher->is_taken = true;
    pthread_cond_broadcast(&fetcher->changed);
    pthread_mutex_unlock(&fetcher->lock);
}

static void say(struct sbx_symbol_fetcher *fetcher, const struct sbx_missing_row *row, const char *words)
{
    struct sbx_log_subject subject = {row ? "build_id" : NULL, row ? row->build_id : NULL};
    sbx_operator_log_of(fetcher->settings.log, SBX_LOG_WARNING, "debuginfod", subject, "%s: %s%s%s%s", fetcher->url,
                        row ? row->build_id : "", row && *row->name ? " " : "", row ? row->name : "", words);
}

/* Pass the file to the intake, like a file that a person sends. Returns whether it need not be fetched again soon. */
static bool hand_over(struct sbx_symbol_fetcher *fetcher, const struct sbx_missing_row *row, int fd, int alternate)
{
    struct sbx_intake_answer answer;
    char words[300];
    const struct sbx_intake_claims claims = {.build_id = row->build_id,
                                             .name = strlen(row->name) <= NAME_BYTES_MAX ? row->name : NULL};
    struct sbx_symbol_upload *upload = sbx_symbol_upload_begin(fetcher->settings.intake, &claims, 0, &answer);
    if (!upload && answer.outcome == SBX_INTAKE_REFUSED) { /* the name was refused, but only the build-id counts */
        const struct sbx_intake_claims plain = {.build_id = row->build_id};
        upload = sbx_symbol_upload_begin(fetcher->settings.intake, &plain, 0, &answer);
    }
    if (!upload) {
        close(fd);
        if (alternate >= 0)
            close(alternate);
        return false;
    }
    sbx_symbol_upload_adopt(upload, fd, alternate);
    fetcher->is_taken = false;
    sbx_symbol_upload_submit(upload, note_taken, fetcher);
    pthread_mutex_lock(&fetcher->lock);
    while (!fetcher->is_taken)
        pthread_cond_wait(&fetcher->changed, &fetcher->lock);
    pthread_mutex_unlock(&fetcher->lock);
    answer = *sbx_symbol_upload_answer(upload);
    sbx_symbol_upload_destroy(upload);
    if (answer.status < 400)
        snprintf(words, sizeof(words), ": %s, %llu functions; %lld stall%s named anew",
                 answer.source ? answer.source : "none", (unsigned long long)answer.functions, (long long)answer.stalls,
                 answer.stalls == 1 ? " is" : "s are");
    else
        snprintf(words, sizeof(words), ": what it has is not taken: %s", answer.why);
    say(fetcher, row, words);
    return answer.outcome != SBX_INTAKE_LATER;
}

/* Fetch the part that dwz moved out of a file; the server has it under its own build-id. -1: there is no such part, or
 * the server does not have it. */
static int fetch_alternate(struct sbx_symbol_fetcher *fetcher, const struct sbx_debuginfod *server, int fd)
{
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    char why[240];
    int alternate = -1;
    size_t bytes = sbx_debug_alternate_id(fd, build_id);
    if (bytes == 0 ||
        sbx_fetch_helper_fetch(fetcher->settings.helper, server, build_id, bytes, &alternate, why, sizeof(why)) != 0)
        return -1;
    return alternate;
}

/* Ask for one build-id. Returns whether to go on with the next. */
static bool ask_for(struct sbx_symbol_fetcher *fetcher, const struct sbx_missing_row *row)
{
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    char why[240], words[300];
    uint64_t room = sbx_symbol_intake_room(fetcher->settings.intake);
    size_t bytes = sbx_build_id_parse(row->build_id, strlen(row->build_id), build_id);
    const struct sbx_debuginfod server = {.url = fetcher->url, .cache_folder = fetcher->folder, .max_bytes = room};
    int fd = -1;
    if (room == 0)
        return false;
    int result = sbx_fetch_helper_fetch(fetcher->settings.helper, &server, build_id, bytes, &fd, why, sizeof(why));
    bool is_of_file = result == -ENOENT || result == -EFBIG || result == -EBADMSG;
    sbx_metrics_add(fetcher->settings.metrics,
                    result == 0         ? SBX_METRIC_FETCHED
                    : result == -ENOENT ? SBX_METRIC_FETCHED_NONE
                                        : SBX_METRIC_FETCH_FAILED,
                    1);
    if (result == 0 || is_of_file)
        fetcher->away_s = 0;
    if (result == 0) {
        if (hand_over(fetcher, row, fd, fetch_alternate(fetcher, &server, fd)))
            sbx_fetch_memory_note(fetcher->memory, row->build_id, now_s());
        return true;
    }
    if (is_of_file) { /* another file may be better */
        sbx_fetch_memory_note(fetcher->memory, row->build_id, now_s());
        snprintf(words, sizeof(words), ": %s", why);
        if (result != -ENOENT)
            say(fetcher, row, words);
        return true;
    }
    if (!goes_on(fetcher))
        return false;
    if (result == -ETIME) /* perhaps only this one takes so long; the others come first the next time */
        sbx_fetch_memory_note(fetcher->memory, row->build_id, now_s());
    if (fetcher->away_s == 0)
        say(fetcher, NULL, why);
    fetcher->away_s = fetcher->away_s == 0               ? AWAY_MIN_S
                      : fetcher->away_s < AWAY_MAX_S / 2 ? fetcher->away_s * 2
                                                         : AWAY_MAX_S;
    fetcher->away_until_s = now_s() + fetcher->away_s;
    return false;
}

static void look(struct sbx_symbol_fetcher *fetcher)
{
    const struct sbx_store_view view = {.store = fetcher->settings.store};
    size_t count = 0;
    if (fetcher->away_s != 0 && now_s() < fetcher->away_until_s)
        return;
    if (sbx_store_missing(&view, fetcher->rows, MISSING_MAX, &count) < 0)
        return; /* the store logs that itself */
    for (size_t i = 0; i < count && goes_on(fetcher); i++) {
        const struct sbx_missing_row *row = &fetcher->rows[i];
        if (row->is_runtime || row->is_renamed || strlen(row->build_id) < 8 ||
            !sbx_fetch_memory_allows(fetcher->memory, row->build_id, now_s()))
            continue;
        if (!ask_for(fetcher, row))
            return;
    }
}

static bool pause_for(struct sbx_symbol_fetcher *fetcher, uint32_t ms)
{
    struct timespec until = sbx_monotonic_in_ms(ms);
    pthread_mutex_lock(&fetcher->lock);
    int code = 0;
    while (!fetcher->is_stopping && code == 0)
        code = pthread_cond_timedwait(&fetcher->changed, &fetcher->lock, &until);
    bool is_stopping = fetcher->is_stopping;
    pthread_mutex_unlock(&fetcher->lock);
    return !is_stopping;
}

static void *run(void *argument)
{
    struct sbx_symbol_fetcher *fetcher = argument;
    uint32_t every_ms = fetcher->settings.every_ms ? fetcher->settings.every_ms : LOOK_EVERY_MS;
    uint32_t first_ms = every_ms < FIRST_LOOK_MS ? every_ms : FIRST_LOOK_MS;
    for (bool is_on = pause_for(fetcher, first_ms); is_on; is_on = pause_for(fetcher, every_ms))
        look(fetcher);
    return NULL;
}

/* ---- life ---- */

static void release(struct sbx_symbol_fetcher *fetcher)
{
    sbx_fetch_memory_destroy(fetcher->memory);
    pthread_cond_destroy(&fetcher->changed);
    pthread_mutex_destroy(&fetcher->lock);
    free(fetcher->rows);
    free(fetcher->folder);
    free(fetcher->url);
    free(fetcher);
}

int sbx_symbol_fetcher_start(const struct sbx_fetcher_settings *settings, struct sbx_symbol_fetcher **fetcher_out)
{
    pthread_condattr_t monotonic;
    struct sbx_symbol_fetcher *fetcher = calloc(1, sizeof(*fetcher));
    if (!fetcher)
        return -ENOMEM;
    fetcher->settings = *settings;
    pthread_mutex_init(&fetcher->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&fetcher->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    fetcher->url = strdup(settings->url);
    fetcher->memory = sbx_fetch_memory_create(MEMORY_MAX);
    fetcher->rows = calloc(MISSING_MAX, sizeof(*fetcher->rows));
    if (asprintf(&fetcher->folder, "%s/fetched", settings->data_dir) < 0)
        fetcher->folder = NULL;
    int result = fetcher->url && fetcher->memory && fetcher->rows && fetcher->folder
                     ? -pthread_create(&fetcher->thread, NULL, run, fetcher)
                     : -ENOMEM;
    if (result < 0) {
        release(fetcher);
        return result;
    }
    *fetcher_out = fetcher;
    return 0;
}

void sbx_symbol_fetcher_stop(struct sbx_symbol_fetcher *fetcher)
{
    if (!fetcher)
        return;
    pthread_mutex_lock(&fetcher->lock);
    fetcher->is_stopping = true;
    pthread_cond_broadcast(&fetcher->changed);
    pthread_mutex_unlock(&fetcher->lock);
    sbx_fetch_helper_cancel(fetcher->settings.helper); /* do not wait for the current fetch */
    pthread_join(fetcher->thread, NULL);
    release(fetcher);
}
