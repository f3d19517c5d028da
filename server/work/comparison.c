/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - compares two spans of stalls. */
#include "comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store_told.h"

/* Stalls of one machine are alike, so at most as many of them count as there are machines; fewer when some stalls stand
 * for many. */
static struct sbx_rate slow_machines(const struct sbx_compared_issue *met, int threshold, int side)
{
    double of = floor(fmin((double)met->machines[side], met->size[side]));
    return (struct sbx_rate){llround(met->slow[threshold][side] * of), (int64_t)of};
}

/* The machines of a side, and those that met an issue, as counted in the sample. The estimated numbers would be no
 * evidence. */
static struct sbx_rate rate_of(const struct sbx_compared_issue *met, const struct sbx_machines *all, int side)
{
    struct sbx_rate rate = {met->machines[side] >> met->level, sbx_machines_in(&all[side], met->level)};
    if (rate.hit == 0 && met->hits[side] > 0)
        rate.hit = 1; /* there is one, although not in the sample */
    rate.of = rate.of > rate.hit ? rate.of : rate.hit;
    return rate;
}

static struct sbx_change_row question_of(const struct sbx_compared_issue *met, const struct sbx_machines *all)
{
    struct sbx_change_row row = {.here = rate_of(met, all, SBX_COMPARED_HERE),
                                 .base = rate_of(met, all, SBX_COMPARED_BASE),
                                 .was_before = met->was_before};
    bool has_both = met->p90_ns[SBX_COMPARED_HERE] > 0 && met->p90_ns[SBX_COMPARED_BASE] > 0;
    for (int threshold = 0; threshold < SBX_CHANGE_THRESHOLDS && has_both; threshold++) {
        row.slow_here[threshold] = slow_machines(met, threshold, SBX_COMPARED_HERE);
        row.slow_base[threshold] = slow_machines(met, threshold, SBX_COMPARED_BASE);
    }
    return row;
}

/* Add the days of the issues, and after them of all stalls together. Days from stalls are read only when the reported
 * days are not enough. */
static int add_days(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                    int64_t today, const struct sbx_compared_issue *met, size_t count,
                    struct sbx_told (*days)[SBX_COMPARED_SIDES], struct sbx_change_row *judged)
{
    int result = sbx_store_told(view, spans, today, met, count, days, days[count]);
    bool is_told = sbx_told_is_enough(&days[count][SBX_COMPARED_HERE], &days[count][SBX_COMPARED_BASE]);
    for (size_t i = 0; i <= count && result == 0; i++) {
        judged[i].told_here = days[i][SBX_COMPARED_HERE];
        judged[i].told_base = days[i][SBX_COMPARED_BASE];
    }
    if (result == 0 && !is_told)
        result = sbx_store_stalling(view, spans, today, met, count, days);
    for (size_t i = 0; i < count && result == 0 && !is_told; i++) {
        judged[i].stalling_here = days[i][SBX_COMPARED_HERE];
        judged[i].stalling_base = days[i][SBX_COMPARED_BASE];
    }
    return result;
}

static int compare_rows(const void *left, const void *right)
{
    const struct sbx_compare_row *a = left, *b = right;
    bool a_changed = a->judged.change != SBX_CHANGE_NONE, b_changed = b->judged.change != SBX_CHANGE_NONE;
    if (a_changed != b_changed)
        return a_changed ? -1 : 1;
    if (a_changed && a->judged.chance != b->judged.chance)
        return a->judged.chance < b->judged.chance ? -1 : 1;
    int64_t a_machines = a->met.machines[0] + a->met.machines[1], b_machines = b->met.machines[0] + b->met.machines[1];
    return a_machines != b_machines ? (a_machines > b_machines ? -1 : 1) : memcmp(a->met.id, b->met.id, SBX_ID_BYTES);
}

int sbx_comparison_make(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                        double alarms, int64_t today, struct sbx_comparison *comparison_out)
{
    size_t count = 0;
    struct sbx_compared_issue *met = calloc(2 * SBX_COMPARED_MAX, sizeof(*met));
    struct sbx_machines all[SBX_COMPARED_SIDES] = {{0}, {0}};
    *comparison_out = (struct sbx_comparison){.count = 0};
    int result = met ? sbx_store_compare_spans(view, spans, met, &count, all) : -ENOMEM;
    for (int side = 0; side < SBX_COMPARED_SIDES; side++)
        comparison_out->machines[side] = sbx_machines_count(&all[side]);
    struct sbx_change_row *judged = calloc(count + 1, sizeof(*judged)); /* the last: all stalls together */
    struct sbx_told(*told)[SBX_COMPARED_SIDES] = calloc(count + 1, sizeof(*told));
    comparison_out->rows = calloc(count + 1, sizeof(*comparison_out->rows));
    if (result == 0 && (!judged || !told || !comparison_out->rows))
        result = -ENOMEM;
    for (size_t i = 0; i < count && result == 0; i++)
        judged[i] = question_of(&met[i], all);
    if (result == 0)
        result = add_days(view, spans, today, met, count, told, judged);
    if (result == 0) {
        judged[count].was_before = true;
        sbx_changes_judge(judged, count + 1, alarms);
        comparison_out->whole = judged[count];
    }
    for (size_t i = 0; i < count && result == 0; i++) {
        comparison_out->rows[i] = (struct sbx_compare_row){.met = met[i], .judged = judged[i]};
        comparison_out->changed += judged[i].change != SBX_CHANGE_NONE;
    }
    if (result == 0) {
        comparison_out->count = count;
        qsort(comparison_out->rows, count, sizeof(*comparison_out->rows), compare_rows);
    } else {
        sbx_comparison_finish(comparison_out);
    }
    free(met);
    free(told);
    free(judged);
    return result;
}

static void take_out(struct sbx_comparison *comparison, size_t at)
{
    comparison->changed -= at < comparison->changed;
    comparison->count--;
    memmove(&comparison->rows[at], &comparison->rows[at + 1], (comparison->count - at) * sizeof(*comparison->rows));
}

int sbx_comparison_read_issues(const struct sbx_store_view *view, struct sbx_comparison *comparison, size_t shown)
{
    size_t most = shown < comparison->count ? shown : comparison->count;
    comparison->issues = calloc(most + 1, sizeof(*comparison->issues));
    if (!comparison->issues)
        return -ENOMEM;
    while (comparison->shown < most && comparison->shown < comparison->count) {
        struct sbx_compare_row *row = &comparison->rows[comparison->shown];
        int result = sbx_store_issue(view, row->met.id, &comparison->issues[comparison->shown]);
        if (result == -ENOENT) {
            take_out(comparison, comparison->shown);
            continue;
        }
        if (result < 0)
            return result;
        row->issue = &comparison->issues[comparison->shown++];
    }
    return 0;
}

void sbx_comparison_finish(struct sbx_comparison *comparison)
{
    free(comparison->rows);
    free(comparison->issues);
    *comparison = (struct sbx_comparison){.count = 0};
}
