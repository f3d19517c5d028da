/* SPDX-License-Identifier: Apache-2.0 */
/* store_handle.h - connections to one database. Each has its statements, prepared at their first use, and is for one
 * thread at a time.
 *
 * SQL is never put together from values: every statement is a literal in its owner's table, and values are bound. A
 * thread locks the handle, uses statements, and unlocks. Rows of a statement are valid until the unlock.
 *
 * A handle may have several connections: readers, and also writers when the database allows it. A lock then takes a
 * free connection, and waits when there is none. The first connection is opened with the handle. Another one is opened
 * when all open ones are taken; if that fails, the thread waits for one of those. A thread holds one connection of a
 * handle at a time, and of at most two such handles. */
#ifndef SBX_STORE_HANDLE_H
#define SBX_STORE_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql.h"

enum {
    SBX_STORE_CONNECTIONS_MAX = 8
};

struct sbx_store_connection {
    struct sbx_sql *db;                /* NULL: not opened yet */
    struct sbx_statement **statements; /* by the owner's enum */
    bool is_taken;                     /* under the handle's lock; also set while a thread opens it */
};

struct sbx_store_handle {
    pthread_mutex_t lock;   /* one connection: held from lock to unlock. Several: protects `is_taken` */
    pthread_cond_t is_free; /* signalled when one of several connections is given back */
    struct sbx_store_connection connections[SBX_STORE_CONNECTIONS_MAX];
    size_t connection_count;  /* opened or not */
    const char *path, *setup; /* for connections that are opened later */
    const char *const *sql;
    _Atomic unsigned waiting; /* threads that wait for it or are about to lock it */
    _Atomic unsigned locked;  /* number of locks so far */
    size_t statement_count;
};

/* Open `path` (made when missing), and run `setup` (pragmas and schema, which must be repeatable). `sql`: its
 * statements, borrowed until close. Returns 0, or -errno with the path and the reason in `why`; the handle then needs
 * no close. */
int sbx_store_handle_open(struct sbx_store_handle *handle, const char *path, const char *setup, const char *const *sql,
                          size_t sql_count, char *why, size_t why_bytes);
/* The same with several connections, SBX_STORE_CONNECTIONS_MAX at most. `path` and `setup` are also borrowed until
 * close. */
int sbx_store_handle_open_several(struct sbx_store_handle *handle, size_t connections, const char *path,
                                  const char *setup, const char *const *sql, size_t sql_count, char *why,
                                  size_t why_bytes);
void sbx_store_handle_close(struct sbx_store_handle *handle); /* a zeroed handle is fine */

void sbx_store_handle_lock(struct sbx_store_handle *handle);
void sbx_store_handle_unlock(struct sbx_store_handle *handle);
/* Does a thread wait for it now? */
bool sbx_store_handle_is_wanted(const struct sbx_store_handle *handle);
/* Let waiting threads have the handle. Returns when none waits, or after `max_ms`; if there are still waiters then, it
 * waits until one of them had it, 10 s at most. A thread that locks the handle again and again would otherwise starve
 * them: a mutex goes to the thread that runs, and on a busy machine that is not a waiter. The caller must not hold the
 * handle. */
void sbx_store_handle_stand_back(const struct sbx_store_handle *handle, unsigned max_ms);

/* The statement, reset and with no values bound. The lock is held. */
struct sbx_statement *sbx_store_handle_use(struct sbx_store_handle *handle, size_t index);

/* The connection itself, for the result of its last statement, and for rare statements that are prepared when needed.
 * The lock is held. */
struct sbx_sql *sbx_store_handle_db(const struct sbx_store_handle *handle);

/* Begin (no other transaction changes sums until the end), commit, and roll back if one is open. The lock is held.
 * Returns 0 or -errno. */
int sbx_store_handle_begin(struct sbx_store_handle *handle);
/* Begin when, on a shared database, no server may store payloads meanwhile; and begin for storing an application's
 * payload, which reads and changes no sums (enum sbx_sql_turn). */
int sbx_store_handle_begin_alone(struct sbx_store_handle *handle);
int sbx_store_handle_begin_intake(struct sbx_store_handle *handle, uint64_t app);
/* Begin a transaction that changes the sums of one application and need not be on disk when its commit returns. The
 * next usual commit makes it durable. The file is consistent in any case. Application 0: of any application. */
int sbx_store_handle_begin_unhurried(struct sbx_store_handle *handle, uint64_t app);
int sbx_store_handle_commit(struct sbx_store_handle *handle);
void sbx_store_handle_roll_back(struct sbx_store_handle *handle);
/* End the transaction: commit when `result` is 0, roll back when it is negative. Returns `result`, or the error of the
 * commit. */
int sbx_store_handle_end(struct sbx_store_handle *handle, int result);

#endif
