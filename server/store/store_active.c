/* SPDX-License-Identifier: Apache-2.0 */
/* store_active.c - adds up machine-days, removes old ones, and compares them with machine-days that had a stall.
 *
 * A machine-day with a stall counts only when machine-days of its application, version and day are known. Otherwise
 * data of older agents, and data stored before machines reported their days, would make a share too large. */
#include "store_active.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "number_list.h"
#include "store_inside.h"
#include "store_span.h"

double sbx_penetration_share(const struct sbx_penetration *penetration)
{
    bool is_known = penetration->active > 0 && penetration->hit <= penetration->active;
    return is_known ? (double)penetration->hit / (double)penetration->active : (double)NAN;
}

/* ---- writing; the writer's transaction is open ---- */

static int64_t count_day(struct sbx_store *store, int64_t day)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, COUNT_ACTIVE);
    sbx_bind_integer(statement, 1, day);
    int result = sbx_store_step(statement);
    int64_t count = result > 0 ? sbx_column_integer(statement, 0) : result;
    sbx_statement_reset(statement);
    return count;
}

static int step_row(struct sbx_store *store, enum writer_statement index, const struct sbx_active_row *row)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, index);
    sbx_bind_integer(statement, 1, (int64_t)row->app);
    sbx_bind_integer(statement, 2, row->day);
    sbx_bind_text(statement, 3, row->version);
    sbx_bind_integer(statement, 4, row->machines);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    return result;
}

/* The number of rows of the day that was last asked for. */
struct day_room {
    int64_t day, count;
};

/* Returns 0, 1 when there is no room for it, or -errno. */
static int add_row(struct sbx_store *store, const struct sbx_active_row *row, struct day_room *room)
{
    int result = step_row(store, GROW_ACTIVE, row);
    if (result < 0 || sbx_sql_changes(sbx_store_handle_db(&store->writer)) > 0)
        return result;
    if (room->day != row->day)
        *room = (struct day_room){row->day, count_day(store, row->day)};
    if (room->count < 0 || room->count >= SBX_ACTIVE_ROWS_OF_DAY)
        return room->count < 0 ? (int)room->count : 1;
    room->count++;
    return step_row(store, ADD_ACTIVE, row);
}

int sbx_store_add_active(struct sbx_store *store, const struct sbx_active_row *rows, size_t count)
{
    struct day_room room = {.day = -1};
    int left_out = 0;
    sbx_store_handle_lock(&store->writer);
    int result = sbx_store_handle_begin(&store->writer);
    if (result == 0) {
        for (size_t i = 0; i < count && result >= 0; i++) {
            result = add_row(store, &rows[i], &room);
            left_out += result > 0;
        }
        result = sbx_store_handle_end(&store->writer, result < 0 ? result : 0);
    }
    sbx_store_handle_unlock(&store->writer);
    return result < 0 ? result : left_out;
}

int sbx_store_forget_active(struct sbx_store *store, int64_t before_day)
{
    sbx_store_handle_lock(&store->writer);
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, FORGET_ACTIVE);
    sbx_bind_integer(statement, 1, before_day);
    int result = sbx_store_step(statement);
    sbx_store_handle_unlock(&store->writer);
    return result;
}

/* ---- reading ---- */

#define IS_KNOWN \
    " AND EXISTS(SELECT 1 FROM active k WHERE k.tenant = b.tenant AND k.day = f.day AND k.version = b.version)"
#define TENANTS                                                                                                \
    "x.tenant IN (SELECT p.tenant FROM place p JOIN issue i ON i.num = p.issue WHERE i.id = ?1 AND (?6 = 0 OR" \
    " p.tenant = ?6) UNION SELECT a.tenant FROM " APPS_SEEN ")"

int sbx_store_read_penetration(const struct sbx_store_view *view, const uint8_t *issue,
                               const struct sbx_issue_span *span, struct sbx_penetration *whole_out,
                               struct sbx_version_sum *versions, size_t version_count)
{
    struct sbx_statement *statement = NULL;
    char version[sizeof(versions[0].version)];
    *whole_out = (struct sbx_penetration){0};
    int result = sbx_sql_prepare(
        sbx_store_handle_db(&view->store->reader),
        "SELECT t.version, SUM(t.hit), SUM(t.active) FROM (SELECT b.version AS version, f.machine_days AS hit, 0 AS"
        " active FROM fact f JOIN build b ON b.num = f.build WHERE " OF_ISSUE("f") IS_KNOWN
        " UNION ALL SELECT x.version, 0, x.machines FROM active x WHERE x.day BETWEEN ?2 AND ?3"
        " AND (?4 = '' OR x.version = ?4) AND " TENANTS ") t GROUP BY t.version",
        &statement);
    if (result == 0) {
        sbx_store_bind_span(view, statement, issue, span, DAY_BY_DAY);
        while ((result = sbx_store_step(statement)) > 0) {
            const struct sbx_penetration of_version = {sbx_column_integer(statement, 1),
                                                       sbx_column_integer(statement, 2)};
            sbx_store_column_text(statement, 0, version, sizeof(version));
            whole_out->hit += of_version.hit;
            whole_out->active += of_version.active;
            for (size_t i = 0; i < version_count; i++)
                if (strcmp(versions[i].version, version) == 0)
                    versions[i].penetration = of_version;
        }
    }
    sbx_statement_finalize(statement);
    return result;
}

int sbx_store_each_penetration(const struct sbx_store_view *view, const char *issues, const struct sbx_issue_span *span,
                               void (*each)(void *context, int64_t issue, const struct sbx_penetration *penetration),
                               void *context)
{
    struct sbx_statement *statement = NULL;
    int result = sbx_sql_prepare(
        sbx_store_handle_db(&view->store->reader),
        "SELECT t.issue, SUM(t.hit), SUM(t.active) FROM (SELECT p.issue AS issue, f.machine_days AS hit, 0 AS active"
        " FROM place p JOIN fact f ON f.place = p.num JOIN build b ON b.num = f.build WHERE p.issue IN " SBX_LISTED(
            "?1") " AND (?6 = 0 OR p.tenant = ?6) AND " IN_SPAN("f") IS_KNOWN
        " UNION ALL SELECT q.issue, 0, x.machines FROM (SELECT DISTINCT o.issue, o.tenant FROM place o WHERE o.issue "
        "IN " SBX_LISTED("?1") " AND (?6 = 0 OR o.tenant = ?6)) q JOIN active x ON"
                               " x.tenant = q.tenant WHERE x.day BETWEEN ?2 AND ?3 AND (?4 = '' OR x.version = ?4)) t "
                               "GROUP BY t.issue",
        &statement);
    if (result == 0) {
        sbx_store_bind_span(view, statement, NULL, span, DAY_BY_DAY);
        sbx_bind_text(statement, 1, issues);
        while ((result = sbx_store_step(statement)) > 0) {
            const struct sbx_penetration one = {sbx_column_integer(statement, 1), sbx_column_integer(statement, 2)};
            each(context, sbx_column_integer(statement, 0), &one);
        }
    }
    sbx_statement_finalize(statement);
    return result;
}

int sbx_store_read_app_penetration(const struct sbx_store_view *view, const struct sbx_issue_span *span,
                                   struct sbx_app_sum *rows, size_t count)
{
    struct sbx_statement *statement = NULL;
    char name[sizeof(rows[0].app)];
    int result = sbx_sql_prepare(
        sbx_store_handle_db(&view->store->reader),
        "SELECT t.name, SUM(t.hit), SUM(t.active) FROM (SELECT a.name AS name, f.machine_days AS hit, 0 AS active FROM"
        " app a JOIN fact f ON f.place = -a.num JOIN build b ON b.num = f.build WHERE f.day BETWEEN ?1 AND ?2 AND"
        " (?3 = 0 OR a.tenant = ?3)" IS_KNOWN " UNION ALL SELECT a.name, 0, x.machines FROM app a JOIN active x ON"
        " x.tenant = a.tenant WHERE x.day BETWEEN ?1 AND ?2 AND (?3 = 0 OR a.tenant = ?3)) t GROUP BY t.name",
        &statement);
    if (result == 0) {
        sbx_bind_integer(statement, 1, span->from_day > 0 ? span->from_day : 0); /* day -1 has the sums of all days */
        sbx_bind_integer(statement, 2, span->to_day);
        sbx_bind_integer(statement, 3, (int64_t)view->app);
        while ((result = sbx_store_step(statement)) > 0) {
            sbx_store_column_text(statement, 0, name, sizeof(name));
            for (size_t i = 0; i < count; i++)
                if (strcmp(rows[i].app, name) == 0)
                    rows[i].penetration =
                        (struct sbx_penetration){sbx_column_integer(statement, 1), sbx_column_integer(statement, 2)};
        }
    }
    sbx_statement_finalize(statement);
    return result;
}
