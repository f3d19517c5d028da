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

int sbx_store_handle_open(struct sbx_store_handle *handle, const char *path, const char *setup, const char *const *sql,
                          size_t sql_count, char *why, size_t why_bytes)
{
    *handle = (struct sbx_store_handle){0};
    pthread_mutex_init(&handle->lock, NULL);
    /* NOMUTEX: the handle's own lock is held around every use, a second one inside SQLite would only cost. */
    int code =
        sqlite3_open_v2(path, &handle->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(handle->db, BUSY_TIMEOUT_MS);
    if (code == SQLITE_OK)
        code = sqlite3_exec(handle->db, setup, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        goto say_why;

    handle->statements = calloc(sql_count ? sql_count : 1, sizeof(*handle->statements));
    if (!handle->statements) {
        snprintf(why, why_bytes, "%s: no memory", path);
        sbx_store_handle_close(handle);
        return -ENOMEM;
    }
    handle->statement_count = sql_count;
    for (size_t i = 0; i < sql_count; i++) {
        code = sqlite3_prepare_v3(handle->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &handle->statements[i], NULL);
        if (code != SQLITE_OK)
            goto say_why;
    }
    return 0;

say_why:
    snprintf(why, why_bytes, "%s: %s", path, handle->db ? sqlite3_errmsg(handle->db) : sqlite3_errstr(code));
    sbx_store_handle_close(handle);
    return errno_of(code);
}

void sbx_store_handle_close(struct sbx_store_handle *handle)
{
    if (!handle->db)
        return;
    for (size_t i = 0; i < handle->statement_count; i++)
        sqlite3_finalize(handle->statements[i]);
    free(handle->statements);
    sqlite3_close(handle->db);
    pthread_mutex_destroy(&handle->lock);
    *handle = (struct sbx_store_handle){0};
}

void sbx_store_handle_lock(struct sbx_store_handle *handle)
{
    pthread_mutex_lock(&handle->lock);
}

void sbx_store_handle_unlock(struct sbx_store_handle *handle)
{
    pthread_mutex_unlock(&handle->lock);
}

sqlite3_stmt *sbx_store_handle_use(struct sbx_store_handle *handle, size_t index)
{
    sqlite3_stmt *statement = handle->statements[index];
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return statement;
}

int sbx_store_step(sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return 1;
    sqlite3_reset(statement);
    return errno_of(code);
}

int sbx_store_handle_begin(struct sbx_store_handle *handle)
{
    return errno_of(sqlite3_exec(handle->db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
}

int sbx_store_handle_commit(struct sbx_store_handle *handle)
{
    return errno_of(sqlite3_exec(handle->db, "COMMIT", NULL, NULL, NULL));
}

void sbx_store_handle_roll_back(struct sbx_store_handle *handle)
{
    /* After a full disk SQLite has rolled back by itself; a second ROLLBACK would only be an error. */
    if (!sqlite3_get_autocommit(handle->db))
        sqlite3_exec(handle->db, "ROLLBACK", NULL, NULL, NULL);
}

void sbx_store_column_text(sqlite3_stmt *statement, int column, char *text_out, size_t text_bytes)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    snprintf(text_out, text_bytes, "%s", text ? (const char *)text : "");
}
