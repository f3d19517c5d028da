/* SPDX-License-Identifier: Apache-2.0 */
/* page_overview.c - all applications, one, or one version of it. */
#include "pages.h"

#include <math.h>
#include <string.h>

#include "overview.html.h"
#include "page_parts.h"
#include "page_profile.h"
#include "page_sums.h"

/* ---- applications ---- */

static void put_error(struct sbx_byte_buffer *page, int64_t variance)
{
    SBX_FILL(page, overview_error, at) {
    case OVERVIEW_ERROR_STALLS:
        sbx_fill_textf(&at, "%.0f", sqrt((double)variance));
        break;
    }
}

static void put_newest(struct sbx_byte_buffer *page, const struct sbx_app_sum *row, const struct sbx_issues_ask *ask)
{
    SBX_FILL(page, overview_newest, at) {
    case OVERVIEW_NEWEST_APP:
        sbx_fill_text(&at, row->app);
        break;
    case OVERVIEW_NEWEST_VERSION:
    case OVERVIEW_NEWEST_NUMBER:
        sbx_fill_text(&at, row->newest);
        break;
    case OVERVIEW_NEWEST_SINCE:
        sbx_fill_text(&at, ask->since);
        break;
    case OVERVIEW_NEWEST_UNTIL:
        sbx_fill_text(&at, ask->until);
        break;
    }
}

static void put_app(struct sbx_byte_buffer *page, const struct sbx_app_sum *row, const struct sbx_issues_ask *ask)
{
    SBX_FILL(page, overview_row, at) {
    case OVERVIEW_ROW_APP:
    case OVERVIEW_ROW_NAME:
        sbx_fill_text(&at, row->app);
        break;
    case OVERVIEW_ROW_SINCE:
        sbx_fill_text(&at, ask->since);
        break;
    case OVERVIEW_ROW_UNTIL:
        sbx_fill_text(&at, ask->until);
        break;
    case OVERVIEW_ROW_STALLS:
        sbx_fill_textf(&at, "%lld", (long long)row->weight);
        break;
    case OVERVIEW_ROW_ERROR:
        if (row->variance > 0)
            put_error(page, row->variance);
        break;
    case OVERVIEW_ROW_MACHINES:
        sbx_fill_textf(&at, "%lld", (long long)row->machine_days);
        break;
    case OVERVIEW_ROW_SHARE:
        sbx_page_penetration(&at, &row->penetration);
        break;
    case OVERVIEW_ROW_ISSUES:
        sbx_fill_textf(&at, "%lld", (long long)row->issues);
        break;
    case OVERVIEW_ROW_VERSIONS:
        sbx_fill_textf(&at, "%lld", (long long)row->versions);
        break;
    case OVERVIEW_ROW_NEWEST:
        if (*row->newest)
            put_newest(page, row, ask);
        break;
    }
}

void sbx_page_apps(struct sbx_byte_buffer *page, const struct sbx_app_sum *rows, size_t count,
                   const struct sbx_issues_ask *ask)
{
    if (count == 0)
        return;
    SBX_FILL(page, overview_apps, at) {
    case OVERVIEW_APPS_COUNT:
        sbx_fill_textf(&at, "%zu", count);
        break;
    case OVERVIEW_APPS_ROW:
        for (size_t i = 0; i < count; i++)
            put_app(page, &rows[i], ask);
        break;
    }
}

/* ---- issues ---- */

static void put_new_ones(struct sbx_byte_buffer *page, size_t count, const char *version)
{
    SBX_FILL(page, overview_new_ones, at) {
    case OVERVIEW_NEW_ONES_COUNT:
        sbx_fill_textf(&at, "%zu", count);
        break;
    case OVERVIEW_NEW_ONES_NUMBER:
        sbx_fill_text(&at, version);
        break;
    }
}

static void put_issues(struct sbx_byte_buffer *page, const struct sbx_overview_page *overview)
{
    const struct sbx_issues_page *list = &overview->issues;
    size_t new_count = 0;
    for (size_t i = 0; i < list->count; i++)
        new_count += sbx_page_is_new_in(&list->rows[i], list->ask.version);
    SBX_FILL(page, overview_issues, at) {
    case OVERVIEW_ISSUES_COUNT:
        sbx_fill_textf(&at, "%zu%s", list->count, list->next ? "+" : "");
        break;
    case OVERVIEW_ISSUES_NEW_ONES:
        if (new_count)
            put_new_ones(page, new_count, list->ask.version);
        break;
    case OVERVIEW_ISSUES_ROWS:
        sbx_page_issue_rows(page, list);
        break;
    case OVERVIEW_ISSUES_APP:
        sbx_fill_text(&at, list->ask.app);
        break;
    case OVERVIEW_ISSUES_VERSION:
        sbx_fill_text(&at, list->ask.version);
        break;
    case OVERVIEW_ISSUES_SINCE:
        sbx_fill_text(&at, list->ask.since);
        break;
    case OVERVIEW_ISSUES_UNTIL:
        sbx_fill_text(&at, list->ask.until);
        break;
    }
}

static void put_compare(struct sbx_byte_buffer *page, const struct sbx_issues_ask *ask)
{
    SBX_FILL(page, overview_compare, at) {
    case OVERVIEW_COMPARE_APP:
        sbx_fill_text(&at, ask->app);
        break;
    case OVERVIEW_COMPARE_VERSION:
        sbx_fill_text(&at, ask->version);
        break;
    }
}

static void put_profile(struct sbx_byte_buffer *page, const struct sbx_overview_page *overview)
{
    const struct sbx_issues_ask *ask = &overview->issues.ask;
    struct sbx_profile_ask of = {.is_full = false};
    memcpy(of.app, ask->app, sizeof(of.app));
    memcpy(of.version, ask->version, sizeof(of.version));
    memcpy(of.since, ask->since, sizeof(of.since));
    memcpy(of.until, ask->until, sizeof(of.until));
    sbx_page_profile_part(page, overview->profile, &of);
}

/* ---- the page ---- */

static void put_heading(struct sbx_fill *at, const struct sbx_issues_ask *ask)
{
    if (*ask->app || *ask->version)
        sbx_fill_textf(at, "%s%s%s", *ask->app ? ask->app : "All applications", *ask->version ? " " : "", ask->version);
    else
        sbx_fill_text(at, "All applications");
}

void sbx_page_overview(const struct sbx_overview_page *overview, struct sbx_byte_buffer *page)
{
    const struct sbx_issues_ask *ask = &overview->issues.ask;
    const struct sbx_issue_sums *sums = overview->sums;
    const struct sbx_issue_span of = {.version = ask->version, .app = ask->app};
    struct sbx_fill frame = sbx_page_begin_with_pictures(page, "Overview - Stallbox");
    SBX_FILL(page, overview, at) {
    case OVERVIEW_HEADING:
        put_heading(&at, ask);
        break;
    case OVERVIEW_APP:
        sbx_fill_text(&at, ask->app);
        break;
    case OVERVIEW_VERSION:
        sbx_fill_text(&at, ask->version);
        break;
    case OVERVIEW_SINCE:
        sbx_fill_text(&at, ask->since);
        break;
    case OVERVIEW_UNTIL:
        sbx_fill_text(&at, ask->until);
        break;
    case OVERVIEW_COMPARE:
        if (*ask->app && !sums->is_withheld && sums->hits > 0)
            put_compare(page, ask);
        break;
    case OVERVIEW_NONE:
        if (!sums->is_withheld && sums->hits == 0)
            sbx_fill_markup(page, &overview_none_markup);
        break;
    case OVERVIEW_WITHHELD:
        if (sums->is_withheld)
            sbx_fill_markup(page, &overview_withheld_markup);
        break;
    case OVERVIEW_APPS:
        sbx_page_apps(page, overview->apps, overview->app_count, ask);
        break;
    case OVERVIEW_NUMBERS:
        if (!sums->is_withheld && sums->hits > 0)
            sbx_page_sum_numbers(page, sums, overview->words);
        break;
    case OVERVIEW_PROFILE:
        if (overview->profile)
            put_profile(page, overview);
        break;
    case OVERVIEW_TABLES:
        if (!sums->is_withheld && sums->hits > 0)
            sbx_page_sum_tables(page, sums, &of);
        break;
    case OVERVIEW_ISSUES:
        if (overview->issues.count)
            put_issues(page, overview);
        break;
    }
    sbx_page_end(&frame);
}
