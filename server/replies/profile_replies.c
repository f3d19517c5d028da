/* SPDX-License-Identifier: Apache-2.0 */
/* profile_replies.c - where the time of many stalls went. */
#include "profile_replies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"
#include "page_profile.h"

enum {
    JSON_NODES_MAX = 20000
};

/* ---- adding up ---- */

struct adding {
    struct sbx_merged_profile *profile;
    enum sbx_merged_side side;
};

static int add(void *context, const char *text, size_t bytes, uint32_t weight)
{
    const struct adding *adding = context;
    int result = sbx_merged_profile_add(adding->profile, text, bytes, weight, adding->side);
    return result == -EPROTO ? 0 : result;
}

int sbx_profile_read(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                     enum sbx_merged_side side, struct sbx_merged_profile *profile)
{
    struct adding adding = {profile, side};
    return sbx_store_each_profile(view, issue, span, add, &adding);
}

/* ---- what is asked for ---- */

static int refuse(struct sbx_reply *reply, const char *argument, const char *why)
{
    sbx_reply_text(reply, 400, "argument %s %s", argument, why);
    return -EINVAL;
}

/* Take the arguments of the profile; the remaining ones tell which stalls. */
static int read_ask(const struct sbx_arguments *arguments, bool is_page, struct sbx_profile_ask *ask,
                    struct sbx_span_text *text, struct sbx_reply *reply)
{
    struct sbx_arguments rest = {.count = 0};
    for (size_t i = 0; i < arguments->count; i++) {
        const char *name = arguments->each[i].name, *value = arguments->each[i].value;
        const struct {
            const char *name;
            char *room;
            size_t bytes;
        } own[] = {{"issue", ask->issue, sizeof(ask->issue)},
                   {"find", ask->find, sizeof(ask->find)},
                   {"function", ask->function, sizeof(ask->function)},
                   {"at", ask->at, sizeof(ask->at)}};
        size_t at = 0, count = is_page ? sizeof(own) / sizeof(own[0]) : 1;
        while (at < count && strcmp(own[at].name, name) != 0)
            at++;
        if (is_page && strcmp(name, "full") == 0 && *value && strcmp(value, "1") != 0)
            return refuse(reply, name, "is 1, where everything is to be seen");
        if (is_page && strcmp(name, "full") == 0)
            ask->is_full = strcmp(value, "1") == 0;
        else if (at == count)
            rest.each[rest.count++] = arguments->each[i];
        else if (strlen(value) >= own[at].bytes)
            return refuse(reply, name, "is too long");
        else
            snprintf(own[at].room, own[at].bytes, "%s", value);
    }
    if (strspn(ask->at, "0123456789abcdef") != strlen(ask->at))
        return refuse(reply, "at", "is not one that this server gave");
    int result = sbx_issue_reply_span(&rest, text, reply);
    if (result < 0)
        return result;
    snprintf(ask->app, sizeof(ask->app), "%s", text->app);
    snprintf(ask->version, sizeof(ask->version), "%s", text->version);
    snprintf(ask->since, sizeof(ask->since), "%s", text->since);
    snprintf(ask->until, sizeof(ask->until), "%s", text->until);
    return *ask->issue && *ask->app ? refuse(reply, "app", "goes without issue") : 0;
}

/* ---- forms ---- */

static void give_json(const struct sbx_merged_profile *profile, bool is_withheld, struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    char path[24];
    size_t shown = 0;
    sbx_document_open(&json, NULL, '{');
    sbx_document_bool(&json, "withheld", is_withheld);
    sbx_document_integer(&json, "stalls", profile->stalls[SBX_MERGED_HERE]);
    sbx_document_number(&json, "estimated", profile->weight[SBX_MERGED_HERE]);
    sbx_document_number(&json, "time_ms", profile->nodes[0].total_us[SBX_MERGED_HERE] / 1e3);
    sbx_document_open(&json, "nodes", '[');
    for (uint32_t node = profile->nodes[0].first_child; node != 0 && shown < JSON_NODES_MAX; shown++) {
        const struct sbx_merged_node *self = &profile->nodes[node];
        sbx_document_open(&json, NULL, '{');
        snprintf(path, sizeof(path), "%016llx", (unsigned long long)self->path);
        sbx_document_string(&json, "path", path);
        sbx_document_integer(&json, "depth", self->depth - 1);
        sbx_document_string(&json, "function", self->name);
        sbx_document_number(&json, "time_ms", self->total_us[SBX_MERGED_HERE] / 1e3);
        sbx_document_number(&json, "own_ms", self->self_us[SBX_MERGED_HERE] / 1e3);
        sbx_document_integer(&json, "stalls", self->stalls[SBX_MERGED_HERE]);
        sbx_document_close(&json, '}');
        node = sbx_merged_profile_next(profile, 0, node, true);
    }
    sbx_document_close(&json, ']');
    sbx_document_bool(&json, "cut", profile->is_cut || shown == JSON_NODES_MAX);
    sbx_document_close(&json, '}');
    sbx_byte_buffer_text(&json.text, "\n");
    reply->status = 200;
    reply->content_type = "application/json";
    reply->body = json.text;
}

/* Answer with a file for another tool. */
static int give_file(const struct sbx_merged_profile *profile, enum sbx_profile_form form, const char *name,
                     struct sbx_reply *reply)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return -ENOMEM;
    int result = form == SBX_PROFILE_FOLDED  ? sbx_print_merged_folded(profile, stream)
                 : form == SBX_PROFILE_PPROF ? sbx_print_merged_pprof(profile, name, stream)
                                             : sbx_print_merged_speedscope(profile, name, stream);
    if (fclose(stream) != 0 && result == 0)
        result = -ENOMEM;
    if (result == 0) {
        sbx_byte_buffer_append(&reply->body, text, bytes);
        reply->status = 200;
        reply->content_type = form == SBX_PROFILE_FOLDED  ? SBX_TEXT_PLAIN
                              : form == SBX_PROFILE_PPROF ? "application/octet-stream"
                                                          : "application/json";
        if (form != SBX_PROFILE_FOLDED)
            snprintf(reply->file_name, sizeof(reply->file_name), "%s",
                     form == SBX_PROFILE_PPROF ? "stalls.pb.gz" : "stalls.speedscope.json");
    }
    free(text);
    return result;
}

static int give(const struct sbx_merged_profile *profile, const struct sbx_profile_ask *ask, const char *words,
                enum sbx_profile_form form, bool is_withheld, struct sbx_reply *reply)
{
    char name[320];
    switch (form) {
    case SBX_PROFILE_PAGE: {
        const struct sbx_profile_page page = {
            .ask = *ask, .profile = profile, .words = words, .is_withheld = is_withheld};
        reply->status = 200;
        reply->content_type = SBX_TEXT_HTML;
        sbx_page_profile(&page, &reply->body);
        return 0;
    }
    case SBX_PROFILE_JSON:
        give_json(profile, is_withheld, reply);
        return 0;
    case SBX_PROFILE_FOLDED:
    case SBX_PROFILE_PPROF:
    case SBX_PROFILE_SPEEDSCOPE:
    case SBX_PROFILE_FORMS:
        break;
    }
    if (is_withheld) {
        sbx_reply_text(reply, 403,
                       "this server runs with --min-machines: common properties of stalls could be of fewer machines");
        return -EINVAL;
    }
    snprintf(name, sizeof(name), "stalls of %s %s",
             *ask->app     ? ask->app
             : *ask->issue ? ask->issue
                           : "all applications",
             words);
    return give_file(profile, form, name, reply);
}

int sbx_profile_reply(const struct sbx_store_view *view, const struct sbx_arguments *arguments,
                      enum sbx_profile_form form, struct sbx_reply *reply)
{
    struct sbx_profile_ask ask = {.is_full = false};
    struct sbx_span_text text;
    struct sbx_issue_row issue;
    struct sbx_merged_profile profile = {0};
    uint8_t id[SBX_ID_BYTES];
    int result = read_ask(arguments, form == SBX_PROFILE_PAGE, &ask, &text, reply);
    if (result == 0 && *ask.issue)
        result = sbx_id_parse(ask.issue, strlen(ask.issue), id) ? sbx_store_issue(view, id, &issue)
                                                                : refuse(reply, "issue", "is an issue's 32 hex digits");
    if (result == 0)
        result = sbx_merged_profile_init(&profile);
    if (result == 0)
        result = sbx_profile_read(view, *ask.issue ? id : NULL, &text.span, SBX_MERGED_HERE, &profile);
    if (result == 0) {
        sbx_merged_profile_settle(&profile);
        result = give(&profile, &ask, text.words, form, sbx_store_min_machines(view->store) > 1, reply);
    }
    sbx_merged_profile_finish(&profile);
    return result;
}
