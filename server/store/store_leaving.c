/* SPDX-License-Identifier: Apache-2.0 */
/* store_leaving.c - removes a batch of stalls from the sums and from the tables.
 *
 * The stalls are listed in a table of the connection (`going`). Another table (`leaving`) has their sums by place, day
 * and build. When nothing is left of such a group, its rows are deleted by a range of keys. Otherwise its stalls are
 * subtracted together, with one change per row. So a batch needs as many statements as one stall, and changes only as
 * many rows as it has groups and words. */
#include <errno.h>
#include <string.h>

#include "sql_postgres.h"
#include "store_inside.h"

/* First and last day of the removed stalls. */
struct days {
    int64_t first, last;
};

/* Run statements that return no rows. Some of them have the days as their only values. */
static int run_all(struct sbx_store *store, const enum writer_statement *indexes, size_t count, struct days days)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->writer, indexes[i]);
        if (sbx_statement_parameters(statement) == 2) {
            sbx_bind_integer(statement, 1, days.first);
            sbx_bind_integer(statement, 2, days.last);
        }
        result = sbx_store_step(statement);
    }
    return result;
}

static int read_days(struct sbx_store *store, struct days *days_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, GOING_DAYS);
    int result = sbx_store_step(statement);
    if (result > 0)
        *days_out = (struct days){sbx_column_integer(statement, 0), sbx_column_integer(statement, 1)};
    sbx_statement_reset(statement);
    return result > 0 ? 0 : result < 0 ? result : -EIO;
}

/* Read the ids of the removed stalls. They are reported when the removal is durable. */
static int read_ids(struct sbx_store *store, uint8_t (*ids)[SBX_ID_BYTES], size_t max)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, GOING_IDS);
    size_t count = 0;
    int result = 0;
    while (count < max && (result = sbx_store_step(statement)) > 0)
        memcpy(ids[count++], sbx_column_blob(statement, 0), SBX_ID_BYTES);
    sbx_statement_reset(statement);
    return result < 0 ? result : (int)count;
}

/* Settle places that lost their last stall. */
static int settle_places(struct sbx_store *store)
{
    int64_t places[SBX_LEAVING_MAX];
    size_t count = 0;
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, GOING_EMPTY_PLACES);
    int result = 0;
    while (count < SBX_LEAVING_MAX && (result = sbx_store_step(statement)) > 0)
        places[count++] = sbx_column_integer(statement, 0);
    sbx_statement_reset(statement);
    result = result > 0 ? 0 : result;
    for (size_t i = 0; i < count && result == 0; i++)
        result = sbx_store_settle_place(store, places[i], 0);
    return result;
}

/* Deleted rows stay in the tables of a connection, because no vacuum runs on these. So the tables are truncated from
 * time to time, which also drops their plans. */
static int empty_tables(struct sbx_store *store)
{
    enum {
        BATCHES = 97 /* a prime, so that connections that take turns each get theirs */
    };
    if (!sbx_sql_is_postgres(store->path) || atomic_fetch_add(&store->batches, 1) % BATCHES != 0)
        return 0;
    return sbx_sql_execute(sbx_store_handle_db(&store->writer), "TRUNCATE going, leaving");
}

int sbx_store_leave(struct sbx_store *store, enum writer_statement fill, const struct sbx_leaving *leaving,
                    uint8_t (*ids_out)[SBX_ID_BYTES])
{
    /* The fact of a group must exist until its machines are removed. */
    static const enum writer_statement begin[] = {GOING_NONE, GOING_NO_GROUP};
    static const enum writer_statement steps[] = {
        GOING_GROUPS,       GOING_LAST_GROUPS,  GOING_FACT,       GOING_SPREAD,     GOING_DROP_SPREAD,
        GOING_LAST_SPREAD,  GOING_LABEL,        GOING_DROP_LABEL, GOING_LAST_LABEL, GOING_MET_DAY,
        GOING_DROP_MET_DAY, GOING_LAST_MET_DAY, GOING_MET,        DROP_MET,         GOING_LAST_FACT,
        GOING_PLACES,       GOING_OWE,          GOING_SAID,       GOING_PAYLOAD,    GOING_ROTATING,
        GOING_END,          GOING_GAP,          GOING_WAS_IN,     GOING_SNAPSHOT,   GOING_RENEW_PLACES};
    size_t max = leaving->max < SBX_LEAVING_MAX ? leaving->max : SBX_LEAVING_MAX;
    struct days days = {-1, -1};
    int result = empty_tables(store);
    if (result == 0)
        result = run_all(store, begin, sizeof(begin) / sizeof(begin[0]), days);
    if (result < 0)
        return result;
    struct sbx_statement *statement = sbx_store_handle_use(&store->writer, fill);
    if (leaving->rotating_id)
        sbx_bind_blob(statement, 1, leaving->rotating_id, SBX_ROTATING_ID_BYTES);
    else
        sbx_bind_integer(statement, 1, leaving->number);
    sbx_bind_integer(statement, 2, (int64_t)max);
    result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    int count = result == 0 ? read_ids(store, ids_out, max) : result;
    if (count <= 0)
        return count;
    result = read_days(store, &days);
    if (result == 0)
        result = run_all(store, steps, sizeof(steps) / sizeof(steps[0]), days);
    if (result == 0)
        result = settle_places(store);
    return result < 0 ? result : count;
}
