/* SPDX-License-Identifier: Apache-2.0 */
/* page_compare.c - two versions, or two spans of days, side by side. */
#include "page_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.html.h"
#include "page_parts.h"
#include "page_profile.h"

enum {
    FUNCTIONS_READ = 4000,
    FUNCTIONS_SHOWN = 15
};

static void put_number(struct sbx_fill *at, int64_t number)
{
    sbx_fill_textf(at, "%lld", (long long)number);
}

static void put_percent(struct sbx_fill *at, double share)
{
    sbx_fill_textf(at, "%.1f %%", 100 * share);
}

/* ---- in numbers ---- */

static void put_told_share(struct sbx_fill *at, const struct sbx_told *told)
{
    sbx_page_penetration(at, &(struct sbx_penetration){told->hit, told->active});
}

static void put_told(struct sbx_byte_buffer *page, const struct sbx_told *told)
{
    SBX_FILL(page, compare_told, at) {
    case COMPARE_TOLD_SHARE:
        put_told_share(&at, told);
        break;
    case COMPARE_TOLD_HIT:
        put_number(&at, told->hit);
        break;
    case COMPARE_TOLD_ACTIVE:
        put_number(&at, told->active);
        break;
    }
}

static void put_side(struct sbx_byte_buffer *page, const struct sbx_compare_page *self, int side)
{
    const struct sbx_issue_sums *sums = &self->sums[side];
    const struct sbx_told *told = side == SBX_COMPARED_HERE ? &self->whole.told_here : &self->whole.told_base;
    int64_t weight = 0;
    for (size_t i = 0; i < sums->day_count; i++)
        weight += sums->days[i].weight;
    SBX_FILL(page, compare_side, at) {
    case COMPARE_SIDE_NAME:
        sbx_fill_text(&at, self->names[side]);
        break;
    case COMPARE_SIDE_STALLS:
        put_number(&at, weight);
        break;
    case COMPARE_SIDE_MACHINES:
        put_number(&at, self->machines[side]);
        break;
    case COMPARE_SIDE_TOLD:
        if (told->active > 0)
            put_told(page, told);
        break;
    case COMPARE_SIDE_P50:
        sbx_page_duration(&at, sums->p50_ns);
        break;
    case COMPARE_SIDE_P90:
        sbx_page_duration(&at, sums->p90_ns);
        break;
    case COMPARE_SIDE_P99:
        sbx_page_duration(&at, sums->p99_ns);
        break;
    }
}

/* ---- issues ---- */

static void put_tag(struct sbx_byte_buffer *page, enum sbx_change change)
{
    if (change == SBX_CHANGE_NONE)
        return;
    if (change == SBX_CHANGE_IMPROVED || change == SBX_CHANGE_GONE) {
        SBX_FILL(page, compare_better, at) {
        case COMPARE_BETTER_WORD:
            sbx_fill_text(&at, sbx_change_name(change));
            break;
        }
        return;
    }
    SBX_FILL(page, compare_worse, at) {
    case COMPARE_WORSE_WORD:
        sbx_fill_text(&at, sbx_change_name(change));
        break;
    }
}

static void put_share(struct sbx_fill *at, const struct sbx_compare_page *self, const struct sbx_compare_row *row,
                      int side)
{
    if (self->machines[side] > 0)
        put_percent(at, (double)row->met.machines[side] / (double)self->machines[side]);
}

static void put_ratio(struct sbx_fill *at, double ratio)
{
    if (isfinite(ratio))
        sbx_fill_textf(at, ratio < 10 ? "%.2f" : "%.0f", ratio);
    else
        sbx_fill_text(at, "\u221e"); /* one side has no stalls of this issue */
}

static void put_chance(struct sbx_fill *at, double chance)
{
    sbx_fill_textf(at, chance < 1e-4 ? "below 0.0001" : "%.4f", chance);
}

static void put_days(struct sbx_byte_buffer *page, const struct sbx_told *told)
{
    if (told->active == 0)
        return;
    SBX_FILL(page, compare_days, at) {
    case COMPARE_DAYS_SHARE:
        put_told_share(&at, told);
        break;
    }
}

static void put_whole(struct sbx_byte_buffer *page, const struct sbx_change_row *judged)
{
    SBX_FILL(page, compare_whole, at) {
    case COMPARE_WHOLE_TAG:
        put_tag(page, judged->change);
        break;
    case COMPARE_WHOLE_RATIO:
        put_ratio(&at, judged->ratio.ratio);
        break;
    case COMPARE_WHOLE_LOW:
        put_ratio(&at, judged->ratio.low);
        break;
    case COMPARE_WHOLE_HIGH:
        put_ratio(&at, judged->ratio.high);
        break;
    case COMPARE_WHOLE_CHANCE:
        put_chance(&at, judged->chance);
        break;
    }
}

static void put_row(struct sbx_byte_buffer *page, const struct sbx_compare_page *self,
                    const struct sbx_compare_row *row)
{
    SBX_FILL(page, compare_row, at) {
    case COMPARE_ROW_TAG:
        put_tag(page, row->judged.change);
        break;
    case COMPARE_ROW_ID:
        sbx_fill_text(&at, row->issue->id_text);
        break;
    case COMPARE_ROW_NAME:
        sbx_page_function(page, row->issue->newest.function);
        break;
    case COMPARE_ROW_PATH:
        sbx_fill_text(&at, *row->issue->path ? row->issue->path : row->issue->newest.headline);
        break;
    case COMPARE_ROW_RATIO:
        put_ratio(&at, row->judged.ratio.ratio);
        break;
    case COMPARE_ROW_LOW:
        put_ratio(&at, row->judged.ratio.low);
        break;
    case COMPARE_ROW_HIGH:
        put_ratio(&at, row->judged.ratio.high);
        break;
    case COMPARE_ROW_MACHINES:
        put_number(&at, row->met.machines[SBX_COMPARED_HERE]);
        break;
    case COMPARE_ROW_SHARE:
        put_share(&at, self, row, SBX_COMPARED_HERE);
        break;
    case COMPARE_ROW_DAYS:
        put_days(page, &row->judged.told_here);
        break;
    case COMPARE_ROW_BASE_DAYS:
        put_days(page, &row->judged.told_base);
        break;
    case COMPARE_ROW_BASE_MACHINES:
        put_number(&at, row->met.machines[SBX_COMPARED_BASE]);
        break;
    case COMPARE_ROW_BASE_SHARE:
        put_share(&at, self, row, SBX_COMPARED_BASE);
        break;
    case COMPARE_ROW_P90:
        if (row->met.p90_ns[SBX_COMPARED_HERE])
            sbx_page_duration(&at, row->met.p90_ns[SBX_COMPARED_HERE]);
        break;
    case COMPARE_ROW_BASE_P90:
        if (row->met.p90_ns[SBX_COMPARED_BASE])
            sbx_page_duration(&at, row->met.p90_ns[SBX_COMPARED_BASE]);
        break;
    case COMPARE_ROW_CHANCE:
        put_chance(&at, row->judged.chance);
        break;
    }
}

static void put_heads(struct sbx_byte_buffer *page)
{
    sbx_fill_markup(page, &compare_heads_markup);
}

static void put_changes(struct sbx_byte_buffer *page, const struct sbx_compare_page *self)
{
    SBX_FILL(page, compare_changes, at) {
    case COMPARE_CHANGES_HEADS:
        put_heads(page);
        break;
    case COMPARE_CHANGES_ROWS:
        for (size_t i = 0; i < self->changed; i++)
            put_row(page, self, &self->rows[i]);
        break;
    }
}

static void put_rest(struct sbx_byte_buffer *page, const struct sbx_compare_page *self)
{
    SBX_FILL(page, compare_rest, at) {
    case COMPARE_REST_COUNT:
        put_number(&at, (int64_t)(self->count - self->changed));
        break;
    case COMPARE_REST_HEADS:
        put_heads(page);
        break;
    case COMPARE_REST_ROWS:
        for (size_t i = self->changed; i < self->shown; i++)
            put_row(page, self, &self->rows[i]);
        break;
    }
}

/* ---- functions ---- */

struct share {
    const char *name;
    double here, base;
};

static int compare_shares(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    double more = fabs(b->here - b->base) - fabs(a->here - a->base);
    return more > 0 ? 1 : more < 0 ? -1 : strcmp(a->name, b->name);
}

static void put_function(struct sbx_byte_buffer *page, const struct share *share)
{
    SBX_FILL(page, compare_function, at) {
    case COMPARE_FUNCTION_NAME:
        sbx_fill_text(&at, share->name);
        break;
    case COMPARE_FUNCTION_SHARE:
        put_percent(&at, share->here);
        break;
    case COMPARE_FUNCTION_BASE_SHARE:
        put_percent(&at, share->base);
        break;
    case COMPARE_FUNCTION_DIFFERENCE:
        sbx_fill_textf(&at, "%+.1f", 100 * (share->here - share->base));
        break;
    }
}

static void put_functions(struct sbx_byte_buffer *page, const struct sbx_merged_profile *profile)
{
    struct sbx_merged_function *functions = calloc(FUNCTIONS_READ, sizeof(*functions));
    struct share *shares = calloc(FUNCTIONS_READ, sizeof(*shares));
    size_t count = functions && shares ? sbx_merged_profile_functions(profile, functions, FUNCTIONS_READ) : 0;
    const double *whole = profile->nodes[0].total_us;
    for (size_t i = 0; i < count; i++)
        shares[i] =
            (struct share){functions[i].name, whole[0] > 0 ? functions[i].self_us[SBX_MERGED_HERE] / whole[0] : 0,
                           whole[1] > 0 ? functions[i].self_us[SBX_MERGED_BASE] / whole[1] : 0};
    if (count > 0)
        qsort(shares, count, sizeof(*shares), compare_shares);
    for (size_t i = 0; i < count && i < FUNCTIONS_SHOWN; i++)
        put_function(page, &shares[i]);
    page->failed |= !functions || !shares;
    free(functions);
    free(shares);
}

static void put_flame(struct sbx_fill *at, const struct sbx_compare_page *self, enum sbx_merged_side side)
{
    const struct sbx_merged_view view = {
        .title = self->names[side], .link = "", .find = "", .side = side, .compares = true};
    sbx_page_flame(at, self->profile, &view);
}

static void put_flames(struct sbx_byte_buffer *page, const struct sbx_compare_page *self)
{
    SBX_FILL(page, compare_flames, at) {
    case COMPARE_FLAMES_STALLS:
        sbx_fill_textf(&at, "%u and %u stalls", self->profile->stalls[0], self->profile->stalls[1]);
        break;
    case COMPARE_FLAMES_HERE:
        sbx_fill_text(&at, self->names[SBX_COMPARED_HERE]);
        break;
    case COMPARE_FLAMES_BASE:
    case COMPARE_FLAMES_BASE_AGAIN:
        sbx_fill_text(&at, self->names[SBX_COMPARED_BASE]);
        break;
    case COMPARE_FLAMES_PICTURE:
        put_flame(&at, self, SBX_MERGED_HERE);
        break;
    case COMPARE_FLAMES_BASE_PICTURE:
        put_flame(&at, self, SBX_MERGED_BASE);
        break;
    case COMPARE_FLAMES_FUNCTION:
        put_functions(page, self->profile);
        break;
    }
}

/* ---- the page ---- */

static void put_body(struct sbx_byte_buffer *page, const struct sbx_compare_page *self)
{
    const double *whole = self->profile->nodes[0].total_us;
    SBX_FILL(page, compare_body, at) {
    case COMPARE_BODY_SIDE:
        put_side(page, self, SBX_COMPARED_HERE);
        put_side(page, self, SBX_COMPARED_BASE);
        break;
    case COMPARE_BODY_CHANGED:
        put_number(&at, (int64_t)self->changed);
        break;
    case COMPARE_BODY_WHOLE:
        if (self->whole.change != SBX_CHANGE_NONE)
            put_whole(page, &self->whole);
        break;
    case COMPARE_BODY_NONE:
        if (self->changed == 0 && self->whole.change == SBX_CHANGE_NONE)
            sbx_fill_markup(page, &compare_none_markup);
        break;
    case COMPARE_BODY_CHANGES:
        if (self->changed > 0)
            put_changes(page, self);
        break;
    case COMPARE_BODY_REST:
        if (self->count > self->changed)
            put_rest(page, self);
        break;
    case COMPARE_BODY_FLAMES:
        if (whole[0] > 0 && whole[1] > 0)
            put_flames(page, self);
        break;
    }
}

void sbx_page_compare(const struct sbx_compare_page *self, struct sbx_byte_buffer *page)
{
    const struct sbx_compare_ask *ask = &self->ask;
    bool has_both = self->machines[0] > 0 && self->machines[1] > 0;
    struct sbx_fill frame = sbx_page_begin_with_pictures(page, "Comparison - Stallbox");
    SBX_FILL(page, compare, at) {
    case COMPARE_APP_LINK:
    case COMPARE_APP:
        sbx_fill_text(&at, ask->app);
        break;
    case COMPARE_APP_NAME:
        sbx_fill_text(&at, *ask->app ? ask->app : "All applications");
        break;
    case COMPARE_HERE:
        sbx_fill_text(&at, self->names[SBX_COMPARED_HERE]);
        break;
    case COMPARE_BASE:
        sbx_fill_text(&at, self->names[SBX_COMPARED_BASE]);
        break;
    case COMPARE_VERSION:
        sbx_fill_text(&at, ask->version);
        break;
    case COMPARE_SINCE:
        sbx_fill_text(&at, ask->since);
        break;
    case COMPARE_UNTIL:
        sbx_fill_text(&at, ask->until);
        break;
    case COMPARE_BASE_VERSION:
        sbx_fill_text(&at, ask->base);
        break;
    case COMPARE_BASE_SINCE:
        sbx_fill_text(&at, ask->base_since);
        break;
    case COMPARE_BASE_UNTIL:
        sbx_fill_text(&at, ask->base_until);
        break;
    case COMPARE_NOTHING:
        if (!has_both && !self->is_withheld)
            sbx_fill_markup(page, &compare_nothing_markup);
        break;
    case COMPARE_WITHHELD:
        if (self->is_withheld)
            sbx_fill_markup(page, &compare_withheld_markup);
        break;
    case COMPARE_BODY:
        if (has_both)
            put_body(page, self);
        break;
    }
    sbx_page_end(&frame);
}
