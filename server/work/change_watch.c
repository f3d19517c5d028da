/* SPDX-License-Identifier: Apache-2.0 */
/* change_watch.c - looks for changes, records them, and sends them to a webhook. */
#include "change_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comparison.h"
#include "html_writer.h"
#include "json_document.h"
#include "monotonic_in.h"
#include "page_parts.h"
#include "store_told.h"
#include "webhook.h"
#include "wall_clock.h"

enum {
    LOOK_EVERY_MS = 3600 * 1000,
    TELL_EVERY_MS = 10 * 1000,
    FIRST_LOOK_MS = 60 * 1000, /* after the start; waiting payloads are more urgent */
    APPS = 50,
    VERSIONS = 50,
    ISSUES_A_DAY = 50, /* per application: those that most machines met */
    RECENT_DAYS = 30,
    WEEK = 7,
    KEPT_DAYS = 90,
    TOLD_AT_ONCE = 20, /* changes sent per look; when there are hundreds, the page tells more */
};
#define DAY_MS INT64_C(86400000)

struct sbx_change_watch {
    struct sbx_change_watch_settings settings;
    struct sbx_webhook *webhook;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_stopping; /* the lock protects it */
};

/* One look at all applications. */
struct looking {
    const struct sbx_store_view *view;
    struct sbx_change_log *log;
    int64_t now_ms;
    const struct sbx_change_rules *rules; /* which changes the webhook receives; NULL: none */
    int found;
};

/* ---- events ---- */

static int add_event(struct looking *looking, struct sbx_change_event *event)
{
    event->at_ms = looking->now_ms;
    int result =
        sbx_change_log_add(looking->log, event, looking->rules && sbx_change_rules_take(looking->rules, event));
    looking->found += result > 0;
    return result < 0 ? result : 0;
}

static const char *name_of(const struct sbx_issue_row *issue)
{
    return *issue->newest.function ? issue->newest.function : issue->newest.headline;
}

/* Make the event that both measures share. `what`: the issue in words. */
static struct sbx_change_event event_of(const char *app, const struct sbx_issue_span spans[],
                                        const struct sbx_change_row *judged, const char *what)
{
    struct sbx_change_event event = {.kind = (int)judged->change, .chance = judged->chance};
    snprintf(event.app, sizeof(event.app), "%s", app);
    snprintf(event.version, sizeof(event.version), "%s", spans[SBX_COMPARED_HERE].version);
    snprintf(event.base, sizeof(event.base), "%s", spans[SBX_COMPARED_BASE].version);
    snprintf(event.text, sizeof(event.text), "%s %s: %s: %.200s, on %lld of %lld machine-days (%s: %lld of %lld)", app,
             event.version, sbx_change_name(judged->change), what, (long long)judged->told_here.hit,
             (long long)judged->told_here.active, event.base, (long long)judged->told_base.hit,
             (long long)judged->told_base.active);
    return event;
}

static int note_change(struct looking *looking, const char *app, const struct sbx_issue_span spans[],
                       const struct sbx_comparison *comparison, const struct sbx_compare_row *row)
{
    struct sbx_change_event event = event_of(app, spans, &row->judged, name_of(row->issue));
    memcpy(event.issue, row->met.id, SBX_ID_BYTES);
    if (row->judged.measure != SBX_OF_ACTIVE)
        snprintf(event.text, sizeof(event.text), "%s %s: %s: %.200s, met by %lld of %lld machines (%s: %lld of %lld)",
                 app, event.version, sbx_change_name(row->judged.change), name_of(row->issue),
                 (long long)row->met.machines[SBX_COMPARED_HERE], (long long)comparison->machines[SBX_COMPARED_HERE],
                 event.base, (long long)row->met.machines[SBX_COMPARED_BASE],
                 (long long)comparison->machines[SBX_COMPARED_BASE]);
    return add_event(looking, &event);
}

static const char all_stalls[] = "all stalls together";

/* Record a change of all stalls together; it belongs to no issue. */
static int note_whole(struct looking *looking, const char *app, const struct sbx_issue_span spans[],
                      const struct sbx_comparison *comparison)
{
    struct sbx_change_event event = event_of(app, spans, &comparison->whole, all_stalls);
    return comparison->whole.change != SBX_CHANGE_NONE ? add_event(looking, &event) : 0;
}

/* ---- versions ---- */

static int compare_versions(struct looking *looking, const char *app, const struct sbx_issue_span spans[], int look)
{
    struct sbx_comparison comparison;
    int result = sbx_comparison_make(looking->view, spans, sbx_change_alarms_of_look(look), looking->now_ms / DAY_MS,
                                     &comparison);
    if (result < 0)
        return result;
    result = sbx_comparison_read_issues(looking->view, &comparison,
                                        comparison.changed < TOLD_AT_ONCE ? comparison.changed : TOLD_AT_ONCE);
    if (result == 0)
        result = note_whole(looking, app, spans, &comparison);
    for (size_t i = 0; i < comparison.shown && i < comparison.changed && result == 0; i++)
        result = note_change(looking, app, spans, &comparison, &comparison.rows[i]);
    sbx_comparison_finish(&comparison);
    return result;
}

/* The first version from `at` on that enough machines have; `count`: none. */
static size_t next_met(const struct sbx_version_met *versions, size_t count, size_t at)
{
    while (at < count && sbx_change_look(versions[at].machine_days) == 0)
        at++;
    return at < count ? at : count;
}

/* Look at the latest version, once it has enough machines for another look. */
static int look_at_versions(struct looking *looking, const char *app)
{
    const int64_t today = looking->now_ms / DAY_MS;
    const struct sbx_issue_span recent = {"", today - RECENT_DAYS, INT64_MAX, app};
    struct sbx_version_met versions[VERSIONS];
    size_t count = 0;
    int result = sbx_store_versions(looking->view, &recent, versions, VERSIONS, &count);
    /* A version on few machines is a developer's own build, or invented. It counts neither as the latest nor as the one
     * before. Machine-days are an upper bound of the machines, so a version with too few machine-days need not be
     * counted. */
    size_t here = next_met(versions, count, 0), base = next_met(versions, count, here + 1);
    if (result < 0 || base >= count)
        return result;
    const struct sbx_issue_span spans[SBX_COMPARED_SIDES] = {{versions[here].version, 0, INT64_MAX, app},
                                                             {versions[base].version, 0, INT64_MAX, app}};
    int look = sbx_change_look(versions[here].machine_days);
    result = sbx_change_log_was_looked(looking->log, app, versions[here].version, look);
    if (result != 0)
        return result < 0 ? result : 0;
    result = compare_versions(looking, app, spans, look);
    return result < 0 ? result : sbx_change_log_looked(looking->log, app, versions[here].version, look);
}

/* ---- days ---- */

struct days {
    int64_t issue[WEEK + 1], all[WEEK + 1]; /* machines; the last day is yesterday */
    int issue_level, all_level;             /* levels at which they were sampled (machine_sample.h) */
    struct sbx_told_day told[WEEK + 1];     /* reported machine-days, and those with the issue, or with any stall */
};

static double chance_of(const struct days *days)
{
    struct sbx_rate rates[WEEK + 1];
    for (int day = 0; day <= WEEK; day++)
        rates[day] = (struct sbx_rate){days->issue[day] >> days->issue_level, days->all[day] >> days->issue_level};
    return rates[WEEK].hit >= SBX_CHANGE_MACHINES_MIN ? sbx_chance_of_surge(rates[WEEK], rates, WEEK) : 1;
}

static double chance_of_told(const struct days *days)
{
    return days->told[WEEK].hit >= SBX_CHANGE_MACHINES_MIN
               ? sbx_chance_of_told_surge(days->told[WEEK], days->told, WEEK)
               : 1;
}

/* `what`: the issue in words. */
static struct sbx_change_event surge_of(const char *app, const char *day, const char *what, const struct days *days,
                                        double chance, enum sbx_measure measure)
{
    bool is_told = measure == SBX_OF_ACTIVE;
    int64_t week = 0;
    struct sbx_change_event event = {.kind = SBX_CHANGE_SURGING, .chance = chance};
    for (int i = 0; i < WEEK; i++)
        week += is_told ? days->told[i].hit : days->issue[i];
    snprintf(event.app, sizeof(event.app), "%s", app);
    snprintf(event.version, sizeof(event.version), "%s", day);
    snprintf(event.base, sizeof(event.base), "the week before");
    snprintf(event.text, sizeof(event.text),
             "%s on %s: surging: %.200s, %s %lld of %lld %s (%.1f a day in the week before)", app, day, what,
             is_told ? "on" : "met by", (long long)(is_told ? days->told[WEEK].hit : days->issue[WEEK]),
             (long long)(is_told ? days->told[WEEK].active : days->all[WEEK]), is_told ? "machine-days" : "machines",
             (double)week / WEEK);
    return event;
}

/* Read the machines of an issue by day, at its own level. When the issue hit a large part of all machines, use the
 * level of all machines, so that both counts are of the same machines. */
static int read_issue_days(const struct looking *looking, const uint8_t *issue, const struct sbx_issue_span *span,
                           struct days *days)
{
    enum {
        NEAR = 3
    };
    days->issue_level = 0;
    int result = sbx_store_machines_by_day(looking->view, issue, span, days->issue, WEEK + 1, &days->issue_level);
    if (result < 0 || days->all_level <= days->issue_level || days->all_level > days->issue_level + NEAR)
        return result;
    days->issue_level = days->all_level;
    return sbx_store_machines_by_day(looking->view, issue, span, days->issue, WEEK + 1, &days->issue_level);
}

/* `is_told`: for enough days it is known how many machines were active. `asked`: the number of questions asked
 * together, of which this is one. */
static int look_at_issue(struct looking *looking, const struct sbx_issue_span *span, const char *day,
                         const struct sbx_issue_row *issue, bool is_told, size_t asked, struct days *days)
{
    uint8_t id[SBX_ID_BYTES];
    if (!sbx_id_parse(issue->id_text, strlen(issue->id_text), id))
        return 0;
    int result = is_told
                     ? sbx_store_told_by_day(looking->view, id, span, looking->now_ms / DAY_MS, days->told, WEEK + 1)
                     : read_issue_days(looking, id, span, days);
    double chance = (is_told ? chance_of_told(days) : chance_of(days)) * (double)asked;
    if (result < 0 || chance > SBX_CHANGE_ALARMS)
        return result;
    struct sbx_change_event event =
        surge_of(span->app, day, name_of(issue), days, chance, is_told ? SBX_OF_ACTIVE : SBX_OF_STALLING);
    memcpy(event.issue, id, SBX_ID_BYTES);
    return add_event(looking, &event);
}

/* Were machine-days reported for yesterday and for three days before, and do all machines that stall report them? */
static bool are_days_told(const struct days *days)
{
    int told = 0;
    for (int day = 0; day <= WEEK; day++) {
        if (days->told[day].hit > days->told[day].active)
            return false;
        told += days->told[day].active > 0;
    }
    return days->told[WEEK].active > 0 && told > 3;
}

/* All stalls together: only penetration can tell anything about these. */
static int look_at_all(struct looking *looking, const struct sbx_issue_span *span, const char *day, size_t asked,
                       struct days *days, bool *is_told_out)
{
    int result = sbx_store_told_by_day(looking->view, NULL, span, looking->now_ms / DAY_MS, days->told, WEEK + 1);
    *is_told_out = result == 0 && are_days_told(days);
    double chance = *is_told_out ? chance_of_told(days) * (double)asked : 1;
    if (result < 0 || chance > SBX_CHANGE_ALARMS)
        return result;
    struct sbx_change_event event = surge_of(span->app, day, all_stalls, days, chance, SBX_OF_ACTIVE);
    return add_event(looking, &event);
}

/* Look at yesterday, once, after it is over. */
static int look_at_days(struct looking *looking, const char *app)
{
    const int64_t yesterday = looking->now_ms / DAY_MS - 1;
    const struct sbx_issue_span span = {"", yesterday - WEEK, yesterday, app};
    const struct sbx_issue_query query = {.span = {"", yesterday, yesterday, NULL},
                                          .app = app,
                                          .cause = "",
                                          .text = "",
                                          .state = -1,
                                          .order = SBX_ISSUES_BY_MACHINES};
    struct days days = {.all_level = 0};
    char day[16];
    size_t count = 0;
    bool is_told = false;
    sbx_day_print(yesterday, day);
    int result = sbx_change_log_was_looked(looking->log, app, day, 1);
    if (result != 0)
        return result < 0 ? result : 0;
    struct sbx_issue_row *issues = calloc(ISSUES_A_DAY, sizeof(*issues));
    result = issues ? sbx_store_find_issues(looking->view, &query, issues, ISSUES_A_DAY, &count) : -ENOMEM;
    if (result == 0)
        result = look_at_all(looking, &span, day, count + 1, &days, &is_told);
    if (result == 0 && !is_told)
        result = sbx_store_machines_by_day(looking->view, NULL, &span, days.all, WEEK + 1, &days.all_level);
    for (size_t i = 0; i < count && result == 0; i++)
        result = look_at_issue(looking, &span, day, &issues[i], is_told, count + 1, &days);
    free(issues);
    return result < 0 ? result : sbx_change_log_looked(looking->log, app, day, 1);
}

int sbx_change_watch_look(struct sbx_store *store, struct sbx_change_log *log, int64_t now_ms,
                          const struct sbx_change_rules *rules)
{
    const struct sbx_store_view view = {store, 0};
    struct looking looking = {&view, log, now_ms, rules, 0};
    const struct sbx_issue_span recent = {"", now_ms / DAY_MS - RECENT_DAYS, INT64_MAX, NULL};
    size_t count = 0;
    struct sbx_app_sum *apps = calloc(APPS, sizeof(*apps));
    int result = apps ? sbx_store_apps(&view, &recent, apps, APPS, &count) : -ENOMEM;
    for (size_t i = 0; i < count && result == 0; i++) {
        result = look_at_versions(&looking, apps[i].app);
        if (result == 0)
            result = look_at_days(&looking, apps[i].app);
    }
    free(apps);
    if (result == 0)
        result = sbx_change_log_forget(log, now_ms - KEPT_DAYS * DAY_MS);
    return result < 0 ? result : looking.found;
}

/* ---- telling ---- */

/* The path of the page that shows it; for all stalls together, the comparison or the day. */
static void put_path(const struct sbx_change_event *event, const char *issue, struct sbx_byte_buffer *path)
{
    bool is_day = event->kind == SBX_CHANGE_SURGING;
    if (!sbx_change_event_is_whole(event)) {
        sbx_byte_buffer_format(path, "/issues/%s", issue);
        return;
    }
    sbx_byte_buffer_text(path, is_day ? "/overview?app=" : "/compare?app=");
    sbx_html_url_part(path, event->app);
    sbx_byte_buffer_text(path, is_day ? "&since=" : "&version=");
    sbx_html_url_part(path, event->version);
    sbx_byte_buffer_text(path, is_day ? "&until=" : "&base=");
    sbx_html_url_part(path, is_day ? event->version : event->base);
}

char *sbx_change_event_json(const struct sbx_change_event *event)
{
    struct sbx_document json = {0};
    struct sbx_byte_buffer path = {0};
    char issue[SBX_ID_TEXT_BYTES];
    bool is_whole = sbx_change_event_is_whole(event);
    sbx_id_print(event->issue, issue);
    put_path(event, issue, &path);
    sbx_document_open(&json, NULL, '{');
    sbx_document_integer(&json, "id", event->num);
    sbx_document_integer(&json, "at_ms", event->at_ms);
    sbx_document_string(&json, "change", sbx_change_name((enum sbx_change)event->kind));
    sbx_document_string(&json, "app", event->app);
    sbx_document_string(&json, "version", event->version);
    sbx_document_string(&json, "base", event->base);
    sbx_document_string(&json, "issue", is_whole ? NULL : issue);
    sbx_document_string(&json, "path", path.failed ? "/" : path.data);
    sbx_byte_buffer_finish(&path);
    sbx_document_string(&json, "text", event->text);
    sbx_document_number(&json, "chance", event->chance);
    sbx_document_close(&json, '}');
    char *text = json.text.failed ? NULL : strndup(json.text.data, json.text.used);
    sbx_byte_buffer_finish(&json.text);
    return text;
}

static void put_attribute(struct sbx_document *json, const char *key, const char *value)
{
    sbx_document_open(json, NULL, '{');
    sbx_document_string(json, "key", key);
    sbx_document_open(json, "value", '{');
    sbx_document_string(json, "stringValue", value);
    sbx_document_close(json, '}');
    sbx_document_close(json, '}');
}

static void put_record(struct sbx_document *json, const struct sbx_change_event *event)
{
    enum {
        SEVERITY_INFO = 9,
        SEVERITY_WARN = 13
    };
    bool is_better = event->kind == SBX_CHANGE_IMPROVED || event->kind == SBX_CHANGE_GONE;
    char time[32], issue[SBX_ID_TEXT_BYTES], chance[32];
    snprintf(time, sizeof(time), "%lld000000", (long long)event->at_ms); /* 64-bit numbers are strings in this JSON */
    snprintf(chance, sizeof(chance), "%.3g", event->chance);
    sbx_id_print(event->issue, issue);
    sbx_document_open(json, NULL, '{');
    sbx_document_string(json, "timeUnixNano", time);
    sbx_document_integer(json, "severityNumber", is_better ? SEVERITY_INFO : SEVERITY_WARN);
    sbx_document_string(json, "severityText", is_better ? "INFO" : "WARN");
    sbx_document_open(json, "body", '{');
    sbx_document_string(json, "stringValue", event->text);
    sbx_document_close(json, '}');
    sbx_document_open(json, "attributes", '[');
    put_attribute(json, "event.name", "stallbox.change");
    put_attribute(json, "stallbox.change", sbx_change_name((enum sbx_change)event->kind));
    put_attribute(json, "stallbox.app", event->app);
    put_attribute(json, "stallbox.version", event->version);
    put_attribute(json, "stallbox.base", event->base);
    if (!sbx_change_event_is_whole(event))
        put_attribute(json, "stallbox.issue", issue);
    put_attribute(json, "stallbox.chance", chance);
    sbx_document_close(json, ']');
    sbx_document_close(json, '}');
}

char *sbx_change_event_otlp(const struct sbx_change_event *event)
{
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '{');
    sbx_document_open(&json, "resourceLogs", '[');
    sbx_document_open(&json, NULL, '{');
    sbx_document_open(&json, "resource", '{');
    sbx_document_open(&json, "attributes", '[');
    put_attribute(&json, "service.name", "stallbox");
    sbx_document_close(&json, ']');
    sbx_document_close(&json, '}');
    sbx_document_open(&json, "scopeLogs", '[');
    sbx_document_open(&json, NULL, '{');
    sbx_document_open(&json, "scope", '{');
    sbx_document_string(&json, "name", "stallbox.changes");
    sbx_document_close(&json, '}');
    sbx_document_open(&json, "logRecords", '[');
    put_record(&json, event);
    sbx_document_close(&json, ']');
    sbx_document_close(&json, '}');
    sbx_document_close(&json, ']');
    sbx_document_close(&json, '}');
    sbx_document_close(&json, ']');
    sbx_document_close(&json, '}');
    char *text = json.text.failed ? NULL : strndup(json.text.data, json.text.used);
    sbx_byte_buffer_finish(&json.text);
    return text;
}

static void say(const struct sbx_change_watch *watch, const char *what, const char *why)
{
    sbx_operator_log(watch->settings.say, SBX_LOG_WARNING, "changes", "%s: %s", what, why);
}

/* Send one event. Returns whether there was one, and it is no longer due. */
static bool tell_one(struct sbx_change_watch *watch)
{
    struct sbx_change_event event;
    char why[200] = "no memory";
    if (sbx_change_log_next(watch->settings.log, sbx_wall_clock_ms(), &event) <= 0)
        return false;
    char *body = watch->settings.is_otlp ? sbx_change_event_otlp(&event) : sbx_change_event_json(&event);
    int result =
        body ? sbx_webhook_post(watch->webhook, body, strlen(body), sbx_wall_clock_ms() / 1000, why, sizeof(why))
             : -EAGAIN;
    free(body);
    if (result == 0)
        return sbx_change_log_told(watch->settings.log, event.num) == 0;
    int64_t pause_s = result == -EAGAIN ? sbx_webhook_pause_s(event.tries + 1) : 0;
    say(watch, pause_s ? "the webhook is notified later" : "the webhook was not notified of a change", why);
    return sbx_change_log_not_told(watch->settings.log, event.num,
                                   pause_s ? sbx_wall_clock_ms() + pause_s * 1000 : 0) == 0;
}

/* ---- the thread ---- */

/* Wait, or less when stopping. Returns whether the thread goes on. */
static bool pause_for(struct sbx_change_watch *watch, int64_t ms)
{
    struct timespec until = sbx_monotonic_in_ms(ms);
    pthread_mutex_lock(&watch->lock);
    int code = 0;
    while (!watch->is_stopping && code == 0)
        code = pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
    bool goes_on = !watch->is_stopping;
    pthread_mutex_unlock(&watch->lock);
    return goes_on;
}

static void *run(void *argument)
{
    struct sbx_change_watch *watch = argument;
    int64_t every_ms = watch->settings.every_ms ? watch->settings.every_ms : LOOK_EVERY_MS;
    int64_t tell_ms = every_ms < TELL_EVERY_MS ? every_ms : TELL_EVERY_MS;
    int64_t until_look_ms = every_ms < FIRST_LOOK_MS ? every_ms : FIRST_LOOK_MS;
    while (pause_for(watch, tell_ms)) {
        until_look_ms -= tell_ms;
        if (until_look_ms <= 0) {
            int result = sbx_change_watch_look(watch->settings.store, watch->settings.log, sbx_wall_clock_ms(),
                                               watch->webhook ? &watch->settings.rules : NULL);
            if (result < 0)
                say(watch, "changes are looked for later", strerror(-result));
            until_look_ms = every_ms;
        }
        while (watch->webhook && tell_one(watch) && pause_for(watch, 1))
            ;
    }
    return NULL;
}

static void destroy(struct sbx_change_watch *watch)
{
    sbx_webhook_destroy(watch->webhook);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

int sbx_change_watch_start(const struct sbx_change_watch_settings *settings, struct sbx_change_watch **watch_out)
{
    struct sbx_change_watch *watch = calloc(1, sizeof(*watch));
    pthread_condattr_t attributes;
    if (!watch)
        return -ENOMEM;
    watch->settings = *settings;
    pthread_mutex_init(&watch->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    int result = 0;
    if (settings->webhook_url) {
        watch->webhook =
            sbx_webhook_create(settings->webhook_url, settings->webhook_secret ? settings->webhook_secret : "");
        result = watch->webhook ? 0 : -EINVAL;
    }
    if (result == 0)
        result = -pthread_create(&watch->thread, NULL, run, watch);
    if (result < 0) {
        destroy(watch);
        return result;
    }
    *watch_out = watch;
    return 0;
}

void sbx_change_watch_stop(struct sbx_change_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->is_stopping = true;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    destroy(watch);
}
