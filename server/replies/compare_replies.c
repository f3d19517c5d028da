/* SPDX-License-Identifier: Apache-2.0 */
/* compare_replies.c - answers about two versions, or two spans of days, side by side. */
#include "compare_replies.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "json_document.h"
#include "profile_replies.h"
#include "wall_clock.h"

enum {
    UNCHANGED_SHOWN = 15,
    CHANGED_SHOWN = 100,
    VERSIONS = 200,
    DAY_MS = 86400000
};

/* The arguments of the base begin with "base_"; "base" is its version. */
static const char *name_of_base(const char *name)
{
    return strcmp(name, "base") == 0 ? "version" : strncmp(name, "base_", 5) == 0 ? name + 5 : NULL;
}

static int read_spans(const struct sbx_arguments *arguments, struct sbx_span_text texts[SBX_COMPARED_SIDES],
                      struct sbx_reply *reply)
{
    struct sbx_arguments sides[SBX_COMPARED_SIDES] = {{.count = 0}, {.count = 0}};
    for (size_t i = 0; i < arguments->count; i++) {
        const char *of_base = name_of_base(arguments->each[i].name);
        struct sbx_arguments *side = &sides[of_base ? SBX_COMPARED_BASE : SBX_COMPARED_HERE];
        side->each[side->count] = arguments->each[i];
        if (of_base)
            side->each[side->count].name = of_base;
        side->count++;
    }
    int result = sbx_issue_reply_span(&sides[0], &texts[0], reply);
    if (result == 0)
        result = sbx_issue_reply_span(&sides[1], &texts[1], reply);
    memcpy(texts[1].app, texts[0].app, sizeof(texts[1].app)); /* both sides belong to one application */
    return result;
}

/* Choose the versions that the request does not name: the latest one, and the one before it. */
static int choose_versions(const struct sbx_store_view *view, struct sbx_span_text texts[SBX_COMPARED_SIDES])
{
    struct sbx_span_text *here = &texts[SBX_COMPARED_HERE], *base = &texts[SBX_COMPARED_BASE];
    bool has_days = *here->since || *here->until || *base->since || *base->until;
    size_t count = 0, at = 0;
    if (has_days || (*here->version && *base->version))
        return 0;
    struct sbx_version_met *versions = calloc(VERSIONS, sizeof(*versions));
    int result = versions ? sbx_store_versions(view, &(struct sbx_issue_span){"", 0, INT64_MAX, here->app}, versions,
                                               VERSIONS, &count)
                          : -ENOMEM;
    while (*here->version && at < count && strcmp(versions[at].version, here->version) != 0)
        at++;
    if (!*here->version && count > 0) {
        while (at + 1 < count && (versions[at].machine_days < SBX_CHANGE_MACHINES_MIN ||
                                  strcmp(versions[at].version, base->version) == 0))
            at++; /* a developer's own build is not the latest version */
        snprintf(here->version, sizeof(here->version), "%s", versions[at].version);
    }
    if (!*base->version && at + 1 < count)
        snprintf(base->version, sizeof(base->version), "%s", versions[at + 1].version);
    free(versions);
    return result;
}

static void name_side(const struct sbx_span_text *text, char name_out[120])
{
    if (!*text->version && !*text->since && !*text->until)
        snprintf(name_out, 120, "all of it");
    else
        snprintf(name_out, 120, "%.39s%s%.15s%s%.15s", text->version, *text->since ? " from " : "", text->since,
                 *text->until ? " to " : "", text->until);
}

/* ---- forms ---- */

static void put_side(struct sbx_document *json, const char *name, const struct sbx_compare_page *page, int side)
{
    sbx_document_open(json, name, '{');
    sbx_document_string(json, "name", page->names[side]);
    const struct sbx_told *told = side == SBX_COMPARED_HERE ? &page->whole.told_here : &page->whole.told_base;
    sbx_document_integer(json, "machines", page->machines[side]);
    sbx_document_integer(json, "machine_days", told->active);
    sbx_document_integer(json, "machine_days_hit", told->hit);
    sbx_document_number(json, "p50_ms", (double)page->sums[side].p50_ns / 1e6);
    sbx_document_number(json, "p90_ms", (double)page->sums[side].p90_ns / 1e6);
    sbx_document_number(json, "p99_ms", (double)page->sums[side].p99_ns / 1e6);
    sbx_document_close(json, '}');
}

static void put_judged(struct sbx_document *json, const struct sbx_change_row *judged)
{
    sbx_document_string(json, "change", sbx_change_name(judged->change));
    sbx_document_string(json, "measure", judged->measure == SBX_OF_ACTIVE ? "machine_days" : "stalling_machines");
    sbx_document_number(json, "ratio", judged->ratio.ratio);
    sbx_document_number(json, "ratio_low", judged->ratio.low);
    sbx_document_number(json, "ratio_high", judged->ratio.high);
    sbx_document_number(json, "chance", judged->chance);
}

static void put_row(struct sbx_document *json, const struct sbx_compare_row *row)
{
    sbx_document_open(json, NULL, '{');
    sbx_document_string(json, "issue", row->issue->id_text);
    sbx_document_string(json, "function", row->issue->newest.function);
    sbx_document_string(json, "path", row->issue->path);
    put_judged(json, &row->judged);
    sbx_document_integer(json, "machine_days_hit", row->judged.told_here.hit);
    sbx_document_integer(json, "base_machine_days_hit", row->judged.told_base.hit);
    sbx_document_integer(json, "machines", row->met.machines[SBX_COMPARED_HERE]);
    sbx_document_integer(json, "base_machines", row->met.machines[SBX_COMPARED_BASE]);
    sbx_document_integer(json, "estimated", row->met.weight[SBX_COMPARED_HERE]);
    sbx_document_integer(json, "base_estimated", row->met.weight[SBX_COMPARED_BASE]);
    sbx_document_number(json, "p90_ms", (double)row->met.p90_ns[SBX_COMPARED_HERE] / 1e6);
    sbx_document_number(json, "base_p90_ms", (double)row->met.p90_ns[SBX_COMPARED_BASE] / 1e6);
    sbx_document_close(json, '}');
}

static void give_json(const struct sbx_compare_page *page, struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '{');
    sbx_document_bool(&json, "withheld", page->is_withheld);
    sbx_document_string(&json, "app", *page->ask.app ? page->ask.app : NULL);
    put_side(&json, "here", page, SBX_COMPARED_HERE);
    put_side(&json, "base", page, SBX_COMPARED_BASE);
    sbx_document_open(&json, "whole", '{');
    put_judged(&json, &page->whole);
    sbx_document_close(&json, '}');
    sbx_document_integer(&json, "issues", (int64_t)page->count);
    sbx_document_open(&json, "changes", '[');
    for (size_t i = 0; i < page->changed && i < page->shown; i++)
        put_row(&json, &page->rows[i]);
    sbx_document_close(&json, ']');
    sbx_document_close(&json, '}');
    sbx_byte_buffer_text(&json.text, "\n");
    reply->status = 200;
    reply->content_type = "application/json";
    reply->body = json.text;
}

static int give_page(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                     struct sbx_compare_page *page, struct sbx_reply *reply)
{
    struct sbx_merged_profile profile = {0};
    int result = sbx_merged_profile_init(&profile);
    for (int side = 0; side < SBX_COMPARED_SIDES && result == 0; side++)
        result = sbx_profile_read(view, NULL, &spans[side], (enum sbx_merged_side)side, &profile);
    if (result == 0) {
        sbx_merged_profile_settle(&profile);
        page->profile = &profile;
        reply->status = 200;
        reply->content_type = SBX_TEXT_HTML;
        sbx_page_compare(page, &reply->body);
    }
    sbx_merged_profile_finish(&profile);
    return result;
}

static void fill_ask(const struct sbx_span_text texts[SBX_COMPARED_SIDES], struct sbx_compare_ask *ask)
{
    memcpy(ask->app, texts[0].app, sizeof(ask->app));
    memcpy(ask->version, texts[0].version, sizeof(ask->version));
    memcpy(ask->since, texts[0].since, sizeof(ask->since));
    memcpy(ask->until, texts[0].until, sizeof(ask->until));
    memcpy(ask->base, texts[1].version, sizeof(ask->base));
    memcpy(ask->base_since, texts[1].since, sizeof(ask->base_since));
    memcpy(ask->base_until, texts[1].until, sizeof(ask->base_until));
}

int sbx_compare_reply(const struct sbx_store_view *view, const struct sbx_arguments *arguments, bool as_page,
                      struct sbx_reply *reply)
{
    struct sbx_span_text texts[SBX_COMPARED_SIDES];
    struct sbx_compare_page page = {.is_withheld = sbx_store_min_machines(view->store) > 1};
    struct sbx_comparison comparison = {0};
    int result = read_spans(arguments, texts, reply);
    if (result < 0)
        return result;
    struct sbx_issue_sums *sums = calloc(SBX_COMPARED_SIDES, sizeof(*sums));
    page.sums = sums;
    result = sums ? choose_versions(view, texts) : -ENOMEM;
    const struct sbx_issue_span spans[SBX_COMPARED_SIDES] = {texts[0].span, texts[1].span};
    for (int side = 0; side < SBX_COMPARED_SIDES && result == 0; side++) {
        name_side(&texts[side], page.names[side]);
        result = sbx_store_sum_durations(view, NULL, &spans[side], &sums[side]);
    }
    if (result == 0)
        result = sbx_comparison_make(view, spans, SBX_CHANGE_ALARMS, sbx_wall_clock_ms() / DAY_MS, &comparison);
    if (result == 0)
        result = sbx_comparison_read_issues(view, &comparison,
                                            comparison.changed > CHANGED_SHOWN ? CHANGED_SHOWN
                                                                               : comparison.changed + UNCHANGED_SHOWN);
    if (result == 0) {
        fill_ask(texts, &page.ask);
        memcpy(page.machines, comparison.machines, sizeof(page.machines));
        page.whole = comparison.whole;
        page.rows = comparison.rows;
        page.count = comparison.count;
        page.shown = comparison.shown;
        page.changed = comparison.changed < comparison.shown ? comparison.changed : comparison.shown;
        if (as_page)
            result = give_page(view, spans, &page, reply);
        else
            give_json(&page, reply);
    }
    sbx_comparison_finish(&comparison);
    free(sums);
    return result;
}
