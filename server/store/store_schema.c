/* SPDX-License-Identifier: Apache-2.0 */
/* store_schema.c - the tables, what older servers left in their place, and every statement of the writer.
 *
 *   snapshot                                    one row a payload
 *     seq           INTEGER PRIMARY KEY         order of arrival
 *     id            BLOB(16) UNIQUE             payload id
 *     received_ms, created_day, bytes           server's clock; the client's day; envelope bytes, 0 once it was aged out
 *     session       BLOB(16)                    one process of the application
 *     process, machine                          hashes of the session, and of the machine's id, or of the session where it has none
 *     app_build_id  TEXT, app_version TEXT      hex; "7.0.15"
 *     trigger TEXT, duration_ns, threshold_ms
 *     weight, one_in                            how many stalls it stands for; the reciprocal of its chance to be told
 *     state         0 pending, 1 done, 2 failed
 *     attempts                                  times triage began since it last ended
 *     triaged_by    TEXT                        server version that said it
 *     failure       TEXT
 *     place         INTEGER                     NULL until triaged
 *     whole         INTEGER                     of its application: -app.num. NULL where it has no place
 *     tenant        INTEGER                     the application that it says it is of, 0 none; NULL: it came before that was kept
 *     day, build                                its rows among the sums; day: the client's where the server's clock can believe it
 *     bucket                                    of its duration (duration_sketch.h); NULL: it has none
 *     app, cause, class, function, module, headline TEXT; confidence REAL
 *     blob TEXT, digest BLOB(32)                the key of its bytes, where they lie outside (store_blobs.h); their SHA-256
 *   blob_debt                                   keys that must not have bytes, from when on that is sure; 0: at once
 *     key TEXT PRIMARY KEY, at_ms
 *   payload                                     apart, so that a scan of rows does not walk over bytes
 *     seq INTEGER PRIMARY KEY, envelope BLOB
 *   rotating                                    the machine's id in it, for 90 days (proto/erasure_format.h)
 *     seq INTEGER PRIMARY KEY, id BLOB(16)
 *   stall_end                                   how a stall ended that was told while it went on; it may come before that
 *     first         BLOB(16) PRIMARY KEY        payload id of the stall
 *     id, session   BLOB(16)                    of the payload that told the end; joined where the session is the stall's
 *     how, signal, duration_ns, received_ms; rotating BLOB(16) or NULL
 *   kin                                         whose process it was, of those that fork from one another, and which moment it was: stalls
 *     seq INTEGER PRIMARY KEY                   of both alike overlapped
 *     family BLOB(16), moment
 *   kin_holder                                  by session, the other processes that its threads waited for
 *     seq, session BLOB(16)
 *   erased                                      ids whose machine wants to be forgotten
 *     id BLOB(16) PRIMARY KEY, at_ms
 *   build                                       a version of an application
 *     num INTEGER PRIMARY KEY, tenant, version, build_id TEXT, rank (of the version), sure (machines with an id: --min-machines)
 *   place                                       a key of docs/GROUPING.md: what is summed
 *     num INTEGER PRIMARY KEY, id BLOB(16) UNIQUE, issue, path TEXT, rules; tenant: of all its stalls
 *     hits, weight, variance, sessions, machines, builds, sure; first_ms, last_ms, longest_ns, newest (seq)
 *   issue                                       one place, or several that a person put together
 *     num INTEGER PRIMARY KEY, id BLOB(16) UNIQUE, state, until, until_rank, owner, note, changed_ms, is_touched (by a person)
 *   alias                                       addresses of issues that are another one now
 *     id BLOB(16) PRIMARY KEY, issue
 *   app                                         what its stalls say that they are of
 *     num INTEGER PRIMARY KEY, tenant, name; machines: distinct ones
 *   fact, spread, label                         sums of a place, day and build: all of it, by duration, by what was said of it. A place that
 *                                               is negative is a whole application's (-app.num), and day -1 is all days together
 *   said                                        what a stall adds to label: kind, word, ns. It is taken back with the same
 *   met, met_day                                how often a place (a place, day and build) met a process, machine, build: `who` is a hash
 *                                               (machine_sample.h), of a build its number. fact.machines is how many it met,
 *                                               fact.machine_days the sum of that over days
 *   summed                                      a view: what each stall is in the sums as, four times
 *   profile                                     where a stall's time went (stall_profile.h); a trigger takes it away with its snapshot
 *     seq INTEGER PRIMARY KEY, text TEXT
 *   active                                      machine-days that were told without a stall (store_active.h)
 *     tenant, day, version PRIMARY KEY; machines
 *   word                                        texts, as numbers
 *   module                                      code that a stall has no names for, or not the best
 *     id INTEGER PRIMARY KEY, build_id BLOB UNIQUE, name TEXT, is_runtime (build_id is a runtime's number then)
 *     made_s                                    of the symbols that came last, 0: none did
 *     next_seq                                  0, or: its stalls below this seq are to be triaged anew
 *     stalls, frames                            that have no name: an aggregate of gap, kept by triggers
 *   gap                                         which stall lacks which
 *     module, seq PRIMARY KEY; unnamed          how many frames have no name
 *   arrival                                     symbols that came lately, for other servers of the database
 *     num INTEGER PRIMARY KEY, who (which server took them), build_id BLOB, made_s
 *   symbol_sender                               for which applications symbols of all were sent, by older servers
 *     build_id BLOB, tenant
 *   was_in                                      the places that a stall was in before it was triaged anew
 *     issue BLOB(16), seq PRIMARY KEY; at_ms
 *
 * user_version is the schema's version. */
#include "store_schema.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>

#include "duration_sketch.h"
#include "machine_sample.h"

enum {
    SCHEMA_VERSION = 8,
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
    "CREATE TABLE IF NOT EXISTS arrival(num INTEGER PRIMARY KEY AUTOINCREMENT, who INTEGER NOT NULL,"              \
    " build_id BLOB NOT NULL, made_s INTEGER NOT NULL);"                                                           \
    "CREATE TABLE IF NOT EXISTS was_in(issue BLOB NOT NULL, seq INTEGER NOT NULL REFERENCES snapshot(seq),"        \
    " at_ms INTEGER NOT NULL, PRIMARY KEY(issue, seq)) WITHOUT ROWID;"                                             \
    "CREATE INDEX IF NOT EXISTS was_in_of_snapshot ON was_in(seq, at_ms);"

/* Two applications may call a version the same, and the machines of one do not make a build of the other a common one. */
#define BUILD_COLUMNS                                                                                             \
    "(num INTEGER PRIMARY KEY, tenant INTEGER NOT NULL DEFAULT 0, version TEXT NOT NULL, build_id TEXT NOT NULL," \
    " rank INTEGER NOT NULL, sure INTEGER NOT NULL DEFAULT 0, UNIQUE(tenant, version, build_id))"

#define MET_TABLES                                                                                             \
    "CREATE TABLE IF NOT EXISTS met(kind INTEGER NOT NULL, of INTEGER NOT NULL, who INTEGER NOT NULL,"         \
    " count INTEGER NOT NULL, PRIMARY KEY(kind, of, who)) WITHOUT ROWID;"                                      \
    "CREATE INDEX IF NOT EXISTS met_gone ON met(kind) WHERE count <= 0;"                                       \
    "CREATE TABLE IF NOT EXISTS met_day(place INTEGER NOT NULL, day INTEGER NOT NULL, build INTEGER NOT NULL," \
    " who INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(place, day, build, who)) WITHOUT ROWID;"

/* What is said of places, builds and days: sums, which are added to and subtracted from. How many distinct machines, sessions and
 * builds a place met is kept by triggers, and so is which words are used. */
#define SUM_TABLES                                                                                                     \
    "CREATE TABLE IF NOT EXISTS build" BUILD_COLUMNS ";"                                                               \
    "CREATE TABLE IF NOT EXISTS app(num INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, name TEXT NOT NULL,"             \
    " machines INTEGER NOT NULL DEFAULT 0, UNIQUE(tenant, name));"                                                     \
    "CREATE TABLE IF NOT EXISTS issue(num INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,"                               \
    " state INTEGER NOT NULL DEFAULT 0, until TEXT NOT NULL DEFAULT '', until_rank INTEGER NOT NULL DEFAULT 0,"        \
    " owner TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '', changed_ms INTEGER NOT NULL DEFAULT 0,"           \
    " is_touched INTEGER NOT NULL DEFAULT 0);"                                                                         \
    "CREATE TABLE IF NOT EXISTS place(num INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,"                               \
    " issue INTEGER NOT NULL REFERENCES issue(num), path TEXT NOT NULL DEFAULT '', rules INTEGER NOT NULL DEFAULT 0,"  \
    " hits INTEGER NOT NULL DEFAULT 0, weight INTEGER NOT NULL DEFAULT 0, variance INTEGER NOT NULL DEFAULT 0,"        \
    " sessions INTEGER NOT NULL DEFAULT 0, machines INTEGER NOT NULL DEFAULT 0, builds INTEGER NOT NULL DEFAULT 0,"    \
    " sure INTEGER NOT NULL DEFAULT 0, first_ms INTEGER NOT NULL DEFAULT 0, last_ms INTEGER NOT NULL DEFAULT 0,"       \
    " longest_ns INTEGER NOT NULL DEFAULT 0, newest INTEGER NOT NULL DEFAULT 0, tenant INTEGER);"                      \
    "CREATE INDEX IF NOT EXISTS place_of_issue ON place(issue);"                                                       \
    "CREATE TABLE IF NOT EXISTS alias(id BLOB PRIMARY KEY, issue INTEGER NOT NULL REFERENCES issue(num)) WITHOUT "     \
    "ROWID;"                                                                                                           \
    "CREATE INDEX IF NOT EXISTS alias_of_issue ON alias(issue);"                                                       \
    "CREATE TABLE IF NOT EXISTS fact(place INTEGER NOT NULL, day INTEGER NOT NULL, build INTEGER NOT NULL,"            \
    " hits INTEGER NOT NULL, weight INTEGER NOT NULL, variance INTEGER NOT NULL, machines INTEGER NOT NULL DEFAULT 0," \
    " machine_days INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(place, day, build)) WITHOUT ROWID;"                         \
    "CREATE TABLE IF NOT EXISTS spread(place INTEGER NOT NULL, day INTEGER NOT NULL, build INTEGER NOT NULL,"          \
    " bucket INTEGER NOT NULL, weight INTEGER NOT NULL, PRIMARY KEY(place, day, build, bucket)) WITHOUT ROWID;"        \
    "CREATE TABLE IF NOT EXISTS word(num INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, used INTEGER NOT NULL "       \
    "DEFAULT 0);"                                                                                                      \
    "CREATE INDEX IF NOT EXISTS word_unused ON word(num) WHERE used = 0;"                                              \
    "CREATE TABLE IF NOT EXISTS said(seq INTEGER NOT NULL, kind INTEGER NOT NULL, word INTEGER NOT NULL,"              \
    " us INTEGER NOT NULL, PRIMARY KEY(seq, kind, word)) WITHOUT ROWID;"                                               \
    "CREATE TABLE IF NOT EXISTS label(place INTEGER NOT NULL, kind INTEGER NOT NULL, word INTEGER NOT NULL,"           \
    " day INTEGER NOT NULL, build INTEGER NOT NULL, hits INTEGER NOT NULL, weight INTEGER NOT NULL,"                   \
    " us INTEGER NOT NULL, PRIMARY KEY(place, day, build, kind, word)) WITHOUT ROWID;" MET_TABLES                      \
    "CREATE TABLE IF NOT EXISTS profile(seq INTEGER PRIMARY KEY, text TEXT NOT NULL);"                                 \
    "CREATE TABLE IF NOT EXISTS active(tenant INTEGER NOT NULL, version TEXT NOT NULL, day INTEGER NOT NULL,"          \
    " machines INTEGER NOT NULL, PRIMARY KEY(tenant, day, version)) WITHOUT ROWID;"                                    \
    "CREATE INDEX IF NOT EXISTS active_of_day ON active(day);"                                                         \
    "CREATE TRIGGER IF NOT EXISTS snapshot_goes AFTER DELETE ON snapshot BEGIN"                                        \
    " DELETE FROM profile WHERE seq = old.seq; END;"                                                                   \
    "CREATE TRIGGER IF NOT EXISTS word_comes AFTER INSERT ON said BEGIN"                                               \
    " UPDATE word SET used = used + 1 WHERE num = new.word; END;"                                                      \
    "CREATE TRIGGER IF NOT EXISTS word_goes AFTER DELETE ON said BEGIN"                                                \
    " UPDATE word SET used = used - 1 WHERE num = old.word; END;"                                                      \
    "CREATE TRIGGER IF NOT EXISTS met_comes AFTER INSERT ON met BEGIN"                                                 \
    " UPDATE place SET sessions = sessions + (new.kind = 0), machines = machines + (new.kind = 1),"                    \
    " builds = builds + (new.kind = 2), sure = sure + (new.kind = 3) WHERE num = new.of AND new.kind < 4;"             \
    " UPDATE app SET machines = machines + 1 WHERE num = -new.of AND new.kind = 1;"                                    \
    " UPDATE build SET sure = sure + 1 WHERE num = new.of AND new.kind = 4; END;"                                      \
    "CREATE TRIGGER IF NOT EXISTS met_goes AFTER DELETE ON met BEGIN"                                                  \
    " UPDATE place SET sessions = sessions - (old.kind = 0), machines = machines - (old.kind = 1),"                    \
    " builds = builds - (old.kind = 2), sure = sure - (old.kind = 3) WHERE num = old.of AND old.kind < 4;"             \
    " UPDATE app SET machines = machines - 1 WHERE num = -old.of AND old.kind = 1;"                                    \
    " UPDATE build SET sure = sure - 1 WHERE num = old.of AND old.kind = 4; END;"                                      \
    "CREATE TRIGGER IF NOT EXISTS met_day_comes AFTER INSERT ON met_day BEGIN UPDATE fact SET machines = machines + 1" \
    " WHERE place = new.place AND day = new.day AND build = new.build; UPDATE fact SET machine_days = machine_days + " \
    "1"                                                                                                                \
    " WHERE new.day >= 0 AND place = new.place AND day IN (-1, new.day) AND build = new.build; END;"                   \
    "CREATE TRIGGER IF NOT EXISTS met_day_goes AFTER DELETE ON met_day BEGIN UPDATE fact SET machines = machines - 1"  \
    " WHERE place = old.place AND day = old.day AND build = old.build; UPDATE fact SET machine_days = machine_days - " \
    "1"                                                                                                                \
    " WHERE old.day >= 0 AND place = old.place AND day IN (-1, old.day) AND build = old.build; END;"

/* ---- one stall among the sums, or all of them: `sign` is 1 or -1 ---- */

#define SUM_FACT(from, sign, condition)                                                                           \
    "INSERT INTO fact(place, day, build, hits, weight, variance) SELECT s.place, s.day, s.build, " sign ", " sign \
    " * s.weight, " sign " * s.one_in * (s.one_in - 1) FROM " from " s WHERE " condition                          \
    " AND s.place IS NOT NULL ON CONFLICT(place, day, build) DO UPDATE SET hits = hits + excluded.hits,"          \
    " weight = weight + excluded.weight, variance = variance + excluded.variance"
#define SUM_SPREAD(from, sign, condition)                                                                          \
    "INSERT INTO spread(place, day, build, bucket, weight) SELECT s.place, s.day, s.build, s.bucket, " sign        \
    " * s.weight FROM " from " s WHERE " condition " AND s.place IS NOT NULL AND s.bucket IS NOT NULL ON CONFLICT" \
    "(place, day, build, bucket) DO UPDATE SET weight = weight + excluded.weight"
#define SUM_LABEL(from, sign, condition)                                                                         \
    "INSERT INTO label(place, kind, word, day, build, hits, weight, us) SELECT s.place, d.kind, d.word, s.day,"  \
    " s.build, " sign ", " sign " * s.weight, " sign " * s.weight * d.us FROM " from " s JOIN said d ON d.seq =" \
    " s.seq WHERE " condition " AND s.place IS NOT NULL ON CONFLICT(place, day, build, kind, word) DO UPDATE"    \
    " SET hits = hits + excluded.hits, weight = weight + excluded.weight, us = us + excluded.us"
/* Processes, machines, builds; machines that have an id, of the place and of the build; machines of the application. Without an id a process
 * is a machine. `process`, `machine`: how they are told. */
#define WHO_IS_MET(process, machine, whole, condition)                                                                \
    "(SELECT 0 AS kind, s.place AS of, " process " AS who FROM snapshot s WHERE " condition                           \
    " UNION ALL SELECT 1, s.place, " machine " FROM snapshot s WHERE " condition whole                                \
    " UNION ALL SELECT 2, s.place, s.build FROM snapshot s WHERE " condition " UNION ALL SELECT 3, s.place, " machine \
    " FROM snapshot s JOIN rotating o ON o.seq = s.seq WHERE " condition " UNION ALL SELECT 4, s.build, " machine     \
    " FROM snapshot s JOIN rotating o ON o.seq = s.seq WHERE s.place IS NOT NULL AND " condition ")"
#define MACHINE_OF_WHOLE(condition) " UNION ALL SELECT 1, s.whole, s.machine FROM snapshot s WHERE " condition
#define SUM_MET(process, machine, whole, sign, condition)                                    \
    "INSERT INTO met(kind, of, who, count) SELECT kind, of, who, " sign " FROM " WHO_IS_MET( \
        process, machine, whole,                                                             \
        condition) " w WHERE of IS NOT NULL ON CONFLICT(kind, of, who) DO UPDATE SET count = count + excluded.count"
#define SUM_MET_DAY(from, machine, sign, condition)                                                              \
    "INSERT INTO met_day(place, day, build, who, count) SELECT s.place, s.day, s.build, " machine ", " sign      \
    " FROM " from " s WHERE " condition " AND s.place IS NOT NULL ON CONFLICT(place, day, build, who) DO UPDATE" \
    " SET count = count + excluded.count"
#define OF_STALL(columns) "(SELECT " columns " FROM summed s WHERE s.seq = ?1)"

/* The client's day where the server can believe it: a payload waits for a month at most, and clocks differ. */
#define DAY_OF(created, received)                                                                              \
    "CASE WHEN " created " BETWEEN " received " / 86400000 - 60 AND " received " / 86400000 + 1 THEN " created \
    " ELSE " received " / 86400000 END"

/* WAL with synchronous=FULL: a commit returns after the journal is on disk. secure_delete: what a machine wants
 * forgotten is overwritten, not only unlinked. */
const char sbx_store_writer_setup[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA journal_size_limit=16777216;"
    "PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON;"
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS snapshot(seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, received_ms INTEGER NOT "
    "NULL,"
    " created_day INTEGER NOT NULL, bytes INTEGER NOT NULL, session BLOB NOT NULL, app_build_id TEXT NOT NULL,"
    " app_version TEXT NOT NULL, trigger TEXT NOT NULL, duration_ns INTEGER NOT NULL, threshold_ms INTEGER NOT NULL,"
    " weight INTEGER NOT NULL DEFAULT 1, one_in INTEGER NOT NULL DEFAULT 1,"
    " state INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, triaged_by TEXT, failure TEXT,"
    " app TEXT, cause TEXT, class TEXT, function TEXT, module TEXT, headline TEXT, confidence REAL,"
    " place INTEGER, day INTEGER NOT NULL DEFAULT 0, build INTEGER NOT NULL DEFAULT 0, bucket INTEGER,"
    " tenant INTEGER, blob TEXT, digest BLOB, whole INTEGER, process INTEGER NOT NULL DEFAULT 0,"
    " machine INTEGER NOT NULL DEFAULT 0);"
    "CREATE INDEX IF NOT EXISTS snapshot_pending ON snapshot(attempts, seq) WHERE state = 0;"
    "CREATE INDEX IF NOT EXISTS snapshot_failed ON snapshot(seq) WHERE state = 2;"
    "CREATE INDEX IF NOT EXISTS snapshot_of_place ON snapshot(place);" /* and by seq */
    "CREATE INDEX IF NOT EXISTS snapshot_of_place_received ON snapshot(place, received_ms);"
    "CREATE INDEX IF NOT EXISTS snapshot_of_place_duration ON snapshot(place, duration_ns);"
    "CREATE INDEX IF NOT EXISTS snapshot_of_app ON snapshot(app, received_ms, app_build_id);"
    "CREATE INDEX IF NOT EXISTS snapshot_of_build ON snapshot(app_build_id, seq);"
    "CREATE INDEX IF NOT EXISTS snapshot_with_blob ON snapshot(seq) WHERE blob IS NOT NULL;"
    "CREATE TABLE IF NOT EXISTS blob_debt(key TEXT PRIMARY KEY, at_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS blob_debt_at ON blob_debt(at_ms);"
    "CREATE INDEX IF NOT EXISTS snapshot_of_tenant ON snapshot(tenant, seq);"
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
    "CREATE TABLE IF NOT EXISTS symbol_sender(build_id BLOB NOT NULL, tenant INTEGER NOT NULL, PRIMARY KEY(build_id,"
    " tenant)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS kin(seq INTEGER PRIMARY KEY, family BLOB NOT NULL, moment INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS kin_of_moment ON kin(family, moment);"
    "CREATE TABLE IF NOT EXISTS kin_holder(seq INTEGER NOT NULL, session BLOB NOT NULL, PRIMARY KEY(seq, session)) "
    "WITHOUT"
    " ROWID;"
    "CREATE TRIGGER IF NOT EXISTS kin_goes AFTER DELETE ON snapshot BEGIN DELETE FROM kin WHERE seq = old.seq;"
    " DELETE FROM kin_holder WHERE seq = old.seq; END;"
    "CREATE TABLE IF NOT EXISTS erased(id BLOB PRIMARY KEY, at_ms INTEGER NOT NULL) WITHOUT ROWID;" SYMBOL_TABLES
        SUM_TABLES "CREATE VIEW IF NOT EXISTS summed AS " SBX_SUMMED "COMMIT;";

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

#define DAY_OF_SNAPSHOT DAY_OF("created_day", "received_ms")
#define SUM_OF_ALL                                                                              \
    SUM_FACT("snapshot", "1", "TRUE")                                                           \
    ";" SUM_SPREAD("snapshot", "1", "TRUE") ";" SUM_LABEL("snapshot", "1", "TRUE") ";" SUM_MET( \
        "s.session", SBX_MACHINE, "", "1", "TRUE") ";" SUM_MET_DAY("snapshot", SBX_MACHINE, "1", "TRUE") ";"
/* Tables and triggers of schema 6 that are others now. */
#define SUM_TABLES_OF_6                                                                                                \
    "CREATE TABLE fact(place INTEGER NOT NULL, day INTEGER NOT NULL, build INTEGER NOT NULL,"                          \
    " hits INTEGER NOT NULL, weight INTEGER NOT NULL, variance INTEGER NOT NULL, machines INTEGER NOT NULL DEFAULT 0," \
    " PRIMARY KEY(place, day, build)) WITHOUT ROWID;"                                                                  \
    "CREATE TABLE met_day(place INTEGER NOT NULL, day INTEGER NOT NULL, build INTEGER NOT NULL,"                       \
    " who NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(place, day, build, who)) WITHOUT ROWID;"                       \
    "CREATE TRIGGER met_day_comes AFTER INSERT ON met_day BEGIN UPDATE fact SET machines = machines + 1"               \
    " WHERE place = new.place AND day = new.day AND build = new.build; END;"                                           \
    "CREATE TRIGGER met_day_goes AFTER DELETE ON met_day BEGIN SELECT 1; END;"

/* From schema 3: an issue was one verdict, and it is a place now. Everything is summed once; what was said before keeps its issue
 * until it is triaged anew in the background, and then leaves an alias. */
static const char from_schema_3[] =
    "BEGIN IMMEDIATE;"
    "DROP TABLE issue; DROP INDEX IF EXISTS snapshot_of_issue;" SUM_TABLES_OF_6 SUM_TABLES
    "ALTER TABLE snapshot ADD COLUMN place INTEGER;"
    "ALTER TABLE snapshot ADD COLUMN day INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE snapshot ADD COLUMN build INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE snapshot ADD COLUMN bucket INTEGER;"
    "INSERT OR IGNORE INTO build(version, build_id, rank)"
    " SELECT DISTINCT app_version, app_build_id, version_rank(app_version) FROM snapshot;"
    "INSERT INTO issue(id) SELECT DISTINCT issue FROM snapshot WHERE issue IS NOT NULL;"
    "INSERT INTO place(id, issue) SELECT id, num FROM issue;"
    "UPDATE snapshot SET day = " DAY_OF_SNAPSHOT ", bucket = duration_bucket(duration_ns),"
    " build = (SELECT b.num FROM build b WHERE b.version = app_version AND b.build_id = app_build_id),"
    " place = (SELECT p.num FROM place p WHERE p.id = snapshot.issue);"
    "INSERT OR IGNORE INTO word(text) SELECT DISTINCT cause FROM snapshot WHERE place IS NOT NULL"
    " UNION SELECT DISTINCT function FROM snapshot WHERE place IS NOT NULL AND function <> '';"
    "INSERT INTO said(seq, kind, word, us) SELECT s.seq, 0, w.num, s.duration_ns / 1000"
    " FROM snapshot s JOIN word w ON w.text = s.cause WHERE s.place IS NOT NULL;"
    "INSERT INTO said(seq, kind, word, us) SELECT s.seq, 2, w.num, s.duration_ns / 1000"
    " FROM snapshot s JOIN word w ON w.text = s.function WHERE s.place IS NOT NULL AND s.function <> '';" SUM_OF_ALL
    "UPDATE place SET (hits, weight, variance, first_ms, last_ms, longest_ns, newest) ="
    " (SELECT COUNT(*), SUM(s.weight), SUM(s.one_in * (s.one_in - 1)), MIN(s.received_ms),"
    " MAX(s.received_ms), MAX(s.duration_ns), MAX(s.seq) FROM snapshot s WHERE s.place = place.num);"
    "ALTER TABLE snapshot DROP COLUMN issue;"
    "ALTER TABLE place DROP COLUMN tenant;" /* the next step's */
    "INSERT OR IGNORE INTO module(build_id, name, is_runtime) VALUES(x'', '', 0);"
    "UPDATE module SET next_seq = 9223372036854775807 WHERE build_id = x'';"
    "INSERT OR IGNORE INTO gap(module, seq, unnamed) SELECT m.id, s.seq, 0 FROM module m, snapshot s"
    " WHERE m.build_id = x'' AND s.state = 1 AND s.bytes > 0;"
    "PRAGMA user_version=4;"
    "COMMIT;";

/* From schema 4: whose a stall is nobody kept. It is triaged anew in the background, and is seen by nobody but who may see all until
 * then. */
static const char from_schema_4[] =
    "BEGIN IMMEDIATE;"
    "DROP TRIGGER IF EXISTS met_comes; DROP TRIGGER IF EXISTS met_goes;" /* they name the table that is made anew */
    "ALTER TABLE snapshot ADD COLUMN tenant INTEGER;"
    "ALTER TABLE place ADD COLUMN tenant INTEGER;"
    "CREATE TABLE build_of_5" BUILD_COLUMNS ";"
    "INSERT INTO build_of_5(num, version, build_id, rank, sure) SELECT num, version, build_id, rank, sure FROM build;"
    "DROP TABLE build; ALTER TABLE build_of_5 RENAME TO build;"
    "CREATE TABLE IF NOT EXISTS sealed(seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, key_id BLOB NOT NULL,"
    " digest BLOB NOT NULL, received_ms INTEGER NOT NULL, envelope BLOB, failed_by TEXT, failure TEXT);"
    "ALTER TABLE sealed ADD COLUMN tenant INTEGER NOT NULL DEFAULT 0;"
    "INSERT OR IGNORE INTO module(build_id, name, is_runtime) VALUES(x'', '', 0);"
    "UPDATE module SET next_seq = 9223372036854775807 WHERE build_id = x'';"
    "INSERT OR IGNORE INTO gap(module, seq, unnamed) SELECT m.id, s.seq, 0 FROM module m, snapshot s"
    " WHERE m.build_id = x'' AND s.state = 1 AND s.bytes > 0;"
    "PRAGMA user_version=5;"
    "COMMIT;";

/* From schema 5: all bytes lay in the database, and stay there. */
static const char from_schema_5[] = "BEGIN IMMEDIATE;"
                                    "ALTER TABLE snapshot ADD COLUMN blob TEXT;"
                                    "ALTER TABLE snapshot ADD COLUMN digest BLOB;"
                                    "PRAGMA user_version=6;"
                                    "COMMIT;";

/* From schema 6: sums were of places by day alone. What is said of whole applications, and of all days, is summed once. */
static const char from_schema_6[] =
    "BEGIN IMMEDIATE;"
    "DROP TRIGGER IF EXISTS met_comes; DROP TRIGGER IF EXISTS met_goes; DROP TRIGGER IF EXISTS met_day_comes;"
    "DROP TRIGGER IF EXISTS met_day_goes;"
    "ALTER TABLE snapshot ADD COLUMN whole INTEGER;"
    "ALTER TABLE fact ADD COLUMN machine_days INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE label RENAME TO label_of_6;"
    "CREATE TABLE label(place INTEGER NOT NULL, kind INTEGER NOT NULL, word INTEGER NOT NULL,"
    " day INTEGER NOT NULL, build INTEGER NOT NULL, hits INTEGER NOT NULL, weight INTEGER NOT NULL,"
    " us INTEGER NOT NULL, PRIMARY KEY(place, day, build, kind, word)) WITHOUT ROWID;"
    "INSERT INTO label SELECT * FROM label_of_6 ORDER BY place, day, build, kind, word; DROP TABLE label_of_6;"
    "CREATE TABLE IF NOT EXISTS app(num INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, name TEXT NOT NULL,"
    " machines INTEGER NOT NULL DEFAULT 0, UNIQUE(tenant, name));" SBX_SUM_WHOLES "PRAGMA user_version=7;"
    "COMMIT;";

/* From schema 7: who was met was known by an id, and is by a hash of it. */
static const char from_schema_7[] =
    "BEGIN IMMEDIATE;"
    "DROP TRIGGER IF EXISTS met_comes; DROP TRIGGER IF EXISTS met_goes; DROP TRIGGER IF EXISTS met_day_comes;"
    "DROP TRIGGER IF EXISTS met_day_goes; DROP VIEW IF EXISTS summed;"
    "ALTER TABLE snapshot ADD COLUMN process INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE snapshot ADD COLUMN machine INTEGER NOT NULL DEFAULT 0;"
    "UPDATE snapshot AS s SET process = machine_hash(s.session), machine = machine_hash(" SBX_MACHINE ");"
    "DROP INDEX IF EXISTS met_gone; ALTER TABLE met RENAME TO met_of_7; ALTER TABLE met_day RENAME TO "
    "met_day_of_7;" MET_TABLES
    "INSERT INTO met(kind, of, who, count) SELECT kind, of, CASE kind WHEN 2 THEN who ELSE machine_hash(who) END, count"
    " FROM met_of_7 ORDER BY 1, 2, 3; DROP TABLE met_of_7;"
    "INSERT INTO met_day(place, day, build, who, count) SELECT place, day, build, machine_hash(who), count FROM"
    " met_day_of_7 ORDER BY 1, 2, 3, 4; DROP TABLE met_day_of_7; PRAGMA user_version=8;"
    "COMMIT;";

const char sbx_store_reader_setup[] = "PRAGMA query_only=ON; PRAGMA trusted_schema=OFF;";

const char *const sbx_store_writer_sql[WRITER_STATEMENTS] = {
    [FIND_SNAPSHOT] = "SELECT seq, place, attempts FROM snapshot WHERE id = ?1",
    [ADD_SNAPSHOT] = "INSERT INTO snapshot(id, received_ms, created_day, bytes, session, app_build_id, app_version,"
                     " trigger, duration_ns, threshold_ms, weight, one_in, bucket, tenant, process, machine, day,"
                     " build) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, " DAY_OF(
                         "?3", "?2") ", num"
                                     " FROM build WHERE tenant = ?14 AND version = ?7 AND build_id = ?6",
    [ADD_BUILD] = "INSERT OR IGNORE INTO build(version, build_id, rank, tenant) VALUES(?1, ?2, ?3, ?4)",
    [ADD_PAYLOAD] = "INSERT INTO payload(seq, envelope) VALUES(?1, ?2)",
    [READ_PAYLOAD] = "SELECT envelope FROM payload WHERE seq = ?1",
    [BEGIN_TRIAGE] = "UPDATE snapshot SET attempts = attempts + 1 WHERE seq = ?1",
    [PUT_OFF_TRIAGE] = "UPDATE snapshot SET attempts = MAX(attempts - 1, 0) WHERE seq = ?1",
    [SET_VERDICT] = "UPDATE snapshot SET state = 1, attempts = 0, triaged_by = ?2, failure = NULL, app = ?4,"
                    " cause = ?5, class = ?6, function = ?7, module = ?8, headline = ?9, confidence = ?10,"
                    " tenant = COALESCE(tenant, ?11)"
                    " WHERE seq = ?1",
    [SET_FAILURE] = "UPDATE snapshot SET state = 2, triaged_by = ?2, failure = ?3 WHERE seq = ?1",
    [RETRY_FAILURES] = "UPDATE snapshot SET state = 0, attempts = 0 WHERE state = 2 AND bytes > 0"
                       " AND triaged_by IS NOT ?1",
    [ADD_FACT] = SUM_FACT("summed", "?2", "s.seq = ?1"),
    [ADD_SPREAD] = SUM_SPREAD("summed", "?2", "s.seq = ?1"),
    [ADD_LABELS] = SUM_LABEL("summed", "?2", "s.seq = ?1"),
    [ADD_MET] = SUM_MET("s.process", "s.machine", MACHINE_OF_WHOLE("s.seq = ?1"), "?2", "s.seq = ?1"),
    [ADD_MET_DAY] = SUM_MET_DAY("summed", "s.machine", "?2", "s.seq = ?1"),
    [ADD_TO_PLACE] = "UPDATE place SET hits = hits + ?2, weight = place.weight + ?2 * s.weight, variance = variance +"
                     " ?2 * s.one_in * (s.one_in - 1) FROM snapshot s WHERE s.seq = ?1 AND place.num = s.place",
    /* Its machine apart from the rest: within a row of four SQLite would look at all machines of the other three. */
    [DROP_MET_DAY] =
        "DELETE FROM met_day WHERE count <= 0 AND who = (SELECT s.machine FROM snapshot s WHERE s.seq = ?1) AND (place,"
        " day, build) IN " OF_STALL("s.place, s.day, s.build"),
    [DROP_MET] =
        "DELETE FROM met INDEXED BY met_gone WHERE count <= 0", /* those of the stall at hand: others never are */
    [DROP_LABELS] = "DELETE FROM label WHERE hits <= 0 AND (place, kind, word, day, build) IN (SELECT s.place, d.kind,"
                    " d.word, s.day, s.build FROM summed s JOIN said d ON d.seq = s.seq WHERE s.seq = ?1)",
    [DROP_SPREAD] = "DELETE FROM spread WHERE weight <= 0 AND (place, day, build, bucket) IN " OF_STALL(
        "s.place, s.day, s.build, s.bucket"),
    [DROP_FACT] = "DELETE FROM fact WHERE hits <= 0 AND (place, day, build) IN " OF_STALL("s.place, s.day, s.build"),
    [ADD_WORD] = "INSERT OR IGNORE INTO word(text) VALUES(?1)",
    [ADD_SAID] = "INSERT OR IGNORE INTO said(seq, kind, word, us) SELECT ?1, ?2, num, ?4 FROM word WHERE text = ?3",
    [DROP_SAID] = "DELETE FROM said WHERE seq = ?1",
    [ADD_PROFILE] = "INSERT OR REPLACE INTO profile(seq, text) VALUES(?1, ?2)",
    [DROP_PROFILE] = "DELETE FROM profile WHERE seq = ?1",
    [FORGET_WORDS] = "DELETE FROM word WHERE used = 0",
    [FIND_PLACE] = "SELECT num, issue, tenant FROM place WHERE id = ?1",
    [ADD_ISSUE] = "INSERT INTO issue(id, is_touched) VALUES(?1, ?2)",
    [ADD_PLACE] = "INSERT INTO place(id, issue, tenant) VALUES(?1, ?2, ?3)",
    [NAME_PLACE] = "UPDATE place SET path = ?2, rules = ?3, tenant = ?4 WHERE num = ?1 AND (path <> ?2 OR rules <> ?3"
                   " OR tenant IS NULL)",
    [SET_PLACE] = "UPDATE snapshot SET place = ?2, whole = (SELECT -a.num FROM app a WHERE a.tenant ="
                  " COALESCE(snapshot.tenant, 0) AND a.name = COALESCE(snapshot.app, '')) WHERE seq = ?1",
    [ADD_APP] = "INSERT OR IGNORE INTO app(tenant, name) SELECT COALESCE(tenant, 0), COALESCE(app, '') FROM snapshot"
                " WHERE seq = ?1",
    [FORGET_APPS] = "DELETE FROM app WHERE NOT EXISTS(SELECT 1 FROM fact f WHERE f.place = -app.num)",
    [RENEW_PLACE] = "UPDATE place SET first_ms = COALESCE((SELECT MIN(received_ms) FROM snapshot WHERE place = ?1), 0),"
                    " last_ms = COALESCE((SELECT MAX(received_ms) FROM snapshot WHERE place = ?1), 0),"
                    " longest_ns = COALESCE((SELECT MAX(duration_ns) FROM snapshot WHERE place = ?1), 0),"
                    " newest = COALESCE((SELECT MAX(seq) FROM snapshot WHERE place = ?1), 0) WHERE num = ?1",
    [READ_PLACE] = "SELECT p.hits, p.issue, i.is_touched, p.id = i.id, (SELECT COUNT(*) FROM place o WHERE o.issue ="
                   " p.issue), i.id FROM place p JOIN issue i ON i.num = p.issue WHERE p.num = ?1",
    [DROP_PLACE] = "DELETE FROM place WHERE num = ?1",
    [DROP_ALIASES] = "DELETE FROM alias WHERE issue = ?1",
    [DROP_ISSUE] = "DELETE FROM issue WHERE num = ?1",
    [MOVE_PLACES] = "UPDATE place SET issue = ?2 WHERE issue = ?1",
    [MOVE_PLACE] = "UPDATE place SET issue = ?2 WHERE num = ?1",
    [MOVE_ALIASES] = "UPDATE alias SET issue = ?2 WHERE issue = ?1",
    [ADD_ALIAS] = "INSERT OR REPLACE INTO alias(id, issue) VALUES(?1, ?2)",
    [DROP_ALIAS] = "DELETE FROM alias WHERE id = ?1",
    [FIND_ISSUE] =
        "SELECT i.num, i.is_touched, (SELECT p.tenant FROM place p WHERE p.issue = i.num LIMIT 1) FROM issue i"
        " WHERE i.id = ?1 AND (?2 = 0 OR NOT EXISTS(SELECT 1 FROM place x WHERE x.issue = i.num AND"
        " x.tenant IS NOT ?2))",
    [CHANGE_ISSUE] = "UPDATE issue SET state = ?2, until = ?3, until_rank = ?4, owner = ?5, note = ?6, changed_ms = ?7,"
                     " is_touched = 1 WHERE num = ?1",
    [TOUCH_ISSUE] = "UPDATE issue SET is_touched = 1 WHERE num = ?1",
    /* Muted until a version that has come, or resolved and back: in a version that is not older than the one it was to be gone
     * in. */
    [WAKE_ISSUE] = "UPDATE issue SET state = CASE issue.state WHEN 1 THEN 0 ELSE 3 END, changed_ms = s.received_ms"
                   " FROM snapshot s JOIN place p ON p.num = s.place JOIN build b ON b.num = s.build WHERE s.seq = ?1"
                   " AND issue.num = p.issue AND ((issue.state = 1 AND issue.until_rank > 0 AND b.rank >="
                   " issue.until_rank) OR (issue.state = 2 AND s.received_ms > issue.changed_ms AND b.rank >="
                   " issue.until_rank))",
    [SET_BUCKET] = "UPDATE snapshot SET bucket = ?2 WHERE seq = ?1",
    [READ_DURATION] = "SELECT duration_ns FROM snapshot WHERE seq = ?1",
    [ADD_ROTATING] = "INSERT INTO rotating(seq, id) VALUES(?1, ?2)",
    [ADD_KIN] = "INSERT INTO kin(seq, family, moment) VALUES(?1, ?2, ?3)",
    [ADD_KIN_HOLDER] = "INSERT OR IGNORE INTO kin_holder(seq, session) VALUES(?1, ?2)",
    [ADD_ERASED] = "INSERT OR IGNORE INTO erased(id, at_ms) VALUES(?1, ?2)",
    [IS_ERASED] = "SELECT 1 FROM erased WHERE id = ?1",
    [NEXT_ERASED] =
        "SELECT s.seq, s.id, s.place FROM rotating r JOIN snapshot s ON s.seq = r.seq WHERE r.id = ?1 LIMIT 1",
    [LEAVE_PLACE] = "UPDATE snapshot SET place = NULL, whole = NULL WHERE seq = ?1",
    [DROP_PAYLOAD] = "DELETE FROM payload WHERE seq = ?1",
    [DROP_ROTATING] = "DELETE FROM rotating WHERE seq = ?1",
    [DROP_SNAPSHOT] = "DELETE FROM snapshot WHERE seq = ?1",
    [NEXT_AGED] = "SELECT seq, id, place FROM snapshot WHERE received_ms < ?1 ORDER BY received_ms LIMIT 1",
    [NEXT_AGED_PAYLOAD] =
        "SELECT seq, id, state FROM snapshot WHERE received_ms < ?1 AND bytes > 0 ORDER BY received_ms LIMIT 1",
    [LEAVE_PAYLOAD] = "UPDATE snapshot SET bytes = 0, blob = NULL WHERE seq = ?1",
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
    [ADD_WAS_IN] = "INSERT OR REPLACE INTO was_in(issue, seq, at_ms) SELECT id, ?2, ?3 FROM place WHERE num = ?1",
    [LEAVE_WAS_IN] = "DELETE FROM was_in WHERE issue = (SELECT id FROM place WHERE num = ?1) AND seq = ?2",
    [DROP_WAS_IN] = "DELETE FROM was_in WHERE seq = ?1",
    [ADD_ARRIVAL] = "INSERT INTO arrival(who, build_id, made_s) VALUES(?1, ?2, ?3)",
    [FORGET_ARRIVALS] = "DELETE FROM arrival WHERE num < (SELECT MAX(num) FROM arrival) - ?1",
    [NEWEST_ARRIVAL] = "SELECT COALESCE(MAX(num), 0) FROM arrival",
    [NEXT_ARRIVAL] = "SELECT num, build_id, made_s FROM arrival WHERE num > ?1 AND who <> ?2 ORDER BY num LIMIT 1",
    [SYMBOLS_CAME] = "UPDATE module SET made_s = ?2, next_seq = 9223372036854775807 WHERE build_id = ?1",
    [COUNT_GAPS] = "SELECT COUNT(*) FROM gap g JOIN module m ON m.id = g.module WHERE m.build_id = ?1",
    [NEXT_RENAMED] = "SELECT m.id, m.next_seq, (SELECT MAX(g.seq) FROM gap g WHERE g.module = m.id AND g.seq <"
                     " m.next_seq) FROM module m WHERE m.next_seq > 0 LIMIT 1",
    [COUNT_GAPS_OF_TENANT] =
        "SELECT COUNT(*) FROM gap g JOIN module m ON m.id = g.module JOIN snapshot s ON s.seq = g.seq"
        " WHERE m.build_id = ?1 AND s.tenant = ?2",
    [READ_BLOB] = "SELECT blob, digest FROM snapshot WHERE seq = ?1",
    [SET_BLOB] = "UPDATE snapshot SET blob = ?2, digest = ?3 WHERE seq = ?1",
    [HAS_BLOBS] = "SELECT 1 FROM snapshot WHERE blob IS NOT NULL LIMIT 1",
    [ADD_DEBT] = "INSERT OR REPLACE INTO blob_debt(key, at_ms) VALUES(?1, ?2)",
    [DROP_DEBT] = "DELETE FROM blob_debt WHERE key = ?1",
    [NEXT_DEBT] = "SELECT key FROM blob_debt WHERE at_ms < ?1 LIMIT 1",
    [OWE_BLOB] =
        "INSERT OR REPLACE INTO blob_debt(key, at_ms) SELECT blob, 0 FROM snapshot WHERE seq = ?1 AND blob IS NOT"
        " NULL",
    [READ_ID] = "SELECT id FROM snapshot WHERE seq = ?1",
    [READ_TENANT] = "SELECT tenant FROM snapshot WHERE seq = ?1",
    [END_RENAMED] = "UPDATE module SET next_seq = ?3 WHERE id = ?1 AND next_seq = ?2",
    [ALL_GAPS] = "SELECT DISTINCT m.build_id, m.made_s, s.tenant FROM module m JOIN gap g ON g.module = m.id"
                 " JOIN snapshot s ON s.seq = g.seq WHERE m.is_runtime = 0 ORDER BY m.build_id",
    [FORGET_MADE] = "UPDATE module SET made_s = 0 WHERE is_runtime = 0 AND id IN (SELECT g.module FROM gap g WHERE"
                    " g.seq = ?1)",
    [FORGET_MODULES] = "DELETE FROM module WHERE next_seq = 0 AND NOT EXISTS(SELECT 1 FROM gap g WHERE"
                       " g.module = module.id)",
    [COUNT_ACTIVE] = "SELECT COUNT(*) FROM active WHERE day = ?1",
    [GROW_ACTIVE] = "UPDATE active SET machines = machines + ?4 WHERE tenant = ?1 AND day = ?2 AND version = ?3",
    [ADD_ACTIVE] = "INSERT INTO active(tenant, day, version, machines) VALUES(?1, ?2, ?3, ?4)",
    [FORGET_ACTIVE] = "DELETE FROM active WHERE day < ?1",
    [FORGET_ENDS] = "DELETE FROM stall_end WHERE received_ms < ?1 AND first NOT IN (SELECT id FROM snapshot)",
};

/* ---- from older schemas ---- */

int64_t sbx_version_rank(const char *version)
{
    int64_t rank = 0;
    for (int part = 0; part < 3; part++) {
        int64_t number = 0;
        for (; *version >= '0' && *version <= '9'; version++)
            number = number < 999999 ? number * 10 + (*version - '0') : number;
        rank = rank * 1000000 + (number < 999999 ? number : 999999);
        version += *version == '.';
    }
    return rank;
}

static void call_version_rank(sqlite3_context *context, int count, sqlite3_value **values)
{
    const unsigned char *text = count == 1 ? sqlite3_value_text(values[0]) : NULL;
    sqlite3_result_int64(context, text ? sbx_version_rank((const char *)text) : 0);
}

static void call_machine_hash(sqlite3_context *context, int count, sqlite3_value **values)
{
    int64_t hash;
    if (count == 1 && sqlite3_value_bytes(values[0]) == SBX_ID_BYTES &&
        sbx_machine_hash(sqlite3_value_blob(values[0]), &hash) == 0)
        sqlite3_result_int64(context, hash);
    else
        sqlite3_result_error(context, "an id that is none", -1);
}

static void call_duration_bucket(sqlite3_context *context, int count, sqlite3_value **values)
{
    int64_t duration_ns = count == 1 ? sqlite3_value_int64(values[0]) : 0;
    if (duration_ns > 0)
        sqlite3_result_int(context, sbx_duration_bucket(duration_ns));
    else
        sqlite3_result_null(context);
}

/* What the steps call. */
static int add_functions(sqlite3 *db)
{
    static const struct {
        const char *name;
        void (*call)(sqlite3_context *context, int count, sqlite3_value **values);
    } functions[] = {{"version_rank", call_version_rank},
                     {"duration_bucket", call_duration_bucket},
                     {"machine_hash", call_machine_hash}};
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && code == SQLITE_OK; i++)
        code = sqlite3_create_function(db, functions[i].name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                       functions[i].call, NULL, NULL);
    return code;
}

/* Pragmas of a fresh file are zero; ours are set once and a newer schema is left alone. */
int sbx_store_renew_schema(struct sbx_store *store, char *why, size_t why_bytes)
{
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    int result = -EIO, version = 0;
    if (sqlite3_open_v2(store->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        version = sqlite3_column_int(statement, 0);
        result = add_functions(db) == SQLITE_OK ? 0 : -ENOMEM;
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
    static const char *const steps[] = {from_schema_1, from_schema_2, from_schema_3, from_schema_4,
                                        from_schema_5, from_schema_6, from_schema_7}; /* by the version they begin at */
    for (; result == 0 && version > 0 && version < SCHEMA_VERSION; version++) {
        /* A step sorts what a million stalls said. */
        if (sqlite3_exec(db, "PRAGMA cache_size=-65536", NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(db, steps[version - 1], NULL, NULL, NULL) != SQLITE_OK) {
            snprintf(why, why_bytes, "%s: %s", store->path, sqlite3_errmsg(db));
            result = -EIO;
        }
    }
    sqlite3_close(db);
    return result;
}
