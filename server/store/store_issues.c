/* SPDX-License-Identifier: Apache-2.0 */
/* store_issues.c - finds issues, reads the sums of one, and stores the changes that people make to one.
 *
 * All is read from the sums (store_sums.c): an issue of a million stalls has only as many rows here as it has days,
 * builds and words. */
#include "store_issues.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "duration_sketch.h"
#include "machine_sample.h"
#include "number_list.h"
#include "store_active.h"
#include "store_inside.h"
#include "store_schema.h"
#include "store_span.h"

/* ---- reading ---- */

/* Prepare a statement. Statements of this file are prepared at each use. The reader's lock is held. */
static int prepare(struct sbx_store *store, const char *sql, struct sbx_statement **statement_out)
{
    return sbx_sql_prepare(sbx_store_handle_db(&store->reader), sql, statement_out);
}

/* Conditions on a place are checked before its facts are read. When data of few machines is withheld, the cause is
 * compared with that of the shown stall; otherwise an answer would reveal the cause of a single machine. */
#define FIND_ISSUES_OF(sums, facts, span)                                                                            \
    "SELECT i.id, " sums ", i.num FROM place p CROSS JOIN issue i CROSS JOIN snapshot s" facts                       \
    " WHERE i.num = p.issue AND"                                                                                     \
    " s.seq = p.newest AND " span " AND (?5 = '' OR s.app = ?5) AND (?6 = '' OR (?9 > 1 AND s.cause = ?6) OR (?9 <=" \
    " 1 AND EXISTS(SELECT 1 FROM label l JOIN word w ON w.num = l.word WHERE l.place = p.num AND l.day = -1 AND"     \
    " l.kind = 0 AND w.text = ?6))) AND (?7 = '' OR instr(lower(p.path), lower(?7)) > 0 OR instr(lower(s.function)," \
    " lower(?7)) > 0 OR instr(lower(s.headline), lower(?7)) > 0 OR instr(lower(s.app), lower(?7)) > 0) AND (?8 < 0"  \
    " OR i.state = ?8 OR (?8 = 0 AND i.state = 3)) AND (?9 <= 1 OR p.sure >= ?9) AND (?12 = 0 OR NOT EXISTS(SELECT"  \
    " 1 FROM place x WHERE x.issue = i.num AND x.tenant IS NOT ?12)) AND (?13 = '' OR EXISTS(SELECT 1 FROM label l"  \
    " JOIN word w ON w.num = l.word WHERE l.place = p.num AND l.day = -1 AND l.kind = 14 AND w.text = ?13))"         \
    " GROUP BY i.num ORDER BY "
#define FIND_ISSUES                                                                                          \
    FIND_ISSUES_OF("SUM(f.hits), SUM(f.weight), SUM(f.variance), SUM(f.machine_days)", " CROSS JOIN fact f", \
                   "f.place"                                                                                 \
                   " = p.num AND " IN_SPAN("f"))
/* For all days and versions, the place itself has the sums. Machine-days are read only for the issues that are
 * shown. */
#define FIND_OF_ALL FIND_ISSUES_OF("SUM(p.hits), SUM(p.weight), SUM(p.variance), 0", "", "p.hits > 0")

struct found {
    uint8_t id[SBX_ID_BYTES];
    int64_t num, hits, weight, variance, machine_days;
    struct sbx_penetration penetration;
};

struct found_list {
    struct found *rows;
    size_t count;
};

static struct found *found_of(const struct found_list *list, int64_t num)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->rows[i].num == num)
            return &list->rows[i];
    return NULL;
}

/* Read the machine-days of issues, of all days and versions. `nums`: "[1,2,3]". The reader's lock is held. */
static int read_machine_days(struct sbx_store *store, const char *nums, const struct found_list *list)
{
    struct sbx_statement *statement = NULL;
    int result =
        prepare(store,
                "SELECT p.issue, SUM(f.machine_days) FROM place p CROSS JOIN fact f WHERE p.issue IN " SBX_LISTED(
                    "?1") " AND f.place = p.num AND f.day = -1 GROUP BY"
                          " p.issue",
                &statement);
    if (result == 0) {
        sbx_bind_text(statement, 1, nums);
        while ((result = sbx_store_step(statement)) > 0) {
            struct found *found = found_of(list, sbx_column_integer(statement, 0));
            if (found)
                found->machine_days = sbx_column_integer(statement, 1);
        }
    }
    sbx_statement_finalize(statement);
    return result;
}

static void take_penetration(void *context, int64_t issue, const struct sbx_penetration *penetration)
{
    struct found *found = found_of(context, issue);
    if (found)
        found->penetration = *penetration;
}

/* Read the shares of all shown issues together. The reader's lock is held. */
static int read_shares(const struct sbx_store_view *view, const struct sbx_issue_span *span, bool is_all,
                       struct found_list *list)
{
    struct sbx_byte_buffer nums = {0};
    int result = 0;
    for (size_t i = 0; i < list->count; i++)
        sbx_number_list_add(&nums, list->rows[i].num);
    sbx_number_list_end(&nums);
    if (nums.failed)
        result = -ENOMEM;
    if (result == 0 && is_all)
        result = read_machine_days(view->store, nums.data, list);
    if (result == 0 && sbx_store_min_machines(view->store) <= 1)
        result = sbx_store_each_penetration(view, nums.data, span, take_penetration, list);
    sbx_byte_buffer_finish(&nums);
    return result;
}

int sbx_store_find_issues(const struct sbx_store_view *view, const struct sbx_issue_query *query,
                          struct sbx_issue_row *rows, size_t max, size_t *count_out)
{
    static const char *const statements[] = {
        [SBX_ISSUES_BY_STALLS] = FIND_ISSUES "3 DESC, MAX(p.last_ms) DESC LIMIT ?10 OFFSET ?11",
        [SBX_ISSUES_BY_MACHINES] = FIND_ISSUES "5 DESC, 3 DESC LIMIT ?10 OFFSET ?11",
        [SBX_ISSUES_BY_LAST] = FIND_ISSUES "MAX(p.last_ms) DESC LIMIT ?10 OFFSET ?11",
        [SBX_ISSUES_BY_FIRST] = FIND_ISSUES "MIN(p.first_ms) DESC LIMIT ?10 OFFSET ?11",
    };
    static const char *const of_all[] = {
        [SBX_ISSUES_BY_STALLS] = FIND_OF_ALL "3 DESC, MAX(p.last_ms) DESC LIMIT ?10 OFFSET ?11",
        [SBX_ISSUES_BY_MACHINES] = NULL,
        [SBX_ISSUES_BY_LAST] = FIND_OF_ALL "MAX(p.last_ms) DESC LIMIT ?10 OFFSET ?11",
        [SBX_ISSUES_BY_FIRST] = FIND_OF_ALL "MIN(p.first_ms) DESC LIMIT ?10 OFFSET ?11",
    };
    bool is_all = of_all[query->order] && !*query->span.version && sbx_issue_span_has_all_days(&query->span);
    struct found *found = calloc(max + 1, sizeof(*found));
    struct sbx_statement *statement = NULL;
    size_t count = 0;
    *count_out = 0;
    if (!found)
        return -ENOMEM;
    sbx_store_handle_lock(&view->store->reader);
    int result = prepare(view->store, (is_all ? of_all : statements)[query->order], &statement);
    if (result == 0) {
        sbx_store_bind_span(view, statement, NULL, &query->span, TOGETHER);
        sbx_bind_text(statement, 5, query->app);
        sbx_bind_text(statement, 6, query->cause);
        sbx_bind_text(statement, 7, query->text);
        sbx_bind_integer(statement, 8, query->state);
        sbx_bind_integer(statement, 9, sbx_store_min_machines(view->store));
        sbx_bind_integer(statement, 10, (int64_t)max);
        sbx_bind_integer(statement, 11, query->skip);
        sbx_bind_integer(statement, 12, (int64_t)view->app);
        sbx_bind_text(statement, 13, query->scene ? query->scene : "");
        while (count < max && (result = sbx_store_step(statement)) > 0) {
            struct found *one = &found[count++];
            memcpy(one->id, sbx_column_blob(statement, 0), SBX_ID_BYTES);
            one->hits = sbx_column_integer(statement, 1);
            one->weight = sbx_column_integer(statement, 2);
            one->variance = sbx_column_integer(statement, 3);
            one->machine_days = sbx_column_integer(statement, 4);
            one->num = sbx_column_integer(statement, 5);
        }
    }
    sbx_statement_finalize(statement);
    if (result >= 0 && count > 0)
        result = read_shares(view, &query->span, is_all, &(struct found_list){found, count});
    sbx_store_handle_unlock(&view->store->reader);
    for (size_t i = 0; i < count && result >= 0; i++) {
        struct sbx_issue_row *row = &rows[*count_out];
        result = sbx_store_issue(view, found[i].id, row);
        if (result == -ENOENT) { /* removed meanwhile */
            result = 0;
            continue;
        }
        row->hits = found[i].hits;
        row->weight = found[i].weight;
        row->variance = found[i].variance;
        row->machine_days = found[i].machine_days;
        row->penetration = found[i].penetration;
        row->num = found[i].num;
        (*count_out)++;
    }
    free(found);
    return result < 0 ? result : 0;
}

/* ---- the sums of one issue ---- */

typedef void (*take_row)(struct sbx_statement *statement, struct sbx_issue_sums *sums);

static int read_rows(const struct sbx_store_view *view, const char *sql, const uint8_t *issue,
                     const struct sbx_issue_span *span, enum sbx_span_days days, take_row take,
                     struct sbx_issue_sums *sums)
{
    struct sbx_statement *statement = NULL;
    int result = prepare(view->store, sql, &statement);
    if (result == 0) {
        sbx_store_bind_span(view, statement, issue, span, days);
        while ((result = sbx_store_step(statement)) > 0)
            take(statement, sums);
    }
    sbx_statement_finalize(statement);
    return result;
}

static void take_total(struct sbx_statement *statement, struct sbx_issue_sums *sums)
{
    sums->hits = sbx_column_integer(statement, 0);
    sums->weight = sbx_column_integer(statement, 1);
    sums->variance = sbx_column_integer(statement, 2);
    sums->machine_days = sbx_column_integer(statement, 3);
}

/* Rows come with the latest day first. */
void sbx_store_add_day(struct sbx_issue_sums *sums, const struct sbx_day_sum *day)
{
    if (sums->day_count == SBX_SUM_DAYS)
        return;
    memmove(&sums->days[1], &sums->days[0], sums->day_count++ * sizeof(sums->days[0]));
    sums->days[0] = *day;
}

static void take_day(struct sbx_statement *statement, struct sbx_issue_sums *sums)
{
    sbx_store_add_day(sums, &(struct sbx_day_sum){.day = sbx_column_integer(statement, 0),
                                                  .hits = sbx_column_integer(statement, 1),
                                                  .weight = sbx_column_integer(statement, 2),
                                                  .machines = sbx_column_integer(statement, 3)});
}

static void take_version(struct sbx_statement *statement, struct sbx_issue_sums *sums)
{
    if (sums->version_count == SBX_SUM_VERSIONS)
        return;
    struct sbx_version_sum *version = &sums->versions[sums->version_count++];
    sbx_store_column_text(statement, 0, version->version, sizeof(version->version));
    version->hits = sbx_column_integer(statement, 1);
    version->weight = sbx_column_integer(statement, 2);
    version->machine_days = sbx_column_integer(statement, 3);
    version->builds = sbx_column_integer(statement, 4);
    version->first_day = sbx_column_integer(statement, 5);
    version->last_day = sbx_column_integer(statement, 6);
}

static void take_label(struct sbx_statement *statement, struct sbx_issue_sums *sums)
{
    int kind = (int)sbx_column_integer(statement, 0);
    if (kind < 0 || kind >= SBX_FACT_KINDS)
        return;
    sums->label_weight[kind] += sbx_column_integer(statement, 3);
    sums->label_us[kind] += sbx_column_integer(statement, 4);
    if (sums->label_count[kind] == SBX_SUM_LABELS)
        return;
    struct sbx_label_sum *label = &sums->labels[kind][sums->label_count[kind]++];
    sbx_store_column_text(statement, 1, label->word, sizeof(label->word));
    label->hits = sbx_column_integer(statement, 2);
    label->weight = sbx_column_integer(statement, 3);
    label->us = sbx_column_integer(statement, 4);
}

static void take_place(struct sbx_statement *statement, struct sbx_issue_sums *sums)
{
    if (sums->place_count == SBX_SUM_PLACES)
        return;
    struct sbx_place_sum *place = &sums->places[sums->place_count++];
    sbx_id_print(sbx_column_blob(statement, 0), place->id_text);
    sbx_store_column_text(statement, 1, place->path, sizeof(place->path));
    place->hits = sbx_column_integer(statement, 2);
}

/* Read the quantiles of a statement with the columns bucket and weight. */
static int read_quantiles(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                          int64_t quantiles_out[3])
{
    static const double shares[] = {0.5, 0.9, 0.99};
    enum {
        BUCKETS_MAX = 4096
    };
    struct sbx_bucket_count *counts = calloc(BUCKETS_MAX, sizeof(*counts));
    struct sbx_statement *statement = NULL;
    size_t count = 0;
    int result =
        !counts ? -ENOMEM
                : prepare(view->store,
                          "SELECT d.bucket, SUM(d.weight) FROM spread d WHERE " OF_ISSUE("d") " GROUP BY 1 ORDER BY 1",
                          &statement);
    if (result == 0) {
        sbx_store_bind_span(view, statement, issue, span, TOGETHER);
        while (count < BUCKETS_MAX && (result = sbx_store_step(statement)) > 0)
            counts[count++] =
                (struct sbx_bucket_count){(int)sbx_column_integer(statement, 0), sbx_column_integer(statement, 1)};
    }
    for (size_t i = 0; i < 3 && counts; i++)
        quantiles_out[i] = sbx_duration_quantile(counts, count, shares[i]);
    sbx_statement_finalize(statement);
    free(counts);
    return result < 0 ? result : 0;
}

static int sum_durations(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                         struct sbx_issue_sums *sums)
{
    int64_t quantiles[3] = {0};
    sums->is_withheld = sbx_store_min_machines(view->store) > 1;
    if (sums->is_withheld)
        return 0;
    int result = read_quantiles(view, issue, span, quantiles);
    sums->p50_ns = quantiles[0];
    sums->p90_ns = quantiles[1];
    sums->p99_ns = quantiles[2];
    if (result == 0)
        result = read_rows(view,
                           "SELECT f.day, SUM(f.hits), SUM(f.weight), SUM(f.machines) FROM fact f WHERE " OF_ISSUE(
                               "f") " GROUP BY 1 ORDER BY 1 DESC",
                           issue, span, DAY_BY_DAY, take_day, sums);
    return result;
}

int sbx_store_sum_durations(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                            const struct sbx_issue_span *span, struct sbx_issue_sums *sums_out)
{
    *sums_out = (struct sbx_issue_sums){0};
    sbx_store_handle_lock(&view->store->reader);
    int result = sum_durations(view, issue, span, sums_out);
    sbx_store_handle_unlock(&view->store->reader);
    return result;
}

static const struct {
    const char *sql;
    enum sbx_span_days days;
    take_row take;
} parts[] = {
    {"SELECT COALESCE(SUM(f.hits), 0), SUM(f.weight), SUM(f.variance), SUM(f.machine_days) FROM fact f WHERE " OF_ISSUE(
         "f"),
     TOGETHER, take_total},
    {"SELECT p.id, p.path, p.hits FROM place p JOIN issue i ON i.num = p.issue WHERE i.id = ?1 AND ?2 + ?3 + LENGTH(?4 "
     "|| ?5)"
     " IS NOT NULL AND (?6 = 0 OR p.tenant = ?6) ORDER BY p.hits DESC",
     TOGETHER, take_place},
    {"SELECT b.version, SUM(f.hits), SUM(f.weight), SUM(f.machines), COUNT(DISTINCT b.num), MIN(f.day), MAX(f.day)"
     " FROM fact f JOIN build b ON b.num = f.build WHERE " OF_ISSUE("f") " GROUP BY 1 ORDER BY MAX(b.rank) DESC",
     DAY_BY_DAY, take_version},
    {"SELECT l.kind, w.text, SUM(l.hits), SUM(l.weight), SUM(l.us) FROM label l JOIN word w ON w.num = l.word "
     "WHERE " OF_ISSUE("l") " GROUP BY l.kind, w.text ORDER BY 1, 5 DESC, 4 DESC, 2",
     TOGETHER, take_label},
};

/* Read two numbers from a statement; ?7, if it has one, is `last`. */
static int read_pair(const struct sbx_store_view *view, const char *sql, const uint8_t *issue,
                     const struct sbx_issue_span *span, int64_t last, int64_t pair_out[2])
{
    struct sbx_statement *statement = NULL;
    int result = prepare(view->store, sql, &statement);
    if (result == 0) {
        sbx_store_bind_span(view, statement, issue, span, TOGETHER);
        if (sbx_statement_parameters(statement) >= 7)
            sbx_bind_integer(statement, 7, last);
        result = sbx_store_step(statement);
    }
    for (int i = 0; i < 2 && result > 0; i++)
        pair_out[i] = sbx_column_integer(statement, i);
    sbx_statement_finalize(statement);
    return result < 0 ? result : 0;
}

/* Count distinct machines. For one place or one application, and for one build on one day, the count is stored. For
 * several of these, and for some days or one version, they are counted here, each machine once; a large number is
 * counted in a sample. */
static int count_machines(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                          struct sbx_issue_sums *sums)
{
    static const char kept[] = "SELECT COUNT(*), SUM(t.machines) FROM (SELECT p.machines FROM place p JOIN issue i ON"
                               " i.num = p.issue WHERE i.id = ?1 AND (?6 = 0 OR p.tenant = ?6) AND p.hits > 0 AND ?2 <="
                               " ?3 AND ?4 = '' UNION ALL SELECT a.machines FROM " APPS_SEEN " AND a.machines > 0) t";
    static const char facts[] = "SELECT COUNT(*), SUM(f.machines) FROM fact f WHERE " OF_ISSUE("f");
    static const char sample[] =
        "SELECT COUNT(DISTINCT m.who), 0 FROM fact f CROSS JOIN met_day m WHERE m.place = +f.place AND m.day ="
        " +f.day AND +m.day BETWEEN ?2 AND ?3 AND m.build = +f.build AND m.who <= ?7 AND " OF_ISSUE("f");
    bool is_kept = !*span->version && sbx_issue_span_has_all_days(span);
    int64_t pair[2] = {0, 0};
    int result = is_kept ? read_pair(view, kept, issue, span, 0, pair) : 0;
    if (result == 0 && (!is_kept || pair[0] > 1))
        result = read_pair(view, facts, issue, span, 0, pair);
    int level = sbx_sample_level(pair[1], sbx_store_sample_rows(view->store));
    sums->machines = pair[1];
    if (result == 0 && pair[0] > 1) {
        result = read_pair(view, sample, issue, span, sbx_sample_last(level), pair);
        sums->machines = pair[0] << level;
    }
    return result;
}

int sbx_store_sum_issue(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                        const struct sbx_issue_span *span, struct sbx_issue_sums *sums_out)
{
    *sums_out = (struct sbx_issue_sums){0};
    sbx_store_handle_lock(&view->store->reader);
    int result = sum_durations(view, issue, span, sums_out);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && result == 0; i++)
        if (!sums_out->is_withheld)
            result = read_rows(view, parts[i].sql, issue, span, parts[i].days, parts[i].take, sums_out);
    if (result == 0 && !sums_out->is_withheld)
        result = count_machines(view, issue, span, sums_out);
    if (result == 0 && !sums_out->is_withheld)
        result = sbx_store_read_penetration(view, issue, span, &sums_out->penetration, sums_out->versions,
                                            sums_out->version_count);
    for (size_t i = 0; i < sums_out->version_count && result == 0; i++) {
        struct sbx_version_sum *version = &sums_out->versions[i];
        const struct sbx_issue_span part = {version->version, span->from_day, span->to_day, span->app};
        int64_t quantiles[3] = {0};
        if (*version->version) /* "" would mean all versions */
            result = read_quantiles(view, issue, &part, quantiles);
        version->p50_ns = quantiles[0];
        version->p90_ns = quantiles[1];
    }
    sbx_store_handle_unlock(&view->store->reader);
    return result;
}

/* Is it about where a stall happens, not about the stall itself? */
static bool is_surrounding(int kind)
{
    return kind == SBX_FACT_OS || kind == SBX_FACT_KERNEL || kind == SBX_FACT_CORES || kind == SBX_FACT_MEMORY ||
           kind == SBX_FACT_SCENE;
}

static void take_beside(struct sbx_statement *statement, struct sbx_issue_sums *sums)
{
    int kind = (int)sbx_column_integer(statement, 0);
    char word[sizeof(sums->labels[0][0].word)];
    if (!is_surrounding(kind))
        return;
    sbx_store_column_text(statement, 1, word, sizeof(word));
    int64_t weight = sbx_column_integer(statement, 2);
    sums->label_all[kind] += weight;
    for (size_t i = 0; i < sums->label_count[kind]; i++)
        if (strcmp(sums->labels[kind][i].word, word) == 0)
            sums->labels[kind][i].all_weight += weight;
}

int sbx_store_sum_beside(const struct sbx_store_view *view, const char *app, const struct sbx_issue_span *span,
                         struct sbx_issue_sums *sums)
{
    static_assert(SBX_FACT_OS == 9, "the statement has it");
    const struct sbx_issue_span of_app = {span->version, span->from_day, span->to_day, app};
    if (sums->is_withheld || !*app)
        return 0;
    sbx_store_handle_lock(&view->store->reader);
    int result = read_rows(view,
                           "SELECT l.kind, w.text, SUM(l.weight) FROM label l JOIN word w ON w.num = l.word WHERE "
                           "l.kind >= 9 AND " OF_ISSUE("l") " GROUP BY l.kind, w.text",
                           NULL, &of_app, TOGETHER, take_beside, sums);
    sbx_store_handle_unlock(&view->store->reader);
    return result;
}

int sbx_store_sum_all(const struct sbx_store_view *view, const struct sbx_issue_span *span,
                      struct sbx_issue_sums *sums_out)
{
    return sbx_store_sum_issue(view, NULL, span, sums_out);
}

int sbx_store_apps(const struct sbx_store_view *view, const struct sbx_issue_span *span, struct sbx_app_sum *rows,
                   size_t max, size_t *count_out)
{
    struct sbx_statement *statement = NULL;
    size_t count = 0;
    *count_out = 0;
    if (sbx_store_min_machines(view->store) > 1)
        return 0;
    sbx_store_handle_lock(&view->store->reader);
    int result =
        prepare(view->store,
                "SELECT t.app, t.hits, t.weight, t.variance, t.machines, COALESCE(n.issues, 0), t.versions,"
                " (SELECT MIN(c.version) FROM build c WHERE c.rank = t.rank) FROM (SELECT a.name AS app,"
                " SUM(f.hits) AS hits, SUM(f.weight) AS weight, SUM(f.variance) AS variance, SUM(f.machine_days) AS"
                " machines, COUNT(DISTINCT b.version) AS versions, MAX(b.rank) AS rank FROM app a"
                " JOIN fact f ON f.place = -a.num JOIN build b ON b.num = f.build WHERE f.day BETWEEN ?1 AND ?2"
                " AND (?4 = 0 OR a.tenant = ?4) GROUP BY a.name) t LEFT JOIN (SELECT s.app AS app,"
                " COUNT(DISTINCT p.issue) AS issues FROM place p JOIN snapshot s ON s.seq = p.newest WHERE"
                " (?4 = 0 OR p.tenant = ?4) AND EXISTS(SELECT 1 FROM fact f WHERE f.place = p.num AND f.day BETWEEN ?1"
                " AND ?2) GROUP BY s.app) n ON n.app = t.app ORDER BY 3 DESC, 1 LIMIT ?3",
                &statement);
    if (result == 0) {
        bool is_any_day = sbx_issue_span_has_all_days(span);
        sbx_bind_integer(statement, 1, is_any_day ? -1 : span->from_day);
        sbx_bind_integer(statement, 2, is_any_day ? -1 : span->to_day);
        sbx_bind_integer(statement, 3, (int64_t)max);
        sbx_bind_integer(statement, 4, (int64_t)view->app);
        while (count < max && (result = sbx_store_step(statement)) > 0) {
            struct sbx_app_sum *row = &rows[count++];
            *row = (struct sbx_app_sum){.hits = sbx_column_integer(statement, 1),
                                        .weight = sbx_column_integer(statement, 2),
                                        .variance = sbx_column_integer(statement, 3),
                                        .machine_days = sbx_column_integer(statement, 4),
                                        .issues = sbx_column_integer(statement, 5),
                                        .versions = sbx_column_integer(statement, 6)};
            sbx_store_column_text(statement, 0, row->app, sizeof(row->app));
            sbx_store_column_text(statement, 7, row->newest, sizeof(row->newest));
        }
    }
    sbx_statement_finalize(statement);
    if (result >= 0)
        result = sbx_store_read_app_penetration(view, span, rows, count);
    sbx_store_handle_unlock(&view->store->reader);
    *count_out = count;
    return result < 0 ? result : 0;
}

/* ---- what people say ---- */

/* Find an issue that the view may see, and its application (0: unknown). The writer's lock is held. */
static int find_issue(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES], int64_t *num_out,
                      int64_t *tenant_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&view->store->writer, FIND_ISSUE);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, (int64_t)view->app);
    int result = sbx_store_step(statement);
    if (result > 0) {
        *num_out = sbx_column_integer(statement, 0);
        *tenant_out = sbx_column_integer(statement, 2);
    }
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    return result > 0 ? 0 : result < 0 ? result : -ENOENT;
}

int sbx_store_say_of_issue(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                           const struct sbx_issue_words *words, int64_t now_ms)
{
    int64_t num, tenant;
    sbx_store_handle_lock(&view->store->writer);
    int result = find_issue(view, issue, &num, &tenant);
    if (result == 0) {
        struct sbx_statement *statement = sbx_store_handle_use(&view->store->writer, CHANGE_ISSUE);
        sbx_bind_integer(statement, 1, num);
        sbx_bind_integer(statement, 2, words->state);
        sbx_bind_text(statement, 3, words->until);
        sbx_bind_integer(statement, 4, sbx_version_rank(words->until));
        sbx_bind_text(statement, 5, words->owner);
        sbx_bind_text(statement, 6, words->note);
        sbx_bind_integer(statement, 7, now_ms);
        result = sbx_store_step(statement);
        sbx_statement_clear(statement);
    }
    sbx_store_handle_unlock(&view->store->writer);
    return result;
}

int sbx_store_merge_issues(const struct sbx_store_view *view, const uint8_t from[SBX_ID_BYTES],
                           const uint8_t into[SBX_ID_BYTES])
{
    int64_t from_num = 0, into_num = 0, from_tenant = 0, into_tenant = 0;
    sbx_store_handle_lock(&view->store->writer);
    int result = sbx_store_handle_begin(&view->store->writer);
    if (result == 0) {
        result = find_issue(view, from, &from_num, &from_tenant);
        if (result == 0)
            result = find_issue(view, into, &into_num, &into_tenant);
        if (result == 0 && from_num == into_num)
            result = -EINVAL;
        if (result == 0 && from_tenant != into_tenant)
            result = -EXDEV;
        if (result == 0)
            result = sbx_store_join_issues(view->store, from_num, from, into_num);
        if (result == 0) {
            struct sbx_statement *statement = sbx_store_handle_use(&view->store->writer, TOUCH_ISSUE);
            sbx_bind_integer(statement, 1, into_num);
            result = sbx_store_step(statement);
        }
        result = sbx_store_handle_end(&view->store->writer, result);
    }
    sbx_store_handle_unlock(&view->store->writer);
    return result;
}

static int split(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES])
{
    struct sbx_store *store = view->store;
    const struct sbx_store_view all = {store, 0};
    int64_t issue = 0, tenant = 0;
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, FIND_PLACE);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    int64_t place = result > 0 ? sbx_column_integer(statement, 0) : 0;
    bool is_seen = result > 0 && (view->app == 0 || sbx_column_integer(statement, 2) == (int64_t)view->app);
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    if (result < 0 || !is_seen)
        return result < 0 ? result : -ENOENT;
    if (find_issue(&all, id, &issue, &tenant) == 0)
        return -EINVAL;
    statement = sbx_store_handle_use(&store->writer, DROP_ALIAS);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    if (result < 0)
        return result;
    statement = sbx_store_handle_use(&store->writer, ADD_ISSUE);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, 1);
    result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    if (result < 0)
        return result;
    statement = sbx_store_handle_use(&store->writer, MOVE_PLACE);
    sbx_bind_integer(statement, 1, place);
    sbx_bind_integer(statement, 2, sbx_sql_last_id(sbx_store_handle_db(&store->writer)));
    return sbx_store_step(statement);
}

int sbx_store_split_issue(const struct sbx_store_view *view, const uint8_t place[SBX_ID_BYTES])
{
    sbx_store_handle_lock(&view->store->writer);
    int result = sbx_store_handle_begin(&view->store->writer);
    if (result == 0)
        result = sbx_store_handle_end(&view->store->writer, split(view, place));
    sbx_store_handle_unlock(&view->store->writer);
    return result;
}
