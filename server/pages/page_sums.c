/* SPDX-License-Identifier: Apache-2.0 */
/* page_sums.c - the sums of many stalls. */
#include "page_sums.h"

#include <math.h>
#include <string.h>

#include "page_parts.h"
#include "sums.html.h"

struct sums_page {
    struct sbx_byte_buffer *page;
    const struct sbx_issue_sums *sums;
    const struct sbx_issue_span *of; /* NULL: the sums of one issue */
};

static void put_number(struct sbx_fill *at, int64_t number)
{
    sbx_fill_textf(at, "%lld", (long long)number);
}

/* ---- what was said ---- */

static void put_word(const struct sums_page *to, enum sbx_fact_kind kind, const char *word)
{
    if (!word) {
        sbx_fill_markup(to->page, &sums_rest_markup);
        return;
    }
    if (!to->of || (kind != SBX_FACT_FUNCTION && kind != SBX_FACT_SCENE)) {
        SBX_FILL(to->page, sums_word, at) {
        case SUMS_WORD_TEXT:
            sbx_fill_text(&at, word);
            break;
        }
        return;
    }
    if (kind == SBX_FACT_SCENE) {
        SBX_FILL(to->page, sums_scene, at) {
        case SUMS_SCENE_WORD:
        case SUMS_SCENE_TEXT:
            sbx_fill_text(&at, word);
            break;
        case SUMS_SCENE_APP:
            sbx_fill_text(&at, to->of->app ? to->of->app : "");
            break;
        case SUMS_SCENE_VERSION:
            sbx_fill_text(&at, to->of->version);
            break;
        }
        return;
    }
    SBX_FILL(to->page, sums_function, at) {
    case SUMS_FUNCTION_WORD:
    case SUMS_FUNCTION_TEXT:
        sbx_fill_text(&at, word);
        break;
    case SUMS_FUNCTION_APP:
        sbx_fill_text(&at, to->of->app ? to->of->app : "");
        break;
    case SUMS_FUNCTION_VERSION:
        sbx_fill_text(&at, to->of->version);
        break;
    }
}

/* Beside the share in an issue, the share in its whole application: a share that is the same everywhere explains
 * nothing. */
static void put_beside(const struct sums_page *to, double part, double all)
{
    SBX_FILL(to->page, sums_beside, at) {
    case SUMS_BESIDE_ALL:
        sbx_fill_textf(&at, "%.0f", all);
        break;
    case SUMS_BESIDE_RATIO:
        if (all > 0)
            sbx_fill_textf(&at, "%.1f \u00d7", part / all);
        break;
    }
}

static void put_met(const struct sums_page *to, int64_t hits)
{
    SBX_FILL(to->page, sums_met, at) {
    case SUMS_MET_HITS:
        put_number(&at, hits);
        break;
    }
}

/* A `label` without a word stands for all labels that have no row. One stall may have several labels of the kind
 * BEFORE, so for these the count of stalls is shown. */
static void put_label(const struct sums_page *to, enum sbx_fact_kind kind, const struct sbx_label_sum *label)
{
    const struct sbx_issue_sums *sums = to->sums;
    bool is_before = kind == SBX_FACT_BEFORE, is_time = !is_before && sums->label_us[kind] > 0;
    double whole = is_time     ? (double)sums->label_us[kind]
                   : is_before ? (double)sums->weight
                               : (double)sums->label_weight[kind];
    double part = whole > 0 ? 100 * (double)(is_time ? label->us : label->weight) / whole : 0;
    SBX_FILL(to->page, sums_row, at) {
    case SUMS_ROW_NAME:
        put_word(to, kind, *label->word ? label->word : NULL);
        break;
    case SUMS_ROW_AMOUNT:
        if (is_time)
            sbx_page_duration(&at, label->us * 1000);
        else if (is_before)
            sbx_fill_textf(&at, "%lld of %lld", (long long)label->weight, (long long)sums->weight);
        else
            put_number(&at, label->weight);
        break;
    case SUMS_ROW_MET:
        if (is_time && label->hits > 0)
            put_met(to, label->hits);
        break;
    case SUMS_ROW_BESIDE:
        if (sums->label_all[kind] > 0)
            put_beside(to, part, 100 * (double)label->all_weight / (double)sums->label_all[kind]);
        break;
    case SUMS_ROW_PART:
        sbx_fill_textf(&at, "%.1f", part);
        break;
    case SUMS_ROW_PERCENT:
        sbx_fill_textf(&at, "%.0f", part);
        break;
    }
}

/* Labels without a row of their own form one more row, where shares add up. */
static void put_labels(const struct sums_page *to, enum sbx_fact_kind kind)
{
    const struct sbx_issue_sums *sums = to->sums;
    struct sbx_label_sum rest = {
        .weight = sums->label_weight[kind], .us = sums->label_us[kind], .all_weight = sums->label_all[kind]};
    for (size_t i = 0; i < sums->label_count[kind]; i++) {
        put_label(to, kind, &sums->labels[kind][i]);
        rest.weight -= sums->labels[kind][i].weight;
        rest.us -= sums->labels[kind][i].us;
        rest.all_weight -= sums->labels[kind][i].all_weight;
    }
    if (kind != SBX_FACT_BEFORE && (sums->label_us[kind] > 0 ? rest.us > 0 : rest.weight > 0))
        put_label(to, kind, &rest);
}

static void put_table(const struct sums_page *to, enum sbx_fact_kind kind, const char *title)
{
    if (to->sums->label_count[kind] == 0)
        return;
    SBX_FILL(to->page, sums_table, at) {
    case SUMS_TABLE_TITLE:
        sbx_fill_text(&at, title);
        break;
    case SUMS_TABLE_ROW:
        put_labels(to, kind);
        break;
    }
}

static void put_tables(const struct sums_page *to)
{
    static const struct {
        enum sbx_fact_kind kind;
        const char *title;
    } tables[] = {{SBX_FACT_DETAIL, "Causes, by time"},      {SBX_FACT_TIME, "Where its time went"},
                  {SBX_FACT_FUNCTION, "Functions, by time"}, {SBX_FACT_PAIR, "Who waited for whom"},
                  {SBX_FACT_RIVAL, "Who had the processor"}, {SBX_FACT_BEFORE, "In the 5 s before, in so many stalls"},
                  {SBX_FACT_SCENE, "Scenes, by stalls"},     {SBX_FACT_TRIGGER, "Triggers, by time"},
                  {SBX_FACT_OS, "Systems, by stalls"},       {SBX_FACT_KERNEL, "Kernels, by stalls"},
                  {SBX_FACT_CORES, "Processors, by stalls"}, {SBX_FACT_MEMORY, "Memory, by stalls"}};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        put_table(to, tables[i].kind, tables[i].title);
}

/* ---- versions ---- */

static void put_version_name(const struct sums_page *to, const char *version)
{
    if (!*version) {
        sbx_fill_markup(to->page, &sums_no_version_markup);
        return;
    }
    if (!to->of) {
        SBX_FILL(to->page, sums_own_version, at) {
        case SUMS_OWN_VERSION_LINK:
        case SUMS_OWN_VERSION_NUMBER:
            sbx_fill_text(&at, version);
            break;
        }
        return;
    }
    SBX_FILL(to->page, sums_app_version, at) {
    case SUMS_APP_VERSION_APP:
        sbx_fill_text(&at, to->of->app ? to->of->app : "");
        break;
    case SUMS_APP_VERSION_LINK:
    case SUMS_APP_VERSION_NUMBER:
        sbx_fill_text(&at, version);
        break;
    }
}

static void put_version(const struct sums_page *to, const struct sbx_version_sum *version)
{
    char day[16];
    SBX_FILL(to->page, sums_version, at) {
    case SUMS_VERSION_NAME:
        put_version_name(to, version->version);
        break;
    case SUMS_VERSION_STALLS:
        put_number(&at, version->weight);
        break;
    case SUMS_VERSION_MACHINES:
        put_number(&at, version->machine_days);
        break;
    case SUMS_VERSION_SHARE:
        sbx_page_penetration(&at, &version->penetration);
        break;
    case SUMS_VERSION_P50:
        if (*version->version)
            sbx_page_duration(&at, version->p50_ns);
        break;
    case SUMS_VERSION_P90:
        if (*version->version)
            sbx_page_duration(&at, version->p90_ns);
        break;
    case SUMS_VERSION_FIRST_DAY:
        sbx_day_print(version->first_day, day);
        sbx_fill_text(&at, day);
        break;
    case SUMS_VERSION_LAST_DAY:
        sbx_day_print(version->last_day, day);
        sbx_fill_text(&at, day);
        break;
    }
}

static void put_versions(const struct sums_page *to)
{
    SBX_FILL(to->page, sums_versions, at) {
    case SUMS_VERSIONS_VERSION:
        for (size_t i = 0; i < to->sums->version_count; i++)
            put_version(to, &to->sums->versions[i]);
        break;
    }
}

/* ---- all of it ---- */

static void put_span(struct sbx_byte_buffer *page, const char *words)
{
    SBX_FILL(page, sums_span, at) {
    case SUMS_SPAN_WORDS:
        sbx_fill_text(&at, words);
        break;
    }
}

static void put_penetration(struct sbx_byte_buffer *page, const struct sbx_penetration *penetration)
{
    SBX_FILL(page, sums_penetration, at) {
    case SUMS_PENETRATION_SHARE:
        sbx_page_penetration(&at, penetration);
        break;
    case SUMS_PENETRATION_HIT:
        put_number(&at, penetration->hit);
        break;
    case SUMS_PENETRATION_ACTIVE:
        put_number(&at, penetration->active);
        break;
    }
}

void sbx_page_sum_numbers(struct sbx_byte_buffer *page, const struct sbx_issue_sums *sums, const char *span)
{
    SBX_FILL(page, sums_numbers, at) {
    case SUMS_NUMBERS_SPAN:
        if (*span)
            put_span(page, span);
        break;
    case SUMS_NUMBERS_STALLS:
        put_number(&at, sums->weight);
        break;
    case SUMS_NUMBERS_DEVIATION:
        if (sums->variance > 0)
            SBX_FILL(page, sums_deviation, in) {
            case SUMS_DEVIATION_STALLS:
                sbx_fill_textf(&in, "%.0f", sqrt((double)sums->variance));
                break;
            }
        break;
    case SUMS_NUMBERS_HITS:
        sbx_page_count(&at, sums->hits, "snapshot", "s");
        break;
    case SUMS_NUMBERS_MACHINES:
        put_number(&at, sums->machines);
        break;
    case SUMS_NUMBERS_PENETRATION:
        if (!isnan(sbx_penetration_share(&sums->penetration)))
            put_penetration(page, &sums->penetration);
        break;
    case SUMS_NUMBERS_P50:
        sbx_page_duration(&at, sums->p50_ns);
        break;
    case SUMS_NUMBERS_P90:
        sbx_page_duration(&at, sums->p90_ns);
        break;
    case SUMS_NUMBERS_P99:
        sbx_page_duration(&at, sums->p99_ns);
        break;
    case SUMS_NUMBERS_DAYS:
        sbx_page_trend_words(&at, sums);
        break;
    case SUMS_NUMBERS_TREND:
        sbx_page_trend(&at, sums);
        break;
    }
}

void sbx_page_sum_tables(struct sbx_byte_buffer *page, const struct sbx_issue_sums *sums,
                         const struct sbx_issue_span *of)
{
    const struct sums_page to = {page, sums, of};
    SBX_FILL(page, sums_details, at) {
    case SUMS_DETAILS_TABLES:
        put_tables(&to);
        break;
    case SUMS_DETAILS_VERSIONS:
        if (sums->version_count)
            put_versions(&to);
        break;
    }
}
