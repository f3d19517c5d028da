/* SPDX-License-Identifier: Apache-2.0 */
/* store_told.c - machine-days of issues by day, and the reported machine-days. */
#include "store_told.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "number_list.h"
#include "store_inside.h"
#include "store_schema.h"

enum {
    DAYS_MAX = 28,      /* days per side: the latest ones */
    FEWER = 8,          /* fraction of the machines of a count; these only tell how much a machine's days are alike */
    TOGETHER_MAX = 512, /* issues per statement */
};

/* The days that count, for each version. ?1, ?2: days; ?3: a version or ''; ?4: an application or ''; ?5: the
 * application of the view; ?8: machine-days that a day needs. */
#define TOLD                                                                                                          \
    "(SELECT x.tenant AS tenant, x.version AS version, x.day AS day, x.machines AS machines FROM active x JOIN"       \
    " (SELECT k.tenant AS tenant, k.version AS version, MIN(k.day) AS first FROM active k GROUP BY 1, 2) y ON"        \
    " y.tenant = x.tenant AND y.version = x.version WHERE x.day > y.first AND x.day BETWEEN ?1 AND ?2 AND x.machines" \
    " >= ?8 AND (?3 = '' OR x.version = ?3) AND x.tenant IN (SELECT a.tenant FROM app a WHERE (?4 = '' OR a.name ="   \
    " ?4) AND (?5 = 0 OR a.tenant = ?5)))"
/* A fact on one of these days. */
#define ON_TOLD_DAY                               \
    " JOIN build b ON b.num = f.build JOIN " TOLD \
    " t ON t.tenant = b.tenant AND t.version = b.version AND t.day = f.day"
#define FACT_IN_SPAN " AND f.day BETWEEN ?1 AND ?2"
#define OF_APPS      "(?4 = '' OR a.name = ?4) AND (?5 = 0 OR a.tenant = ?5)"
#define OF_ISSUES    "p.issue IN " SBX_LISTED("?6") " AND (?5 = 0 OR p.tenant = ?5)"

static const char active_sql[] = "SELECT t.day, SUM(t.machines) FROM " TOLD " t GROUP BY 1 ORDER BY 1";
static const char whole_sql[] =
    "SELECT 0, f.day, SUM(f.machine_days), SUM(f.weight - f.hits) FROM app a JOIN fact f ON f.place = "
    "-a.num" ON_TOLD_DAY " WHERE " OF_APPS FACT_IN_SPAN " GROUP BY 1, 2 ORDER BY 2";
static const char issues_sql[] =
    "SELECT p.issue, f.day, SUM(f.machine_days), SUM(f.weight - f.hits) FROM place p JOIN fact f ON f.place = "
    "p.num" ON_TOLD_DAY " WHERE " OF_ISSUES FACT_IN_SPAN " GROUP BY 1, 2 ORDER BY 1, 2";

/* The same days from stalls only, when no machine reports its days. */
#define OF_STALLS                                                                     \
    " JOIN build b ON b.num = f.build WHERE (?3 = '' OR b.version = ?3)" FACT_IN_SPAN \
    " AND b.tenant IN (SELECT a.tenant FROM app a WHERE " OF_APPS ")"
static const char stalling_sql[] =
    "SELECT f.day, SUM(f.machine_days) FROM app a JOIN fact f ON f.place = -a.num" OF_STALLS
    " GROUP BY 1 HAVING SUM(f.machine_days) >= ?8 ORDER BY 1";
static const char stalling_issues_sql[] =
    "SELECT p.issue, f.day, SUM(f.machine_days), 0 FROM place p JOIN fact f ON f.place = p.num" OF_STALLS
    " AND " OF_ISSUES " GROUP BY 1, 2 ORDER BY 1, 2";

/* The number of days of each machine of a sample (?7: its last hash). */
#define DAYS_OF_MACHINES                                                                                            \
    " CROSS JOIN met_day m WHERE m.place = +f.place AND m.day = +f.day AND +m.day BETWEEN ?1 AND ?2 AND m.build = " \
    "+f.build AND m.who <= ?7 AND f.day BETWEEN ?1 AND ?2 AND (?3 = '' OR f.build IN (SELECT b.num FROM"            \
    " build b WHERE b.version = ?3))"
static const char whole_machines_sql[] =
    "SELECT 0, SUM(z.days * z.days), SUM(z.days) FROM (SELECT m.who AS who, COUNT(*) AS days FROM app a CROSS JOIN "
    "fact f" DAYS_OF_MACHINES " AND f.place = -a.num AND " OF_APPS " GROUP BY 1) z";
static const char issue_machines_sql[] =
    "SELECT z.issue, SUM(z.days * z.days), SUM(z.days) FROM (SELECT p.issue AS issue, m.who AS who, COUNT(*) AS days "
    "FROM place p CROSS JOIN fact f" DAYS_OF_MACHINES " AND f.place = p.num AND ?4 IS NOT NULL AND " OF_ISSUES
    " GROUP BY 1, 2) z GROUP BY 1";

/* ---- days that count ---- */

struct day {
    int64_t day, active;
};

struct days {
    struct day each[DAYS_MAX];
    size_t count;
};

static int prepare(const struct sbx_store_view *view, const char *sql, const struct sbx_issue_span *span, int64_t today,
                   struct sbx_statement **statement_out)
{
    int result = sbx_sql_prepare(sbx_store_handle_db(&view->store->reader), sql, statement_out);
    if (result < 0)
        return result;
    sbx_bind_integer(*statement_out, 1, span->from_day > 0 ? span->from_day : 0); /* day -1 has the sums of all days */
    sbx_bind_integer(*statement_out, 2, span->to_day < today - 1 ? span->to_day : today - 1);
    sbx_bind_text(*statement_out, 3, span->version);
    sbx_bind_text(*statement_out, 4, span->app ? span->app : "");
    sbx_bind_integer(*statement_out, 5, (int64_t)view->app);
    sbx_bind_integer(*statement_out, 8, SBX_TOLD_MACHINES_MIN);
    return 0;
}

static int read_days(const struct sbx_store_view *view, const char *sql, const struct sbx_issue_span *span,
                     int64_t today, struct days *days_out)
{
    struct sbx_statement *statement = NULL;
    days_out->count = 0;
    int result = prepare(view, sql, span, today, &statement);
    while (result == 0 && (result = sbx_store_step(statement)) > 0) {
        if (days_out->count == DAYS_MAX)
            memmove(&days_out->each[0], &days_out->each[1], --days_out->count * sizeof(days_out->each[0]));
        days_out->each[days_out->count++] =
            (struct day){sbx_column_integer(statement, 0), sbx_column_integer(statement, 1)};
        result = 0;
    }
    sbx_statement_finalize(statement);
    return result;
}

static const struct day *find_day(const struct days *days, int64_t number)
{
    for (size_t i = days->count; i > 0; i--)
        if (days->each[i - 1].day == number)
            return &days->each[i - 1];
    return NULL;
}

/* Only these days, because other days of a machine say nothing about them. */
static struct sbx_issue_span span_of(const struct days *days, const struct sbx_issue_span *span)
{
    struct sbx_issue_span of = *span;
    of.from_day = days->each[0].day;
    of.to_day = days->each[days->count - 1].day;
    return of;
}

static struct sbx_told nothing_of(const struct days *days)
{
    struct sbx_told told = {.days = (int64_t)days->count};
    for (size_t i = 0; i < days->count; i++)
        told.active += days->each[i].active;
    return told;
}

static void add_day(struct sbx_told *told, const struct day *day, int64_t hit, int64_t hidden)
{
    told->hit += hit;
    told->hidden += hidden > 0 ? hidden : 0;
    told->squares += (double)hit * (double)hit / (double)day->active;
}

/* ---- issues of a side ---- */

struct issues {
    const struct sbx_compared_issue *rows; /* sorted by number */
    size_t count;
};

static int compare_nums(const void *left, const void *right)
{
    const struct sbx_compared_issue *a = left, *b = right;
    return a->num < b->num ? -1 : a->num > b->num;
}

/* SIZE_MAX: not among these. */
static size_t place_among(const struct issues *these, int64_t num)
{
    const struct sbx_compared_issue key = {.num = num};
    const struct sbx_compared_issue *row = bsearch(&key, these->rows, these->count, sizeof(key), compare_nums);
    return row ? (size_t)(row - these->rows) : SIZE_MAX;
}

/* Issues of one side; `told` of an issue is `stride` behind that of the previous one. */
struct side {
    const struct sbx_store_view *view;
    const struct sbx_issue_span *span;
    int64_t today;
    const struct issues *these; /* NULL: all together, with one `told` */
    struct sbx_told *told;
    size_t stride;
    bool is_of_stalls; /* machine-days with a stall are used instead of all machine-days */
};

static struct sbx_told *told_of(const struct side *side, int64_t num)
{
    size_t place = side->these ? place_among(side->these, num) : 0;
    return place == SIZE_MAX ? NULL : &side->told[place * side->stride];
}

/* Bind the issues with more than `more` and at most `most` machine-days. Returns their number, or -errno. */
static int bind_issues(struct sbx_statement *statement, const struct side *side, int64_t more, int64_t most,
                       struct sbx_byte_buffer *list_out)
{
    int bound = 0;
    *list_out = (struct sbx_byte_buffer){0};
    for (size_t i = 0; side->these && i < side->these->count; i++) {
        int64_t hit = side->told[i * side->stride].hit;
        if (hit <= more || hit > most)
            continue;
        sbx_number_list_add(list_out, side->these->rows[i].num);
        bound++;
    }
    sbx_number_list_end(list_out);
    if (list_out->failed)
        return -ENOMEM;
    if (side->these)
        sbx_bind_text(statement, 6, list_out->data);
    return side->these ? bound : side->told->hit > more && side->told->hit <= most;
}

/* `is_in_part_out`: on some day more machines had a stall than reported a machine-day, so a part of the fleet does not
 * report. It is set, never cleared. */
static int add_days(const struct side *side, const struct days *days, bool *is_in_part_out)
{
    struct sbx_statement *statement = NULL;
    struct sbx_byte_buffer list = {0};
    const char *sql = side->is_of_stalls ? stalling_issues_sql : side->these ? issues_sql : whole_sql;
    int result = prepare(side->view, sql, side->span, side->today, &statement);
    if (result == 0)
        result = bind_issues(statement, side, -1, INT64_MAX, &list);
    result = result > 0 ? 0 : result;
    while (result == 0 && (result = sbx_store_step(statement)) > 0) {
        const struct day *day = find_day(days, sbx_column_integer(statement, 1));
        struct sbx_told *told = told_of(side, sbx_column_integer(statement, 0));
        int64_t hit = sbx_column_integer(statement, 2);
        *is_in_part_out |= !side->these && day && hit > day->active;
        if (day && told)
            add_day(told, day, hit, sbx_column_integer(statement, 3));
        result = 0;
    }
    sbx_statement_finalize(statement);
    sbx_byte_buffer_finish(&list);
    return result;
}

/* Read how much the days of a machine are alike, for the issues that are read at a level (machine_sample.h). */
static int add_machines_of(const struct side *side, int level, int64_t rows)
{
    struct sbx_statement *statement = NULL;
    struct sbx_byte_buffer list = {0};
    int result =
        prepare(side->view, side->these ? issue_machines_sql : whole_machines_sql, side->span, side->today, &statement);
    if (result == 0)
        result = bind_issues(statement, side, level > 0 ? rows << (level - 1) : SBX_CHANGE_MACHINES_MIN - 1,
                             rows << level, &list);
    if (result > 0) {
        sbx_bind_integer(statement, 7, sbx_sample_last(level));
        while ((result = sbx_store_step(statement)) > 0) {
            struct sbx_told *told = told_of(side, sbx_column_integer(statement, 0));
            double sum = sbx_column_real(statement, 2);
            if (told && sum > 0)
                told->together = sbx_column_real(statement, 1) / sum;
        }
    }
    sbx_statement_finalize(statement);
    sbx_byte_buffer_finish(&list);
    return result;
}

static int add_machines(const struct side *side)
{
    int64_t count_rows =
        side->these ? sbx_store_sample_issue_rows(side->view->store) : sbx_store_sample_rows(side->view->store);
    int64_t rows = count_rows > FEWER ? count_rows / FEWER : 1;
    int64_t most = 0;
    int result = 0;
    for (size_t i = 0; i < (side->these ? side->these->count : 1); i++)
        most = side->told[i * side->stride].hit > most ? side->told[i * side->stride].hit : most;
    for (int level = 0; most > 0 && level <= sbx_sample_level(most, rows) && result == 0; level++)
        result = add_machines_of(side, level, rows);
    return result;
}

static int read_part(const struct side *side, const struct days *days, bool *is_in_part_out)
{
    int result = add_days(side, days, is_in_part_out);
    return result == 0 && !*is_in_part_out && !side->is_of_stalls ? add_machines(side) : result;
}

static int read_side(const struct side *side, const struct days *days, bool *is_in_part_out)
{
    struct side part = *side;
    for (size_t i = 0; i < (side->these ? side->these->count : 1); i++)
        side->told[i * side->stride] = nothing_of(days);
    if (!side->these)
        return read_part(side, days, is_in_part_out);
    int result = 0;
    for (size_t at = 0; at < side->these->count && result == 0; at += TOGETHER_MAX) {
        size_t left = side->these->count - at;
        const struct issues these = {&side->these->rows[at], left < TOGETHER_MAX ? left : TOGETHER_MAX};
        part.these = &these;
        part.told = &side->told[at * side->stride];
        result = read_part(&part, days, is_in_part_out);
    }
    return result;
}

/* `whole_out` NULL: from stalls only. */
static int read_span(const struct sbx_store_view *view, const struct sbx_issue_span *span, int64_t today,
                     const struct issues *these, struct sbx_told *told, struct sbx_told *whole_out)
{
    struct days *days = calloc(1, sizeof(*days));
    bool is_in_part = false;
    int result = days ? read_days(view, whole_out ? active_sql : stalling_sql, span, today, days) : -ENOMEM;
    if (result == 0 && days->count > 0) {
        const struct sbx_issue_span of = span_of(days, span);
        const struct side issues = {view, &of, today, these, told, SBX_COMPARED_SIDES, whole_out == NULL};
        if (whole_out)
            result = read_side(&(struct side){view, &of, today, NULL, whole_out, 1, false}, days, &is_in_part);
        if (is_in_part) /* then no days are returned */
            *whole_out = (struct sbx_told){.days = 0};
        else if (result == 0)
            result = read_side(&issues, days, &is_in_part);
    }
    free(days);
    return result;
}

static int read_spans(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                      int64_t today, const struct issues *these, struct sbx_told (*told_out)[SBX_COMPARED_SIDES],
                      struct sbx_told *whole_out)
{
    int result = 0;
    for (size_t i = 0; i < these->count; i++)
        told_out[i][SBX_COMPARED_HERE] = told_out[i][SBX_COMPARED_BASE] = (struct sbx_told){.days = 0};
    if (sbx_store_min_machines(view->store) > 1)
        return 0;
    sbx_store_handle_lock(&view->store->reader);
    for (int side = 0; side < SBX_COMPARED_SIDES && result == 0; side++)
        result = read_span(view, &spans[side], today, these, &told_out[0][side], whole_out ? &whole_out[side] : NULL);
    sbx_store_handle_unlock(&view->store->reader);
    return result;
}

int sbx_store_told(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                   int64_t today, const struct sbx_compared_issue *rows, size_t count,
                   struct sbx_told (*told_out)[SBX_COMPARED_SIDES], struct sbx_told whole_out[SBX_COMPARED_SIDES])
{
    memset(whole_out, 0, SBX_COMPARED_SIDES * sizeof(*whole_out));
    return read_spans(view, spans, today, &(struct issues){rows, count}, told_out, whole_out);
}

int sbx_store_stalling(const struct sbx_store_view *view, const struct sbx_issue_span spans[SBX_COMPARED_SIDES],
                       int64_t today, const struct sbx_compared_issue *rows, size_t count,
                       struct sbx_told (*stalling_out)[SBX_COMPARED_SIDES])
{
    return read_spans(view, spans, today, &(struct issues){rows, count}, stalling_out, NULL);
}

/* ---- by the day ---- */

static const char issue_days_sql[] =
    "SELECT 0, f.day, SUM(f.machine_days), SUM(f.weight - f.hits) FROM place p JOIN fact f ON f.place = "
    "p.num" ON_TOLD_DAY
    " WHERE p.issue = (SELECT i.num FROM issue i WHERE i.id = ?6) AND (?5 = 0 OR p.tenant = ?5)" FACT_IN_SPAN
    " GROUP BY 1, 2 ORDER BY 2";

int sbx_store_told_by_day(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                          int64_t today, struct sbx_told_day *days_out, size_t max)
{
    struct days *days = calloc(1, sizeof(*days));
    struct sbx_statement *statement = NULL;
    memset(days_out, 0, max * sizeof(*days_out));
    if (!days || sbx_store_min_machines(view->store) > 1) {
        int withheld = days ? 0 : -ENOMEM;
        free(days);
        return withheld;
    }
    sbx_store_handle_lock(&view->store->reader);
    int result = read_days(view, active_sql, span, today, days);
    for (size_t i = 0; i < days->count; i++) {
        int64_t place = days->each[i].day - span->from_day;
        if (place >= 0 && place < (int64_t)max)
            days_out[place].active = days->each[i].active;
    }
    if (result == 0)
        result = prepare(view, issue ? issue_days_sql : whole_sql, span, today, &statement);
    if (result == 0 && issue)
        sbx_bind_blob(statement, 6, issue, SBX_ID_BYTES);
    while (result == 0 && (result = sbx_store_step(statement)) > 0) {
        int64_t place = sbx_column_integer(statement, 1) - span->from_day, hidden = sbx_column_integer(statement, 3);
        if (place >= 0 && place < (int64_t)max && days_out[place].active > 0) {
            days_out[place].hit = sbx_column_integer(statement, 2);
            days_out[place].hidden = hidden > 0 ? hidden : 0;
        }
        result = 0;
    }
    sbx_statement_finalize(statement);
    sbx_store_handle_unlock(&view->store->reader);
    free(days);
    return result;
}
