/* SPDX-License-Identifier: Apache-2.0 */
/* renderings.c - a bounded cache of documents in its own file, which may be lost without harm.
 *
 *   rendering                          one row for each snapshot and kind that was asked for
 *     turn INTEGER                     grows; rows are dropped in this order
 *     id BLOB(16), kind, bytes, body   PRIMARY KEY (id, kind)
 *   made_by                            one row: the version that made them */
#include "renderings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store_handle.h"

/* synchronous=NORMAL: a power cut may lose the newest commits; their documents are then rendered again. */
static const char setup[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=16777216; PRAGMA trusted_schema=OFF;"
    "PRAGMA secure_delete=ON;"
    "CREATE TABLE IF NOT EXISTS rendering(rowid INTEGER PRIMARY KEY, turn INTEGER NOT NULL, id BLOB NOT NULL,"
    " kind INTEGER NOT NULL, bytes INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE(id, kind));"
    "CREATE INDEX IF NOT EXISTS rendering_turn ON rendering(turn, bytes);"
    "CREATE TABLE IF NOT EXISTS made_by(version TEXT NOT NULL);";

enum {
    IS_VERSION,
    SET_VERSION,
    SUM_BYTES,
    NEXT_TURN,
    DROP_ONE,
    DROP_KIND,
    ADD_ONE,
    OLDEST_TURN,
    DROP_TURN,
    READ_ONE,
    NEXT_ID,
    STATEMENTS,
};
static const char *const sql[STATEMENTS] = {
    [IS_VERSION] = "SELECT version = ?1 FROM made_by",
    [SET_VERSION] = "INSERT INTO made_by(version) VALUES(?1)",
    [SUM_BYTES] = "SELECT COALESCE(SUM(bytes), 0) FROM rendering",
    [NEXT_TURN] = "SELECT COALESCE(MAX(turn), 0) + 1 FROM rendering",
    [DROP_ONE] = "DELETE FROM rendering WHERE id = ?1",
    [DROP_KIND] = "DELETE FROM rendering WHERE id = ?1 AND kind = ?2",
    [ADD_ONE] = "INSERT INTO rendering(turn, id, kind, bytes, body) VALUES(?1, ?2, ?3, ?4, ?5)",
    [OLDEST_TURN] = "SELECT turn FROM rendering ORDER BY turn LIMIT 1",
    [DROP_TURN] = "DELETE FROM rendering WHERE turn = ?1",
    [NEXT_ID] = "SELECT id FROM rendering WHERE id > ?1 ORDER BY id LIMIT 1",
    [READ_ONE] = "SELECT body FROM rendering WHERE id = ?1 AND kind = ?2",
};

struct sbx_renderings {
    struct sbx_store_handle handle;
    uint64_t bytes_max;
};

/* Run a statement that returns one number or nothing. The lock is held. Returns 0 or -errno; -ENOENT without a row. */
static int read_number(struct sbx_renderings *renderings, size_t index, int64_t *number_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&renderings->handle, index);
    int row = sbx_store_step(statement);
    if (row <= 0)
        return row < 0 ? row : -ENOENT;
    *number_out = sbx_column_integer(statement, 0);
    sbx_statement_reset(statement);
    return 0;
}

/* Were the renderings made by this version? Returns 1, 0 when by another version, or -errno. A new file is marked with
 * this version. */
static int are_of_version(struct sbx_renderings *renderings, const char *version)
{
    struct sbx_store_handle *handle = &renderings->handle;
    sbx_store_handle_lock(handle);
    struct sbx_statement *statement = sbx_store_handle_use(handle, IS_VERSION);
    sbx_bind_text(statement, 1, version);
    int result = sbx_store_step(statement);
    if (result > 0) {
        result = sbx_column_integer(statement, 0) != 0;
    } else if (result == 0) {
        sbx_statement_reset(statement);
        statement = sbx_store_handle_use(handle, SET_VERSION);
        sbx_bind_text(statement, 1, version);
        result = sbx_store_step(statement);
        result = result < 0 ? result : 1;
    }
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(handle);
    return result;
}

static void remove_files(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < 3; i++) {
        char *file;
        if (asprintf(&file, "%s%s", path, suffixes[i]) < 0)
            continue;
        unlink(file);
        free(file);
    }
}

/* Open the file, which must be of this version: older pages would not match the style sheet. */
static int open_for_version(struct sbx_renderings *renderings, const char *path, const char *version, char *why,
                            size_t why_bytes)
{
    int result = sbx_store_handle_open(&renderings->handle, path, setup, sql, STATEMENTS, why, why_bytes);
    if (result < 0)
        return result;
    result = are_of_version(renderings, version);
    if (result == 1)
        return 0;
    snprintf(why, why_bytes, "%s: %s", path, sbx_sql_error(sbx_store_handle_db(&renderings->handle)));
    sbx_store_handle_close(&renderings->handle);
    return result < 0 ? result : -EIO;
}

int sbx_renderings_open(const char *data_dir, const char *version, uint64_t bytes_max,
                        struct sbx_renderings **renderings_out, char *why, size_t why_bytes)
{
    char *path;
    struct sbx_renderings *renderings = calloc(1, sizeof(*renderings));
    if (!renderings || asprintf(&path, "%s/renderings.db", data_dir) < 0) {
        free(renderings);
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    renderings->bytes_max = bytes_max;
    int result = open_for_version(renderings, path, version, why, why_bytes);
    if (result == -EIO) { /* made by another version, no database, or broken: nothing in it is worth keeping */
        remove_files(path);
        result = open_for_version(renderings, path, version, why, why_bytes);
    }
    free(path);
    if (result < 0) {
        sbx_renderings_close(renderings);
        return result;
    }
    *renderings_out = renderings;
    return 0;
}

void sbx_renderings_close(struct sbx_renderings *renderings)
{
    if (!renderings)
        return;
    sbx_store_handle_close(&renderings->handle);
    free(renderings);
}

/* Drop the oldest until the size is within the bound, but never the row of `own_turn`. */
static int shrink(struct sbx_renderings *renderings, int64_t own_turn)
{
    int64_t bytes, turn;
    int result = read_number(renderings, SUM_BYTES, &bytes);
    while (result == 0 && bytes > (int64_t)renderings->bytes_max) {
        result = read_number(renderings, OLDEST_TURN, &turn);
        if (result < 0 || turn == own_turn)
            break;
        struct sbx_statement *statement = sbx_store_handle_use(&renderings->handle, DROP_TURN);
        sbx_bind_integer(statement, 1, turn);
        result = sbx_store_step(statement);
        if (result == 0)
            result = read_number(renderings, SUM_BYTES, &bytes);
    }
    return result;
}

static int replace(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES], enum sbx_rendering kind,
                   const struct sbx_byte_buffer *body)
{
    int64_t turn;
    int result = read_number(renderings, NEXT_TURN, &turn);
    if (result < 0)
        return result;
    struct sbx_statement *statement = sbx_store_handle_use(&renderings->handle, DROP_KIND);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, kind);
    result = sbx_store_step(statement);
    if (result < 0)
        return result;
    statement = sbx_store_handle_use(&renderings->handle, ADD_ONE);
    sbx_bind_integer(statement, 1, turn);
    sbx_bind_blob(statement, 2, id, SBX_ID_BYTES);
    sbx_bind_integer(statement, 3, kind);
    sbx_bind_integer(statement, 4, (int64_t)body->used);
    sbx_bind_blob(statement, 5, body->data, body->used);
    result = sbx_store_step(statement);
    sbx_statement_clear(statement); /* the caller owns the body */
    return result == 0 ? shrink(renderings, turn) : result;
}

int sbx_renderings_put(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES], enum sbx_rendering kind,
                       const struct sbx_byte_buffer *body)
{
    if (body->failed || body->used == 0 || body->used > renderings->bytes_max)
        return 0;
    sbx_store_handle_lock(&renderings->handle);
    int result = sbx_store_handle_begin(&renderings->handle);
    if (result == 0)
        result = replace(renderings, id, kind, body);
    if (result == 0)
        result = sbx_store_handle_commit(&renderings->handle);
    if (result < 0)
        sbx_store_handle_roll_back(&renderings->handle);
    sbx_store_handle_unlock(&renderings->handle);
    return result;
}

int sbx_renderings_get(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES], enum sbx_rendering kind,
                       struct sbx_byte_buffer *body_out)
{
    sbx_store_handle_lock(&renderings->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&renderings->handle, READ_ONE);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, kind);
    int result = sbx_store_step(statement);
    if (result > 0) {
        sbx_byte_buffer_append(body_out, sbx_column_blob(statement, 0), sbx_column_bytes(statement, 0));
        sbx_statement_reset(statement);
        result = body_out->failed ? -ENOMEM : 0;
    } else if (result == 0) {
        result = -ENOENT;
    }
    sbx_store_handle_unlock(&renderings->handle);
    return result;
}

static int drop(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES], bool is_for_good)
{
    sbx_store_handle_lock(&renderings->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&renderings->handle, DROP_ONE);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    if (result == 0 && is_for_good &&
        sbx_sql_changes(sbx_store_handle_db(&renderings->handle)) > 0) /* most stalls were never rendered */
        sbx_sql_checkpoint(sbx_store_handle_db(&renderings->handle), true);
    sbx_store_handle_unlock(&renderings->handle);
    return result;
}

int sbx_renderings_drop(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES])
{
    return drop(renderings, id, false);
}

int sbx_renderings_remove(struct sbx_renderings *renderings, const uint8_t id[SBX_ID_BYTES])
{
    return drop(renderings, id, true);
}

/* Get the next id after this one. Returns 1, 0 or -errno. */
static int next_id(struct sbx_renderings *renderings, uint8_t id[SBX_ID_BYTES])
{
    sbx_store_handle_lock(&renderings->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&renderings->handle, NEXT_ID);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    if (result > 0 && sbx_column_bytes(statement, 0) == SBX_ID_BYTES)
        memcpy(id, sbx_column_blob(statement, 0), SBX_ID_BYTES);
    else if (result > 0)
        result = -EIO;
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&renderings->handle);
    return result;
}

int sbx_renderings_sweep(struct sbx_renderings *renderings,
                         int (*is_there)(void *context, const uint8_t id[SBX_ID_BYTES]), void *context)
{
    uint8_t id[SBX_ID_BYTES] = {0};
    int result, count = 0;
    while ((result = next_id(renderings, id)) > 0) {
        result = is_there(context, id);
        if (result == 0) {
            result = sbx_renderings_remove(renderings, id);
            count++;
        }
        if (result < 0)
            return result;
    }
    return result < 0 ? result : count;
}

uint64_t sbx_renderings_bytes(struct sbx_renderings *renderings)
{
    int64_t bytes = 0;
    sbx_store_handle_lock(&renderings->handle);
    read_number(renderings, SUM_BYTES, &bytes);
    sbx_store_handle_unlock(&renderings->handle);
    return (uint64_t)bytes;
}
