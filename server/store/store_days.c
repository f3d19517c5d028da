/* SPDX-License-Identifier: Apache-2.0 */
/* store_days.c - days whose sums have a table each, in PostgreSQL (store_schema_postgres.c). The table is made before
 * stalls of that day are summed. It is dropped whole, because deleting a row for each place, build, word and machine
 * would be slow. SQLite has one table for all days, whose rows are removed with their stalls. */
#include "sql_postgres.h"
#include "store_inside.h"

/* Call a function of the database with one number. Returns its result, or -errno. */
static int call(struct sbx_store *store, const char *sql, int64_t number)
{
    struct sbx_statement *statement = NULL;
    int result = sbx_sql_prepare(sbx_store_handle_db(&store->writer), sql, &statement);
    if (result == 0) {
        sbx_bind_integer(statement, 1, number);
        result = sbx_store_step(statement);
    }
    if (result > 0)
        result = sbx_column_integer(statement, 0) > 0;
    sbx_statement_finalize(statement);
    return result;
}

int sbx_store_open_day(struct sbx_store *store, int64_t day)
{
    if (!sbx_sql_is_postgres(store->path) || day < 0)
        return 0;
    _Atomic int64_t *known = &store->days[day % SBX_DAYS_KNOWN];
    if (atomic_load(known) == day + 1) /* a day whose table was dropped is in no sum of days, and gets no new table */
        return 0;
    int result = call(store, "SELECT open_day(?1)", day);
    if (result < 0)
        return result;
    atomic_store(known, day + 1);
    return 0;
}

int sbx_store_open_days(struct sbx_store *store, int64_t first, int64_t last)
{
    int result = 0;
    sbx_store_handle_lock(&store->writer);
    for (int64_t day = first; day <= last && result == 0; day++)
        result = sbx_store_open_day(store, day);
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_close_day(struct sbx_store *store, int64_t before_day)
{
    int closed = 0;
    if (!sbx_sql_is_postgres(store->path))
        return 0;
    sbx_store_handle_lock(&store->writer);
    int result = sbx_store_handle_begin_alone(&store->writer); /* no transaction is changing its sums then */
    if (result == 0) {
        closed = call(store, "SELECT close_day(?1)", before_day);
        result = sbx_store_handle_end(&store->writer, closed < 0 ? closed : 0);
    }
    sbx_store_handle_unlock(&store->writer);
    return result < 0 ? result : closed;
}
