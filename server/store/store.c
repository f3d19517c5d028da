/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - payloads in, verdicts in; one transaction each.
 *
 *   snapshot                                    one row a payload
 *     seq           INTEGER PRIMARY KEY         order of arrival
 *     id            BLOB(16) UNIQUE             payload id
 *     received_ms, created_day, bytes           server's clock; the client's day; envelope bytes, 0 once it was aged out
 *     session       BLOB(16)                    one process of the application
 *     app_build_id  TEXT, app_version TEXT      hex; "7.0.15"
 *     trigger TEXT, duration_ns, threshold_ms
 *     weight, one_in                            how many stalls it stands for; the reciprocal of its chance to be told
 *     state         0 pending, 1 done, 2 failed
 *     attempts                                  times triage began since it last ended
 *     triaged_by    TEXT                        server version that said it
 *     failure       TEXT
 *     issue         BLOB(16)                    NULL until triaged
 *     app, cause, class, function, module, headline TEXT; confidence REAL
 *   payload                                     apart, so that a scan of rows does not walk over bytes
 *     seq INTEGER PRIMARY KEY, envelope BLOB
 *   rotating                                    the machine's id in it, for 90 days (proto/erasure_format.h)
 *     seq INTEGER PRIMARY KEY, id BLOB(16)
 *   stall_end                                   how a stall ended that was told while it went on; it may come before that
 *     first         BLOB(16) PRIMARY KEY        payload id of the stall
 *     id, session   BLOB(16)                    of the payload that told the end; joined where the session is the stall's
 *     how, signal, duration_ns, received_ms; rotating BLOB(16) or NULL
 *   erased                                      ids whose machine wants to be forgotten
 *     id BLOB(16) PRIMARY KEY, at_ms
 *   issue                                       an aggregate of snapshot, renewed in the transaction that changes it
 *     id BLOB PRIMARY KEY, hits, sessions, builds, first_ms, last_ms, longest_ns, newest (seq), weight (sum),
 *     variance (of that sum as an estimate: docs/SAMPLING.md)
 *   module                                      code that a stall has no names for, or not the best
 *     id INTEGER PRIMARY KEY, build_id BLOB UNIQUE, name TEXT, is_runtime (build_id is a runtime's number then)
 *     made_s                                    of the symbols that came last, 0: none did
 *     next_seq                                  0, or: its stalls below this seq are to be triaged anew
 *     stalls, frames                            that have no name: an aggregate of gap, kept by triggers
 *   gap                                         which stall lacks which
 *     module, seq PRIMARY KEY; unnamed          how many frames have no name
 *   was_in                                      the issues that a stall was in until symbols came
 *     issue BLOB(16), seq PRIMARY KEY; at_ms
 *
 * user_version is the schema's version. */
#include "store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interval.h"
#include "names.h"
#include "store_inside.h"

enum {
    SCHEMA_VERSION = 3,
    APPLICATION_ID = 0x53425831 /* "SBX1" */
};

/* How many stalls have frames without a name is kept, not counted: a page asks, and there may be a million of them. */
#define SYMBOL_TABLES                                                                                              \
    "CREATE TABLE IF NOT EXISTS module(id INTEGER PRIMARY KEY, build_id BLOB NOT NULL UNIQUE, name TEXT NOT NULL," \
    " is_runtime INTEGER NOT NULL, made_s INTEGER NOT NULL DEFAULT 0, next_seq INTEGER NOT NULL DEFAULT 0,"        \
    " stalls INTEGER NOT NULL DEFAULT 0, frames INTEGER NOT NULL DEFAULT 0);"                                      \
    "CREATE INDEX IF NOT EXISTS module_renamed ON module(id) WHERE next_seq > 0;"                                  \
    "CREATE TABLE IF NOT EXISTS gap(module INTEGER NOT NULL REFERENCES module(id),"                                \
    " seq INTEGER NOT NULL REFERENCES snapshot(seq), unnamed INTEGER NOT NULL, PRIMARY KEY(module, seq)) WITHOUT " \
    "ROWID;"                                                                                                       \
    "CREATE INDEX IF NOT EXISTS gap_of_snapshot ON gap(seq);"                                                      \
    "CREATE TRIGGER IF NOT EXISTS gap_comes AFTER INSERT ON gap WHEN new.unnamed > 0 BEGIN UPDATE module SET"      \
    " stalls = stalls + 1, frames = frames + new.unnamed WHERE id = new.module; END;"                              \
    "CREATE TRIGGER IF NOT EXISTS gap_goes AFTER DELETE ON gap WHEN old.unnamed > 0 BEGIN UPDATE module SET"       \
    " stalls = stalls - 1, frames = frames - old.unnamed WHERE id = old.module; END;"                              \
    "CREATE TABLE IF NOT EXISTS was_in(issue BLOB NOT NULL, seq INTEGER NOT NULL REFERENCES snapshot(seq),"        \
    " at_ms INTEGER NOT NULL, PRIMARY KEY(issue, seq)) WITHOUT ROWID;"                                             \
    "CREATE INDEX IF NOT EXISTS was_in_of_snapshot ON was_in(seq, at_ms);"

/* WAL with synchronous=FULL: a commit returns after the journal is on disk. secure_delete: what a machine wants
 * forgotten is overwritten, not only unlinked. */
static const char writer_setup[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA journal_size_limit=16777216;"
    "PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON;"
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS snapshot(seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, received_ms INTEGER NOT "
    "NULL,"
    " created_day INTEGER NOT NULL, bytes INTEGER NOT NULL, session BLOB NOT NULL, app_build_id TEXT NOT NULL,"
    " app_version TEXT NOT NULL, trigger TEXT NOT NULL, duration_ns INTEGER NOT NULL, threshold_ms INTEGER NOT NULL,"
    " weight INTEGER NOT NULL DEFAULT 1, one_in INTEGER NOT NULL DEFAULT 1,"
    " state INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, triaged_by TEXT, failure TEXT, issue BLOB,"
    " app TEXT, cause TEXT, class TEXT, function TEXT, module TEXT, headline TEXT, confidence REAL);"
    "CREATE INDEX IF NOT EXISTS snapshot_pending ON snapshot(attempts, seq) WHERE state = 0;"
    "CREATE INDEX IF NOT EXISTS snapshot_failed ON snapshot(seq) WHERE state = 2;"
    "CREATE INDEX IF NOT EXISTS snapshot_of_issue"
    " ON snapshot(issue, seq, session, app_build_id, received_ms, duration_ns, weight, one_in);"
    "CREATE INDEX IF NOT EXISTS snapshot_of_app ON snapshot(app, received_ms, app_build_id);"
    "CREATE INDEX IF NOT EXISTS snapshot_of_build ON snapshot(app_build_id, seq);"
    "CREATE INDEX IF NOT EXISTS snapshot_received ON snapshot(received_ms);"
    "CREATE INDEX IF NOT EXISTS snapshot_with_payload ON snapshot(received_ms) WHERE bytes > 0;"
    "CREATE TABLE IF NOT EXISTS payload(seq INTEGER PRIMARY KEY REFERENCES snapshot(seq), envelope BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS rotating(seq INTEGER PRIMARY KEY REFERENCES snapshot(seq), id BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS rotating_id ON rotating(id);"
    "CREATE TABLE IF NOT EXISTS stall_end(first BLOB PRIMARY KEY, id BLOB NOT NULL, session BLOB NOT NULL,"
    " how INTEGER NOT NULL, signal INTEGER NOT NULL, duration_ns INTEGER NOT NULL, received_ms INTEGER NOT NULL,"
    " rotating BLOB) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS stall_end_rotating ON stall_end(rotating) WHERE rotating IS NOT NULL;"
    "CREATE INDEX IF NOT EXISTS stall_end_received ON stall_end(received_ms);"
    "CREATE TABLE IF NOT EXISTS erased(id BLOB PRIMARY KEY, at_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS issue(id BLOB PRIMARY KEY, hits INTEGER NOT NULL, sessions INTEGER NOT NULL,"
    " builds INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, longest_ns INTEGER NOT NULL,"
    " newest INTEGER NOT NULL REFERENCES snapshot(seq), weight INTEGER NOT NULL DEFAULT 0,"
    " variance INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS issue_by_weight ON issue(sessions DESC, hits DESC, last_ms DESC);" SYMBOL_TABLES
    "COMMIT;";

/* From schema 1: payloads without a weight stood for themselves. One transaction, like all of it. */
static const char from_schema_1[] = "BEGIN IMMEDIATE;"
                                    "ALTER TABLE snapshot ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;"
                                    "ALTER TABLE snapshot ADD COLUMN one_in INTEGER NOT NULL DEFAULT 1;"
                                    "ALTER TABLE issue ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;"
                                    "ALTER TABLE issue ADD COLUMN variance INTEGER NOT NULL DEFAULT 0;"
                                    "UPDATE issue SET weight = hits;"
                                    "DROP INDEX IF EXISTS snapshot_of_issue;"
                                    "PRAGMA user_version=2;"
                                    "COMMIT;";

/* From schema 2: what its stalls lack nobody noted. They are triaged anew in the background, as if symbols had come for a
 * module without a build-id that all of them lack. */
static const char from_schema_2[] =
    "BEGIN IMMEDIATE;" SYMBOL_TABLES
    "INSERT OR IGNORE INTO module(build_id, name, is_runtime, next_seq) VALUES(x'', '', 0, 9223372036854775807);"
    "INSERT OR IGNORE INTO gap(module, seq, unnamed) SELECT m.id, s.seq, 0 FROM module m, snapshot s"
    " WHERE m.build_id = x'' AND s.state = 1 AND s.bytes > 0;"
    "PRAGMA user_version=3;"
    "COMMIT;";

static const char reader_setup[] = "PRAGMA query_only=ON; PRAGMA trusted_schema=OFF;";

static const char *const writer_sql[WRITER_STATEMENTS] = {
    [FIND_SNAPSHOT] = "SELECT seq, issue, attempts FROM snapshot WHERE id = ?1",
    [ADD_SNAPSHOT] = "INSERT INTO snapshot(id, received_ms, created_day, bytes, session, app_build_id, app_version,"
                     " trigger, duration_ns, threshold_ms, weight, one_in)"
                     " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [ADD_PAYLOAD] = "INSERT INTO payload(seq, envelope) VALUES(?1, ?2)",
    [READ_PAYLOAD] = "SELECT envelope FROM payload WHERE seq = ?1",
    [BEGIN_TRIAGE] = "UPDATE snapshot SET attempts = attempts + 1 WHERE seq = ?1",
    [PUT_OFF_TRIAGE] = "UPDATE snapshot SET attempts = MAX(attempts - 1, 0) WHERE seq = ?1",
    [SET_VERDICT] =
        "UPDATE snapshot SET state = 1, attempts = 0, triaged_by = ?2, failure = NULL, issue = ?3, app = ?4,"
        " cause = ?5, class = ?6, function = ?7, module = ?8, headline = ?9, confidence = ?10"
        " WHERE seq = ?1",
    [SET_FAILURE] = "UPDATE snapshot SET state = 2, triaged_by = ?2, failure = ?3 WHERE seq = ?1",
    [RETRY_FAILURES] = "UPDATE snapshot SET state = 0, attempts = 0 WHERE state = 2 AND bytes > 0"
                       " AND triaged_by IS NOT ?1",
    [RENEW_ISSUE] = "INSERT OR REPLACE INTO issue(id, hits, sessions, builds, first_ms, last_ms, longest_ns, newest,"
                    " weight, variance)"
                    " SELECT issue, COUNT(*), COUNT(DISTINCT session), COUNT(DISTINCT app_build_id), MIN(received_ms),"
                    " MAX(received_ms), MAX(duration_ns), MAX(seq),"
                    " SUM(weight), SUM(one_in * (one_in - 1)) FROM snapshot WHERE issue = ?1 GROUP BY issue",
    [DROP_EMPTY_ISSUE] = "DELETE FROM issue WHERE id = ?1 AND NOT EXISTS(SELECT 1 FROM snapshot WHERE issue = ?1)",
    [ADD_ROTATING] = "INSERT INTO rotating(seq, id) VALUES(?1, ?2)",
    [ADD_ERASED] = "INSERT OR IGNORE INTO erased(id, at_ms) VALUES(?1, ?2)",
    [IS_ERASED] = "SELECT 1 FROM erased WHERE id = ?1",
    [NEXT_ERASED] =
        "SELECT s.seq, s.id, s.issue FROM rotating r JOIN snapshot s ON s.seq = r.seq WHERE r.id = ?1 LIMIT 1",
    [LEAVE_ISSUE] = "UPDATE snapshot SET issue = NULL WHERE seq = ?1",
    [DROP_PAYLOAD] = "DELETE FROM payload WHERE seq = ?1",
    [DROP_ROTATING] = "DELETE FROM rotating WHERE seq = ?1",
    [DROP_SNAPSHOT] = "DELETE FROM snapshot WHERE seq = ?1",
    [NEXT_AGED] = "SELECT seq, id, issue FROM snapshot WHERE received_ms < ?1 ORDER BY received_ms LIMIT 1",
    [NEXT_AGED_PAYLOAD] =
        "SELECT seq, id, state FROM snapshot WHERE received_ms < ?1 AND bytes > 0 ORDER BY received_ms LIMIT 1",
    [LEAVE_PAYLOAD] = "UPDATE snapshot SET bytes = 0 WHERE seq = ?1",
    [FORGET_ERASED] = "DELETE FROM erased WHERE at_ms < ?1",
    [SET_RIGHT] = "UPDATE snapshot SET received_ms = ?1 WHERE received_ms > ?2",
    [FIND_END] = "SELECT 1 FROM stall_end WHERE first = ?1",
    [ADD_END] = "INSERT INTO stall_end(first, id, session, how, signal, duration_ns, received_ms, rotating)"
                " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    /* What was said of it without its end is said anew, while there are bytes to say it of. */
    [COMPLETE_SNAPSHOT] = "UPDATE snapshot SET duration_ns = MAX(snapshot.duration_ns, e.duration_ns),"
                          " state = CASE WHEN state = 1 AND bytes > 0 THEN 0 ELSE state END"
                          " FROM stall_end e"
                          " WHERE snapshot.id = ?1 AND e.first = ?1 AND e.session = snapshot.session",
    [DROP_END] = "DELETE FROM stall_end WHERE first = (SELECT id FROM snapshot WHERE seq = ?1)",
    [ERASE_ENDS] = "DELETE FROM stall_end WHERE rotating = ?1",
    [ADD_MODULE] = "INSERT INTO module(build_id, name, is_runtime) VALUES(?1, ?2, ?3) ON CONFLICT(build_id) DO UPDATE"
                   " SET name = excluded.name WHERE excluded.name <> '' AND excluded.name <> module.name",
    [ADD_GAP] = "INSERT OR IGNORE INTO gap(module, seq, unnamed) SELECT id, ?2, ?3 FROM module WHERE build_id = ?1",
    [COUNT_GAPS_OF] = "SELECT COUNT(*), TOTAL(unnamed) FROM gap WHERE seq = ?1",
    [DROP_GAPS] = "DELETE FROM gap WHERE seq = ?1",
    [ADD_WAS_IN] = "INSERT OR REPLACE INTO was_in(issue, seq, at_ms) VALUES(?1, ?2, ?3)",
    [LEAVE_WAS_IN] = "DELETE FROM was_in WHERE issue = ?1 AND seq = ?2",
    [DROP_WAS_IN] = "DELETE FROM was_in WHERE seq = ?1",
    [SYMBOLS_CAME] = "UPDATE module SET made_s = ?2, next_seq = 9223372036854775807 WHERE build_id = ?1",
    [COUNT_GAPS] = "SELECT COUNT(*) FROM gap g JOIN module m ON m.id = g.module WHERE m.build_id = ?1",
    [NEXT_RENAMED] = "SELECT m.id, m.next_seq, (SELECT MAX(g.seq) FROM gap g WHERE g.module = m.id AND g.seq <"
                     " m.next_seq) FROM module m WHERE m.next_seq > 0 LIMIT 1",
    [READ_ID] = "SELECT id FROM snapshot WHERE seq = ?1",
    [END_RENAMED] = "UPDATE module SET next_seq = ?3 WHERE id = ?1 AND next_seq = ?2",
    [ALL_GAPS] = "SELECT build_id, made_s FROM module m WHERE NOT is_runtime AND EXISTS(SELECT 1 FROM gap g WHERE"
                 " g.module = m.id)",
    [FORGET_MODULES] = "DELETE FROM module WHERE next_seq = 0 AND NOT EXISTS(SELECT 1 FROM gap g WHERE"
                       " g.module = module.id)",
    [FORGET_ENDS] = "DELETE FROM stall_end WHERE received_ms < ?1 AND first NOT IN (SELECT id FROM snapshot)",
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
        char *pragmas =
            sqlite3_mprintf("PRAGMA user_version=%d; PRAGMA application_id=%d;", SCHEMA_VERSION, APPLICATION_ID);
        if (!pragmas || sqlite3_exec(db, pragmas, NULL, NULL, NULL) != SQLITE_OK) {
            snprintf(why, why_bytes, "%s: %s", store->path, sqlite3_errmsg(db));
            result = -EIO;
        }
        sqlite3_free(pragmas);
    }
    static const char *const steps[] = {from_schema_1, from_schema_2}; /* by the version they begin at */
    for (; result == 0 && version > 0 && version < SCHEMA_VERSION; version++) {
        if (sqlite3_exec(db, steps[version - 1], NULL, NULL, NULL) != SQLITE_OK) {
            snprintf(why, why_bytes, "%s: %s", store->path, sqlite3_errmsg(db));
            result = -EIO;
        }
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
        result = sbx_store_handle_open(&store->reader, store->path, reader_setup, sbx_store_reader_sql,
                                       SBX_READER_STATEMENTS, why, why_bytes);
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
    if (row < 0)
        return row;
    if (row == 0) { /* aged out: nobody can compare any more, and it was stored */
        *stored_out = SBX_STORED_BEFORE;
        return 0;
    }
    bool is_equal = (size_t)sqlite3_column_bytes(statement, 0) == bytes &&
                    memcmp(sqlite3_column_blob(statement, 0), envelope, bytes) == 0;
    *stored_out = is_equal ? SBX_STORED_BEFORE : SBX_STORED_CONFLICT;
    sqlite3_reset(statement);
    return 0;
}

/* How long a stall lasted. Who asks for a snapshot by hand asks about the last seconds, whatever message is open. */
static int64_t duration_of(const struct sbx_stall *stall)
{
    struct sbx_interval judged = sbx_interval_judged(stall);
    return stall->trigger.kind == SBX_TRIGGER_MANUAL ? judged.end_ns - judged.begin_ns : stall->trigger.duration_ns;
}

/* Give a stall its end, where both are there. The writer's transaction is open. */
static int complete(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES])
{
    sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, COMPLETE_SNAPSHOT);
    sqlite3_bind_blob(statement, 1, id, SBX_ID_BYTES, SQLITE_STATIC);
    int result = sbx_store_step(statement);
    sqlite3_clear_bindings(statement);
    return result;
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
    sqlite3_bind_int64(statement, 9, duration_of(stall));
    sqlite3_bind_int64(statement, 10, stall->trigger.threshold_ms);
    sqlite3_bind_int64(statement, 11, stall->sampling.weight);
    sqlite3_bind_int64(statement, 12, stall->sampling.one_in);
    int result = sbx_store_step(statement);
    if (result < 0)
        return result;

    int64_t seq = sqlite3_last_insert_rowid(store->writer.db);
    statement = sbx_store_handle_use(&store->writer, ADD_PAYLOAD);
    sqlite3_bind_int64(statement, 1, seq);
    sqlite3_bind_blob64(statement, 2, envelope, bytes, SQLITE_STATIC);
    result = sbx_store_step(statement);
    sqlite3_clear_bindings(statement); /* `build_id`, `version` and the envelope end with this call */
    if (result == 0 && stall->has_rotating_id) {
        statement = sbx_store_handle_use(&store->writer, ADD_ROTATING);
        sqlite3_bind_int64(statement, 1, seq);
        sqlite3_bind_blob(statement, 2, stall->rotating_id, SBX_ROTATING_ID_BYTES, SQLITE_STATIC);
        result = sbx_store_step(statement);
    }
    return result == 0 ? complete(store, stall->payload_id) : result;
}

/* Keep how a stall ended, the first that is told of it, and complete the stall if it is there. The same. */
static int add_end(struct sbx_store *store, const struct sbx_stall *end, int64_t received_ms,
                   enum sbx_stored *stored_out)
{
    uint8_t issue[SBX_ID_BYTES];
    static const uint8_t none[SBX_ID_BYTES];
    int64_t seq;
    sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, FIND_END);
    sqlite3_bind_blob(statement, 1, end->completes, SBX_ID_BYTES, SQLITE_STATIC);
    int result = sbx_store_step(statement);
    sqlite3_reset(statement);
    *stored_out = result > 0 ? SBX_STORED_BEFORE : SBX_STORED_NEW;
    if (result != 0)
        return result < 0 ? result : 0;
    statement = sbx_store_handle_use(&store->writer, ADD_END);
    sqlite3_bind_blob(statement, 1, end->completes, SBX_ID_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 2, end->payload_id, SBX_ID_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 3, end->session_id, SBX_ID_BYTES, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, end->end.how);
    sqlite3_bind_int64(statement, 5, end->end.signal);
    sqlite3_bind_int64(statement, 6, end->end.duration_ns);
    sqlite3_bind_int64(statement, 7, received_ms);
    if (end->has_rotating_id)
        sqlite3_bind_blob(statement, 8, end->rotating_id, SBX_ROTATING_ID_BYTES, SQLITE_STATIC);
    result = sbx_store_step(statement);
    sqlite3_clear_bindings(statement);
    if (result == 0)
        result = complete(store, end->completes);
    if (result == 0) {
        result = sbx_store_find(store, end->completes, &seq, NULL, issue);
        if (result == 0 && memcmp(issue, none, SBX_ID_BYTES) != 0)
            result = sbx_store_renew_issue(store, issue); /* it may be the longest now */
        result = result == -ENOENT ? 0 : result;          /* the stall comes later, or never */
    }
    return result;
}

/* Does its machine want to be forgotten? 1, 0 or -errno; the writer's lock is held. */
static int is_erased(struct sbx_store *store, const struct sbx_stall *stall)
{
    if (!stall->has_rotating_id)
        return 0;
    sqlite3_stmt *statement = sbx_store_handle_use(&store->writer, IS_ERASED);
    sqlite3_bind_blob(statement, 1, stall->rotating_id, SBX_ROTATING_ID_BYTES, SQLITE_STATIC);
    int result = sbx_store_step(statement);
    sqlite3_reset(statement);
    return result;
}

int sbx_store_find(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], int64_t *seq_out, int *attempts_out,
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

int sbx_store_end(struct sbx_store *store, int result)
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
        result = sbx_store_find(store, stall->payload_id, &seq, NULL, NULL);
        if (result == -ENOENT) {
            result = is_erased(store, stall);
            *stored_out = result > 0 ? SBX_STORED_BEFORE : SBX_STORED_NEW; /* its sender need not try again */
            if (result != 0)
                result = result < 0 ? result : 0;
            else if (sbx_stall_is_end(stall))
                result = add_end(store, stall, received_ms, stored_out);
            else
                result = add_payload(store, stall, envelope, bytes, received_ms);
        } else if (result == 0) {
            result = compare_payload(store, seq, envelope, bytes, stored_out);
        }
        result = sbx_store_end(store, result);
    }
    sbx_store_handle_unlock(&store->writer);
    return result;
}

/* ---- triage's side ---- */

/* Change a row's count of attempts, if that is below `attempts_limit`. */
static int count_attempt(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], enum writer_statement change,
                         int attempts_limit)
{
    int64_t seq;
    int attempts;
    sbx_store_handle_lock(&store->writer);
    int result = sbx_store_find(store, id, &seq, &attempts, NULL);
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

int sbx_store_renew_issue(struct sbx_store *store, const uint8_t issue[SBX_ID_BYTES])
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
    bool lacks_less = false;
    int64_t seq;
    sbx_issue_key(verdict->cause, verdict->function, verdict->module, verdict->app, issue);

    sbx_store_handle_lock(&store->writer);
    int result = sbx_store_handle_begin(&store->writer);
    if (result < 0)
        goto unlock;
    result = sbx_store_find(store, id, &seq, NULL, old_issue);
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
        result = sbx_store_put_gaps(store, seq, verdict, &lacks_less);
    if (result == 0) /* whoever has it triaged anew: a page that was looked at may be faster than the mark */
        result = sbx_store_note_issue(store, seq, old_issue, issue, lacks_less);
    if (result == 0)
        result = sbx_store_renew_issue(store, issue);
    if (result == 0 && memcmp(old_issue, issue, SBX_ID_BYTES) != 0 && memcmp(old_issue, none, SBX_ID_BYTES) != 0)
        result = sbx_store_renew_issue(store, old_issue);
    result = sbx_store_end(store, result);
unlock:
    sbx_store_handle_unlock(&store->writer);
    return result;
}

int sbx_store_put_failure(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], const char *reason)
{
    int64_t seq;
    sbx_store_handle_lock(&store->writer);
    int result = sbx_store_find(store, id, &seq, NULL, NULL);
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
