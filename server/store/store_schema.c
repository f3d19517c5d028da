/* SPDX-License-Identifier: Apache-2.0 */
/* store_schema.c - the tables, and the steps from the tables of older servers.
 *
 *   snapshot                                    one row per payload
 *     seq           INTEGER PRIMARY KEY         order of arrival
 *     id            BLOB(16) UNIQUE             payload id
 *     received_ms, created_day, bytes           server's clock; the client's day; envelope bytes, 0 when aged out
 *     session       BLOB(16)                    one process of the application
 *     process, machine                          hashes of the session and of the machine's id (no id: of the session)
 *     app_build_id  TEXT, app_version TEXT      hex; "7.0.15"
 *     trigger TEXT, duration_ns, threshold_ms
 *     weight, one_in                            number of stalls it stands for; reported with the chance 1 / one_in
 *     state         0 pending, 1 done, 2 failed
 *     attempts                                  times triage began since it last ended
 *     triaged_by    TEXT                        server version that triaged it
 *     failure       TEXT
 *     place         INTEGER                     NULL until triaged
 *     whole         INTEGER                     -app.num of its application; NULL when it has no place
 *     tenant        INTEGER                     the application that it names, 0: none; NULL: older than this column
 *     day, build                                its rows in the sums; day: the client's, if plausible by the server's
 *     bucket                                    bucket of its duration (duration_sketch.h); NULL: it has none
 *     app, cause, class, function, module, headline TEXT; confidence REAL
 *     blob TEXT, digest BLOB(32)                key of its bytes when they are outside (store_blobs.h); their SHA-256
 *   blob_debt                                   keys that must not have bytes, and when to settle them; 0: now
 *     key TEXT PRIMARY KEY, at_ms
 *   payload                                     a table of its own, so that a scan of snapshots reads no bytes
 *     seq INTEGER PRIMARY KEY, envelope BLOB
 *   rotating                                    the machine's id in a payload, for 90 days (proto/erasure_format.h)
 *     seq INTEGER PRIMARY KEY, id BLOB(16)
 *   stall_end                                   the end of a stall that was reported before it ended; may come first
 *     first         BLOB(16) PRIMARY KEY        payload id of the stall
 *     id, session   BLOB(16)                    of the payload with the end; joined when the stall has the same session
 *     how, signal, duration_ns, received_ms; rotating BLOB(16) or NULL
 *   kin                                         family: processes that forked from one another. Stalls with the same
 *     seq INTEGER PRIMARY KEY                   family and moment overlapped
 *     family BLOB(16), moment
 *   kin_holder                                  sessions of the other processes that its threads waited for
 *     seq, session BLOB(16)
 *   erased                                      ids of machines that asked for erasure
 *     id BLOB(16) PRIMARY KEY, at_ms
 *   erasing                                     those of them whose stalls are not all erased
 *     id BLOB(16) PRIMARY KEY, at_ms
 *   build                                       a version of an application
 *     num INTEGER PRIMARY KEY, tenant, version, build_id TEXT, rank (of the version), sure (machines with an id: --min-machines)
 *   place                                       a key of docs/GROUPING.md; stalls are summed by it
 *     num INTEGER PRIMARY KEY, id BLOB(16) UNIQUE, issue, path TEXT, rules; tenant: of all its stalls
 *     hits, weight, variance, sessions, machines, builds, sure; first_ms, last_ms, longest_ns, newest (seq)
 *   issue                                       one place, or several that a person put together
 *     num INTEGER PRIMARY KEY, id BLOB(16) UNIQUE, state, until, until_rank, owner, note, changed_ms, is_touched (by a person)
 *   alias                                       old addresses of issues that are part of another issue now
 *     id BLOB(16) PRIMARY KEY, issue
 *   app                                         an application, as stalls name it
 *     num INTEGER PRIMARY KEY, tenant, name; machines: distinct ones
 *   fact, spread, label                         sums of a place, day and build: in total, by duration, by label. A
 *                                               negative place is a whole application (-app.num); day -1 is all days
 *   said                                        what a stall adds to label: kind, word, us; subtracted later
 *   met, met_day                                how often a place (a place, day and build) met a process, machine, build: `who` is a hash
 *                                               (machine_sample.h), or the number of a build. fact.machines: how many,
 *                                               fact.machine_days: their sum over days
 *   summed                                      a view: the four rows by which each stall is in the sums
 *   profile                                     where a stall's time went (stall_profile.h); a trigger removes it
 *     seq INTEGER PRIMARY KEY, text TEXT
 *   active                                      reported machine-days (store_active.h)
 *     tenant, day, version PRIMARY KEY; machines
 *   word                                        numbers of texts. Each application has its own rows, so that two never
 *     num INTEGER PRIMARY KEY, tenant, text     write the same one. tenant 0: of older servers. used: by rows of said
 *   module                                      code for which a stall has no names, or not the best ones
 *     id INTEGER PRIMARY KEY, build_id BLOB UNIQUE, name TEXT, is_runtime (build_id is a runtime's number then)
 *     made_s                                    time of the latest symbols, 0: none came
 *     next_seq                                  0, or its stalls below this seq must be triaged again
 *   gap                                         which stall lacks which module
 *     module, tenant, seq PRIMARY KEY; unnamed  frames without a name
 *   lack                                        what the stalls of an application lack: sums of gap, kept by triggers
 *     module, tenant PRIMARY KEY; gaps, stalls (of gaps with frames that have no name), frames
 *   arrival                                     symbols that came recently, for other servers of the database
 *     num INTEGER PRIMARY KEY, who (which server took them), build_id BLOB, made_s
 *   symbol_sender                               applications that sent symbols now stored for all (older servers)
 *     build_id BLOB, tenant
 *   was_in                                      issues that a stall was in before it was triaged again
 *     issue BLOB(16), seq PRIMARY KEY; at_ms
 *
 * user_version is the schema's version. */
#include "store_schema.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>

#include "duration_sketch.h"
#include "machine_sample.h"
#include "sql.h"
#include "store_sum_sql.h"

enum {
    SCHEMA_VERSION = 9,
    APPLICATION_ID = 0x53425831 /* "SBX1" */
};

#define MODULE_TABLE                                                                                               \
    "CREATE TABLE IF NOT EXISTS module(id INTEGER PRIMARY KEY, build_id BLOB NOT NULL UNIQUE, name TEXT NOT NULL," \
    " is_runtime INTEGER NOT NULL, made_s INTEGER NOT NULL DEFAULT 0, next_seq INTEGER NOT NULL DEFAULT 0"
#define WAS_IN_TABLE                                                                                        \
    "CREATE TABLE IF NOT EXISTS was_in(issue BLOB NOT NULL, seq INTEGER NOT NULL REFERENCES snapshot(seq)," \
    " at_ms INTEGER NOT NULL, PRIMARY KEY(issue, seq)) WITHOUT ROWID;"
/* From the time before the sums of what an application lacks. */
#define SYMBOL_TABLES_OF_8                                                                                             \
    MODULE_TABLE ", stalls INTEGER NOT NULL DEFAULT 0, frames INTEGER NOT NULL DEFAULT 0);"                            \
                 "CREATE TABLE IF NOT EXISTS gap(module INTEGER NOT NULL REFERENCES module(id),"                       \
                 " seq INTEGER NOT NULL REFERENCES snapshot(seq), unnamed INTEGER NOT NULL, PRIMARY KEY(module, seq))" \
                 " WITHOUT ROWID;" WAS_IN_TABLE
#define GAP_TABLES                                                                                                \
    "CREATE TABLE IF NOT EXISTS gap(module INTEGER NOT NULL REFERENCES module(id), tenant INTEGER NOT NULL,"      \
    " seq INTEGER NOT NULL REFERENCES snapshot(seq), unnamed INTEGER NOT NULL, PRIMARY KEY(module, tenant, seq))" \
    " WITHOUT ROWID;"                                                                                             \
    "CREATE TABLE IF NOT EXISTS lack(module INTEGER NOT NULL REFERENCES module(id), tenant INTEGER NOT NULL,"     \
    " gaps INTEGER NOT NULL DEFAULT 0, stalls INTEGER NOT NULL DEFAULT 0, frames INTEGER NOT NULL DEFAULT 0,"     \
    " PRIMARY KEY(module, tenant)) WITHOUT ROWID;"
/* The number of stalls with unnamed frames is stored, because pages show it and there may be a million of them. */
#define SYMBOL_TABLES                                                                                             \
    MODULE_TABLE                                                                                                  \
    ");" GAP_TABLES "CREATE INDEX IF NOT EXISTS module_renamed ON module(id) WHERE next_seq > 0;"                 \
    "CREATE INDEX IF NOT EXISTS gap_of_snapshot ON gap(seq);"                                                     \
    "CREATE TRIGGER IF NOT EXISTS gap_comes AFTER INSERT ON gap BEGIN INSERT OR IGNORE INTO lack(module, tenant)" \
    " VALUES(new.module, new.tenant); UPDATE lack SET gaps = gaps + 1, stalls = stalls + (new.unnamed > 0),"      \
    " frames = frames + new.unnamed WHERE module = new.module AND tenant = new.tenant; END;"                      \
    "CREATE TRIGGER IF NOT EXISTS gap_goes AFTER DELETE ON gap BEGIN UPDATE lack SET gaps = gaps - 1,"            \
    " stalls = stalls - (old.unnamed > 0), frames = frames - old.unnamed WHERE module = old.module AND"           \
    " tenant = old.tenant; END;"                                                                                  \
    "CREATE TABLE IF NOT EXISTS arrival(num INTEGER PRIMARY KEY AUTOINCREMENT, who INTEGER NOT NULL,"             \
    " build_id BLOB NOT NULL, made_s INTEGER NOT NULL);" WAS_IN_TABLE                                             \
    "CREATE INDEX IF NOT EXISTS was_in_of_snapshot ON was_in(seq, at_ms);"

#define WORD_COLUMNS                                                                                                  \
    "(num INTEGER PRIMARY KEY, tenant INTEGER NOT NULL DEFAULT 0, text TEXT NOT NULL, used INTEGER NOT NULL DEFAULT " \
    "0,"                                                                                                              \
    " UNIQUE(tenant, text))"

/* Two applications may have the same version, and a build of one must not count as common because of machines of the
 * other. */
#define BUILD_COLUMNS                                                                                             \
    "(num INTEGER PRIMARY KEY, tenant INTEGER NOT NULL DEFAULT 0, version TEXT NOT NULL, build_id TEXT NOT NULL," \
    " rank INTEGER NOT NULL, sure INTEGER NOT NULL DEFAULT 0, UNIQUE(tenant, version, build_id))"

#define MET_TABLES                                                                                             \
    "CREATE TABLE IF NOT EXISTS met(kind INTEGER NOT NULL, of INTEGER NOT NULL, who INTEGER NOT NULL,"         \
    " count INTEGER NOT NULL, PRIMARY KEY(kind, of, who)) WITHOUT ROWID;"                                      \
    "CREATE INDEX IF NOT EXISTS met_gone ON met(kind) WHERE count <= 0;"                                       \
    "CREATE TABLE IF NOT EXISTS met_day(place INTEGER NOT NULL, day INTEGER NOT NULL, build INTEGER NOT NULL," \
    " who INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(place, day, build, who)) WITHOUT ROWID;"

/* Sums of places, builds and days, which stalls are added to and subtracted from. Triggers keep the number of distinct
 * machines, sessions and builds of a place, and of the uses of a word. */
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
    "CREATE TABLE IF NOT EXISTS word" WORD_COLUMNS ";"                                                                 \
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

/* WAL with synchronous=FULL: a commit returns when the journal is on disk. secure_delete: erased data is overwritten,
 * not only unlinked. */
const char sbx_store_writer_setup[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA journal_size_limit=16777216;"
    "PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY; PRAGMA "
    "cache_size=-32768;" SBX_GOING_TABLES "BEGIN IMMEDIATE;"
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
    "CREATE INDEX IF NOT EXISTS snapshot_of_place ON snapshot(place);" /* rows of one place are in order of seq */
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
    "CREATE TABLE IF NOT EXISTS erased(id BLOB PRIMARY KEY, at_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS erasing(id BLOB PRIMARY KEY, at_ms INTEGER NOT NULL) WITHOUT ROWID;" SYMBOL_TABLES
        SUM_TABLES "CREATE VIEW IF NOT EXISTS summed AS " SBX_SUMMED "COMMIT;";

/* From schema 1: payloads without a weight stood for themselves. Each step is one transaction. */
static const char from_schema_1[] = "BEGIN IMMEDIATE;"
                                    "ALTER TABLE snapshot ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;"
                                    "ALTER TABLE snapshot ADD COLUMN one_in INTEGER NOT NULL DEFAULT 1;"
                                    "ALTER TABLE issue ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;"
                                    "ALTER TABLE issue ADD COLUMN variance INTEGER NOT NULL DEFAULT 0;"
                                    "UPDATE issue SET weight = hits;"
                                    "DROP INDEX IF EXISTS snapshot_of_issue;"
                                    "PRAGMA user_version=2;"
                                    "COMMIT;";

/* From schema 2: it did not store what stalls lack. All stalls are triaged again in the background, as if symbols had
 * come for a module without a build-id that all of them lack. */
static const char from_schema_2[] =
    "BEGIN IMMEDIATE;" SYMBOL_TABLES_OF_8
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
/* Tables and triggers of schema 6 that changed since. */
#define SUM_TABLES_OF_6                                                                                                \
    "CREATE TABLE fact(place INTEGER NOT NULL, day INTEGER NOT NULL, build INTEGER NOT NULL,"                          \
    " hits INTEGER NOT NULL, weight INTEGER NOT NULL, variance INTEGER NOT NULL, machines INTEGER NOT NULL DEFAULT 0," \
    " PRIMARY KEY(place, day, build)) WITHOUT ROWID;"                                                                  \
    "CREATE TABLE met_day(place INTEGER NOT NULL, day INTEGER NOT NULL, build INTEGER NOT NULL,"                       \
    " who NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(place, day, build, who)) WITHOUT ROWID;"                       \
    "CREATE TRIGGER met_day_comes AFTER INSERT ON met_day BEGIN UPDATE fact SET machines = machines + 1"               \
    " WHERE place = new.place AND day = new.day AND build = new.build; END;"                                           \
    "CREATE TRIGGER met_day_goes AFTER DELETE ON met_day BEGIN SELECT 1; END;"

/* From schema 3: an issue was one verdict, which is a place now. Everything is summed once. An old stall keeps its
 * issue until it is triaged again in the background; then the old issue becomes an alias. */
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
    "ALTER TABLE place DROP COLUMN tenant;" /* a later step adds it again */
    "INSERT OR IGNORE INTO module(build_id, name, is_runtime) VALUES(x'', '', 0);"
    "UPDATE module SET next_seq = 9223372036854775807 WHERE build_id = x'';"
    "INSERT OR IGNORE INTO gap(module, seq, unnamed) SELECT m.id, s.seq, 0 FROM module m, snapshot s"
    " WHERE m.build_id = x'' AND s.state = 1 AND s.bytes > 0;"
    "PRAGMA user_version=4;"
    "COMMIT;";

/* From schema 4: the application of a stall was not stored. Stalls are triaged again in the background, and until then
 * only views of all applications see them. */
static const char from_schema_4[] =
    "BEGIN IMMEDIATE;"
    "DROP TRIGGER IF EXISTS met_comes; DROP TRIGGER IF EXISTS met_goes;" /* they use the table that is made anew */
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

/* From schema 5: all bytes were in the database, and stay there. */
static const char from_schema_5[] = "BEGIN IMMEDIATE;"
                                    "ALTER TABLE snapshot ADD COLUMN blob TEXT;"
                                    "ALTER TABLE snapshot ADD COLUMN digest BLOB;"
                                    "PRAGMA user_version=6;"
                                    "COMMIT;";

/* From schema 6: there were only sums of places by day. The sums of whole applications, and of all days, are made
 * once. */
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

/* From schema 7: machines and processes in `met` had ids; now they have hashes. */
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

/* From schema 8: words and lacks were common to all applications. Existing words stay common. */
static const char from_schema_8[] =
    "BEGIN IMMEDIATE;"
    "DROP TRIGGER IF EXISTS word_comes; DROP TRIGGER IF EXISTS word_goes; DROP TRIGGER IF EXISTS gap_comes;"
    "DROP TRIGGER IF EXISTS gap_goes;"
    "CREATE TABLE word_of_9" WORD_COLUMNS "; INSERT INTO word_of_9(num, text, used) SELECT num, text, used FROM word;"
    "DROP TABLE word; ALTER TABLE word_of_9 RENAME TO word;"
    "DROP INDEX IF EXISTS gap_of_snapshot; ALTER TABLE gap RENAME TO gap_of_8;" GAP_TABLES
    "INSERT INTO gap(module, tenant, seq, unnamed) SELECT g.module, COALESCE(s.tenant, 0), g.seq, g.unnamed FROM "
    "gap_of_8 g"
    " JOIN snapshot s ON s.seq = g.seq ORDER BY 1, 2, 3; DROP TABLE gap_of_8;"
    "INSERT INTO lack(module, tenant, gaps, stalls, frames) SELECT module, tenant, COUNT(*), SUM(unnamed > 0),"
    " SUM(unnamed) FROM gap GROUP BY 1, 2;"
    "ALTER TABLE module DROP COLUMN stalls; ALTER TABLE module DROP COLUMN frames; PRAGMA user_version=9;"
    "COMMIT;";

const char sbx_store_reader_setup[] = "PRAGMA query_only=ON; PRAGMA trusted_schema=OFF;";

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

/* Functions that the steps call. */
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

/* Pragmas of a new file are zero. Ours are set once, and a newer schema is left alone. */
int sbx_store_renew_schema(struct sbx_store *store, char *why, size_t why_bytes)
{
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    int result = -EIO, version = 0;
    sbx_sql_begin_sqlite();
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
    /* indexed by the version they begin at */
    static const char *const steps[] = {from_schema_1, from_schema_2, from_schema_3, from_schema_4,
                                        from_schema_5, from_schema_6, from_schema_7, from_schema_8};
    for (; result == 0 && version > 0 && version < SCHEMA_VERSION; version++) {
        /* A step may sort the words of a million stalls. */
        if (sqlite3_exec(db, "PRAGMA cache_size=-65536", NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(db, steps[version - 1], NULL, NULL, NULL) != SQLITE_OK) {
            snprintf(why, why_bytes, "%s: %s", store->path, sqlite3_errmsg(db));
            result = -EIO;
        }
    }
    sqlite3_close(db);
    return result;
}
