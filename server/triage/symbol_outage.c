/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_outage.c - the symbol store becomes unreachable, and comes back. */
#include <string.h>
#include <time.h>

#include "app_symbols.h"
#include "monotonic_in.h"
#include "store_symbols.h"
#include "symbol_store.h"
#include "triager_inside.h"

enum {
    PATIENCE_MS_DEFAULT = 30000, /* longer than the restart of a server, or a cluster's change of master */
    LOOK_MS = 2000               /* between two checks whether it is back */
};

static int64_t now_ms(void)
{
    return sbx_monotonic_ms() + 1; /* never 0 */
}

static int64_t patience_ms(const struct sbx_triager *triager)
{
    return triager->settings.symbol_patience_ms ? triager->settings.symbol_patience_ms : PATIENCE_MS_DEFAULT;
}

static void say(const struct sbx_triager *triager, enum sbx_log_level level, const char *what, const char *more)
{
    sbx_operator_log(triager->settings.log, level, "symbols", "symbols: %s%s", what, more);
}

/* ---- what workers say ---- */

/* Copy words of a worker, which reads untrusted input: one line, without control characters for a terminal. */
static void copy_words(char *out, size_t bytes, const char *words)
{
    size_t at = 0;
    for (; words[at] && at + 1 < bytes; at++)
        out[at] = (unsigned char)words[at] < 0x20 || (unsigned char)words[at] >= 0x7f ? '?' : words[at];
    out[at] = '\0';
}

void sbx_outage_note(struct sbx_triager *triager, enum sbx_store_trouble trouble, const char *words)
{
    struct sbx_symbol_outage *outage = &triager->outage;
    char line[sizeof(outage->said)], more[160] = "";
    bool is_news = false;
    if (trouble == SBX_STORE_IS_WELL)
        return;
    copy_words(line, sizeof(line), words);
    pthread_mutex_lock(&triager->lock);
    if (trouble == SBX_STORE_IS_AWAY) {
        is_news = outage->since_ms == 0;
        if (is_news)
            outage->since_ms = now_ms();
        pthread_cond_broadcast(&triager->changed); /* the first hand begins to check */
    } else {
        is_news = strcmp(outage->said, line) != 0;
        memcpy(outage->said, line, sizeof(outage->said));
    }
    pthread_mutex_unlock(&triager->lock);
    if (is_news && trouble == SBX_STORE_IS_AWAY) {
        sbx_metrics_add(triager->settings.metrics, SBX_METRIC_SYMBOLS_AWAY, 1);
        snprintf(more, sizeof(more), "; stalls wait for it for %g s, then they are told without names until it is back",
                 (double)patience_ms(triager) / 1000);
    }
    if (is_news)
        say(triager, SBX_LOG_WARNING, line, more);
}

bool sbx_outage_is_on(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    bool is_on = triager->outage.since_ms != 0;
    pthread_mutex_unlock(&triager->lock);
    return is_on;
}

bool sbx_outage_is_waited_for(struct sbx_triager *triager)
{
    pthread_mutex_lock(&triager->lock);
    int64_t since_ms = triager->outage.since_ms;
    pthread_mutex_unlock(&triager->lock);
    return since_ms != 0 && now_ms() - since_ms < patience_ms(triager);
}

/* ---- looking whether it is back ---- */

bool sbx_outage_is_to_be_tended(const struct sbx_triager *triager)
{
    return triager->outage.since_ms != 0 || triager->outage.wants_look;
}

/* Does the store answer a new worker? The worker connects as workers for stalls do. */
static bool answers(struct sbx_triage_hand *hand)
{
    const struct sbx_byte_buffer nothing = {0};
    const struct sbx_triage_task task = {.kind = SBX_TASK_PROBE, .envelope = &nothing};
    struct sbx_triage_answer answer;
    sbx_triage_process_end(hand->process);
    sbx_triage_process_ask(hand->process, &task, &answer);
    sbx_byte_buffer_finish(&answer.body);
    return answer.outcome == SBX_PROCESS_ANSWERED && answer.result == 0 && answer.store_trouble != SBX_STORE_IS_AWAY;
}

/* The time of the symbols in one store; 0: there are none. */
static uint64_t made_s_in(struct sbx_symbol_store *store, const uint8_t *build_id, size_t bytes)
{
    struct sbx_symbol_image *image;
    if (sbx_symbol_store_find(store, build_id, bytes, (uint64_t)time(NULL), 0, &image) != 0)
        return 0;
    uint64_t made_s = sbx_symbol_image_facts(image)->made_s;
    sbx_symbol_image_close(image);
    return made_s;
}

/* The newest of the application's own symbols and of those for all. */
static bool has_symbols(void *context, const uint8_t *build_id, size_t bytes, uint64_t app, uint64_t *made_s_out)
{
    const struct sbx_triager *triager = context;
    struct sbx_symbol_store *own = NULL;
    uint64_t own_s = 0, common_s = made_s_in(triager->settings.symbols, build_id, bytes);
    if (app != 0 && sbx_app_symbols_open(triager->settings.symbols, app, false, &own) == 0)
        own_s = made_s_in(own, build_id, bytes);
    sbx_symbol_store_close(own);
    *made_s_out = own_s > common_s ? own_s : common_s;
    return *made_s_out != 0;
}

/* Look for symbols that came to the store without this server, while no server ran or while the store was unreachable.
 * Returns whether the search is complete. */
static bool look_for_symbols(struct sbx_triager *triager, bool is_first)
{
    char words[sizeof(triager->outage.said)];
    int result =
        triager->settings.symbols ? sbx_store_look_for_symbols(triager->settings.store, has_symbols, triager) : 0;
    if (result < 0)
        say(triager, SBX_LOG_WARNING, "those that came meanwhile are not looked for: ", strerror(-result));
    enum sbx_store_trouble trouble = triager->settings.symbols
                                         ? sbx_symbol_store_trouble(triager->settings.symbols, words, sizeof(words))
                                         : SBX_STORE_IS_WELL;
    if (is_first ||
        /* later the workers report it, because this handle asks again only after a while */
        trouble == SBX_STORE_IS_DAMAGED)
        sbx_outage_note(triager, trouble, words);
    return trouble != SBX_STORE_IS_AWAY;
}

void sbx_outage_tend(struct sbx_triage_hand *hand)
{
    struct sbx_triager *triager = hand->triager;
    struct sbx_symbol_outage *outage = &triager->outage; /* members that only the first hand uses need no lock */
    pthread_mutex_lock(&triager->lock);
    bool is_to_be_tended = sbx_outage_is_to_be_tended(triager), is_away = outage->since_ms != 0;
    pthread_mutex_unlock(&triager->lock);
    if (!is_to_be_tended || now_ms() < outage->next_look_ms)
        return;
    bool is_back = is_away && answers(hand);
    if (is_back) {
        pthread_mutex_lock(&triager->lock);
        outage->since_ms = 0;
        outage->wants_look = true;
        pthread_mutex_unlock(&triager->lock);
        sbx_metrics_add(triager->settings.metrics, SBX_METRIC_SYMBOLS_AWAY, (uint64_t)-1);
        say(triager, SBX_LOG_INFO,
            "the store answers again: ", "stalls that lack names because of it are triaged anew");
    }
    if (is_back || !is_away) {
        bool is_done = look_for_symbols(triager, !outage->has_looked);
        outage->has_looked = true;
        pthread_mutex_lock(&triager->lock);
        outage->wants_look = !is_done;
        pthread_mutex_unlock(&triager->lock);
    }
    outage->next_look_ms = now_ms() + LOOK_MS;
}
