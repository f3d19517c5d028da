/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_replies.c - answers about many stalls at once. */
#include "fleet_replies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_lists.h"
#include "pages.h"
#include "profile_replies.h"

enum {
    OVERVIEW_ISSUES = 25,
    OVERVIEW_APPS = 50,
    APPS_MAX = 1000,
    FUNCTION_ISSUES = 50, /* issues that are searched for a function */
};

/* Find the issues with the most stalls, and read the durations and days of each. `rows` and `sums` have room for one
 * more than is shown. */
static int find_issues(const struct sbx_store_view *view, const struct sbx_span_text *text, struct sbx_issue_row *rows,
                       struct sbx_issue_sums *sums, struct sbx_issues_page *list)
{
    const struct sbx_issue_query query = {.span = text->span, .app = text->app, .cause = "", .text = "", .state = -1};
    int result = sbx_store_find_issues(view, &query, rows, OVERVIEW_ISSUES + 1, &list->count);
    if (list->count > OVERVIEW_ISSUES)
        list->next = list->count = OVERVIEW_ISSUES;
    if (result == 0)
        result = sbx_store_sum_durations_of(view, rows, list->count, &text->span, sums);
    list->rows = rows;
    list->sums = sums;
    return result;
}

/* Refuse a request whose answer could be about a few machines only. */
static int refuse_few(const struct sbx_store_view *view, const struct sbx_span_text *text, struct sbx_reply *reply)
{
    if (sbx_store_min_machines(view->store) <= 1 || !(*text->version || *text->since || *text->until))
        return 0;
    sbx_reply_text(reply, 403, "this server runs with --min-machines: versions and days could be of fewer machines");
    return -EINVAL;
}

int sbx_fleet_reply_overview(const struct sbx_store_view *view, const struct sbx_arguments *arguments, int64_t now_ms,
                             struct sbx_reply *reply)
{
    struct sbx_span_text text;
    int result = sbx_issue_reply_span(arguments, &text, reply);
    if (result == 0)
        result = refuse_few(view, &text, reply);
    if (result < 0)
        return result;
    struct sbx_issue_row *rows = calloc(OVERVIEW_ISSUES + 1, sizeof(*rows));
    struct sbx_issue_sums *sums = calloc(OVERVIEW_ISSUES + 1, sizeof(*sums)), *all = calloc(1, sizeof(*all));
    struct sbx_app_sum *apps = calloc(OVERVIEW_APPS, sizeof(*apps));
    struct sbx_overview_page page = {.issues.now_ms = now_ms, .sums = all, .words = text.words, .apps = apps};
    struct sbx_issues_ask *ask = &page.issues.ask;
    snprintf(ask->app, sizeof(ask->app), "%s", text.app);
    snprintf(ask->version, sizeof(ask->version), "%s", text.version);
    snprintf(ask->since, sizeof(ask->since), "%s", text.since);
    snprintf(ask->until, sizeof(ask->until), "%s", text.until);
    result = rows && sums && all && apps ? sbx_store_sum_all(view, &text.span, all) : -ENOMEM;
    if (result == 0)
        result = find_issues(view, &text, rows, sums, &page.issues);
    if (result == 0 && !*text.app && !*text.version)
        result = sbx_store_apps(view, &text.span, apps, OVERVIEW_APPS, &page.app_count);
    struct sbx_merged_profile profile = {0};
    if (result == 0)
        result = sbx_merged_profile_init(&profile);
    if (result == 0)
        result = sbx_profile_read(view, NULL, &text.span, SBX_MERGED_HERE, &profile);
    if (result == 0) {
        sbx_merged_profile_settle(&profile);
        page.profile = &profile;
        reply->status = 200;
        reply->content_type = SBX_TEXT_HTML;
        sbx_page_overview(&page, &reply->body);
    }
    sbx_merged_profile_finish(&profile);
    free(rows);
    free(sums);
    free(all);
    free(apps);
    return result;
}

/* ---- one function ---- */

/* Take `name`; the remaining arguments tell which stalls. Returns 0, or -EINVAL with the refusal in `reply`. */
static int read_name(const struct sbx_arguments *arguments, char name[SBX_STABLE_NAME_BYTES],
                     struct sbx_arguments *rest, struct sbx_reply *reply)
{
    name[0] = '\0';
    rest->count = 0;
    for (size_t i = 0; i < arguments->count; i++) {
        if (strcmp(arguments->each[i].name, "name") != 0)
            rest->each[rest->count++] = arguments->each[i];
        else if (snprintf(name, SBX_STABLE_NAME_BYTES, "%s", arguments->each[i].value) >= SBX_STABLE_NAME_BYTES)
            name[0] = '\0';
    }
    if (*name)
        return 0;
    sbx_reply_text(reply, 400, "argument name is a function's name, of less than %d bytes", SBX_STABLE_NAME_BYTES);
    return -EINVAL;
}

static const struct sbx_label_sum *find_word(const struct sbx_issue_sums *sums, const char *word)
{
    for (size_t i = 0; i < sums->label_count[SBX_FACT_FUNCTION]; i++)
        if (strcmp(sums->labels[SBX_FACT_FUNCTION][i].word, word) == 0)
            return &sums->labels[SBX_FACT_FUNCTION][i];
    return NULL;
}

static void add_causes(const struct sbx_issue_sums *sums, struct sbx_function_cause causes[SBX_CAUSE_COUNT],
                       size_t *count)
{
    for (size_t i = 0; i < sums->label_count[SBX_FACT_CAUSE]; i++) {
        const struct sbx_label_sum *label = &sums->labels[SBX_FACT_CAUSE][i];
        size_t at = 0;
        while (at < *count && strcmp(causes[at].word, label->word) != 0)
            at++;
        if (at == SBX_CAUSE_COUNT)
            continue;
        if (at == *count)
            snprintf(causes[(*count)++].word, sizeof(causes[at].word), "%.20s", label->word);
        causes[at].weight += label->weight;
    }
}

static int compare_causes(const void *left, const void *right)
{
    const struct sbx_function_cause *a = left, *b = right;
    return a->weight != b->weight ? (a->weight > b->weight ? -1 : 1) : strcmp(a->word, b->word);
}

/* Keep those of the found issues that blame the function, and sum their stalls. */
static int sum_function(const struct sbx_store_view *view, const struct sbx_span_text *text,
                        struct sbx_function_page *page, struct sbx_issue_row *rows, struct sbx_issue_sums *sums,
                        struct sbx_function_cause causes[SBX_CAUSE_COUNT])
{
    size_t kept = 0, found = page->issues.count;
    for (size_t i = 0; i < found; i++) {
        uint8_t id[SBX_ID_BYTES];
        int result = sbx_id_parse(rows[i].id_text, strlen(rows[i].id_text), id)
                         ? sbx_store_sum_issue(view, id, &text->span, &sums[kept])
                         : -ENOENT;
        const struct sbx_label_sum *label = result == 0 ? find_word(&sums[kept], page->name) : NULL;
        bool is_newest = result == 0 && sums[kept].is_withheld && strcmp(rows[i].newest.function, page->name) == 0;
        if (result < 0 && result != -ENOENT)
            return result;
        if (!label && !is_newest)
            continue;
        page->hits += label ? label->hits : 0;
        page->weight += label ? label->weight : 0;
        add_causes(&sums[kept], causes, &page->cause_count);
        rows[kept++] = rows[i];
    }
    page->issues.count = kept;
    qsort(causes, page->cause_count, sizeof(*causes), compare_causes);
    return 0;
}

int sbx_fleet_reply_function(const struct sbx_store_view *view, const struct sbx_arguments *arguments, int64_t now_ms,
                             struct sbx_reply *reply)
{
    char name[SBX_STABLE_NAME_BYTES];
    struct sbx_arguments rest;
    struct sbx_span_text text;
    struct sbx_function_cause causes[SBX_CAUSE_COUNT] = {{.weight = 0}};
    int result = read_name(arguments, name, &rest, reply);
    if (result == 0)
        result = sbx_issue_reply_span(&rest, &text, reply);
    if (result == 0)
        result = refuse_few(view, &text, reply);
    if (result < 0)
        return result;
    struct sbx_issue_row *rows = calloc(FUNCTION_ISSUES + 1, sizeof(*rows));
    struct sbx_issue_sums *sums = calloc(FUNCTION_ISSUES + 1, sizeof(*sums));
    struct sbx_merged_profile profile = {0};
    struct sbx_function_page page = {.issues = {.rows = rows, .sums = sums, .now_ms = now_ms},
                                     .name = name,
                                     .words = text.words,
                                     .causes = causes,
                                     .profile = &profile,
                                     .is_withheld = sbx_store_min_machines(view->store) > 1};
    struct sbx_issues_ask *ask = &page.issues.ask;
    snprintf(ask->app, sizeof(ask->app), "%s", text.app);
    snprintf(ask->version, sizeof(ask->version), "%s", text.version);
    snprintf(ask->since, sizeof(ask->since), "%s", text.since);
    snprintf(ask->until, sizeof(ask->until), "%s", text.until);
    const struct sbx_issue_query query = {.span = text.span, .app = text.app, .cause = "", .text = name, .state = -1};
    result =
        rows && sums ? sbx_store_find_issues(view, &query, rows, FUNCTION_ISSUES + 1, &page.issues.count) : -ENOMEM;
    if (result == 0 && page.issues.count > FUNCTION_ISSUES)
        page.looked_at = page.issues.count = FUNCTION_ISSUES;
    if (result == 0)
        result = sum_function(view, &text, &page, rows, sums, causes);
    if (result == 0)
        result = sbx_merged_profile_init(&profile);
    if (result == 0)
        result = sbx_profile_read(view, NULL, &text.span, SBX_MERGED_HERE, &profile);
    if (result == 0) {
        sbx_merged_profile_settle(&profile);
        reply->status = 200;
        reply->content_type = SBX_TEXT_HTML;
        sbx_page_function_across(&page, &reply->body);
    }
    sbx_merged_profile_finish(&profile);
    free(rows);
    free(sums);
    return result;
}

int sbx_fleet_reply_apps(const struct sbx_store_view *view, const struct sbx_arguments *arguments,
                         struct sbx_reply *reply)
{
    struct sbx_span_text text;
    int result = sbx_issue_reply_span(arguments, &text, reply);
    if (result == 0)
        result = refuse_few(view, &text, reply);
    if (result < 0)
        return result;
    size_t count = 0;
    struct sbx_app_sum *rows = calloc(APPS_MAX, sizeof(*rows));
    result = rows ? sbx_store_apps(view, &text.span, rows, APPS_MAX, &count) : -ENOMEM;
    if (result == 0)
        sbx_api_apps(rows, count, sbx_store_min_machines(view->store) > 1, reply);
    free(rows);
    return result;
}
