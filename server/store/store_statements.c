/* SPDX-License-Identifier: Apache-2.0 */
/* store_statements.c - all statements of the writer. */
#include "number_list.h"
#include "store_schema.h"
#include "store_sum_sql.h"

#define ON_ITS_DAY        " AND +day IN (-1, ?2)"
#define OF_STALL(columns) "(SELECT " columns " FROM summed s WHERE s.seq = ?1)"

/* List the stalls to remove, in the tables of store_schema.h. */
#define GOING_OF(from)                                                                                                \
    "INSERT INTO going(seq, id, place, whole, day, build, bucket, weight, variance, process, machine, has_id) SELECT" \
    " s.seq, s.id, s.place, s.whole, s.day, s.build, s.bucket, s.weight, s.one_in * (s.one_in - 1), s.process,"       \
    " s.machine, CASE WHEN EXISTS(SELECT 1 FROM rotating o WHERE o.seq = s.seq) THEN 1 ELSE 0 END FROM " from
/* Their rows in the sums, for groups that keep other stalls; the keys of groups that keep none. */
#define IS_STAYING "g.place = s.place AND g.day = s.day AND g.build = s.build AND g.is_last = 0"
#define STAYING    "going_summed s CROSS JOIN leaving g WHERE " IS_STAYING
/* Their days, so that PostgreSQL does not open the tables of other days. The plus keeps SQLite from using the day as a
 * key. */
#define ON_GOING_DAYS " AND (+day = -1 OR +day BETWEEN ?1 AND ?2)"
#define OF_LAST \
    "(place, day, build) IN (SELECT g.place, g.day, g.build FROM leaving g WHERE g.is_last = 1)" ON_GOING_DAYS

#define LISTED SBX_LISTED("?1")

const char *const sbx_store_writer_sql[WRITER_STATEMENTS] = {
    [FIND_SNAPSHOT] = "SELECT seq, place, attempts FROM snapshot WHERE id = ?1",
    [FIND_APP] = "SELECT tenant, day FROM snapshot WHERE id = ?1",
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
    [READ_DAY] = "SELECT day FROM snapshot WHERE seq = ?1",
    /* The machine is a separate condition, because in a list of four values SQLite would read all machines of the other
     * three. ?2 is the stall's day, for PostgreSQL's tables by day; the plus keeps SQLite from using it as a key. */
    [DROP_MET_DAY] =
        "DELETE FROM met_day WHERE count <= 0 AND who = (SELECT s.machine FROM snapshot s WHERE s.seq = ?1) AND (place,"
        " day, build) IN " OF_STALL("s.place, s.day, s.build") ON_ITS_DAY,
    [DROP_MET] = "DELETE FROM met INDEXED BY met_gone WHERE count <= 0", /* only the current stall has such rows */
    [DROP_LABELS] = "DELETE FROM label WHERE hits <= 0 AND (place, kind, word, day, build) IN (SELECT s.place, d.kind,"
                    " d.word, s.day, s.build FROM summed s JOIN said d ON d.seq = s.seq WHERE s.seq = ?1)" ON_ITS_DAY,
    [DROP_SPREAD] = "DELETE FROM spread WHERE weight <= 0 AND (place, day, build, bucket) IN " OF_STALL(
        "s.place, s.day, s.build, s.bucket") ON_ITS_DAY,
    [DROP_FACT] =
        "DELETE FROM fact WHERE hits <= 0 AND (place, day, build) IN " OF_STALL("s.place, s.day, s.build") ON_ITS_DAY,
    /* ?2 has the labels as store_sums.c writes them: kind, time and word of each. */
    [ADD_WORDS] = "INSERT OR IGNORE INTO word(tenant, text) SELECT ?1, substr(j.value, 22) FROM json_each(?2) j",
    [ADD_SAID] =
        "INSERT OR IGNORE INTO said(seq, kind, word, us) SELECT ?1, CAST(substr(j.value, 1, 2) AS bigint), w.num,"
        " CAST(substr(j.value, 3, 19) AS bigint) FROM json_each(?2) j CROSS JOIN word w WHERE w.tenant = ?3 AND"
        " w.text = substr(j.value, 22)",
    [READ_SAID] = "SELECT d.kind, d.us, w.text FROM said d JOIN word w ON w.num = d.word WHERE d.seq = ?1",
    [READ_WAS] =
        "SELECT s.app, p.id FROM snapshot s JOIN place p ON p.num = s.place WHERE s.seq = ?1 AND s.tenant IS NOT"
        " NULL AND s.whole IS NOT NULL AND s.tenant = p.tenant",
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
    /* Open an issue again: one muted until a version that has come, or a resolved one that came back in a version not
     * older than the one that should not have it. */
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
    [ADD_ERASING] = "INSERT OR IGNORE INTO erasing(id, at_ms) VALUES(?1, ?2)",
    [DROP_ERASING] = "DELETE FROM erasing WHERE id = ?1",
    [NEXT_ERASING] = "SELECT id FROM erasing ORDER BY at_ms LIMIT 1",
    [IS_ERASED] = "SELECT 1 FROM erased WHERE id = ?1",
    [LEAVE_PLACE] = "UPDATE snapshot SET place = NULL, whole = NULL WHERE seq = ?1",
    [NEXT_AGED_PAYLOADS] =
        "SELECT seq, id, state FROM snapshot WHERE received_ms < ?1 AND bytes > 0 ORDER BY received_ms LIMIT ?2",
    [AGED_OWE] = "INSERT OR REPLACE INTO blob_debt(key, at_ms) SELECT s.blob, 0 FROM snapshot s WHERE s.seq IN " LISTED
                 " AND s.blob IS NOT NULL",
    [AGED_PAYLOAD] = "DELETE FROM payload WHERE seq IN " LISTED,
    [AGED_LEAVE] = "UPDATE snapshot SET bytes = 0, blob = NULL WHERE seq IN " LISTED,
    [AGED_GAP] = "DELETE FROM gap WHERE seq IN " LISTED,
    [FORGET_ERASED] = "DELETE FROM erased WHERE at_ms < ?1",
    [SET_RIGHT] = "UPDATE snapshot SET received_ms = ?1 WHERE received_ms > ?2",
    [FIND_END] = "SELECT 1 FROM stall_end WHERE first = ?1",
    [ADD_END] = "INSERT INTO stall_end(first, id, session, how, signal, duration_ns, received_ms, rotating)"
                " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    /* Triage a stall again that was triaged without its end, if its bytes are still stored. */
    [COMPLETE_SNAPSHOT] = "UPDATE snapshot SET duration_ns = MAX(snapshot.duration_ns, e.duration_ns),"
                          " state = CASE WHEN state = 1 AND bytes > 0 THEN 0 ELSE state END"
                          " FROM stall_end e"
                          " WHERE snapshot.id = ?1 AND e.first = ?1 AND e.session = snapshot.session",
    [ERASE_ENDS] = "DELETE FROM stall_end WHERE rotating = ?1",
    [FIND_MODULE] = "SELECT id, name FROM module WHERE build_id = ?1",
    [ADD_MODULE] = "INSERT INTO module(build_id, name, is_runtime) VALUES(?1, ?2, ?3) ON CONFLICT(build_id) DO UPDATE"
                   " SET name = excluded.name WHERE module.name = ''",
    [ADD_GAP] = "INSERT OR IGNORE INTO gap(module, tenant, seq, unnamed) SELECT m.id, COALESCE(s.tenant, 0), s.seq, ?3"
                " FROM module m CROSS JOIN snapshot s WHERE m.build_id = ?1 AND s.seq = ?2",
    [COUNT_GAPS_OF] = "SELECT COUNT(*), TOTAL(unnamed) FROM gap WHERE seq = ?1",
    [DROP_GAPS] = "DELETE FROM gap WHERE seq = ?1",
    [ADD_WAS_IN] = "INSERT OR REPLACE INTO was_in(issue, seq, at_ms) SELECT id, ?2, ?3 FROM place WHERE num = ?1",
    [LEAVE_WAS_IN] = "DELETE FROM was_in WHERE issue = (SELECT id FROM place WHERE num = ?1) AND seq = ?2",
    [ADD_ARRIVAL] = "INSERT INTO arrival(who, build_id, made_s) VALUES(?1, ?2, ?3)",
    [FORGET_ARRIVALS] = "DELETE FROM arrival WHERE num < (SELECT MAX(num) FROM arrival) - ?1",
    [NEWEST_ARRIVAL] = "SELECT COALESCE(MAX(num), 0) FROM arrival",
    [NEXT_ARRIVAL] = "SELECT num, build_id, made_s FROM arrival WHERE num > ?1 AND who <> ?2 ORDER BY num LIMIT 1",
    [SYMBOLS_CAME] = "UPDATE module SET made_s = ?2, next_seq = 9223372036854775807 WHERE build_id = ?1",
    [COUNT_GAPS] = "SELECT COALESCE(SUM(k.gaps), 0) FROM lack k JOIN module m ON m.id = k.module WHERE m.build_id = ?1",
    [NEXT_RENAMED] = "SELECT m.id, m.next_seq, (SELECT MAX((SELECT MAX(g.seq) FROM gap g WHERE g.module = k.module AND"
                     " g.tenant = k.tenant AND g.seq < m.next_seq)) FROM lack k WHERE k.module = m.id AND k.gaps > 0)"
                     " FROM module m WHERE m.next_seq > 0 LIMIT 1",
    [COUNT_GAPS_OF_TENANT] =
        "SELECT k.gaps FROM lack k JOIN module m ON m.id = k.module WHERE m.build_id = ?1 AND k.tenant = ?2",
    [READ_BLOB] = "SELECT blob, digest FROM snapshot WHERE seq = ?1",
    [SET_BLOB] = "UPDATE snapshot SET blob = ?2, digest = ?3 WHERE seq = ?1",
    [HAS_BLOBS] = "SELECT 1 FROM snapshot WHERE blob IS NOT NULL LIMIT 1",
    [ADD_DEBT] = "INSERT OR REPLACE INTO blob_debt(key, at_ms) VALUES(?1, ?2)",
    [DROP_DEBT] = "DELETE FROM blob_debt WHERE key = ?1",
    [NEXT_DEBT] = "SELECT key FROM blob_debt WHERE at_ms < ?1 LIMIT 1",
    [READ_ID] = "SELECT id FROM snapshot WHERE seq = ?1",
    [READ_TENANT] = "SELECT tenant FROM snapshot WHERE seq = ?1",
    [END_RENAMED] = "UPDATE module SET next_seq = ?3 WHERE id = ?1 AND next_seq = ?2",
    [ALL_GAPS] = "SELECT m.build_id, m.made_s, k.tenant FROM module m JOIN lack k ON k.module = m.id WHERE k.gaps > 0"
                 " AND m.is_runtime = 0 ORDER BY m.build_id",
    [FORGET_MADE] = "UPDATE module SET made_s = 0 WHERE is_runtime = 0 AND id IN (SELECT g.module FROM gap g WHERE"
                    " g.seq = ?1)",
    [FORGET_LACKS] = "DELETE FROM lack WHERE gaps <= 0",
    [FORGET_MODULES] = "DELETE FROM module WHERE next_seq = 0 AND NOT EXISTS(SELECT 1 FROM lack k WHERE"
                       " k.module = module.id)",
    [COUNT_ACTIVE] = "SELECT COUNT(*) FROM active WHERE day = ?1",
    [GROW_ACTIVE] = "UPDATE active SET machines = machines + ?4 WHERE tenant = ?1 AND day = ?2 AND version = ?3",
    [ADD_ACTIVE] = "INSERT INTO active(tenant, day, version, machines) VALUES(?1, ?2, ?3, ?4)",
    [FORGET_ACTIVE] = "DELETE FROM active WHERE day < ?1",
    [FORGET_ENDS] = "DELETE FROM stall_end WHERE received_ms < ?1 AND first NOT IN (SELECT id FROM snapshot)",
    /* ---- many stalls at once (store_leaving.c) ---- */
    [GOING_NONE] = "DELETE FROM going",
    [GOING_NO_GROUP] = "DELETE FROM leaving",
    [GOING_AGED] = GOING_OF("snapshot s WHERE s.received_ms < ?1 ORDER BY s.received_ms LIMIT ?2"),
    [GOING_ERASED] = GOING_OF("rotating r JOIN snapshot s ON s.seq = r.seq WHERE r.id = ?1 LIMIT ?2"),
    [GOING_ONE] = GOING_OF("snapshot s WHERE s.seq = ?1 LIMIT ?2"),
    [GOING_IDS] = "SELECT id FROM going",
    [GOING_DAYS] = "SELECT COALESCE(MIN(day), -1), COALESCE(MAX(day), -1) FROM going",
    [GOING_GROUPS] = "INSERT INTO leaving(place, day, build, hits, weight, variance, is_last) SELECT g.place, g.day,"
                     " g.build, COUNT(*), SUM(g.weight), SUM(g.variance), 0 FROM going_summed g GROUP BY 1, 2, 3",
    [GOING_LAST_GROUPS] = "UPDATE leaving SET is_last = 1 WHERE hits >= (SELECT f.hits FROM fact f WHERE f.place ="
                          " leaving.place AND f.day = leaving.day AND f.build = leaving.build AND (+f.day = -1 OR"
                          " +f.day BETWEEN ?1 AND ?2))",
    [GOING_FACT] =
        "INSERT INTO fact(place, day, build, hits, weight, variance) SELECT g.place, g.day, g.build, -g.hits,"
        " -g.weight, -g.variance FROM leaving g WHERE g.is_last = 0 ON CONFLICT(place, day, build) DO UPDATE"
        " SET hits = hits + excluded.hits, weight = weight + excluded.weight, variance = variance +"
        " excluded.variance",
    [GOING_SPREAD] = "INSERT INTO spread(place, day, build, bucket, weight) SELECT s.place, s.day, s.build, s.bucket,"
                     " -SUM(s.weight) FROM " STAYING " AND s.bucket IS NOT NULL GROUP BY 1, 2, 3, 4 ON CONFLICT(place,"
                     " day, build, bucket) DO UPDATE SET weight = weight + excluded.weight",
    [GOING_DROP_SPREAD] =
        "DELETE FROM spread WHERE weight <= 0 AND (place, day, build, bucket) IN (SELECT s.place, s.day,"
        " s.build, s.bucket FROM " STAYING ")" ON_GOING_DAYS,
    [GOING_LAST_SPREAD] = "DELETE FROM spread WHERE " OF_LAST,
    [GOING_LABEL] =
        "INSERT INTO label(place, kind, word, day, build, hits, weight, us) SELECT s.place, d.kind, d.word,"
        " s.day, s.build, -COUNT(*), -SUM(s.weight), -SUM(s.weight * d.us) FROM going_summed s CROSS JOIN"
        " leaving g CROSS JOIN said d WHERE d.seq = s.seq AND " IS_STAYING " GROUP BY 1, 2, 3, 4, 5 ON"
        " CONFLICT(place, day, build, kind, word) DO UPDATE SET hits = hits + excluded.hits, weight = weight"
        " + excluded.weight, us = us + excluded.us",
    [GOING_DROP_LABEL] =
        "DELETE FROM label WHERE hits <= 0 AND (place, day, build, kind, word) IN (SELECT s.place, s.day,"
        " s.build, d.kind, d.word FROM going_summed s CROSS JOIN leaving g CROSS JOIN said d WHERE d.seq ="
        " s.seq AND " IS_STAYING ")" ON_GOING_DAYS,
    [GOING_LAST_LABEL] = "DELETE FROM label WHERE " OF_LAST,
    [GOING_MET_DAY] =
        "INSERT INTO met_day(place, day, build, who, count) SELECT s.place, s.day, s.build, s.machine,"
        " -COUNT(*) FROM " STAYING " GROUP BY 1, 2, 3, 4 ON CONFLICT(place, day, build, who) DO UPDATE SET"
        " count = count + excluded.count",
    [GOING_DROP_MET_DAY] =
        "DELETE FROM met_day WHERE count <= 0 AND (place, day, build, who) IN (SELECT s.place, s.day,"
        " s.build, s.machine FROM " STAYING ")" ON_GOING_DAYS,
    [GOING_LAST_MET_DAY] = "DELETE FROM met_day WHERE " OF_LAST,
    [GOING_MET] =
        "INSERT INTO met(kind, of, who, count) SELECT t.kind, t.of, t.who, -COUNT(*) FROM (SELECT 0 AS kind,"
        " place AS of, process AS who FROM going UNION ALL SELECT 1, place, machine FROM going UNION ALL SELECT"
        " 1, whole, machine FROM going UNION ALL SELECT 2, place, build FROM going UNION ALL SELECT 3, place,"
        " machine FROM going WHERE has_id = 1 UNION ALL SELECT 4, build, machine FROM going WHERE has_id = 1 AND"
        " place IS NOT NULL) t WHERE t.of IS NOT NULL GROUP BY 1, 2, 3 ON CONFLICT(kind, of, who) DO UPDATE SET"
        " count = count + excluded.count",
    [GOING_LAST_FACT] = "DELETE FROM fact WHERE " OF_LAST,
    [GOING_PLACES] =
        "UPDATE place SET hits = place.hits - t.hits, weight = place.weight - t.weight, variance ="
        " place.variance - t.variance FROM (SELECT g.place AS num, COUNT(*) AS hits, SUM(g.weight) AS weight,"
        " SUM(g.variance) AS variance FROM going g WHERE g.place IS NOT NULL GROUP BY 1) t WHERE place.num ="
        " t.num",
    [GOING_OWE] =
        "INSERT OR REPLACE INTO blob_debt(key, at_ms) SELECT s.blob, 0 FROM going g CROSS JOIN snapshot s WHERE"
        " s.seq = g.seq AND s.blob IS NOT NULL",
    [GOING_SAID] = "DELETE FROM said WHERE seq IN (SELECT seq FROM going)",
    [GOING_PAYLOAD] = "DELETE FROM payload WHERE seq IN (SELECT seq FROM going)",
    [GOING_ROTATING] = "DELETE FROM rotating WHERE seq IN (SELECT seq FROM going)",
    [GOING_END] = "DELETE FROM stall_end WHERE first IN (SELECT id FROM going)",
    [GOING_GAP] = "DELETE FROM gap WHERE seq IN (SELECT seq FROM going)",
    [GOING_WAS_IN] = "DELETE FROM was_in WHERE seq IN (SELECT seq FROM going)",
    [GOING_SNAPSHOT] = "DELETE FROM snapshot WHERE seq IN (SELECT seq FROM going)",
    [GOING_RENEW_PLACES] =
        "UPDATE place SET first_ms = COALESCE((SELECT MIN(s.received_ms) FROM snapshot s WHERE s.place = place.num), "
        "0),"
        " last_ms = COALESCE((SELECT MAX(s.received_ms) FROM snapshot s WHERE s.place = place.num), 0),"
        " longest_ns = COALESCE((SELECT MAX(s.duration_ns) FROM snapshot s WHERE s.place = place.num), 0),"
        " newest = COALESCE((SELECT MAX(s.seq) FROM snapshot s WHERE s.place = place.num), 0)"
        " WHERE num IN (SELECT place FROM going)",
    [GOING_EMPTY_PLACES] = "SELECT p.num FROM place p WHERE p.hits <= 0 AND p.num IN (SELECT g.place FROM going g)",
};
