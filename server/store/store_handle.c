/* SPDX-License-Identifier: Apache-2.0 */
/* store_handle.c - the connections of threads, and their statements. */
#include "store_handle.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sql_postgres.h"

/* The connections that this thread holds of handles with several connections: one to read, and one to write. */
static _Thread_local struct {
    const struct sbx_store_handle *handle;
    struct sbx_store_connection *connection;
} held[2];

static void close_connection(const struct sbx_store_handle *handle, struct sbx_store_connection *connection)
{
    for (size_t i = 0; connection->statements && i < handle->statement_count; i++)
        sbx_statement_finalize(connection->statements[i]);
    free(connection->statements);
    sbx_sql_close(connection->db);
    connection->statements = NULL;
    connection->db = NULL;
}

/* Returns 0, or -errno with the reason; then nothing is open. */
static int open_connection(const struct sbx_store_handle *handle, struct sbx_store_connection *connection, char *why,
                           size_t why_bytes)
{
    int result = (sbx_sql_is_postgres(handle->path) ? sbx_sql_open_postgres : sbx_sql_open_sqlite)(
        handle->path, handle->setup, &connection->db, why, why_bytes);
    if (result < 0)
        return result;
    connection->statements =
        calloc(handle->statement_count ? handle->statement_count : 1, sizeof(*connection->statements));
    result = connection->statements ? 0 : -ENOMEM;
    for (size_t i = 0; i < handle->statement_count && result == 0; i++)
        result = sbx_sql_prepare(connection->db, handle->sql[i], &connection->statements[i]);
    if (result < 0) {
        snprintf(why, why_bytes, "%s: %s", handle->path,
                 result == -ENOMEM ? "no memory" : sbx_sql_error(connection->db));
        close_connection(handle, connection);
    }
    return result;
}

int sbx_store_handle_open_several(struct sbx_store_handle *handle, size_t connections, const char *path,
                                  const char *setup, const char *const *sql, size_t sql_count, char *why,
                                  size_t why_bytes)
{
    *handle = (struct sbx_store_handle){
        .connection_count = connections, .path = path, .setup = setup, .sql = sql, .statement_count = sql_count};
    pthread_mutex_init(&handle->lock, NULL);
    pthread_cond_init(&handle->is_free, NULL);
    int result = open_connection(handle, &handle->connections[0], why, why_bytes);
    if (result < 0)
        sbx_store_handle_close(handle);
    return result;
}

int sbx_store_handle_open(struct sbx_store_handle *handle, const char *path, const char *setup, const char *const *sql,
                          size_t sql_count, char *why, size_t why_bytes)
{
    return sbx_store_handle_open_several(handle, 1, path, setup, sql, sql_count, why, why_bytes);
}

void sbx_store_handle_close(struct sbx_store_handle *handle)
{
    if (handle->connection_count == 0)
        return;
    for (size_t i = 0; i < handle->connection_count; i++)
        close_connection(handle, &handle->connections[i]);
    pthread_cond_destroy(&handle->is_free);
    pthread_mutex_destroy(&handle->lock);
    *handle = (struct sbx_store_handle){0};
}

/* Find a free connection among the open ones, or among the others; NULL: none. The lock is held. */
static struct sbx_store_connection *find_free(struct sbx_store_handle *handle, bool is_open)
{
    for (size_t i = 0; i < handle->connection_count; i++)
        if (!handle->connections[i].is_taken && (handle->connections[i].db != NULL) == is_open)
            return &handle->connections[i];
    return NULL;
}

/* Take a connection that is not open yet, and open it. NULL: there is none, or it cannot be opened now. The lock is
 * held, but released during the open, so that other threads go on. */
static struct sbx_store_connection *take_new(struct sbx_store_handle *handle)
{
    char why[200];
    struct sbx_store_connection *connection = find_free(handle, false);
    if (!connection)
        return NULL;
    connection->is_taken = true;
    pthread_mutex_unlock(&handle->lock);
    int result = open_connection(handle, connection, why, sizeof(why));
    pthread_mutex_lock(&handle->lock);
    connection->is_taken = result == 0;
    return result == 0 ? connection : NULL;
}

/* Take one of several connections. The lock is held. */
static struct sbx_store_connection *take(struct sbx_store_handle *handle)
{
    struct sbx_store_connection *connection = find_free(handle, true);
    if (!connection && (connection = take_new(handle)))
        return connection;
    while (!connection && !(connection = find_free(handle, true)))
        pthread_cond_wait(&handle->is_free, &handle->lock);
    connection->is_taken = true;
    return connection;
}

static void hold(const struct sbx_store_handle *handle, struct sbx_store_connection *connection)
{
    int place = held[0].handle ? 1 : 0;
    assert(!held[place].handle);
    held[place].handle = handle;
    held[place].connection = connection;
}

static int held_of(const struct sbx_store_handle *handle)
{
    return held[0].handle == handle ? 0 : 1;
}

void sbx_store_handle_lock(struct sbx_store_handle *handle)
{
    bool is_one = handle->connection_count == 1;
    atomic_fetch_add(&handle->waiting, 1);
    pthread_mutex_lock(&handle->lock);
    struct sbx_store_connection *connection = is_one ? NULL : take(handle);
    atomic_fetch_sub(&handle->waiting, 1);
    atomic_fetch_add(&handle->locked, 1);
    if (is_one)
        return;
    pthread_mutex_unlock(&handle->lock);
    hold(handle, connection);
}

void sbx_store_handle_unlock(struct sbx_store_handle *handle)
{
    if (handle->connection_count > 1) {
        int place = held_of(handle);
        pthread_mutex_lock(&handle->lock);
        held[place].connection->is_taken = false;
        held[place].handle = NULL;
        pthread_cond_signal(&handle->is_free);
    }
    pthread_mutex_unlock(&handle->lock);
}

bool sbx_store_handle_is_wanted(const struct sbx_store_handle *handle)
{
    return atomic_load(&handle->waiting) != 0;
}

void sbx_store_handle_stand_back(const struct sbx_store_handle *handle, unsigned max_ms)
{
    enum {
        HAD_MS_MAX = 10000 /* the waiter may be gone, or stopped */
    };
    const struct timespec pause = {.tv_nsec = 1000000};
    unsigned before = atomic_load(&handle->locked);
    for (unsigned ms = 0; sbx_store_handle_is_wanted(handle) &&
                          (ms < max_ms || (atomic_load(&handle->locked) == before && ms < HAD_MS_MAX));
         ms++)
        nanosleep(&pause, NULL);
}

/* The connection that this thread holds. */
static const struct sbx_store_connection *connection_of(const struct sbx_store_handle *handle)
{
    return handle->connection_count > 1 ? held[held_of(handle)].connection : &handle->connections[0];
}

struct sbx_statement *sbx_store_handle_use(struct sbx_store_handle *handle, size_t index)
{
    struct sbx_statement *statement = connection_of(handle)->statements[index];
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    return statement;
}

struct sbx_sql *sbx_store_handle_db(const struct sbx_store_handle *handle)
{
    return connection_of(handle)->db;
}

static int begin(struct sbx_store_handle *handle, enum sbx_sql_turn turn, uint64_t app, bool is_unhurried)
{
    struct sbx_sql *db = sbx_store_handle_db(handle);
    return db->engine->begin(db, turn, app, is_unhurried);
}

int sbx_store_handle_begin(struct sbx_store_handle *handle)
{
    return begin(handle, SBX_TURN_SUMS, 0, false);
}

int sbx_store_handle_begin_alone(struct sbx_store_handle *handle)
{
    return begin(handle, SBX_TURN_ALONE, 0, false);
}

int sbx_store_handle_begin_intake(struct sbx_store_handle *handle, uint64_t app)
{
    return begin(handle, SBX_TURN_INTAKE, app, false);
}

int sbx_store_handle_begin_unhurried(struct sbx_store_handle *handle, uint64_t app)
{
    return begin(handle, SBX_TURN_SUMS, app, true);
}

int sbx_store_handle_commit(struct sbx_store_handle *handle)
{
    struct sbx_sql *db = sbx_store_handle_db(handle);
    return db->engine->commit(db);
}

void sbx_store_handle_roll_back(struct sbx_store_handle *handle)
{
    struct sbx_sql *db = sbx_store_handle_db(handle);
    db->engine->roll_back(db);
}

void sbx_store_column_text(struct sbx_statement *statement, int column, char *text_out, size_t text_bytes)
{
    const char *text = statement->engine->text(statement, column);
    snprintf(text_out, text_bytes, "%s", text ? text : "");
}

int sbx_store_handle_end(struct sbx_store_handle *handle, int result)
{
    if (result == 0)
        result = sbx_store_handle_commit(handle);
    if (result < 0)
        sbx_store_handle_roll_back(handle);
    return result;
}
