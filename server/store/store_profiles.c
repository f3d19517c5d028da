/* SPDX-License-Identifier: Apache-2.0 */
/* store_profiles.c - gives the profiles of many stalls one by one to a caller that adds them up.
 *
 * There is one row per stall, read only when asked for. So a stall costs one insertion, and every filter is possible.
 * The newest rows are at the end of an index, so an issue of a million stalls costs no more than the bound of one
 * answer. The number of rows that a filter may skip is bounded as well. */
#include <errno.h>
#include <string.h>

#include "store_inside.h"
#include "store_issues.h"

enum {
    LOOKED_AT_MAX = 200000 /* snapshots per answer */
};

/* ?7, when it is in the condition, is the application of the view. */
#define NEWEST_OF(condition)                                                                                \
    "SELECT f.text, s.weight FROM (SELECT n.seq, n.weight, n.day, n.build FROM snapshot n WHERE " condition \
    " LIMIT ?6) s CROSS JOIN profile f WHERE f.seq = s.seq AND s.day BETWEEN ?2 AND ?3"                     \
    " AND (?4 = '' OR s.build IN (SELECT b.num FROM build b WHERE b.version = ?4)) LIMIT ?5"

struct reading {
    int (*each)(void *context, const char *text, size_t bytes, uint32_t weight);
    void *context;
    int64_t left;   /* how many profiles may still be given */
    int64_t tenant; /* 0: all */
};

/* Give the rows of a statement whose first value is bound. Finalizes it. */
static int tell(struct sbx_statement *statement, const struct sbx_issue_span *span, struct reading *reading)
{
    int result;
    sbx_bind_integer(statement, 2, span->from_day);
    sbx_bind_integer(statement, 3, span->to_day);
    sbx_bind_text(statement, 4, span->version);
    sbx_bind_integer(statement, 5, reading->left);
    sbx_bind_integer(statement, 6, LOOKED_AT_MAX);
    if (sbx_statement_parameters(statement) >= 7)
        sbx_bind_integer(statement, 7, reading->tenant);
    while ((result = sbx_store_step(statement)) > 0) {
        const char *text = sbx_column_blob(statement, 0);
        reading->left--;
        result = text ? reading->each(reading->context, text, (size_t)sbx_column_bytes(statement, 0),
                                      (uint32_t)sbx_column_integer(statement, 1))
                      : 0;
        if (result != 0)
            break;
    }
    sbx_statement_finalize(statement);
    return result;
}

static int prepare(struct sbx_store *store, const char *sql, struct sbx_statement **statement_out)
{
    return sbx_sql_prepare(sbx_store_handle_db(&store->reader), sql, statement_out);
}

static int tell_place(struct sbx_store *store, int64_t place, const struct sbx_issue_span *span,
                      struct reading *reading)
{
    struct sbx_statement *statement;
    int result = prepare(store, NEWEST_OF("n.place = ?1 ORDER BY n.received_ms DESC"), &statement);
    if (result < 0)
        return result;
    sbx_bind_integer(statement, 1, place);
    return tell(statement, span, reading);
}

/* The places of an issue one after the other, those with the most stalls first. */
static int tell_issue(struct sbx_store *store, const uint8_t *issue, const struct sbx_issue_span *span,
                      struct reading *reading)
{
    int64_t places[SBX_SUM_PLACES];
    size_t count = 0;
    struct sbx_statement *statement;
    int result = prepare(store,
                         "SELECT p.num FROM place p JOIN issue i ON i.num = p.issue WHERE i.id = ?1 AND"
                         " (?3 = 0 OR p.tenant = ?3) ORDER BY p.hits DESC LIMIT ?2",
                         &statement);
    if (result < 0)
        return result;
    sbx_bind_blob(statement, 1, issue, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, SBX_SUM_PLACES);
    sbx_bind_integer(statement, 3, reading->tenant);
    while (count < SBX_SUM_PLACES && (result = sbx_store_step(statement)) > 0)
        places[count++] = sbx_column_integer(statement, 0);
    sbx_statement_finalize(statement);
    result = result > 0 ? 0 : result;
    for (size_t i = 0; i < count && result == 0 && reading->left > 0; i++)
        result = tell_place(store, places[i], span, reading);
    return result;
}

int sbx_store_each_profile(const struct sbx_store_view *view, const uint8_t *issue, const struct sbx_issue_span *span,
                           int (*each)(void *context, const char *text, size_t bytes, uint32_t weight), void *context)
{
    struct sbx_store *store = view->store;
    struct reading reading = {each, context, SBX_PROFILES_MAX, (int64_t)view->app};
    struct sbx_statement *statement;
    if (sbx_store_min_machines(store) > 1)
        return 0;
    sbx_store_handle_lock(&store->reader);
    int result;
    if (issue) {
        result = tell_issue(store, issue, span, &reading);
    } else {
        bool has_app = span->app && *span->app;
        result = prepare(store,
                         has_app     ? NEWEST_OF("n.app = ?1 AND (?7 = 0 OR n.tenant = ?7) ORDER BY n.received_ms DESC")
                         : view->app ? NEWEST_OF("?1 IS NULL AND n.tenant = ?7 ORDER BY n.seq DESC")
                                     : NEWEST_OF("?1 IS NULL ORDER BY n.received_ms DESC"),
                         &statement);
        if (result == 0 && has_app)
            sbx_bind_text(statement, 1, span->app);
        if (result == 0)
            result = tell(statement, span, &reading);
    }
    sbx_store_handle_unlock(&store->reader);
    return result;
}
