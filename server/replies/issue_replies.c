/* SPDX-License-Identifier: Apache-2.0 */
/* issue_replies.c - answers about issues. An argument that is not understood is refused, never ignored. */
#include "issue_replies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api_lists.h"
#include "pages.h"
#include "request.h"

enum {
    PAGE_ROWS = 50,
    API_ROWS = 100,
    SKIP_MAX = 1000000,
};

static const int64_t first_day = 0, last_day = SBX_LAST_DAY;

static int refuse(struct sbx_reply *reply, const char *argument, const char *why)
{
    sbx_reply_text(reply, 400, "argument %s %s", argument, why);
    return -EINVAL;
}

/* ---- values ---- */

static bool is_number(const char *text, int64_t max, int64_t *number_out)
{
    size_t digits = strspn(text, "0123456789");
    *number_out = digits > 0 && digits < 12 && text[digits] == '\0' ? strtoll(text, NULL, 10) : -1;
    return *number_out >= 0 && *number_out <= max;
}

/* "2026-11-23" as days since 1970. */
static bool read_day(const char *text, int64_t *day_out)
{
    struct tm date = {0};
    char again[40];
    if (strlen(text) != 10 || sscanf(text, "%4d-%2d-%2d", &date.tm_year, &date.tm_mon, &date.tm_mday) != 3)
        return false;
    date.tm_year -= 1900;
    date.tm_mon -= 1;
    *day_out = timegm(&date) / 86400;
    snprintf(again, sizeof(again), "%04d-%02d-%02d", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
    return strcmp(text, again) == 0; /* so the calendar has such a day */
}

static int word_of(const char *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    return -1;
}

static const char *const state_words[] = {"open", "muted", "resolved", "reopened"};
static const char *const sort_words[] = {"stalls", "machines", "last", "first"};

/* ---- what is asked for ---- */

struct ask {
    struct sbx_issues_ask text;
    struct sbx_issue_query query;
    int64_t limit;
};

static char *room_of(struct sbx_issues_ask *ask, const char *name, size_t *bytes_out)
{
    const struct {
        const char *name;
        char *text;
        size_t bytes;
    } rooms[] = {{"q", ask->text, sizeof(ask->text)},
                 {"app", ask->app, sizeof(ask->app)},
                 {"version", ask->version, sizeof(ask->version)},
                 {"cause", ask->cause, sizeof(ask->cause)},
                 {"scene", ask->scene, sizeof(ask->scene)},
                 {"state", ask->state, sizeof(ask->state)},
                 {"since", ask->since, sizeof(ask->since)},
                 {"until", ask->until, sizeof(ask->until)},
                 {"sort", ask->sort, sizeof(ask->sort)}};
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++)
        if (strcmp(rooms[i].name, name) == 0) {
            *bytes_out = rooms[i].bytes;
            return rooms[i].text;
        }
    return NULL;
}

static int read_ask(const struct sbx_arguments *arguments, struct ask *ask, struct sbx_reply *reply)
{
    for (size_t i = 0; i < arguments->count; i++) {
        const char *name = arguments->each[i].name, *value = arguments->each[i].value;
        size_t bytes = 0;
        char *room = room_of(&ask->text, name, &bytes);
        if (strcmp(name, "cursor") == 0) {
            if (!is_number(value, SKIP_MAX, &ask->query.skip))
                return refuse(reply, "cursor", "is not one that this server gave");
        } else if (strcmp(name, "limit") == 0) {
            ask->limit = sbx_request_number(value, SBX_ROWS_MAX, ask->limit);
        } else if (!room) {
            return refuse(reply, "list", "has one that is none"); /* for a path that does not take it */
        } else if (strlen(value) >= bytes) {
            return refuse(reply, name, "is too long");
        } else {
            snprintf(room, bytes, "%s", value);
        }
    }
    return 0;
}

static int understand(struct ask *ask, struct sbx_reply *reply)
{
    struct sbx_issues_ask *text = &ask->text;
    struct sbx_issue_query *query = &ask->query;
    if (!*text->sort)
        snprintf(text->sort, sizeof(text->sort), "%s", sort_words[0]);
    int sort = word_of(text->sort, sort_words, 4);
    query->state = *text->state ? word_of(text->state, state_words, SBX_ISSUE_STATES) : -1;
    query->span = (struct sbx_issue_span){text->version, first_day, last_day, NULL};
    query->app = text->app;
    query->cause = text->cause;
    query->scene = text->scene;
    query->text = text->text;
    if (sort < 0)
        return refuse(reply, "sort", "is one of stalls, machines, last, first");
    query->order = (enum sbx_issue_order)sort;
    if (*text->state && query->state < 0)
        return refuse(reply, "state", "is one of open, muted, resolved, reopened");
    if (*text->since && !read_day(text->since, &query->span.from_day))
        return refuse(reply, "since", "is a day, as in 2026-11-23");
    if (*text->until && !read_day(text->until, &query->span.to_day))
        return refuse(reply, "until", "is a day, as in 2026-11-23");
    return 0;
}

int sbx_issue_reply_list(const struct sbx_store_view *view, const struct sbx_arguments *arguments, bool as_page,
                         int64_t now_ms, struct sbx_reply *reply)
{
    struct ask ask = {.limit = as_page ? PAGE_ROWS : API_ROWS};
    int result = read_ask(arguments, &ask, reply);
    if (result == 0)
        result = understand(&ask, reply);
    if (result < 0)
        return result;
    if (sbx_store_min_machines(view->store) > 1 &&
        (*ask.text.version || *ask.text.since || *ask.text.until || *ask.text.scene)) {
        sbx_reply_text(reply, 403,
                       "this server runs with --min-machines: versions, days and scenes could be of fewer machines");
        return -EINVAL;
    }
    size_t max = (size_t)ask.limit, count = 0;
    struct sbx_issue_row *rows = calloc(max + 1, sizeof(*rows));
    struct sbx_issue_sums *sums = as_page ? calloc(max, sizeof(*sums)) : NULL;
    result = rows && (sums || !as_page) ? sbx_store_find_issues(view, &ask.query, rows, max + 1, &count) : -ENOMEM;
    int64_t next = count > max ? ask.query.skip + (int64_t)max : 0;
    count = count > max ? max : count;
    if (result == 0 && as_page)
        result = sbx_store_sum_durations_of(view, rows, count, &ask.query.span, sums);
    if (result == 0 && as_page) {
        const struct sbx_issues_page page = {
            .ask = ask.text, .rows = rows, .sums = sums, .count = count, .next = next, .now_ms = now_ms};
        reply->status = 200;
        reply->content_type = SBX_TEXT_HTML;
        sbx_page_issues(&page, &reply->body);
    } else if (result == 0) {
        sbx_api_issues(rows, count, next, sbx_store_min_machines(view->store), reply);
    }
    free(rows);
    free(sums);
    return result;
}

int sbx_issue_reply_span(const struct sbx_arguments *arguments, struct sbx_span_text *text_out, struct sbx_reply *reply)
{
    *text_out = (struct sbx_span_text){.span = {text_out->version, first_day, last_day, text_out->app}};
    char *since = text_out->since, *until = text_out->until;
    for (size_t i = 0; i < arguments->count; i++) {
        const char *name = arguments->each[i].name, *value = arguments->each[i].value;
        bool is_version = strcmp(name, "version") == 0, is_since = strcmp(name, "since") == 0;
        if (is_version || strcmp(name, "app") == 0) {
            size_t room = is_version ? sizeof(text_out->version) : sizeof(text_out->app);
            if (strlen(value) >= room)
                return refuse(reply, is_version ? "version" : "app", "is too long");
            snprintf(is_version ? text_out->version : text_out->app, room, "%s", value);
        } else if (is_since || strcmp(name, "until") == 0) {
            struct sbx_issue_span *span = &text_out->span;
            if (*value && !read_day(value, is_since ? &span->from_day : &span->to_day))
                return refuse(reply, is_since ? "since" : "until", "is a day, as in 2026-11-23");
            snprintf(is_since ? since : until, sizeof(text_out->since), "%s", value);
        }
    }
    snprintf(text_out->words, sizeof(text_out->words), "%s%s%s%s%s%s", *text_out->version ? "version " : "",
             text_out->version, *since ? " from " : "", since, *until ? " to " : "", until);
    return 0;
}

/* ---- what people say ---- */

bool sbx_issue_reply_is_issue(const char *path, uint8_t id_out[SBX_ID_BYTES])
{
    const char *id = strncmp(path, "/v1/issues/", 11) == 0 ? path + 11
                     : strncmp(path, "/issues/", 8) == 0   ? path + 8
                                                           : "";
    return sbx_id_parse(id, strlen(id), id_out);
}

static int hex_value(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

/* Decode one field of a form. Control characters become spaces. Returns false when the form does not have the field, or
 * its value does not fit. */
static bool read_field(const char *form, size_t bytes, const char *name, char *out, size_t room)
{
    size_t name_bytes = strlen(name), used = 0;
    const char *end = form + bytes;
    out[0] = '\0';
    for (const char *at = form; at < end;) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        stop = stop ? stop : end;
        if ((size_t)(stop - at) > name_bytes && memcmp(at, name, name_bytes) == 0 && at[name_bytes] == '=') {
            for (at += name_bytes + 1; at < stop; at++) {
                int value = (unsigned char)*at;
                if (*at == '%' && stop - at > 2 && hex_value(at[1]) >= 0 && hex_value(at[2]) >= 0) {
                    value = hex_value(at[1]) * 16 + hex_value(at[2]);
                    at += 2;
                }
                if (used + 1 == room)
                    return false;
                out[used++] = (char)(value == '+' && *at == '+' ? ' ' : value < ' ' ? ' ' : value);
            }
            out[used] = '\0';
            return true;
        }
        at = stop + 1;
    }
    return false;
}

static int say(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES], const struct sbx_byte_buffer *form,
               int64_t now_ms, struct sbx_reply *reply)
{
    char state[16], until[40], owner[80], note[600];
    const char *body = (const char *)form->data;
    bool is_whole = read_field(body, form->used, "state", state, sizeof(state));
    read_field(body, form->used, "until", until, sizeof(until));
    read_field(body, form->used, "owner", owner, sizeof(owner));
    read_field(body, form->used, "note", note, sizeof(note));
    int word = is_whole ? word_of(state, state_words, SBX_ISSUE_RESOLVED + 1) : -1;
    if (word < 0)
        return refuse(reply, "state", "is one of open, muted, resolved");
    if (strspn(until, "0123456789.") != strlen(until))
        return refuse(reply, "until", "is a version, as in 1.4.2");
    const struct sbx_issue_words words = {(enum sbx_issue_state)word, until, owner, note};
    return sbx_store_say_of_issue(view, issue, &words, now_ms);
}

void sbx_issue_reply_words(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES], bool as_page,
                           const struct sbx_byte_buffer *form, int64_t now_ms, struct sbx_reply *reply)
{
    char text[40], next[SBX_ID_TEXT_BYTES];
    uint8_t other[SBX_ID_BYTES];
    const char *body = form->used ? (const char *)form->data : "";
    int result;
    sbx_id_print(issue, next);
    if (form->failed) {
        sbx_reply_text(reply, 413, "a form has at most %d bytes", SBX_ISSUE_FORM_MAX);
        return;
    }
    if (read_field(body, form->used, "into", text, sizeof(text))) {
        result = sbx_id_parse(text, strlen(text), other) ? sbx_store_merge_issues(view, issue, other)
                                                         : refuse(reply, "into", "is an issue's 32 hex digits");
        if (result == 0)
            sbx_id_print(other, next);
    } else if (read_field(body, form->used, "split", text, sizeof(text))) {
        result = sbx_id_parse(text, strlen(text), other) ? sbx_store_split_issue(view, other)
                                                         : refuse(reply, "split", "is a place's 32 hex digits");
    } else {
        result = say(view, issue, form, now_ms, reply);
    }
    if (result == -EINVAL && !reply->status)
        sbx_reply_text(reply, 409, "it is that already");
    else if (result == -EXDEV)
        sbx_reply_text(reply, 409, "these are issues of two applications");
    else if (result == -ENOENT)
        sbx_reply_text(reply, 404, "nothing here has this id");
    else if (result < 0 && !reply->status)
        sbx_reply_text(reply, 503, "the store does not answer");
    if (result < 0)
        return;
    sbx_reply_text(reply, as_page ? 303 : 200, "kept");
    if (as_page)
        snprintf(reply->location, sizeof(reply->location), "/issues/%s", next);
}
