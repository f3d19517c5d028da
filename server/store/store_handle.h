/* SPDX-License-Identifier: Apache-2.0 */
/* store_handle.h - one SQLite connection with its statements prepared once, behind one lock.
 *
 * No SQL is ever put together from values: every statement is a literal of its owner's table, values are bound. A
 * thread locks the handle, uses statements, and unlocks; rows read from a statement are valid until then. */
#ifndef SBX_STORE_HANDLE_H
#define SBX_STORE_HANDLE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_store_handle {
    sqlite3 *db;
    pthread_mutex_t lock;
    sqlite3_stmt **statements; /* by the owner's enum */
    size_t statement_count;
};

/* Open `path` (created when missing), run `setup` (pragmas and schema; may be run on every opening), prepare `sql`.
 * Returns 0, or -errno with the path and the reason in `why`; the handle needs no close then. */
int sbx_store_handle_open(struct sbx_store_handle *handle, const char *path, const char *setup, const char *const *sql,
                          size_t sql_count, char *why, size_t why_bytes);
void sbx_store_handle_close(struct sbx_store_handle *handle); /* of a zeroed handle: nothing */

void sbx_store_handle_lock(struct sbx_store_handle *handle);
void sbx_store_handle_unlock(struct sbx_store_handle *handle);

/* The statement, reset and without values. The lock is held. */
sqlite3_stmt *sbx_store_handle_use(struct sbx_store_handle *handle, size_t index);

/* Step: 1 there is a row, 0 done, or -errno (-ENOSPC, -ENOMEM, -EBUSY, -EIO). A done or failed statement is reset, so
 * that it holds no lock on the file. */
int sbx_store_step(sqlite3_stmt *statement);

/* BEGIN IMMEDIATE, COMMIT, and ROLLBACK when one is open; the lock is held. Returns 0 or -errno. */
int sbx_store_handle_begin(struct sbx_store_handle *handle);
int sbx_store_handle_commit(struct sbx_store_handle *handle);
void sbx_store_handle_roll_back(struct sbx_store_handle *handle);

/* The text of a column cut to the array, "" for NULL. */
void sbx_store_column_text(sqlite3_stmt *statement, int column, char *text_out, size_t text_bytes);

#endif
