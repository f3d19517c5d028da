/* SPDX-License-Identifier: Apache-2.0 */
/* sql_sqlite.c - SQLite behind sql.h: how it is opened, and how it reports failure. A statement is prepared at its
 * first use, because a store has some two hundred per connection, and a starting server needs a few. The step reports a
 * failure to prepare it. */
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "sql.h"

enum {
    BUSY_TIMEOUT_MS = 5000 /* somebody may be reading with the sqlite3 shell */
};

struct connection {
    struct sbx_sql sql;
    sqlite3 *db;
    bool is_unhurried; /* of the open transaction */
};

struct statement {
    struct sbx_statement statement;
    struct sbx_sql *sql;
    const char *text;  /* borrowed */
    sqlite3_stmt *row; /* NULL: not prepared */
    int failed;        /* error of preparing it, until its step or reset */
};

static sqlite3 *db_of(struct sbx_sql *sql)
{
    return ((struct connection *)sql)->db;
}

/* NULL: it could not be prepared; SQLite ignores binds to NULL. */
static sqlite3_stmt *row_of(struct sbx_statement *it)
{
    struct statement *statement = (struct statement *)it;
    if (!statement->row && statement->failed == SQLITE_OK)
        statement->failed = sqlite3_prepare_v3(db_of(statement->sql), statement->text, -1, SQLITE_PREPARE_PERSISTENT,
                                               &statement->row, NULL);
    return statement->row;
}

static int errno_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return -EACCES;
    default:
        return -EIO;
    }
}

/* ---- connections ---- */

static void close_connection(struct sbx_sql *sql)
{
    sqlite3_close(db_of(sql));
    free(sql);
}

static int execute(struct sbx_sql *sql, const char *text)
{
    return errno_of(sqlite3_exec(db_of(sql), text, NULL, NULL, NULL));
}

/* From now on a commit returns only when it is on disk. */
static void end_unhurried(struct connection *connection)
{
    if (connection->is_unhurried)
        sqlite3_exec(connection->db, "PRAGMA synchronous=FULL", NULL, NULL, NULL);
    connection->is_unhurried = false;
}

static int begin(struct sbx_sql *sql, enum sbx_sql_turn turn, uint64_t app, bool is_unhurried)
{
    (void)turn, (void)app;
    struct connection *connection = (struct connection *)sql;
    /* Set between transactions only, and set back after this one. With NORMAL a commit does not sync the journal. */
    if (is_unhurried)
        connection->is_unhurried =
            sqlite3_exec(connection->db, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL) == SQLITE_OK;
    int result = execute(sql, "BEGIN IMMEDIATE");
    if (result < 0)
        end_unhurried(connection);
    return result;
}

static int commit(struct sbx_sql *sql)
{
    int code = sqlite3_exec(db_of(sql), "COMMIT", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        end_unhurried((struct connection *)sql);
    return errno_of(code);
}

static void roll_back(struct sbx_sql *sql)
{
    /* After a full disk SQLite has rolled back itself; a second ROLLBACK would fail. */
    if (!sqlite3_get_autocommit(db_of(sql)))
        sqlite3_exec(db_of(sql), "ROLLBACK", NULL, NULL, NULL);
    end_unhurried((struct connection *)sql);
}

static int64_t last_id(struct sbx_sql *sql)
{
    return sqlite3_last_insert_rowid(db_of(sql));
}

static int64_t changes(struct sbx_sql *sql)
{
    return sqlite3_changes(db_of(sql));
}

static void checkpoint(struct sbx_sql *sql, bool is_truncating)
{
    sqlite3_wal_checkpoint_v2(db_of(sql), NULL, is_truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE,
                              NULL, NULL);
}

static const char *error(struct sbx_sql *sql)
{
    return sqlite3_errmsg(db_of(sql));
}

/* ---- statements ---- */

static int prepare(struct sbx_sql *sql, const char *text, struct sbx_statement **statement_out)
{
    struct statement *statement = calloc(1, sizeof(*statement));
    *statement_out = NULL;
    if (!statement)
        return -ENOMEM;
    statement->statement.engine = sql->engine;
    statement->sql = sql;
    statement->text = text;
    *statement_out = &statement->statement;
    return 0;
}

static void finalize(struct sbx_statement *it)
{
    sqlite3_finalize(((struct statement *)it)->row);
    free(it);
}

static void reset(struct sbx_statement *it)
{
    struct statement *statement = (struct statement *)it;
    sqlite3_reset(statement->row);
    statement->failed = SQLITE_OK;
}

static int step(struct sbx_statement *it)
{
    sqlite3_stmt *row = row_of(it);
    int code = row ? sqlite3_step(row) : ((struct statement *)it)->failed;
    if (code == SQLITE_ROW)
        return 1;
    reset(it);
    return errno_of(code);
}

static void clear(struct sbx_statement *it)
{
    sqlite3_stmt *row = ((struct statement *)it)->row;
    if (row)
        sqlite3_clear_bindings(row);
}

static int parameters(struct sbx_statement *statement)
{
    return sqlite3_bind_parameter_count(row_of(statement));
}

static void bind_integer(struct sbx_statement *statement, int index, int64_t value)
{
    sqlite3_bind_int64(row_of(statement), index, value);
}

static void bind_real(struct sbx_statement *statement, int index, double value)
{
    sqlite3_bind_double(row_of(statement), index, value);
}

static void bind_text(struct sbx_statement *statement, int index, const char *text)
{
    sqlite3_bind_text(row_of(statement), index, text, -1, SQLITE_STATIC);
}

static void bind_blob(struct sbx_statement *statement, int index, const void *bytes, size_t count)
{
    sqlite3_bind_blob64(row_of(statement), index, bytes, count, SQLITE_STATIC);
}

static bool is_null(struct sbx_statement *statement, int column)
{
    return sqlite3_column_type(row_of(statement), column) == SQLITE_NULL;
}

static int64_t integer(struct sbx_statement *statement, int column)
{
    return sqlite3_column_int64(row_of(statement), column);
}

static double real(struct sbx_statement *statement, int column)
{
    return sqlite3_column_double(row_of(statement), column);
}

static const char *text(struct sbx_statement *statement, int column)
{
    return (const char *)sqlite3_column_text(row_of(statement), column);
}

static const void *blob(struct sbx_statement *statement, int column, size_t *count_out)
{
    const void *bytes = sqlite3_column_blob(row_of(statement), column);
    *count_out = (size_t)sqlite3_column_bytes(row_of(statement), column);
    return bytes;
}

static const struct sbx_sql_engine engine = {
    .close = close_connection,
    .execute = execute,
    .begin = begin,
    .commit = commit,
    .roll_back = roll_back,
    .last_id = last_id,
    .changes = changes,
    .checkpoint = checkpoint,
    .error = error,
    .prepare = prepare,
    .finalize = finalize,
    .step = step,
    .reset = reset,
    .clear = clear,
    .parameters = parameters,
    .bind_integer = bind_integer,
    .bind_real = bind_real,
    .bind_text = bind_text,
    .bind_blob = bind_blob,
    .is_null = is_null,
    .integer = integer,
    .real = real,
    .text = text,
    .blob = blob,
};

/* Otherwise SQLite counts its memory under one lock that all connections share, and nobody reads that count. */
static void leave_memory_uncounted(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void sbx_sql_begin_sqlite(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, leave_memory_uncounted);
}

int sbx_sql_open_sqlite(const char *path, const char *setup, struct sbx_sql **sql_out, char *why, size_t why_bytes)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    *sql_out = NULL;
    if (!connection) {
        snprintf(why, why_bytes, "%s: %s", path, sqlite3_errstr(SQLITE_NOMEM));
        return -ENOMEM;
    }
    connection->sql.engine = &engine;
    sbx_sql_begin_sqlite();
    /* NOMUTEX: only one thread at a time uses the connection, so SQLite needs no lock of its own. */
    int code =
        sqlite3_open_v2(path, &connection->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(connection->db, BUSY_TIMEOUT_MS);
    if (code == SQLITE_OK)
        code = sqlite3_exec(connection->db, setup, NULL, NULL, NULL);
    if (code != SQLITE_OK) {
        snprintf(why, why_bytes, "%s: %s", path,
                 connection->db && code != SQLITE_NOMEM ? sqlite3_errmsg(connection->db) : sqlite3_errstr(code));
        close_connection(&connection->sql);
        return errno_of(code);
    }
    *sql_out = &connection->sql;
    return 0;
}
