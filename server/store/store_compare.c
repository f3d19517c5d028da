/* SPDX-License-Identifier: Apache-2.0 */
/* store_compare.c - the issues of two spans side by side.
 *
 * Stalls and machine-days are read from the sums, which have a row for each place, day and build. A machine may be in
 * several of these rows but must count once. So distinct machines are counted in a sample, for each issue and for all
 * (machine_sample.h); its size does not depend on the number of machines. */
#include "store_compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "duration_sketch.h"
#include "number_list.h"
#include "store_inside.h"
#include "store_schema.h"

enum {
    BUCKETS_MAX = 4096
};

/* ?1, ?2: days; ?3: a version or ''; ?4: an application or ''; ?5: the application of the view. */
#define IN_SPAN(table)                                                                                            \
    table ".day BETWEEN ?1 AND ?2 AND (?3 = '' OR " table ".build IN (SELECT b.num FROM build b WHERE (b.version" \
          " = ?3)))"
#define PLACES_SEEN \
    "place p JOIN snapshot s ON s.seq = p.newest AND (?4 = '' OR s.app = ?4) AND (?5 = 0 OR p.tenant = ?5)"

#define APP_IS_SEEN "(?4 = '' OR a.name = ?4) AND (?5 = 0 OR a.tenant = ?5)"

static int prepare(struct sbx_store *store, const char *sql, const struct sbx_issue_span *span, uint64_t app,
                   struct sbx_statement **statement_out)
{
    int result = sbx_sql_prepare(sbx_store_handle_db(&store->reader), sql, statement_out);
    if (result < 0)
        return result;
    bool is_any_day = sbx_issue_span_has_all_days(span); /* the sums of day -1 */
    sbx_bind_integer(*statement_out, 1, is_any_day ? -1 : span->from_day);
    sbx_bind_integer(*statement_out, 2, is_any_day ? -1 : span->to_day);
    sbx_bind_text(*statement_out, 3, span->version);
    sbx_bind_text(*statement_out, 4, span->app ? span->app : "");
    sbx_bind_integer(*statement_out, 5, (int64_t)app);
    return 0;
}

/* ---- who met what ---- */

struct table {
    struct sbx_compared_issue *rows;
    size_t count;
};

static int compare_nums(const void *left, const void *right)
{
    const struct sbx_compared_issue *a = left, *b = right;
    return a->num < b->num ? -1 : a->num > b->num;
}

/* Find the row of an issue among the rows of the other side, which are sorted, or add a new one. */
static struct sbx_compared_issue *row_of(struct table *table, size_t sorted, int64_t num)
{
    const struct sbx_compared_issue key = {.num = num};
    struct sbx_compared_issue *row = sorted ? bsearch(&key, table->rows, sorted, sizeof(key), compare_nums) : NULL;
    if (!row) {
        row = &table->rows[table->count++];
        *row = key;
    }
    return row;
}

/* Read the sums for the issues of one side. Machines are summed over days and builds here, which is an upper bound. */
static int read_side(struct sbx_store *store, uint64_t app, const struct sbx_issue_span *span, int side,
                     struct table *table)
{
    static const char sql[] =
        "SELECT i.num, i.id, u.machines, u.hits, u.weight, u.variance, CASE WHEN ?8 = 1 THEN TRUE WHEN ?3 = '' THEN "
        "EXISTS(SELECT 1 FROM"
        " place q JOIN fact f ON f.place = q.num WHERE q.issue = i.num AND f.day BETWEEN 0 AND ?1 - 1) ELSE"
        " EXISTS(SELECT 1 FROM place q CROSS JOIN met o CROSS JOIN build b WHERE o.kind = 2 AND o.of = q.num AND b.num"
        " = o.who AND q.issue = i.num AND b.rank < ?7) END, u.facts"
        " FROM (SELECT p.issue AS issue, SUM(f.hits) AS hits, SUM(f.weight) AS weight, SUM(f.variance) AS variance,"
        " SUM(f.machines) AS machines, COUNT(*) AS facts FROM " PLACES_SEEN
        " JOIN fact f ON f.place = p.num WHERE " IN_SPAN(
            "f") " GROUP BY p.issue ORDER BY 5 DESC LIMIT ?6) u JOIN issue i ON i.num = u.issue";
    struct sbx_statement *statement = NULL;
    size_t sorted = table->count;
    int result = prepare(store, sql, span, app, &statement);
    if (result == 0) {
        sbx_bind_integer(statement, 6, SBX_COMPARED_MAX);
        sbx_bind_integer(statement, 7, sbx_version_rank(span->version));
        sbx_bind_integer(statement, 8, side == SBX_COMPARED_BASE); /* the base's issues existed before */
        while ((result = sbx_store_step(statement)) > 0) {
            struct sbx_compared_issue *row = row_of(table, sorted, sbx_column_integer(statement, 0));
            memcpy(row->id, sbx_column_blob(statement, 1), SBX_ID_BYTES);
            row->machines[side] = sbx_column_integer(statement, 2);
            row->hits[side] = sbx_column_integer(statement, 3);
            row->weight[side] = sbx_column_integer(statement, 4);
            /* Stalls of different weights carry less information than as many of equal weight (Kish). weight + variance
             * is the sum of the squared weights. */
            double weight = (double)row->weight[side];
            row->size[side] = weight > 0 ? weight * weight / (weight + sbx_column_real(statement, 5)) : 0;
            row->was_before |= (int)sbx_column_integer(statement, 6) != 0;
            row->facts[side] = sbx_column_integer(statement, 7);
        }
    }
    sbx_statement_finalize(statement);
    qsort(table->rows, table->count, sizeof(*table->rows), compare_nums);
    return result;
}

/* ---- distinct machines ---- */

/* The rows of a fact that are in a sample: one range of the key for each fact. The pluses keep SQLite from using a
 * range of days instead. PostgreSQL needs that range, so that a statement does not open the tables of all days. */
#define SAMPLE_OF_FACT                                                                                             \
    " CROSS JOIN met_day m WHERE m.place = +f.place AND m.day = +f.day AND +m.day BETWEEN ?1 AND ?2 AND m.build =" \
    " +f.build AND m.who <= ?7"

/* Number of issues in one statement, because over a network the number of statements decides the time. ?6 is the list
 * of their numbers. */
enum {
    TOGETHER_MAX = 512
};
struct together {
    struct sbx_compared_issue *rows[TOGETHER_MAX]; /* sorted by number */
    size_t count;
};
#define OF_THESE "p.issue IN " SBX_LISTED("?6")

static const char issue_machines_sql[] =
    "SELECT p.issue, COUNT(DISTINCT m.who) FROM place p CROSS JOIN fact f" SAMPLE_OF_FACT " AND " OF_THESE
    " AND f.place = p.num AND ?4 IS NOT NULL AND ?5 IS NOT NULL AND " IN_SPAN("f") " GROUP BY p.issue";

/* "[1,2,3]". Given: sbx_byte_buffer_finish(). */
static void write_list(const struct together *these, struct sbx_byte_buffer *list_out)
{
    *list_out = (struct sbx_byte_buffer){0};
    for (size_t i = 0; i < these->count; i++)
        sbx_number_list_add(list_out, these->rows[i]->num);
    sbx_number_list_end(list_out);
}

/* Index of the issue among these; -1: not among them. */
static int place_among(const struct together *these, int64_t num)
{
    size_t first = 0, end = these->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (these->rows[middle]->num == num)
            return (int)middle;
        if (these->rows[middle]->num < num)
            first = middle + 1;
        else
            end = middle;
    }
    return -1;
}

/* `statement`: issue_machines_sql with its span. All these issues have the same level. */
static int count_these(struct sbx_statement *statement, struct together *these, int side)
{
    struct sbx_byte_buffer list;
    int level = these->rows[0]->level, result = 0;
    write_list(these, &list);
    for (size_t i = 0; i < these->count; i++)
        these->rows[i]->machines[side] = 0;
    if (list.failed)
        result = -ENOMEM;
    if (result == 0) {
        sbx_bind_text(statement, 6, list.data);
        sbx_bind_integer(statement, 7, sbx_sample_last(level));
        while ((result = sbx_store_step(statement)) > 0) {
            int place = place_among(these, sbx_column_integer(statement, 0));
            if (place >= 0)
                these->rows[place]->machines[side] = sbx_column_integer(statement, 1) << level;
        }
    }
    sbx_byte_buffer_finish(&list);
    return result;
}

/* The level at which an issue's machines are counted, the same for both sides. When the issue hit a large part of all
 * machines, use the level of all machines, so that both counts are of the same machines. */
static int level_of_issue(const struct sbx_store *store, const struct sbx_compared_issue *row,
                          const struct sbx_machines *all)
{
    enum {
        NEAR = 3
    };
    int64_t most = row->machines[0] > row->machines[1] ? row->machines[0] : row->machines[1];
    int level = sbx_sample_level(most, sbx_store_sample_issue_rows(store));
    for (int side = 0; side < SBX_COMPARED_SIDES; side++)
        if (all[side].level > level && all[side].level <= level + NEAR)
            level = all[side].level;
    return level;
}

/* Count on both sides, and empty the list. */
static int count_both(struct sbx_statement *statements[SBX_COMPARED_SIDES], struct together *these)
{
    int result = 0;
    for (int side = 0; side < SBX_COMPARED_SIDES && result == 0 && these->count > 0; side++)
        result = count_these(statements[side], these, side);
    these->count = 0;
    return result;
}

static int count_issues(struct sbx_store *store, const struct sbx_issue_span *spans, struct table *table,
                        const struct sbx_machines *all)
{
    enum {
        LEVELS = 63
    };
    struct sbx_statement *statements[SBX_COMPARED_SIDES] = {NULL, NULL};
    int result = 0;
    for (int side = 0; side < SBX_COMPARED_SIDES && result == 0; side++)
        result = prepare(store, issue_machines_sql, &spans[side], 0, &statements[side]);
    for (size_t i = 0; i < table->count; i++)
        table->rows[i].level = level_of_issue(store, &table->rows[i], all);
    for (int level = 0; level < LEVELS && result == 0; level++) {
        struct together these = {.count = 0};
        for (size_t i = 0; i < table->count && result == 0; i++) {
            struct sbx_compared_issue *row = &table->rows[i];
            bool is_counted = row->facts[0] <= 1 && row->facts[1] <= 1; /* then the sum is exact */
            if (row->level == level && !is_counted)
                these.rows[these.count++] = row;
            if (these.count == TOGETHER_MAX)
                result = count_both(statements, &these);
        }
        if (result == 0)
            result = count_both(statements, &these);
    }
    for (int side = 0; side < SBX_COMPARED_SIDES; side++)
        sbx_statement_finalize(statements[side]);
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].facts[0] <= 1 && table->rows[i].facts[1] <= 1)
            table->rows[i].level = 0;
    return result;
}

/* Read the machines of all issues. */
static int read_machines(struct sbx_store *store, uint64_t app, const struct sbx_issue_span *span,
                         struct sbx_machines *machines_out)
{
    struct sbx_statement *statement = NULL;
    int64_t rows = 0;
    *machines_out = (struct sbx_machines){0};
    int result = prepare(store,
                         "SELECT SUM(f.machines) FROM app a JOIN fact f ON f.place = -a.num WHERE " APP_IS_SEEN
                         " AND " IN_SPAN("f"),
                         span, app, &statement);
    if (result == 0 && (result = sbx_store_step(statement)) > 0)
        rows = sbx_column_integer(statement, 0);
    sbx_statement_finalize(statement);
    if (result <= 0)
        return result;
    machines_out->level = sbx_sample_level(rows, sbx_store_sample_rows(store));
    result = prepare(store,
                     "SELECT DISTINCT m.who FROM app a CROSS JOIN fact f" SAMPLE_OF_FACT
                     " AND f.place = -a.num AND " APP_IS_SEEN " AND " IN_SPAN("f"),
                     span, app, &statement);
    if (result == 0) {
        sbx_bind_integer(statement, 7, sbx_sample_last(machines_out->level));
        while ((result = sbx_store_step(statement)) > 0)
            sbx_machines_add(machines_out, sbx_column_integer(statement, 0));
    }
    sbx_statement_finalize(statement);
    return result;
}

/* ---- how long ---- */

static const char buckets_sql[] =
    "SELECT p.issue, d.bucket, SUM(d.weight) FROM place p JOIN spread d ON d.place = p.num WHERE " OF_THESE
    " AND ?4 IS NOT NULL AND ?5 IS NOT NULL AND " IN_SPAN("d") " GROUP BY 1, 2 ORDER BY 1, 2";

/* Buckets of one side, for several issues; the buckets of one issue are adjacent. */
struct buckets {
    struct sbx_bucket_count *counts;
    size_t used, room, first[TOGETHER_MAX], count[TOGETHER_MAX]; /* the last two are by index of the issue */
};

static int add_bucket(struct buckets *buckets, size_t place, int bucket, int64_t count)
{
    if (buckets->count[place] == BUCKETS_MAX)
        return 0;
    if (buckets->used == buckets->room) {
        size_t room = buckets->room > 0 ? 2 * buckets->room : BUCKETS_MAX;
        struct sbx_bucket_count *grown = reallocarray(buckets->counts, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        buckets->counts = grown;
        buckets->room = room;
    }
    if (buckets->count[place]++ == 0)
        buckets->first[place] = buckets->used;
    buckets->counts[buckets->used++] = (struct sbx_bucket_count){bucket, count};
    return 0;
}

/* `statement`: buckets_sql with its span. */
static int read_buckets(struct sbx_statement *statement, const struct together *these, struct buckets *buckets)
{
    struct sbx_byte_buffer list;
    int result = 0, row = 0;
    write_list(these, &list);
    buckets->used = 0;
    memset(buckets->count, 0, sizeof(buckets->count));
    if (list.failed)
        result = -ENOMEM;
    else
        sbx_bind_text(statement, 6, list.data);
    while (result == 0 && (row = sbx_store_step(statement)) > 0) {
        int place = place_among(these, sbx_column_integer(statement, 0));
        if (place >= 0)
            result = add_bucket(buckets, (size_t)place, (int)sbx_column_integer(statement, 1),
                                sbx_column_integer(statement, 2));
    }
    sbx_statement_reset(statement);
    sbx_byte_buffer_finish(&list);
    return row < 0 ? row : result;
}

/* A quantile of both sides together. It is a threshold that favours neither side. */
static int64_t quantile_of_both(struct sbx_bucket_count *counts[SBX_COMPARED_SIDES],
                                const size_t count[SBX_COMPARED_SIDES], struct sbx_bucket_count *both, double share)
{
    size_t at[SBX_COMPARED_SIDES] = {0, 0}, used = 0;
    while (at[0] < count[0] || at[1] < count[1]) {
        int side = at[0] == count[0] || (at[1] < count[1] && counts[1][at[1]].bucket < counts[0][at[0]].bucket);
        both[used++] = counts[side][at[side]];
        at[side]++;
    }
    return sbx_duration_quantile(both, used, share);
}

static double share_above(const struct sbx_bucket_count *counts, size_t count, int64_t duration_ns)
{
    double above = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        all += (double)counts[i].count;
        above += sbx_duration_of_bucket(counts[i].bucket) > duration_ns ? (double)counts[i].count : 0;
    }
    return all > 0 ? above / all : 0;
}

/* Compare the durations of one issue. `both` has room for the buckets of both sides. */
static void judge_durations(struct sbx_compared_issue *row, struct sbx_bucket_count *counts[SBX_COMPARED_SIDES],
                            const size_t count[SBX_COMPARED_SIDES], struct sbx_bucket_count *both)
{
    for (int side = 0; side < SBX_COMPARED_SIDES; side++)
        row->p90_ns[side] = sbx_duration_quantile(counts[side], count[side], 0.9);
    for (int tail = 0; tail < 2; tail++) {
        int64_t threshold_ns = quantile_of_both(counts, count, both, tail == 0 ? 0.75 : 0.9);
        for (int side = 0; side < SBX_COMPARED_SIDES; side++)
            row->slow[tail][side] = share_above(counts[side], count[side], threshold_ns);
    }
}

/* Read both sides, and empty the list. */
static int read_both(struct sbx_statement *statements[SBX_COMPARED_SIDES], struct together *these,
                     struct buckets buckets[SBX_COMPARED_SIDES], struct sbx_bucket_count *both)
{
    int result = 0;
    for (int side = 0; side < SBX_COMPARED_SIDES && result == 0 && these->count > 0; side++)
        result = read_buckets(statements[side], these, &buckets[side]);
    for (size_t i = 0; i < these->count && result == 0; i++) {
        struct sbx_bucket_count *counts[SBX_COMPARED_SIDES];
        size_t count[SBX_COMPARED_SIDES];
        for (int side = 0; side < SBX_COMPARED_SIDES; side++) {
            count[side] = buckets[side].count[i];
            counts[side] = count[side] > 0 ? buckets[side].counts + buckets[side].first[i] : NULL;
        }
        judge_durations(these->rows[i], counts, count, both);
    }
    these->count = 0;
    return result;
}

static int read_durations(struct sbx_store *store, const struct sbx_issue_span *spans, struct table *table)
{
    struct sbx_statement *statements[SBX_COMPARED_SIDES] = {NULL, NULL};
    struct buckets *buckets = calloc(SBX_COMPARED_SIDES, sizeof(*buckets));
    struct sbx_bucket_count *both = calloc(2 * (size_t)BUCKETS_MAX, sizeof(*both));
    struct together these = {.count = 0};
    int result = buckets && both ? 0 : -ENOMEM;
    for (int side = 0; side < SBX_COMPARED_SIDES && result == 0; side++)
        result = prepare(store, buckets_sql, &spans[side], 0, &statements[side]);
    for (size_t i = 0; i < table->count && result == 0; i++) {
        struct sbx_compared_issue *row = &table->rows[i];
        if (row->machines[0] + row->machines[1] >= SBX_COMPARED_FEW)
            these.rows[these.count++] = row;
        if (these.count == TOGETHER_MAX)
            result = read_both(statements, &these, buckets, both);
    }
    if (result == 0)
        result = read_both(statements, &these, buckets, both);
    for (int side = 0; side < SBX_COMPARED_SIDES; side++) {
        sbx_statement_finalize(statements[side]);
        if (buckets)
            free(buckets[side].counts);
    }
    free(buckets);
    free(both);
    return result;
}

int sbx_store_compare_spans(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                            struct sbx_compared_issue *rows, size_t *count_out,
                            struct sbx_machines machines_out[SBX_COMPARED_SIDES])
{
    struct sbx_store *store = view->store;
    struct table table = {rows, 0};
    int result = 0;
    *count_out = 0;
    machines_out[SBX_COMPARED_HERE] = machines_out[SBX_COMPARED_BASE] = (struct sbx_machines){0};
    if (sbx_store_min_machines(store) > 1)
        return 0;
    sbx_store_handle_lock(&store->reader);
    for (int side = 0; side < SBX_COMPARED_SIDES && result == 0; side++) {
        result = read_side(store, view->app, &spans[side], side, &table);
        if (result == 0)
            result = read_machines(store, view->app, &spans[side], &machines_out[side]);
    }
    if (result == 0)
        result = count_issues(store, spans, &table, machines_out);
    if (result == 0)
        result = read_durations(store, spans, &table);
    sbx_store_handle_unlock(&store->reader);
    *count_out = result == 0 ? table.count : 0;
    return result;
}

/* ---- versions, days ---- */

int sbx_store_versions(const struct sbx_store_view *view, const struct sbx_issue_span *span,
                       struct sbx_version_met *rows, size_t max, size_t *count_out)
{
    struct sbx_store *store = view->store;
    struct sbx_statement *statement = NULL;
    size_t count = 0;
    *count_out = 0;
    if (sbx_store_min_machines(store) > 1)
        return 0;
    sbx_store_handle_lock(&store->reader);
    int result =
        prepare(store,
                "SELECT b.version, SUM(f.machine_days), MAX(b.rank) FROM app a JOIN fact f ON f.place = -a.num JOIN"
                " build b ON b.num = f.build WHERE b.version <> '' AND " APP_IS_SEEN
                " AND " IN_SPAN("f") " GROUP BY 1 ORDER BY 3 DESC, 1 DESC LIMIT ?6",
                span, view->app, &statement);
    if (result == 0)
        sbx_bind_integer(statement, 6, (int64_t)max);
    while (result == 0 && count < max && (result = sbx_store_step(statement)) > 0) {
        sbx_store_column_text(statement, 0, rows[count].version, sizeof(rows[count].version));
        rows[count++].machine_days = sbx_column_integer(statement, 1);
        result = 0;
    }
    sbx_statement_finalize(statement);
    sbx_store_handle_unlock(&store->reader);
    *count_out = count;
    return result < 0 ? result : 0;
}

/* How many rows of days the machines of an issue (NULL: of any issue) have in a span. */
static int count_rows_of_days(struct sbx_store *store, uint64_t app, const uint8_t *issue,
                              const struct sbx_issue_span *span, int64_t *rows_out)
{
    struct sbx_statement *statement = NULL;
    int result = prepare(store,
                         issue ? "SELECT SUM(f.machines) FROM " PLACES_SEEN " JOIN fact f ON f.place = p.num WHERE"
                                 " p.issue = (SELECT i.num FROM issue i WHERE i.id = ?6) AND " IN_SPAN("f")
                               : "SELECT SUM(f.machines) FROM app a JOIN fact f ON f.place = -a.num WHERE " APP_IS_SEEN
                                 " AND " IN_SPAN("f"),
                         span, app, &statement);
    if (result == 0 && issue)
        sbx_bind_blob(statement, 6, issue, SBX_ID_BYTES);
    if (result == 0 && (result = sbx_store_step(statement)) > 0)
        *rows_out = sbx_column_integer(statement, 0);
    sbx_statement_finalize(statement);
    return result < 0 ? result : 0;
}

int sbx_store_machines_by_day(const struct sbx_store_view *view, const uint8_t *issue,
                              const struct sbx_issue_span *span, int64_t *days_out, size_t max, int *level)
{
    struct sbx_store *store = view->store;
    struct sbx_statement *statement = NULL;
    int64_t rows = 0;
    memset(days_out, 0, max * sizeof(*days_out));
    if (sbx_store_min_machines(store) > 1)
        return 0;
    sbx_store_handle_lock(&store->reader);
    int result = count_rows_of_days(store, view->app, issue, span, &rows);
    int least = sbx_sample_level(rows, sbx_store_sample_rows(store));
    *level = least > *level ? least : *level;
    if (result == 0)
        result = prepare(store,
                         issue ? "SELECT f.day, COUNT(DISTINCT m.who) FROM " PLACES_SEEN
                                 " CROSS JOIN fact f" SAMPLE_OF_FACT " AND f.place = p.num AND p.issue = (SELECT i.num"
                                 " FROM issue i WHERE i.id = ?6) AND " IN_SPAN("f") " GROUP BY 1"
                               : "SELECT f.day, COUNT(DISTINCT m.who) FROM app a CROSS JOIN fact f" SAMPLE_OF_FACT
                                 " AND f.place = -a.num AND " APP_IS_SEEN " AND " IN_SPAN("f") " GROUP BY 1",
                         span, view->app, &statement);
    if (result == 0 && issue)
        sbx_bind_blob(statement, 6, issue, SBX_ID_BYTES);
    if (result == 0)
        sbx_bind_integer(statement, 7, sbx_sample_last(*level));
    while (result == 0 && (result = sbx_store_step(statement)) > 0) {
        int64_t day = sbx_column_integer(statement, 0) - span->from_day;
        if (day >= 0 && day < (int64_t)max)
            days_out[day] = sbx_column_integer(statement, 1) << *level;
        result = 0;
    }
    sbx_statement_finalize(statement);
    sbx_store_handle_unlock(&store->reader);
    return result < 0 ? result : 0;
}
