/* SPDX-License-Identifier: Apache-2.0 */
/* page_function.c - one function across issues. */
#include "pages.h"

#include <stdio.h>
#include <string.h>

#include "function.html.h"
#include "page_parts.h"
#include "page_profile.h"

static void put_words(struct sbx_byte_buffer *page, const char *words)
{
    SBX_FILL(page, function_words, at) {
    case FUNCTION_WORDS_TEXT:
        sbx_fill_text(&at, words);
        break;
    }
}

static void put_more(struct sbx_byte_buffer *page, size_t looked_at)
{
    SBX_FILL(page, function_more, at) {
    case FUNCTION_MORE_COUNT:
        sbx_fill_textf(&at, "%zu", looked_at);
        break;
    }
}

static void put_blamed(struct sbx_byte_buffer *page, const struct sbx_function_page *self)
{
    SBX_FILL(page, function_blamed, at) {
    case FUNCTION_BLAMED_STALLS:
        sbx_fill_textf(&at, "%lld", (long long)self->weight);
        break;
    case FUNCTION_BLAMED_HITS:
        sbx_page_count(&at, self->hits, "snapshot", "s");
        break;
    case FUNCTION_BLAMED_ISSUES:
        sbx_page_count(&at, (int64_t)self->issues.count, "issue", "s");
        break;
    case FUNCTION_BLAMED_MORE:
        if (self->looked_at)
            put_more(page, self->looked_at);
        break;
    }
}

static void put_cause(struct sbx_byte_buffer *page, const struct sbx_function_cause *cause, int64_t all)
{
    double percent = all > 0 ? 100 * (double)cause->weight / (double)all : 0;
    SBX_FILL(page, function_cause, at) {
    case FUNCTION_CAUSE_BADGE:
        sbx_page_badge(page, cause->word);
        break;
    case FUNCTION_CAUSE_STALLS:
        sbx_fill_textf(&at, "%lld", (long long)cause->weight);
        break;
    case FUNCTION_CAUSE_PART:
        sbx_fill_textf(&at, "%.1f", percent);
        break;
    case FUNCTION_CAUSE_PERCENT:
        sbx_fill_textf(&at, "%.0f", percent);
        break;
    }
}

static void put_causes(struct sbx_byte_buffer *page, const struct sbx_function_page *self)
{
    int64_t all = 0;
    for (size_t i = 0; i < self->cause_count; i++)
        all += self->causes[i].weight;
    SBX_FILL(page, function_causes, at) {
    case FUNCTION_CAUSES_CAUSE:
        for (size_t i = 0; i < self->cause_count; i++)
            put_cause(page, &self->causes[i], all);
        break;
    }
}

static void put_issues(struct sbx_byte_buffer *page, const struct sbx_issues_page *issues)
{
    SBX_FILL(page, function_issues_of, at) {
    case FUNCTION_ISSUES_OF_ROWS:
        sbx_page_issue_rows(page, issues);
        break;
    }
}

void sbx_page_function_across(const struct sbx_function_page *self, struct sbx_byte_buffer *page)
{
    const struct sbx_issues_ask *ask = &self->issues.ask;
    struct sbx_profile_page profile = {.profile = self->profile, .words = self->words};
    memcpy(profile.ask.app, ask->app, sizeof(profile.ask.app));
    memcpy(profile.ask.version, ask->version, sizeof(profile.ask.version));
    memcpy(profile.ask.since, ask->since, sizeof(profile.ask.since));
    memcpy(profile.ask.until, ask->until, sizeof(profile.ask.until));
    snprintf(profile.ask.function, sizeof(profile.ask.function), "%s", self->name);
    bool is_met = true;
    struct sbx_fill frame = sbx_page_begin_with_pictures(page, self->name);
    SBX_FILL(page, function, at) {
    case FUNCTION_OVERVIEW_APP:
    case FUNCTION_APP:
        sbx_fill_text(&at, ask->app);
        break;
    case FUNCTION_OVERVIEW_VERSION:
    case FUNCTION_VERSION:
        sbx_fill_text(&at, ask->version);
        break;
    case FUNCTION_OF:
        sbx_fill_textf(&at, "%s%s%s", *ask->app ? ask->app : "of all applications", *ask->version ? " " : "",
                       ask->version);
        break;
    case FUNCTION_WORDS:
        if (*self->words)
            put_words(page, self->words);
        break;
    case FUNCTION_FUNCTION:
        sbx_page_function(page, self->name);
        break;
    case FUNCTION_NAME:
        sbx_fill_text(&at, self->name);
        break;
    case FUNCTION_SINCE:
        sbx_fill_text(&at, ask->since);
        break;
    case FUNCTION_UNTIL:
        sbx_fill_text(&at, ask->until);
        break;
    case FUNCTION_BLAMED:
        if (!self->is_withheld && self->issues.count)
            put_blamed(page, self);
        break;
    case FUNCTION_NONE:
        if (self->issues.count == 0)
            sbx_fill_markup(page, &function_none_markup);
        break;
    case FUNCTION_WITHHELD:
        if (self->is_withheld)
            sbx_fill_markup(page, &function_withheld_markup);
        break;
    case FUNCTION_CAUSES:
        if (self->cause_count)
            put_causes(page, self);
        break;
    case FUNCTION_ISSUES_OF:
        if (self->issues.count)
            put_issues(page, &self->issues);
        break;
    case FUNCTION_AROUND:
        is_met = sbx_page_profile_around(page, &profile);
        break;
    case FUNCTION_NOT_MET:
        if (!is_met && !self->is_withheld)
            sbx_fill_markup(page, &function_not_met_markup);
        break;
    }
    sbx_page_end(&frame);
}
