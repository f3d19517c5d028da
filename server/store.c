/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - payloads in, verdicts in, rows out; one transaction each.
 *
 *   snapshot                                    one row a payload
 *     seq           INTEGER PRIMARY KEY         order of arrival
 *     id            BLOB(16) UNIQUE             payload id
 *     received_ms, created_day, bytes           server's clock; the client's day; envelope bytes
 *     session       BLOB(16)                    one process of the application
 *     app_build_id  TEXT, app_version TEXT      hex; "7.0.15"
 *     trigger TEXT, duration_ns, threshold_ms
 *     state         0 pending, 1 done, 2 failed
 *     attempts                                  times triage began since it last ended
 *     triaged_by    TEXT                        server version that said it
 *     failure       TEXT
 *     issue         BLOB(16)                    NULL until triaged
 *     app, cause, class, function, module, headline TEXT; confidence REAL
 *   payload                                     apart, so that a scan of rows does not walk over bytes
 *     seq INTEGER PRIMARY KEY, envelope BLOB
 *   issue                                       an aggregate of snapshot, renewed in the transaction that changes it
 *     id BLOB PRIMARY KEY, hits, sessions, builds, first_ms, last_ms, longest_ns, newest (seq)
 *
 * user_version is the schema's version. */
#include "store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "names.h"
#include "store_handle.h"

enum { SCHEMA_VERSION = 1, APPLICATION_ID = 0x53425831 /* "SBX1" */ };

/* WAL with synchronous=FULL: a commit returns after the journal is on disk. secure_delete is off: what is deleted here
 * carries no more than its file did. */
static const char writer_setup[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA journal_size_limit=16777216;"
    "PRAGMA trusted_schema=OFF;"
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS snapshot(seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, received_ms INTEGER NOT "
    "NULL,"
    " created_day INTEGER NOT NULL, bytes INTEGER NOT NULL, session BLOB NOT NULL, app_build_id TEXT NOT NULL,"
    " app_version TEXT NOT NULL, trigger TEXT NOT NULL, duration_ns INTEGER NOT NULL, threshold_ms INTEGER NOT NULL,"
    " state INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, triaged_by TEXT, failure TEXT, issue BLOB,"
    " app TEXT, cause TEXT, class TEXT, function TEXT, module TEXT, headline TEXT, confidence REAL);"
    "CREATE INDEX IF NOT EXISTS snapshot_pending ON snapshot(attempts, seq) WHERE state = 0;"
    "CREATE INDEX IF NOT EXISTS snapshot_failed ON snapshot(seq) WHERE state = 2;"
    "CREATE INDEX IF NOT EXISTS snapshot_of_issue"
    " ON snapshot(issue, seq, session, app_build_id, received_ms, duration_ns);"
    "CREATE INDEX IF NOT EXISTS snapshot_of_app ON snapshot(app, received_ms, app_build_id);"
    "CREATE TABLE IF NOT EXISTS payload(seq INTEGER PRIMARY KEY REFERENCES snapshot(seq), envelope BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS issue(id BLOB PRIMARY KEY, hits INTEGER NOT NULL, sessions INTEGER NOT NULL,"
    " builds INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, longest_ns INTEGER NOT NULL,"
    " newest INTEGER NOT NULL REFERENCES snapshot(seq)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS issue_by_weight ON issue(sessions DESC, hits DESC, last_ms DESC);"
    "COMMIT;";

static const char reader_setup[] = "PRAGMA query_only=ON; PRAGMA trusted_schema=OFF;";

#define SNAPSHOT_COLUMNS                                                                                               \
    "s.seq, s.id, s.received_ms, s.created_day, s.bytes, s.trigger, s.duration_ns, s.threshold_ms, s.app_build_id,"    \
    " s.app_version, s.state, s.failure, s.issue, s.app, s.cause, s.class, s.function, s.module, s.headline,"          \
    " s.confidence"

/* New in its build: seen in one build only, and another build of the application had been heard of before. */
#define ISSUE_QUERY                                                                                                    \
    "SELECT " SNAPSHOT_COLUMNS ", i.hits, i.sessions, i.builds, i.first_ms, i.last_ms, i.longest_ns,"                  \
    " i.builds = 1 AND EXISTS(SELECT 1 FROM snapshot o WHERE o.app = s.app AND o.received_ms < i.first_ms"             \
    "  AND o.app_build_id <> s.app_build_id) FROM issue i JOIN snapshot s ON s.seq = i.newest "

enum writer_statement {
    FIND_SNAPSHOT, ADD_SNAPSHOT, ADD_PAYLOAD, READ_PAYLOAD, BEGIN_TRIAGE, PUT_OFF_TRIAGE, SET_VERDICT, SET_FAILURE,
    RETRY_FAILURES, RENEW_ISSUE, DROP_EMPTY_ISSUE, WRITER_STATEMENTS,
};
static const char *const writer_sql[WRITER_STATEMENTS] = {
    [FIND_SNAPSHOT] = "SELECT seq, issue, attempts FROM snapshot WHERE id = ?1",
    [ADD_SNAPSHOT] = "INSERT INTO snapshot(id, received_ms, created_day, bytes, session, app_build_id, app_version,"
                     " trigger, duration_ns, threshold_ms) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [ADD_PAYLOAD] = "INSERT INTO payload(seq, envelope) VALUES(?1, ?2)",
    [READ_PAYLOAD] = "SELECT envelope FROM payload WHERE seq = ?1",
    [BEGIN_TRIAGE] = "UPDATE snapshot SET attempts = attempts + 1 WHERE seq = ?1",
    [PUT_OFF_TRIAGE] = "UPDATE snapshot SET attempts = MAX(attempts - 1, 0) WHERE seq = ?1",
    [SET_VERDICT] =
        "UPDATE snapshot SET state = 1, attempts = 0, triaged_by = ?2, failure = NULL, issue = ?3, app = ?4,"
        " cause = ?5, class = ?6, function = ?7, module = ?8, headline = ?9, confidence = ?10"
        " WHERE seq = ?1",
    [SET_FAILURE] = "UPDATE snapshot SET state = 2, triaged_by = ?2, failure = ?3 WHERE seq = ?1",
    [RETRY_FAILURES] = "UPDATE snapshot SET state = 0, attempts = 0 WHERE state = 2 AND triaged_by IS NOT ?1",
    [RENEW_ISSUE] = "INSERT OR REPLACE INTO issue(id, hits, sessions, builds, first_ms, last_ms, longest_ns, newest)"
                    " SELECT issue, COUNT(*), COUNT(DISTINCT session), COUNT(DISTINCT app_build_id), MIN(received_ms),"
                    " MAX(received_ms), MAX(duration_ns), MAX(seq) FROM snapshot WHERE issue = ?1 GROUP BY issue",
    [DROP_EMPTY_ISSUE] = "DELETE FROM issue WHERE id = ?1 AND NOT EXISTS(SELECT 1 FROM snapshot WHERE issue = ?1)",
};

enum reader_statement {
    READ_ENVELOPE, NEXT_PENDING, ONE_SNAPSHOT, NEWEST_SNAPSHOTS, SNAPSHOTS_OF_ISSUE, TOP_ISSUES, ONE_ISSUE, COUNT_ROWS,
    READER_STATEMENTS,
};
static const char *const reader_sql[READER_STATEMENTS] = {
    [READ_ENVELOPE] = "SELECT p.envelope FROM snapshot s JOIN payload p ON p.seq = s.seq WHERE s.id = ?1",
    [NEXT_PENDING] = "SELECT id FROM snapshot WHERE state = 0 ORDER BY attempts, seq LIMIT 1",
    [ONE_SNAPSHOT] = "SELECT " SNAPSHOT_COLUMNS " FROM snapshot s WHERE s.id = ?1",
    [NEWEST_SNAPSHOTS] = "SELECT " SNAPSHOT_COLUMNS " FROM snapshot s WHERE s.seq < ?1 ORDER BY s.seq DESC LIMIT ?2",
    [SNAPSHOTS_OF_ISSUE] = ("SELECT " SNAPSHOT_COLUMNS
                            " FROM snapshot s WHERE s.issue = ?3 AND s.seq < ?1 ORDER BY s.seq DESC LIMIT ?2"),
    [TOP_ISSUES] = ISSUE_QUERY "ORDER BY i.sessions DESC, i.hits DESC, i.last_ms DESC LIMIT ?1",
    [ONE_ISSUE] = ISSUE_QUERY "WHERE i.id = ?1",
    [COUNT_ROWS] = "SELECT (SELECT COUNT(*) FROM snapshot), (SELECT COUNT(*) FROM snapshot WHERE state = 0),"
                   " (SELECT COUNT(*) FROM snapshot WHERE state = 2), (SELECT COUNT(*) FROM issue)",
};

struct sbx_store {
    struct sbx_store_handle writer, reader;
    char *path; /* DATA/store.db */
    char version[32];
};

/* ---- open and close ---- */

/* Pragmas of a fresh file are zero; ours are set once and a newer schema is left alone. */
static int check_version(struct sbx_store *store, char *why, size_t why_bytes)
{
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    int result = -EIO, version = 0;
    if (sqlite3_open_v2(store->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        version = sqlite3_column_int(statement, 0);
        result = 0;
    } else {
        snprintf(why, why_bytes, "%s: %s", store->path, db ? sqlite3_errmsg(db) : "no memory");
    }
    sqlite3_finalize(statement);
    if (result == 0 && version > SCHEMA_VERSION) {
        snprintf(why, why_bytes, "%s: made by a newer server (schema %d, this one knows %d)", store->path, version,
                 SCHEMA_VERSION);
        result = -EPROTO;
    }
    if (result == 0 && version == 0) {
        char *pragmas = sqlite3_mprintf("PRAGMA user_version=%d; PRAGMA application_id=%d;", SCHEMA_VERSION,
                                        APPLICATION_ID);
        if (!pragmas || sqlite3_exec(db, pragmas, NULL, NULL, NULL) != SQLITE_OK) {
            snprintf(why, why_bytes, "%s: %s", store->path, sqlite3_errmsg(db));
            result = -EIO;
        }
        sqlite3_free(pragmas);
    }
    sqlite3_close(db);
    return result;
}

/* What another version failed at is worth another try. */
static int retry_failures(struct sbx_store *store, char *why, size_t why_bytes)
{
    sbx_store_handle_lock(&store->writer);
    sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, RETRY_FAILURES);
    sqlite3_bind_text(statement, 1, store->version, -1, SQLITE_STATIC);
    int result = sbx_store_step(statement);
    if (result < 0)
        snprintf(why, why_bytes, "%s: %s", store->path, sqlite3_errmsg(store->writer.db));
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_open(const char *data_dir, const char *version, struct sbx_store **store_out, char *why, size_t why_bytes)
{
    struct sbx_store *store = calloc(1, sizeof(*store));
    if (!store || asprintf(&store->path, "%s/store.db", data_dir) < 0) {
        free(store);
        snprintf(why, why_bytes, "no memory");
        return -ENOMEM;
    }
    snprintf(store->version, sizeof(store->version), "%s", version);
    int result = check_version(store, why, why_bytes);
    if (result == 0)
        result = sbx_store_handle_open(&store->writer, store->path, writer_setup, writer_sql, WRITER_STATEMENTS, why,
                                       why_bytes);
    if (result == 0)
        result = sbx_store_handle_open(&store->reader, store->path, reader_setup, reader_sql, READER_STATEMENTS, why,
                                       why_bytes);
    if (result == 0)
        result = retry_failures(store, why, why_bytes);
    if (result < 0) {
        sbx_store_close(store);
        return result;
    }
    *store_out = store;
    return 0;
}

void sbx_store_close(struct sbx_store *store)
{
    if (!store)
        return;
    sbx_store_handle_close(&store->reader);
    sbx_store_handle_close(&store->writer);
    free(store->path);
    free(store);
}

/* ---- payloads ---- */

/* Is the payload of `seq` these bytes? The writer's lock is held. Returns 0 or -errno. */
static int compare_payload(struct sbx_store *store, int64_t seq, const void *envelope, size_t bytes,
                           enum sbx_stored *stored_out)
{
    sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, READ_PAYLOAD);
    sqlite3_bind_int64(statement, 1, seq);
    int row = sbx_store_step(statement);
    if (row <= 0)
        return row < 0 ? row : -EIO;
    bool is_equal = (size_t)sqlite3_column_bytes(statement, 0) == bytes &&
                    memcmp(sqlite3_column_blob(statement, 0), envelope, bytes) == 0;
    *stored_out = is_equal ? SBX_STORED_BEFORE : SBX_STORED_CONFLICT;
    sqlite3_reset(statement);
    return 0;
}

static int add_payload(struct sbx_store *store, const struct sbx_stall *stall, const void *envelope, size_t bytes,
                       int64_t received_ms)
{
    char build_id[2 * sizeof(stall->app_build_id) + 1], version[40] = "";
    sbx_hex_print(stall->app_build_id, stall->app_build_id_bytes, build_id);
    if (stall->app_version[0] || stall->app_version[1] || stall->app_version[2])
        snprintf(version, sizeof(version), "%u.%u.%u", stall->app_version[0], stall->app_version[1],
                 stall->app_version[2]);

    sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, ADD_SNAPSHOT);
    sqlite3_bind_blob(statement, 1, stall->payload_id, SBX_ID_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, received_ms);
    sqlite3_bind_int64(statement, 3, stall->created_day);
    sqlite3_bind_int64(statement, 4, (int64_t)bytes);
    sqlite3_bind_blob(statement, 5, stall->session_id, SBX_ID_BYTES, SQLITE_STATIC);
    sqlite3_bind_text(statement, 6, build_id, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 7, version, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 8, sbx_trigger_name(stall->trigger.kind), -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 9, stall->trigger.duration_ns);
    sqlite3_bind_int64(statement, 10, stall->trigger.threshold_ms);
    int result = sbx_store_step(statement);
    if (result < 0)
        return result;

    int64_t seq = sqlite3_last_insert_rowid(store->writer.db);
    statement = sbx_store_handle_use(&store->writer, ADD_PAYLOAD);
    sqlite3_bind_int64(statement, 1, seq);
    sqlite3_bind_blob64(statement, 2, envelope, bytes, SQLITE_STATIC);
    result = sbx_store_step(statement);
    sqlite3_clear_bindings(statement); /* `build_id`, `version` and the envelope end with this call */
    return result;
}

/* Look for a row by its id; the writer's lock is held. Returns 0, -ENOENT or -errno; `issue_out` (may be NULL) is all
 * zero when it has none. */
static int find_snapshot(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], int64_t *seq_out, int *attempts_out,
                         uint8_t *issue_out)
{
    sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, FIND_SNAPSHOT);
    sqlite3_bind_blob(statement, 1, id, SBX_ID_BYTES, SQLITE_STATIC);
    int row = sbx_store_step(statement);
    if (row <= 0)
        return row < 0 ? row : -ENOENT;
    *seq_out = sqlite3_column_int64(statement, 0);
    if (issue_out) {
        memset(issue_out, 0, SBX_ID_BYTES);
        if (sqlite3_column_bytes(statement, 1) == SBX_ID_BYTES)
            memcpy(issue_out, sqlite3_column_blob(statement, 1), SBX_ID_BYTES);
    }
    if (attempts_out)
        *attempts_out = sqlite3_column_int(statement, 2);
    sqlite3_reset(statement);
    return 0;
}

/* End the transaction that `result` is of: commit what went well, roll back the rest. */
static int end_transaction(struct sbx_store *store, int result)
{
    if (result == 0)
        result = sbx_store_handle_commit(&store->writer);
    if (result < 0)
        sbx_store_handle_roll_back(&store->writer);
    return result;
}

int sbx_store_put(struct sbx_store *store, const struct sbx_stall *stall, const void *envelope, size_t bytes,
                  int64_t received_ms, enum sbx_stored *stored_out)
{
    int64_t seq;
    sbx_store_handle_lock(&store->writer);
    int result = sbx_store_handle_begin(&store->writer);
    if (result == 0) {
        result = find_snapshot(store, stall->payload_id, &seq, NULL, NULL);
        if (result == -ENOENT) {
            *stored_out = SBX_STORED_NEW;
            result = add_payload(store, stall, envelope, bytes, received_ms);
        } else if (result == 0) {
            result = compare_payload(store, seq, envelope, bytes, stored_out);
        }
        result = end_transaction(store, result);
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_envelope(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], struct sbx_byte_buffer *envelope_out)
{
    sbx_store_handle_lock(&store->reader);
    sqlite3_stmt *statement = sbx_store_handle_use(&store->reader, READ_ENVELOPE);
    sqlite3_bind_blob(statement, 1, id, SBX_ID_BYTES, SQLITE_STATIC);
    int result = sbx_store_step(statement);
    if (result > 0) {
        sbx_byte_buffer_append(envelope_out, sqlite3_column_blob(statement, 0),
                               (size_t)sqlite3_column_bytes(statement, 0));
        sqlite3_reset(statement);
        result = envelope_out->failed ? -ENOMEM : 0;
    } else if (result == 0) {
        result = -ENOENT;
    }
    sbx_store_handle_unlock(&store->reader);
    return result;
}

/* ---- triage's side ---- */

int sbx_store_next_pending(struct sbx_store *store, uint8_t id_out[SBX_ID_BYTES])
{
    sbx_store_handle_lock(&store->reader);
    sqlite3_stmt *statement = sbx_store_handle_use(&store->reader, NEXT_PENDING);
    int result = sbx_store_step(statement);
    if (result > 0) {
        memcpy(id_out, sqlite3_column_blob(statement, 0), SBX_ID_BYTES);
        sqlite3_reset(statement);
        result = 0;
    } else if (result == 0) {
        result = -ENOENT;
    }
    sbx_store_handle_unlock(&store->reader);
    return result;
}

/* Change a row's count of attempts, if that is below `attempts_limit`. */
static int count_attempt(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], enum writer_statement change,
                         int attempts_limit)
{
    int64_t seq;
    int attempts;
    sbx_store_handle_lock(&store->writer);
    int result = find_snapshot(store, id, &seq, &attempts, NULL);
    if (result == 0 && attempts >= attempts_limit)
        result = -EDEADLK;
    if (result == 0) {
        sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, change);
        sqlite3_bind_int64(statement, 1, seq);
        result = sbx_store_step(statement);
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_begin_triage(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES])
{
    return count_attempt(store, id, BEGIN_TRIAGE, SBX_TRIAGE_ATTEMPTS_MAX);
}

int sbx_store_put_off_triage(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES])
{
    return count_attempt(store, id, PUT_OFF_TRIAGE, INT_MAX);
}

/* Count the snapshots of an issue anew; an issue without any goes. */
static int renew_issue(struct sbx_store *store, const uint8_t issue[SBX_ID_BYTES])
{
    static const enum writer_statement steps[] = {RENEW_ISSUE, DROP_EMPTY_ISSUE};
    int result = 0;
    for (size_t i = 0; i < 2 && result == 0; i++) {
        sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, steps[i]);
        sqlite3_bind_blob(statement, 1, issue, SBX_ID_BYTES, SQLITE_STATIC);
        result = sbx_store_step(statement);
    }
    return result;
}

int sbx_store_put_verdict(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES],
                          const struct sbx_verdict_row *verdict)
{
    static const uint8_t none[SBX_ID_BYTES];
    uint8_t issue[SBX_ID_BYTES], old_issue[SBX_ID_BYTES];
    int64_t seq;
    sbx_issue_key(verdict->cause, verdict->function, verdict->module, verdict->app, issue);

    sbx_store_handle_lock(&store->writer);
    int result = sbx_store_handle_begin(&store->writer);
    if (result < 0)
        goto unlock;
    result = find_snapshot(store, id, &seq, NULL, old_issue);
    if (result == 0) {
        sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, SET_VERDICT);
        sqlite3_bind_int64(statement, 1, seq);
        sqlite3_bind_text(statement, 2, store->version, -1, SQLITE_STATIC);
        sqlite3_bind_blob(statement, 3, issue, SBX_ID_BYTES, SQLITE_STATIC);
        sqlite3_bind_text(statement, 4, verdict->app, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 5, verdict->cause, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 6, verdict->class_, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 7, verdict->function, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 8, verdict->module, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 9, verdict->headline, -1, SQLITE_STATIC);
        sqlite3_bind_double(statement, 10, verdict->confidence);
        result = sbx_store_step(statement);
        sqlite3_clear_bindings(statement); /* the strings are the caller's */
    }
    if (result == 0)
        result = renew_issue(store, issue);
    if (result == 0 && memcmp(old_issue, issue, SBX_ID_BYTES) != 0 && memcmp(old_issue, none, SBX_ID_BYTES) != 0)
        result = renew_issue(store, old_issue);
    result = end_transaction(store, result);
unlock:
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_put_failure(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], const char *reason)
{
    int64_t seq;
    sbx_store_handle_lock(&store->writer);
    int result = find_snapshot(store, id, &seq, NULL, NULL);
    if (result == 0) {
        sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, SET_FAILURE);
        sqlite3_bind_int64(statement, 1, seq);
        sqlite3_bind_text(statement, 2, store->version, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, reason, -1, SQLITE_STATIC);
        result = sbx_store_step(statement);
        sqlite3_clear_bindings(statement);
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}

/* ---- the pages' side ---- */

enum { SNAPSHOT_COLUMN_COUNT = 20 };

static void print_column_id(sqlite3_stmt *statement, int column, char text_out[SBX_ID_TEXT_BYTES])
{
    text_out[0] = '\0';
    if (sqlite3_column_bytes(statement, column) == SBX_ID_BYTES)
        sbx_id_print(sqlite3_column_blob(statement, column), text_out);
}

/* The columns of SNAPSHOT_COLUMNS, in their order. */
static void read_snapshot(sqlite3_stmt *statement, struct sbx_snapshot_row *row)
{
    *row = (struct sbx_snapshot_row){
        .seq = sqlite3_column_int64(statement, 0),
        .received_ms = sqlite3_column_int64(statement, 2),
        .created_day = (uint32_t)sqlite3_column_int64(statement, 3),
        .bytes = sqlite3_column_int64(statement, 4),
        .duration_ns = sqlite3_column_int64(statement, 6),
        .threshold_ms = (uint32_t)sqlite3_column_int64(statement, 7),
        .state = (enum sbx_triage_state)sqlite3_column_int(statement, 10),
        .confidence = sqlite3_column_double(statement, 19),
    };
    print_column_id(statement, 1, row->id_text);
    sbx_id_parse(row->id_text, sizeof(row->id_text) - 1, row->id);
    sbx_store_column_text(statement, 5, row->trigger, sizeof(row->trigger));
    sbx_store_column_text(statement, 8, row->app_build_id, sizeof(row->app_build_id));
    sbx_store_column_text(statement, 9, row->app_version, sizeof(row->app_version));
    sbx_store_column_text(statement, 11, row->failure, sizeof(row->failure));
    print_column_id(statement, 12, row->issue_text);
    sbx_store_column_text(statement, 13, row->app, sizeof(row->app));
    sbx_store_column_text(statement, 14, row->cause, sizeof(row->cause));
    sbx_store_column_text(statement, 15, row->class_, sizeof(row->class_));
    sbx_store_column_text(statement, 16, row->function, sizeof(row->function));
    sbx_store_column_text(statement, 17, row->module, sizeof(row->module));
    sbx_store_column_text(statement, 18, row->headline, sizeof(row->headline));
}

static void read_issue(sqlite3_stmt *statement, struct sbx_issue_row *row)
{
    read_snapshot(statement, &row->newest);
    snprintf(row->id_text, sizeof(row->id_text), "%s", row->newest.issue_text);
    row->hits = sqlite3_column_int64(statement, SNAPSHOT_COLUMN_COUNT);
    row->sessions = sqlite3_column_int64(statement, SNAPSHOT_COLUMN_COUNT + 1);
    row->builds = sqlite3_column_int64(statement, SNAPSHOT_COLUMN_COUNT + 2);
    row->first_ms = sqlite3_column_int64(statement, SNAPSHOT_COLUMN_COUNT + 3);
    row->last_ms = sqlite3_column_int64(statement, SNAPSHOT_COLUMN_COUNT + 4);
    row->longest_ns = sqlite3_column_int64(statement, SNAPSHOT_COLUMN_COUNT + 5);
    row->new_in_build = sqlite3_column_int(statement, SNAPSHOT_COLUMN_COUNT + 6) != 0;
}

int sbx_store_snapshots(struct sbx_store *store, const uint8_t *issue, int64_t before_seq,
                        struct sbx_snapshot_row *rows, size_t max, size_t *count_out)
{
    size_t count = 0;
    int result = 0;
    sbx_store_handle_lock(&store->reader);
    sqlite3_stmt *statement = sbx_store_handle_use(&store->reader, issue ? SNAPSHOTS_OF_ISSUE : NEWEST_SNAPSHOTS);
    sqlite3_bind_int64(statement, 1, before_seq > 0 ? before_seq : INT64_MAX);
    sqlite3_bind_int64(statement, 2, (int64_t)max);
    if (issue)
        sqlite3_bind_blob(statement, 3, issue, SBX_ID_BYTES, SQLITE_STATIC);
    while (count < max && (result = sbx_store_step(statement)) > 0)
        read_snapshot(statement, &rows[count++]);
    sqlite3_reset(statement);
    sbx_store_handle_unlock(&store->reader);
    *count_out = count;
    return result < 0 ? result : 0;
}

int sbx_store_snapshot(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], struct sbx_snapshot_row *row_out)
{
    sbx_store_handle_lock(&store->reader);
    sqlite3_stmt *statement = sbx_store_handle_use(&store->reader, ONE_SNAPSHOT);
    sqlite3_bind_blob(statement, 1, id, SBX_ID_BYTES, SQLITE_STATIC);
    int result = sbx_store_step(statement);
    if (result > 0) {
        read_snapshot(statement, row_out);
        sqlite3_reset(statement);
    }
    sbx_store_handle_unlock(&store->reader);
    return result > 0 ? 0 : result < 0 ? result : -ENOENT;
}

int sbx_store_issues(struct sbx_store *store, struct sbx_issue_row *rows, size_t max, size_t *count_out)
{
    size_t count = 0;
    int result = 0;
    sbx_store_handle_lock(&store->reader);
    sqlite3_stmt *statement = sbx_store_handle_use(&store->reader, TOP_ISSUES);
    sqlite3_bind_int64(statement, 1, (int64_t)max);
    while (count < max && (result = sbx_store_step(statement)) > 0)
        read_issue(statement, &rows[count++]);
    sqlite3_reset(statement);
    sbx_store_handle_unlock(&store->reader);
    *count_out = count;
    return result < 0 ? result : 0;
}

int sbx_store_issue(struct sbx_store *store, const uint8_t issue[SBX_ID_BYTES], struct sbx_issue_row *row_out)
{
    sbx_store_handle_lock(&store->reader);
    sqlite3_stmt *statement = sbx_store_handle_use(&store->reader, ONE_ISSUE);
    sqlite3_bind_blob(statement, 1, issue, SBX_ID_BYTES, SQLITE_STATIC);
    int result = sbx_store_step(statement);
    if (result > 0) {
        read_issue(statement, row_out);
        sqlite3_reset(statement);
    }
    sbx_store_handle_unlock(&store->reader);
    return result > 0 ? 0 : result < 0 ? result : -ENOENT;
}

/* Bytes of the database and its journals; a missing one counts nothing. */
static int64_t bytes_on_disk(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    int64_t bytes = 0;
    for (size_t i = 0; i < 3; i++) {
        char *file;
        struct stat status;
        if (asprintf(&file, "%s%s", path, suffixes[i]) < 0)
            continue;
        if (stat(file, &status) == 0)
            bytes += status.st_size;
        free(file);
    }
    return bytes;
}

int sbx_store_count(struct sbx_store *store, struct sbx_store_counts *counts_out)
{
    sbx_store_handle_lock(&store->reader);
    sqlite3_stmt *statement = sbx_store_handle_use(&store->reader, COUNT_ROWS);
    int result = sbx_store_step(statement);
    if (result > 0) {
        *counts_out = (struct sbx_store_counts){
            .snapshots = sqlite3_column_int64(statement, 0),
            .pending = sqlite3_column_int64(statement, 1),
            .failed = sqlite3_column_int64(statement, 2),
            .issues = sqlite3_column_int64(statement, 3),
            .bytes = bytes_on_disk(store->path),
        };
        sqlite3_reset(statement);
    }
    sbx_store_handle_unlock(&store->reader);
    return result > 0 ? 0 : result < 0 ? result : -EIO;
}
