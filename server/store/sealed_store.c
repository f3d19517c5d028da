/* SPDX-License-Identifier: Apache-2.0 */
/* sealed_store.c - one table.
 *
 *   sealed
 *     id          BLOB(16) PRIMARY KEY      from the unsealed part
 *     seq         INTEGER                   order of arrival
 *     key_id      BLOB(8)                   the key that opens it
 *     digest      BLOB(32)                  SHA-256 of the envelope as received
 *     received_ms
 *     envelope    BLOB                      NULL once it was opened
 *     tenant      INTEGER                   the application that its sender may send for, 0 all
 *     failed_by, failure TEXT               server version that found no payload inside, and why */
#include "sealed_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_postgres.h"
#include "store_handle.h"
#include "store_schema.h"

/* How long the digest of an opened payload is kept: longer than any sender keeps a payload. */
#define REMEMBERED_MS (INT64_C(40) * 86400 * 1000)

static const char setup[] =
    "PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON;"
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS sealed(seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, key_id BLOB NOT NULL,"
    " digest BLOB NOT NULL, received_ms INTEGER NOT NULL, envelope BLOB, failed_by TEXT, failure TEXT,"
    " tenant INTEGER NOT NULL DEFAULT 0);"
    "CREATE INDEX IF NOT EXISTS sealed_received ON sealed(received_ms);"
    "CREATE INDEX IF NOT EXISTS sealed_waiting ON sealed(key_id, seq) WHERE envelope IS NOT NULL AND failure IS NULL;"
    "COMMIT;";

enum statement {
    FIND,
    ADD,
    NEXT,
    OPENED,
    FAILED,
    RETRY,
    FORGET,
    AGE,
    COUNT,
    STATEMENTS
};
static const char *const sql[STATEMENTS] = {
    [FIND] = "SELECT digest FROM sealed WHERE id = ?1",
    [ADD] = "INSERT INTO sealed(id, key_id, digest, received_ms, envelope, tenant) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [NEXT] = "SELECT id, received_ms, envelope, tenant FROM sealed WHERE key_id = ?1 AND envelope IS NOT NULL AND "
             "failure IS NULL"
             " ORDER BY seq LIMIT 1",
    [OPENED] = "UPDATE sealed SET envelope = NULL, failure = NULL WHERE id = ?1",
    [FAILED] = "UPDATE sealed SET failed_by = ?2, failure = ?3 WHERE id = ?1",
    [RETRY] = "UPDATE sealed SET failure = NULL WHERE failure IS NOT NULL AND failed_by IS NOT ?1",
    [FORGET] = "DELETE FROM sealed WHERE envelope IS NULL AND received_ms < ?1",
    [AGE] = "DELETE FROM sealed WHERE seq = (SELECT seq FROM sealed WHERE envelope IS NOT NULL AND received_ms < ?1"
            " ORDER BY received_ms LIMIT 1)",
    [COUNT] = "SELECT (SELECT COUNT(*) FROM sealed WHERE envelope IS NOT NULL AND failure IS NULL AND (?1 = 0 OR"
              " tenant = ?1)),"
              " (SELECT COUNT(*) FROM sealed WHERE failure IS NOT NULL AND (?1 = 0 OR tenant = ?1))",
};

struct sbx_sealed_store {
    struct sbx_store_handle handle;
    char version[32];
};

int sbx_sealed_store_open(const char *where, const char *version, int64_t now_ms, struct sbx_sealed_store **store_out,
                          char *why, size_t why_bytes)
{
    char *path;
    bool is_postgres = sbx_sql_is_postgres(where);
    struct sbx_sealed_store *store = calloc(1, sizeof(*store));
    if (!store || asprintf(&path, is_postgres ? "%s" : "%s/store.db", where) < 0) {
        free(store);
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    snprintf(store->version, sizeof(store->version), "%s", version);
    int result = sbx_store_handle_open(&store->handle, path, is_postgres ? sbx_store_postgres_setup : setup, sql,
                                       STATEMENTS, why, why_bytes);
    free(path);
    if (result == 0) {
        sbx_store_handle_lock(&store->handle);
        struct sbx_statement *statement = sbx_store_handle_use(&store->handle, RETRY);
        sbx_bind_text(statement, 1, store->version);
        result = sbx_store_step(statement);
        if (result == 0) {
            statement = sbx_store_handle_use(&store->handle, FORGET);
            sbx_bind_integer(statement, 1, now_ms - REMEMBERED_MS);
            result = sbx_store_step(statement);
        }
        if (result < 0)
            snprintf(why, why_bytes, "sealed payloads: %s", sbx_sql_error(sbx_store_handle_db(&store->handle)));
        sbx_store_handle_unlock(&store->handle);
    }
    if (result < 0) {
        sbx_sealed_store_close(store);
        return result;
    }
    *store_out = store;
    return 0;
}

void sbx_sealed_store_close(struct sbx_sealed_store *store)
{
    if (!store)
        return;
    sbx_store_handle_close(&store->handle);
    free(store);
}

/* The handle's lock is held. */
static int look(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES],
                const uint8_t digest[SBX_SEALED_DIGEST_BYTES], enum sbx_stored *stored_out)
{
    struct sbx_statement *statement = sbx_store_handle_use(&store->handle, FIND);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int row = sbx_store_step(statement);
    if (row <= 0) {
        *stored_out = SBX_STORED_NEW;
        return row;
    }
    bool is_equal = sbx_column_bytes(statement, 0) == SBX_SEALED_DIGEST_BYTES &&
                    memcmp(sbx_column_blob(statement, 0), digest, SBX_SEALED_DIGEST_BYTES) == 0;
    *stored_out = is_equal ? SBX_STORED_BEFORE : SBX_STORED_CONFLICT;
    sbx_statement_reset(statement);
    return 0;
}

int sbx_sealed_store_look(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES], const void *envelope,
                          size_t bytes, enum sbx_stored *stored_out)
{
    uint8_t digest[SBX_SEALED_DIGEST_BYTES];
    int result = sbx_sealed_digest(envelope, bytes, digest);
    if (result < 0)
        return result;
    sbx_store_handle_lock(&store->handle);
    result = look(store, id, digest, stored_out);
    sbx_store_handle_unlock(&store->handle);
    return result;
}

int sbx_sealed_store_put(struct sbx_sealed_store *store, const struct sbx_sealed *sealed, uint64_t app,
                         const void *envelope, size_t bytes, int64_t received_ms, enum sbx_stored *stored_out)
{
    uint8_t digest[SBX_SEALED_DIGEST_BYTES];
    int result = sbx_sealed_digest(envelope, bytes, digest);
    if (result < 0)
        return result;
    sbx_store_handle_lock(&store->handle);
    result = sbx_store_handle_begin(&store->handle);
    if (result == 0)
        result = look(store, sealed->id, digest, stored_out);
    if (result == 0 && *stored_out == SBX_STORED_NEW) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->handle, ADD);
        sbx_bind_blob(statement, 1, sealed->id, SBX_ID_BYTES);
        sbx_bind_blob(statement, 2, sealed->key_id, SBX_SEAL_KEY_ID_BYTES);
        sbx_bind_blob(statement, 3, digest, SBX_SEALED_DIGEST_BYTES);
        sbx_bind_integer(statement, 4, received_ms);
        sbx_bind_blob(statement, 5, envelope, bytes);
        sbx_bind_integer(statement, 6, (int64_t)app);
        result = sbx_store_step(statement);
        sbx_statement_clear(statement); /* the digest and the envelope are valid only during this call */
    }
    if (result == 0)
        result = sbx_store_handle_commit(&store->handle);
    if (result < 0)
        sbx_store_handle_roll_back(&store->handle);
    sbx_store_handle_unlock(&store->handle);
    return result;
}

int sbx_sealed_store_next(struct sbx_sealed_store *store, const struct sbx_unseal_keys *keys,
                          uint8_t id_out[SBX_ID_BYTES], uint64_t *app_out, int64_t *received_ms_out,
                          struct sbx_byte_buffer *envelope_out)
{
    int result = 0;
    sbx_store_handle_lock(&store->handle);
    for (uint32_t i = 0; i < keys->count && result == 0; i++) {
        struct sbx_statement *statement = sbx_store_handle_use(&store->handle, NEXT);
        sbx_bind_blob(statement, 1, keys->keys[i].id, SBX_SEAL_KEY_ID_BYTES);
        result = sbx_store_step(statement);
        if (result > 0) {
            memcpy(id_out, sbx_column_blob(statement, 0), SBX_ID_BYTES);
            *received_ms_out = sbx_column_integer(statement, 1);
            *app_out = (uint64_t)sbx_column_integer(statement, 3);
            sbx_byte_buffer_append(envelope_out, sbx_column_blob(statement, 2), sbx_column_bytes(statement, 2));
            sbx_statement_reset(statement);
        }
    }
    sbx_store_handle_unlock(&store->handle);
    return result < 0 ? result : result == 0 ? -ENOENT : envelope_out->failed ? -ENOMEM : 0;
}

int sbx_sealed_store_opened(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES])
{
    sbx_store_handle_lock(&store->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&store->handle, OPENED);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    sbx_store_handle_unlock(&store->handle);
    return result;
}

int sbx_sealed_store_failed(struct sbx_sealed_store *store, const uint8_t id[SBX_ID_BYTES], const char *reason)
{
    sbx_store_handle_lock(&store->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&store->handle, FAILED);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    sbx_bind_text(statement, 2, store->version);
    sbx_bind_text(statement, 3, reason);
    int result = sbx_store_step(statement);
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&store->handle);
    return result;
}

int sbx_sealed_store_age_one(struct sbx_sealed_store *store, int64_t before_ms)
{
    sbx_store_handle_lock(&store->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&store->handle, AGE);
    sbx_bind_integer(statement, 1, before_ms);
    int result = sbx_store_step(statement);
    if (result == 0)
        result = sbx_sql_changes(sbx_store_handle_db(&store->handle)) > 0;
    sbx_store_handle_unlock(&store->handle);
    return result;
}

int sbx_sealed_store_forget(struct sbx_sealed_store *store, int64_t now_ms)
{
    sbx_store_handle_lock(&store->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&store->handle, FORGET);
    sbx_bind_integer(statement, 1, now_ms - REMEMBERED_MS);
    int result = sbx_store_step(statement);
    sbx_store_handle_unlock(&store->handle);
    return result;
}

int sbx_sealed_store_count(struct sbx_sealed_store *store, uint64_t app, struct sbx_sealed_counts *counts_out)
{
    sbx_store_handle_lock(&store->handle);
    struct sbx_statement *statement = sbx_store_handle_use(&store->handle, COUNT);
    sbx_bind_integer(statement, 1, (int64_t)app);
    int result = sbx_store_step(statement);
    if (result > 0) {
        counts_out->waiting = sbx_column_integer(statement, 0);
        counts_out->failed = sbx_column_integer(statement, 1);
        sbx_statement_reset(statement);
    }
    sbx_store_handle_unlock(&store->handle);
    return result > 0 ? 0 : result < 0 ? result : -EIO;
}
