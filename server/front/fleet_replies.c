/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_replies.c - what is answered about many stalls at once. */
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
};

/* Of what was asked for the issues of the most stalls, with the durations and days of each. `rows` and `sums` have one more room than
 * are shown. */
static int find_issues(const struct sbx_store_view *view, const struct sbx_span_text *text, struct sbx_issue_row *rows,
                       struct sbx_issue_sums *sums, struct sbx_issues_page *list)
{
    const struct sbx_issue_query query = {.span = text->span, .app = text->app, .cause = "", .text = "", .state = -1};
    int result = sbx_store_find_issues(view, &query, rows, OVERVIEW_ISSUES + 1, &list->count);
    if (list->count > OVERVIEW_ISSUES)
        list->next = list->count = OVERVIEW_ISSUES;
    for (size_t i = 0; i < list->count && result == 0; i++) {
        uint8_t id[SBX_ID_BYTES];
        if (sbx_id_parse(rows[i].id_text, strlen(rows[i].id_text), id))
            result = sbx_store_sum_durations(view, id, &text->span, &sums[i]);
    }
    list->rows = rows;
    list->sums = sums;
    return result;
}

/* The refusal of what could be of few machines. */
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
