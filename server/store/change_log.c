/* SPDX-License-Identifier: Apache-2.0 */
/* change_log.c - the found changes, and which of them the webhook has received.
 *
 *   event                                       one change that was found
 *     num INTEGER PRIMARY KEY, at_ms, kind, app, version, base, issue BLOB(16), text, chance; UNIQUE(app, version, issue, kind)
 *     state                                     0 done, or not for the webhook; 1 waits for the webhook; 2 given up
 *     tries, next_ms                            of sending it
 *   look                                        the latest look that was made at a version
 *     app, version PRIMARY KEY; number */
#include "change_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_postgres.h"
#include "store_handle.h"
#include "store_schema.h"

static const char setup[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA journal_size_limit=1048576; PRAGMA trusted_schema=OFF;"
    "CREATE TABLE IF NOT EXISTS event(num INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL, kind INTEGER NOT "
    "NULL,"
    " app TEXT NOT NULL, version TEXT NOT NULL, base TEXT NOT NULL, issue BLOB NOT NULL, text TEXT NOT NULL,"
    " chance REAL NOT NULL, state INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0,"
    " next_ms INTEGER NOT NULL DEFAULT 0, UNIQUE(app, version, issue, kind));"
    "CREATE INDEX IF NOT EXISTS event_to_tell ON event(next_ms) WHERE state = 1;"
    "CREATE TABLE IF NOT EXISTS look(app TEXT NOT NULL, version TEXT NOT NULL, number INTEGER NOT NULL,"
    " PRIMARY KEY(app, version)) WITHOUT ROWID;";

#define COLUMNS "num, at_ms, kind, app, version, base, issue, text, chance, tries, next_ms"

enum {
    WAS_LOOKED,
    LOOKED,
    ADD,
    LIST,
    NEXT,
    CLAIM,
    TOLD,
    AGAIN,
    GIVE_UP,
    COUNT,
    FORGET,
    STATEMENTS,
};
static const char *const sql[STATEMENTS] = {
    [WAS_LOOKED] = "SELECT 1 FROM look WHERE app = ?1 AND version = ?2 AND number >= ?3",
    [LOOKED] = "INSERT OR REPLACE INTO look(app, version, number) VALUES(?1, ?2, ?3)",
    [ADD] = "INSERT OR IGNORE INTO event(at_ms, kind, app, version, base, issue, text, chance, state)"
            " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [LIST] = "SELECT " COLUMNS " FROM event WHERE num < ?1 ORDER BY num DESC LIMIT ?2",
    [NEXT] = "SELECT " COLUMNS " FROM event WHERE state = 1 AND next_ms <= ?1 ORDER BY next_ms, num LIMIT 1",
    /* Several servers may have read the same event; only one of them claims it. */
    [CLAIM] = "UPDATE event SET next_ms = ?2 WHERE num = ?1 AND state = 1 AND next_ms = ?3",
    [TOLD] = "UPDATE event SET state = 0, tries = tries + 1 WHERE num = ?1",
    [AGAIN] = "UPDATE event SET tries = tries + 1, next_ms = ?2 WHERE num = ?1",
    [GIVE_UP] = "UPDATE event SET state = 2, tries = tries + 1 WHERE num = ?1",
    [COUNT] =
        "SELECT kind, COUNT(*), SUM(CASE state WHEN 1 THEN 1 ELSE 0 END), SUM(CASE state WHEN 2 THEN 1 ELSE 0 END)"
        " FROM event GROUP BY kind",
    [FORGET] = "DELETE FROM event WHERE at_ms < ?1",
};

struct sbx_change_log {
    struct sbx_store_handle handle;
};

bool sbx_change_event_is_whole(const struct sbx_change_event *event)
{
    static const uint8_t none[SBX_ID_BYTES];
    return memcmp(event->issue, none, SBX_ID_BYTES) == 0;
}

int sbx_change_log_open(const char *where, struct sbx_change_log **log_out, char *why, size_t why_bytes)
{
    char *path;
    bool is_postgres = sbx_sql_is_postgres(where);
    struct sbx_change_log *log = calloc(1, sizeof(*log));
    if (!log || asprintf(&path, is_postgres ? "%s" : "%s/changes.db", where) < 0) {
        free(log);
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    int result = sbx_store_handle_open(&log->handle, path, is_postgres ? sbx_store_postgres_setup : setup, sql,
                                       STATEMENTS, why, why_bytes);
    free(path);
    if (result < 0)
        free(log);
    else
        *log_out = log;
    return result;
}

void sbx_change_log_close(struct sbx_change_log *log)
{
    if (!log)
        return;
    sbx_store_handle_close(&log->handle);
    free(log);
}

/* ---- looks ---- */

static int use_look(struct sbx_change_log *log, size_t index, const char *app, const char *version, int look)
{
    sbx_store_handle_lock(&log->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&log->handle, index);
    sbx_bind_text(statement, 1, app);
    sbx_bind_text(statement, 2, version);
    sbx_bind_integer(statement, 3, look);
    int result = sbx_store_step(statement);
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&log->handle);
    return result;
}

int sbx_change_log_was_looked(struct sbx_change_log *log, const char *app, const char *version, int look)
{
    return use_look(log, WAS_LOOKED, app, version, look);
}

int sbx_change_log_looked(struct sbx_change_log *log, const char *app, const char *version, int look)
{
    return use_look(log, LOOKED, app, version, look);
}

/* ---- events ---- */

int sbx_change_log_add(struct sbx_change_log *log, const struct sbx_change_event *event, bool is_to_tell)
{
    sbx_store_handle_lock(&log->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&log->handle, ADD);
    sbx_bind_integer(statement, 1, event->at_ms);
    sbx_bind_integer(statement, 2, event->kind);
    sbx_bind_text(statement, 3, event->app);
    sbx_bind_text(statement, 4, event->version);
    sbx_bind_text(statement, 5, event->base);
    sbx_bind_blob(statement, 6, event->issue, SBX_ID_BYTES);
    sbx_bind_text(statement, 7, event->text);
    sbx_bind_real(statement, 8, event->chance);
    sbx_bind_integer(statement, 9, is_to_tell);
    int result = sbx_store_step(statement);
    if (result == 0)
        result = sbx_sql_changes(sbx_store_handle_db(&log->handle)) > 0;
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&log->handle);
    return result;
}

static void read_event(struct sbx_statement *statement, struct sbx_change_event *event)
{
    *event = (struct sbx_change_event){.num = sbx_column_integer(statement, 0),
                                       .at_ms = sbx_column_integer(statement, 1),
                                       .kind = (int)sbx_column_integer(statement, 2),
                                       .chance = sbx_column_real(statement, 8),
                                       .tries = (int)sbx_column_integer(statement, 9)};
    sbx_store_column_text(statement, 3, event->app, sizeof(event->app));
    sbx_store_column_text(statement, 4, event->version, sizeof(event->version));
    sbx_store_column_text(statement, 5, event->base, sizeof(event->base));
    sbx_store_column_text(statement, 7, event->text, sizeof(event->text));
    if (sbx_column_bytes(statement, 6) == SBX_ID_BYTES)
        memcpy(event->issue, sbx_column_blob(statement, 6), SBX_ID_BYTES);
}

int sbx_change_log_list(struct sbx_change_log *log, int64_t before, struct sbx_change_event *events, size_t max,
                        size_t *count_out)
{
    int result = 0;
    size_t count = 0;
    sbx_store_handle_lock(&log->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&log->handle, LIST);
    sbx_bind_integer(statement, 1, before > 0 ? before : INT64_MAX);
    sbx_bind_integer(statement, 2, (int64_t)max);
    while (count < max && (result = sbx_store_step(statement)) > 0)
        read_event(statement, &events[count++]);
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(&log->handle);
    *count_out = count;
    return result < 0 ? result : 0;
}

int sbx_change_log_next(struct sbx_change_log *log, int64_t now_ms, struct sbx_change_event *event_out)
{
    int result;
    bool is_ours = false;
    sbx_store_handle_lock(&log->handle);
    do {
        struct sbx_statement *statement = sbx_store_handle_use(&log->handle, NEXT);
        sbx_bind_integer(statement, 1, now_ms);
        result = sbx_store_step(statement);
        if (result <= 0)
            break;
        read_event(statement, event_out);
        int64_t next_ms = sbx_column_integer(statement, 10);
        sbx_statement_reset(statement);
        statement = sbx_store_handle_use(&log->handle, CLAIM);
        sbx_bind_integer(statement, 1, event_out->num);
        sbx_bind_integer(statement, 2, now_ms + SBX_CHANGE_TELL_MS);
        sbx_bind_integer(statement, 3, next_ms);
        result = sbx_store_step(statement);
        is_ours = result == 0 && sbx_sql_changes(sbx_store_handle_db(&log->handle)) > 0;
    } while (result == 0 && !is_ours);
    sbx_store_handle_unlock(&log->handle);
    return is_ours ? 1 : result;
}

static int run(struct sbx_change_log *log, size_t index, int64_t first, int64_t second)
{
    sbx_store_handle_lock(&log->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&log->handle, index);
    sbx_bind_integer(statement, 1, first);
    if (sbx_statement_parameters(statement) > 1)
        sbx_bind_integer(statement, 2, second);
    int result = sbx_store_step(statement);
    sbx_store_handle_unlock(&log->handle);
    return result;
}

int sbx_change_log_told(struct sbx_change_log *log, int64_t num)
{
    return run(log, TOLD, num, 0);
}

int sbx_change_log_not_told(struct sbx_change_log *log, int64_t num, int64_t again_ms)
{
    return run(log, again_ms != 0 ? AGAIN : GIVE_UP, num, again_ms);
}

int sbx_change_log_forget(struct sbx_change_log *log, int64_t before_ms)
{
    return run(log, FORGET, before_ms, 0);
}

int sbx_change_log_count(struct sbx_change_log *log, struct sbx_change_counts *counts_out)
{
    int result;
    *counts_out = (struct sbx_change_counts){.to_tell = 0};
    sbx_store_handle_lock(&log->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&log->handle, COUNT);
    while ((result = sbx_store_step(statement)) > 0) {
        int kind = (int)sbx_column_integer(statement, 0);
        if (kind >= 0 && kind < SBX_CHANGE_KINDS)
            counts_out->by_kind[kind] = sbx_column_integer(statement, 1);
        counts_out->to_tell += sbx_column_integer(statement, 2);
        counts_out->given_up += sbx_column_integer(statement, 3);
    }
    sbx_store_handle_unlock(&log->handle);
    return result;
}
