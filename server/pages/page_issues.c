/* SPDX-License-Identifier: Apache-2.0 */
/* page_issues.c - issues by what is asked for. */
#include "pages.h"

#include <math.h>
#include <string.h>

#include "issues.html.h"
#include "page_parts.h"

static void put_option(struct sbx_byte_buffer *page, const char *value, const char *name, const char *chosen)
{
    if (strcmp(value, chosen) == 0) {
        SBX_FILL(page, issues_chosen, at) {
        case ISSUES_CHOSEN_VALUE:
            sbx_fill_text(&at, value);
            break;
        case ISSUES_CHOSEN_NAME:
            sbx_fill_text(&at, name);
            break;
        }
        return;
    }
    SBX_FILL(page, issues_option, at) {
    case ISSUES_OPTION_VALUE:
        sbx_fill_text(&at, value);
        break;
    case ISSUES_OPTION_NAME:
        sbx_fill_text(&at, name);
        break;
    }
}

struct option {
    const char *value, *name;
};

static void put_options(struct sbx_byte_buffer *page, const struct option *options, size_t count, const char *chosen)
{
    for (size_t i = 0; i < count; i++)
        put_option(page, options[i].value, options[i].name, chosen);
}

static const struct option states[] = {
    {"", "any"}, {"open", "open"}, {"muted", "muted"}, {"resolved", "resolved"}, {"reopened", "reopened"}};
static const struct option sorts[] = {
    {"stalls", "most stalls"}, {"machines", "most machine-days"}, {"last", "last seen"}, {"first", "newest issue"}};
static const struct option causes[] = {{"", "any"},
                                       {"cpu", "cpu"},
                                       {"high_frequency", "high frequency"},
                                       {"lock", "lock"},
                                       {"deadlock", "deadlock"},
                                       {"wait", "wait"},
                                       {"queue", "queue"},
                                       {"sleep", "sleep"},
                                       {"io", "io"},
                                       {"network", "network"},
                                       {"ipc", "ipc"},
                                       {"memory", "memory"},
                                       {"gc", "gc"},
                                       {"deoptimization", "deoptimization"},
                                       {"cpu_contention", "cpu contention"},
                                       {"crash", "crash"},
                                       {"unknown", "unknown"}};

static void put_error(struct sbx_byte_buffer *page, int64_t variance)
{
    SBX_FILL(page, issues_error, at) {
    case ISSUES_ERROR_STALLS:
        sbx_fill_textf(&at, "%.0f", sqrt((double)variance));
        break;
    }
}

static void put_state(struct sbx_byte_buffer *page, const struct sbx_issue_row *row)
{
    SBX_FILL(page, issues_state, at) {
    case ISSUES_STATE_WORD:
        sbx_fill_text(&at, sbx_issue_state_name(row->state));
        break;
    }
}

bool sbx_page_is_new_in(const struct sbx_issue_row *row, const char *version)
{
    return *version && strcmp(row->first_version, version) == 0;
}

static void put_fresh(struct sbx_byte_buffer *page, const struct sbx_issue_row *row, const char *version)
{
    SBX_FILL(page, issues_fresh, at) {
    case ISSUES_FRESH_WHERE:
        sbx_fill_text(&at, sbx_page_is_new_in(row, version) ? version : "this build");
        break;
    }
}

static void put_row(struct sbx_byte_buffer *page, const struct sbx_issue_row *row, const struct sbx_issue_sums *sums,
                    const struct sbx_issues_page *list)
{
    SBX_FILL(page, issues_row, at) {
    case ISSUES_ROW_STALLS:
        sbx_fill_textf(&at, "%lld", (long long)row->weight);
        break;
    case ISSUES_ROW_ERROR:
        if (row->variance > 0)
            put_error(page, row->variance);
        break;
    case ISSUES_ROW_MACHINES:
        sbx_fill_textf(&at, "%lld", (long long)row->machine_days);
        break;
    case ISSUES_ROW_SHARE:
        sbx_page_penetration(&at, &row->penetration);
        break;
    case ISSUES_ROW_P50:
        if (!sums->is_withheld)
            sbx_page_duration(&at, sums->p50_ns);
        break;
    case ISSUES_ROW_P90:
        if (!sums->is_withheld)
            sbx_page_duration(&at, sums->p90_ns);
        break;
    case ISSUES_ROW_DAYS:
        sbx_page_trend_words(&at, sums);
        break;
    case ISSUES_ROW_TREND:
        sbx_page_trend(&at, sums);
        break;
    case ISSUES_ROW_CAUSE:
        sbx_page_badge(page, row->newest.cause);
        break;
    case ISSUES_ROW_ID:
        sbx_fill_text(&at, row->id_text);
        break;
    case ISSUES_ROW_FUNCTION:
        sbx_page_function(page, row->newest.function);
        break;
    case ISSUES_ROW_STATE:
        if (row->state != SBX_ISSUE_OPEN)
            put_state(page, row);
        break;
    case ISSUES_ROW_FRESH:
        if (row->new_in_build || sbx_page_is_new_in(row, list->ask.version))
            put_fresh(page, row, list->ask.version);
        break;
    case ISSUES_ROW_PATH:
        sbx_fill_text(&at, *row->path ? row->path : row->newest.headline);
        break;
    case ISSUES_ROW_APP_NAME:
        sbx_fill_text(&at, row->newest.app);
        break;
    case ISSUES_ROW_WHEN:
        sbx_page_time(page, row->last_ms, list->now_ms);
        break;
    }
}

void sbx_page_issue_rows(struct sbx_byte_buffer *page, const struct sbx_issues_page *list)
{
    SBX_FILL(page, issues_table, at) {
    case ISSUES_TABLE_ROW:
        for (size_t i = 0; i < list->count; i++)
            put_row(page, &list->rows[i], &list->sums[i], list);
        break;
    }
}

static void put_more(struct sbx_byte_buffer *page, const struct sbx_issues_page *list)
{
    const struct sbx_issues_ask *ask = &list->ask;
    SBX_FILL(page, issues_more, at) {
    case ISSUES_MORE_TEXT:
        sbx_fill_text(&at, ask->text);
        break;
    case ISSUES_MORE_APP:
        sbx_fill_text(&at, ask->app);
        break;
    case ISSUES_MORE_VERSION:
        sbx_fill_text(&at, ask->version);
        break;
    case ISSUES_MORE_SCENE:
        sbx_fill_text(&at, ask->scene);
        break;
    case ISSUES_MORE_CAUSE:
        sbx_fill_text(&at, ask->cause);
        break;
    case ISSUES_MORE_STATE:
        sbx_fill_text(&at, ask->state);
        break;
    case ISSUES_MORE_SINCE:
        sbx_fill_text(&at, ask->since);
        break;
    case ISSUES_MORE_UNTIL:
        sbx_fill_text(&at, ask->until);
        break;
    case ISSUES_MORE_SORT:
        sbx_fill_text(&at, ask->sort);
        break;
    case ISSUES_MORE_CURSOR:
        sbx_fill_textf(&at, "%lld", (long long)list->next);
        break;
    }
}

void sbx_page_issues(const struct sbx_issues_page *list, struct sbx_byte_buffer *page)
{
    const struct sbx_issues_ask *ask = &list->ask;
    struct sbx_fill frame = sbx_page_begin(page, "Issues - Stallbox", 0);
    SBX_FILL(page, issues, at) {
    case ISSUES_TEXT:
        sbx_fill_text(&at, ask->text);
        break;
    case ISSUES_APP:
        sbx_fill_text(&at, ask->app);
        break;
    case ISSUES_VERSION:
        sbx_fill_text(&at, ask->version);
        break;
    case ISSUES_SCENE:
        sbx_fill_text(&at, ask->scene);
        break;
    case ISSUES_CAUSES:
        put_options(page, causes, sizeof(causes) / sizeof(causes[0]), ask->cause);
        break;
    case ISSUES_STATES:
        put_options(page, states, sizeof(states) / sizeof(states[0]), ask->state);
        break;
    case ISSUES_SINCE:
        sbx_fill_text(&at, ask->since);
        break;
    case ISSUES_UNTIL:
        sbx_fill_text(&at, ask->until);
        break;
    case ISSUES_SORTS:
        put_options(page, sorts, sizeof(sorts) / sizeof(sorts[0]), ask->sort);
        break;
    case ISSUES_NONE:
        if (list->count == 0)
            sbx_fill_markup(page, &issues_none_markup);
        break;
    case ISSUES_TABLE:
        if (list->count)
            sbx_page_issue_rows(page, list);
        break;
    case ISSUES_MORE:
        if (list->next)
            put_more(page, list);
        break;
    }
    sbx_page_end(&frame);
}
