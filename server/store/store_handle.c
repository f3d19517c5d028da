/* SPDX-License-Identifier: Apache-2.0 */
/* store_handle.c - the only file that knows how SQLite is opened and how it reports failure. */
#include "store_handle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BUSY_TIMEOUT_MS = 5000 /* someone looks with the sqlite3 shell */
};

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

/* The connection that this thread holds of a handle of several. */
static _Thread_local struct sbx_store_connection *held;

/* Returns an SQLite code. */
static int open_connection(struct sbx_store_connection *connection, const char *path, const char *setup,
                           const char *const *sql, size_t sql_count)
{
    /* NOMUTEX: one thread at a time has it anyway, a second lock inside SQLite would only cost. */
    int code =
        sqlite3_open_v2(path, &connection->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(connection->db, BUSY_TIMEOUT_MS);
    if (code == SQLITE_OK)
        code = sqlite3_exec(connection->db, setup, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return code;
    connection->statements = calloc(sql_count ? sql_count : 1, sizeof(*connection->statements));
    if (!connection->statements)
        return SQLITE_NOMEM;
    for (size_t i = 0; i < sql_count && code == SQLITE_OK; i++)
        code =
            sqlite3_prepare_v3(connection->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &connection->statements[i], NULL);
    return code;
}

int sbx_store_handle_open_readers(struct sbx_store_handle *handle, size_t connections, const char *path,
                                  const char *setup, const char *const *sql, size_t sql_count, char *why,
                                  size_t why_bytes)
{
    *handle = (struct sbx_store_handle){.statement_count = sql_count};
    pthread_mutex_init(&handle->lock, NULL);
    pthread_cond_init(&handle->is_free, NULL);
    for (; handle->connection_count < connections; handle->connection_count++) {
        struct sbx_store_connection *connection = &handle->connections[handle->connection_count];
        int code = open_connection(connection, path, setup, sql, sql_count);
        if (code != SQLITE_OK) {
            snprintf(why, why_bytes, "%s: %s", path,
                     connection->db && code != SQLITE_NOMEM ? sqlite3_errmsg(connection->db) : sqlite3_errstr(code));
            handle->connection_count++; /* half of it is there */
            handle->db = connection->db;
            sbx_store_handle_close(handle);
            return errno_of(code);
        }
    }
    handle->db = handle->connections[0].db;
    return 0;
}

int sbx_store_handle_open(struct sbx_store_handle *handle, const char *path, const char *setup, const char *const *sql,
                          size_t sql_count, char *why, size_t why_bytes)
{
    return sbx_store_handle_open_readers(handle, 1, path, setup, sql, sql_count, why, why_bytes);
}

void sbx_store_handle_close(struct sbx_store_handle *handle)
{
    if (handle->connection_count == 0)
        return;
    for (size_t i = 0; i < handle->connection_count; i++) {
        struct sbx_store_connection *connection = &handle->connections[i];
        for (size_t n = 0; connection->statements && n < handle->statement_count; n++)
            sqlite3_finalize(connection->statements[n]);
        free(connection->statements);
        sqlite3_close(connection->db);
    }
    pthread_cond_destroy(&handle->is_free);
    pthread_mutex_destroy(&handle->lock);
    *handle = (struct sbx_store_handle){0};
}

/* One that is free; NULL: none is. The lock is held. */
static struct sbx_store_connection *find_free(struct sbx_store_handle *handle)
{
    for (size_t i = 0; i < handle->connection_count; i++)
        if (!handle->connections[i].is_taken)
            return &handle->connections[i];
    return NULL;
}

void sbx_store_handle_lock(struct sbx_store_handle *handle)
{
    pthread_mutex_lock(&handle->lock);
    if (handle->connection_count == 1)
        return;
    struct sbx_store_connection *connection;
    while (!(connection = find_free(handle)))
        pthread_cond_wait(&handle->is_free, &handle->lock);
    connection->is_taken = true;
    pthread_mutex_unlock(&handle->lock);
    held = connection;
}

void sbx_store_handle_unlock(struct sbx_store_handle *handle)
{
    if (handle->connection_count > 1) {
        pthread_mutex_lock(&handle->lock);
        held->is_taken = false;
        held = NULL;
        pthread_cond_signal(&handle->is_free);
    }
    pthread_mutex_unlock(&handle->lock);
}

sqlite3_stmt *sbx_store_handle_use(struct sbx_store_handle *handle, size_t index)
{
    const struct sbx_store_connection *connection = handle->connection_count > 1 ? held : &handle->connections[0];
    sqlite3_stmt *statement = connection->statements[index];
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return statement;
}

sqlite3 *sbx_store_handle_db(const struct sbx_store_handle *handle)
{
    return handle->connection_count > 1 ? held->db : handle->connections[0].db;
}

int sbx_store_step(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return 1;
    sqlite3_reset(statement);
    return errno_of(code);
}

/* From here on a commit is on disk again when it returns. */
static void end_unhurried(struct sbx_store_handle *handle)
{
    if (handle->is_unhurried)
        sqlite3_exec(handle->db, "PRAGMA synchronous=FULL", NULL, NULL, NULL);
    handle->is_unhurried = false;
}

int sbx_store_handle_begin(struct sbx_store_handle *handle)
{
    return errno_of(sqlite3_exec(handle->db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
}

int sbx_store_handle_begin_unhurried(struct sbx_store_handle *handle)
{
    /* Set between transactions only, and set back behind this one: with NORMAL the journal is not synced at a commit. */
    handle->is_unhurried = sqlite3_exec(handle->db, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL) == SQLITE_OK;
    int result = sbx_store_handle_begin(handle);
    if (result < 0)
        end_unhurried(handle);
    return result;
}

int sbx_store_handle_commit(struct sbx_store_handle *handle)
{
    int code = sqlite3_exec(handle->db, "COMMIT", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        end_unhurried(handle);
    return errno_of(code);
}

void sbx_store_handle_roll_back(struct sbx_store_handle *handle)
{
    /* After a full disk SQLite has rolled back by itself; a second ROLLBACK would only be an error. */
    if (!sqlite3_get_autocommit(handle->db))
        sqlite3_exec(handle->db, "ROLLBACK", NULL, NULL, NULL);
    end_unhurried(handle);
}

void sbx_store_column_text(sqlite3_stmt *statement, int column, char *text_out, size_t text_bytes)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    snprintf(text_out, text_bytes, "%s", text ? (const char *)text : "");
}
