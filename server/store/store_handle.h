/* SPDX-License-Identifier: Apache-2.0 */
/* store_handle.h - connections to one database, each with its statements prepared once, when they are first used, each for one thread at a time.
 *
 * No SQL is ever put together from values: every statement is a literal of its owner's table, values are bound. A
 * thread locks the handle, uses statements, and unlocks; rows read from a statement are valid until then. A handle may have several
 * connections, and locking it takes one that is free, waiting for one when none is: readers, and writers where the database keeps them apart. The first
 * is opened with the handle, each other one when all that are open are taken; where it cannot be opened then, one of those is waited for.
 * A thread holds one connection of a handle at a time, of two such handles at most. */
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
    bool is_taken;                     /* under the handle's lock; also by who opens it */
};

struct sbx_store_handle {
    pthread_mutex_t lock;   /* of one connection: held while it is locked; of several: of which are taken */
    pthread_cond_t is_free; /* a connection of several was given back */
    struct sbx_store_connection connections[SBX_STORE_CONNECTIONS_MAX];
    size_t connection_count;  /* opened or not */
    const char *path, *setup; /* for those that are opened later */
    const char *const *sql;
    _Atomic unsigned waiting; /* threads that are about to lock it */
    _Atomic unsigned locked;  /* how often it was */
    size_t statement_count;
};

/* Open `path` (created when missing), run `setup` (pragmas and schema; may be run on every opening). `sql` are its statements, borrowed until the
 * handle is closed. Returns 0, or -errno with the path and the reason in `why`; the handle needs no close then. */
int sbx_store_handle_open(struct sbx_store_handle *handle, const char *path, const char *setup, const char *const *sql,
                          size_t sql_count, char *why, size_t why_bytes);
/* The same with several connections, SBX_STORE_CONNECTIONS_MAX at most. `path` and `setup` are borrowed until the handle is closed, too. */
int sbx_store_handle_open_several(struct sbx_store_handle *handle, size_t connections, const char *path,
                                  const char *setup, const char *const *sql, size_t sql_count, char *why,
                                  size_t why_bytes);
void sbx_store_handle_close(struct sbx_store_handle *handle); /* of a zeroed handle: nothing */

void sbx_store_handle_lock(struct sbx_store_handle *handle);
void sbx_store_handle_unlock(struct sbx_store_handle *handle);
/* Does somebody wait for it now? */
bool sbx_store_handle_is_wanted(const struct sbx_store_handle *handle);
/* Let others have it for as long as any wait, for `max_ms` at most, and where one waits then until one had it. Who locks it again and again
 * leaves them nothing otherwise: a mutex goes to the thread that runs, and on a busy machine that is not one that waited. The handle is not
 * locked. */
void sbx_store_handle_stand_back(const struct sbx_store_handle *handle, unsigned max_ms);

/* The statement, reset and without values. The lock is held. */
struct sbx_statement *sbx_store_handle_use(struct sbx_store_handle *handle, size_t index);

/* The connection itself: what it did last, and for statements that are used seldom and prepared then. The lock is held. */
struct sbx_sql *sbx_store_handle_db(const struct sbx_store_handle *handle);

/* Begin (others change no sums until it ends), commit, and roll back when one is open; the lock is held. Returns 0 or -errno. */
int sbx_store_handle_begin(struct sbx_store_handle *handle);
/* The same where no payload may come meanwhile, from another server of the database; and for a payload of an application that comes, which reads
 * and changes no sums (enum sbx_sql_turn). */
int sbx_store_handle_begin_alone(struct sbx_store_handle *handle);
int sbx_store_handle_begin_intake(struct sbx_store_handle *handle, uint64_t app);
/* For what changes the sums of one application, and need not be on disk when its commit returns: whatever is committed after it as usual makes it
 * so. The file is whole in any case. Application 0: of any. */
int sbx_store_handle_begin_unhurried(struct sbx_store_handle *handle, uint64_t app);
int sbx_store_handle_commit(struct sbx_store_handle *handle);
void sbx_store_handle_roll_back(struct sbx_store_handle *handle);
/* End the transaction that `result` is of: commit when it is 0, roll back when it is less. Returns `result`, or why the commit failed. */
int sbx_store_handle_end(struct sbx_store_handle *handle, int result);

#endif
