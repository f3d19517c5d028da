/* SPDX-License-Identifier: Apache-2.0 */
/* store_rows.c - reads rows: payloads that wait for triage, and what pages and programs may see.
 *
 * With a minimum number of machines k, a row is returned only when its place, and its build of the application, have at
 * least k machines (rotating ids). These are counted when a stall is added or removed. A view of one application has
 * only that application's rows. An issue that also has places of another application is seen only by views of all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blobs.h"
#include "machine_sample.h"
#include "sql_postgres.h"
#include "store_inside.h"
#include "store_schema.h"
#include "store_symbols.h"

/* ?9 is k: the number of machines that must have sent what is shown; 1 shows everything. */
#define IS_COMMON_PLACE "(?9 <= 1 OR (SELECT c.sure FROM place c WHERE c.num = s.place) >= ?9)"
#define IS_COMMON_ISSUE "(?9 <= 1 OR EXISTS(SELECT 1 FROM place c WHERE c.issue = i.num AND c.sure >= ?9))"
#define IS_COMMON_BUILD "(?9 <= 1 OR (SELECT c.sure FROM build c WHERE c.num = s.build) >= ?9)"
#define IS_COMMON       "(" IS_COMMON_PLACE " AND " IS_COMMON_BUILD ")"

/* ?8 is the application that the view may see; 0: all. Rows from before that column existed belong to no application
 * until they are triaged again. */
#define IS_SEEN       "(?8 = 0 OR s.tenant = ?8)"
#define IS_SEEN_ISSUE "(?8 = 0 OR NOT EXISTS(SELECT 1 FROM place x WHERE x.issue = i.num AND x.tenant IS NOT ?8))"

/* The stalls of one family at one moment, and those of them that waited for the process of this stall. */
#define KIN_OF "kin k JOIN kin o ON o.family = k.family AND o.moment = k.moment WHERE k.seq = s.seq"
#define KIN_OF_HOLDER                                                                                          \
    "kin k JOIN kin o ON o.family = k.family AND o.moment = k.moment JOIN kin_holder h ON h.seq = o.seq WHERE" \
    " k.seq = s.seq AND h.session = s.session"

#define SNAPSHOT_COLUMNS                                                                                            \
    "s.seq, s.id, s.received_ms, s.created_day, s.bytes, s.trigger, s.duration_ns, s.threshold_ms, s.app_build_id," \
    " s.app_version, s.state, s.failure,"                                                                           \
    " (SELECT q.id FROM place c JOIN issue q ON q.num = c.issue WHERE c.num = s.place), s.app, s.cause, s.class, "  \
    "s.function, s.module, s.headline,"                                                                             \
    " s.confidence, s.weight, s.one_in,"                                                                            \
    " (SELECT w.issue FROM was_in w WHERE w.seq = s.seq ORDER BY w.at_ms DESC LIMIT 1),"                            \
    " (SELECT e.how + (e.signal << 8) FROM stall_end e WHERE e.first = s.id AND e.session = s.session),"            \
    " (SELECT COUNT(*) FROM " KIN_OF "), (SELECT MIN(o.seq) FROM " KIN_OF                                           \
    "), (SELECT COUNT(DISTINCT h.seq) FROM " KIN_OF_HOLDER ")"

/* An issue is the sum of its places. Distinct sessions, machines and builds of several places are counted again, so
 * that each counts once; many are counted in a sample (machine_sample.h). New in its build: seen in one build only,
 * although another build, of a version not later, was seen before. */
#define WHO_MET(kind)                                                                                               \
    "SELECT COUNT(DISTINCT m.who) FROM met m WHERE m.kind = " kind " AND m.of IN (SELECT o.num FROM place o WHERE " \
    "o.issue = p.issue)"
#define ONE_IN(column)       "(SELECT 1 + CAST(SUM(n." column ") AS bigint) / 32768 FROM place n WHERE n.issue = p.issue)"
#define MET_BY(kind, column) "CASE COUNT(*) WHEN 1 THEN SUM(p." column ") ELSE (" WHO_MET(kind) ") END"
#define SAMPLED_BY(kind, column)              \
    "CASE COUNT(*) WHEN 1 THEN SUM(p." column \
    ") ELSE (" WHO_MET(kind) " AND m.who <= 9223372036854775807 / " ONE_IN(column) ") * " ONE_IN(column) " END"
#define ISSUE_SUMS                                                                                                    \
    "(SELECT p.issue AS issue, SUM(p.hits) AS hits, " SAMPLED_BY("0", "sessions") " AS sessions, " MET_BY(            \
        "2", "builds") " AS builds, MIN(p.first_ms) AS first_ms, MAX(p.last_ms) AS last_ms, MAX(p.longest_ns) AS"     \
                       " longest_ns, SUM(p.weight) AS weight, SUM(p.variance) AS variance, " SAMPLED_BY(              \
                           "1", "machines") " AS machines, MAX(p.newest) AS newest FROM place p WHERE p.hits > 0 AND" \
                                            " (?8 = 0 OR p.tenant = ?8)"
#define ISSUE_QUERY(sums)                                                                                              \
    "SELECT " SNAPSHOT_COLUMNS ", t.hits, t.sessions, t.builds, t.first_ms, t.last_ms, t.longest_ns, t.weight,"        \
    " t.variance, CASE WHEN t.builds = 1 THEN EXISTS(SELECT 1 FROM app a JOIN fact f ON f.place = -a.num AND f.day = " \
    "-1"                                                                                                               \
    " JOIN build h ON h.num = f.build WHERE a.name = s.app AND a.tenant = COALESCE(s.tenant, 0) AND h.build_id <>"     \
    " s.app_build_id AND h.rank <= (SELECT c.rank FROM build c WHERE c.num = s.build) AND (SELECT o.received_ms FROM"  \
    " snapshot o WHERE o.app_build_id = h.build_id ORDER BY o.seq LIMIT 1) < t.first_ms) ELSE 1 = 0 "                  \
    "END, " IS_COMMON_BUILD ", t.machines, i.id, i.state, i.until,"                                                    \
    " i.owner, i.note, (SELECT c.path FROM place c WHERE c.issue = i.num ORDER BY c.hits DESC LIMIT 1),"               \
    " CASE WHEN ?9 <= 1 THEN (SELECT c.version FROM place o CROSS JOIN met m CROSS JOIN build c"                       \
    " WHERE m.kind = 2 AND m.of = o.num AND c.num = m.who AND o.issue = i.num ORDER BY c.rank LIMIT 1) END FROM " sums \
    " t JOIN issue i ON i.num = t.issue JOIN snapshot s ON s.seq = t.newest "

/* Stalls are not counted one by one. Stalls without a place wait for triage, or their triage failed. */
#define IN_A_PLACE(condition) "(SELECT CAST(COALESCE(SUM(hits), 0) AS bigint) FROM place WHERE " condition ")"
#define IN_NO_PLACE(state, condition) \
    "(SELECT COUNT(*) FROM snapshot WHERE state = " state " AND place IS NULL AND " condition ")"

const char *const sbx_store_reader_sql[SBX_READER_STATEMENTS] = {
    [SBX_READER_READ_ENVELOPE] =
        "SELECT p.envelope, s.blob FROM snapshot s LEFT JOIN payload p ON p.seq = s.seq WHERE s.id = ?1 AND s.bytes > 0"
        " AND " IS_SEEN,
    [SBX_READER_EACH_PENDING] =
        "SELECT s.id, COALESCE(r.id, s.session) FROM snapshot s LEFT JOIN rotating r ON r.seq = s.seq"
        " WHERE s.state = 0 ORDER BY s.attempts, s.seq LIMIT ?1",
    [SBX_READER_TRIAGE_INPUT] =
        "SELECT p.envelope, s.state, s.attempts, e.how, e.signal, e.duration_ns, s.blob FROM snapshot s"
        " LEFT JOIN payload p ON p.seq = s.seq"
        " LEFT JOIN stall_end e ON e.first = s.id AND e.session = s.session WHERE s.id = ?1 AND s.bytes > 0",
    [SBX_READER_ONE_SNAPSHOT] =
        "SELECT " SNAPSHOT_COLUMNS " FROM snapshot s WHERE s.id = ?1 AND " IS_SEEN " AND " IS_COMMON,
    [SBX_READER_KIN_OF_ONE] =
        "SELECT " SNAPSHOT_COLUMNS " FROM snapshot s WHERE s.seq IN (SELECT o.seq FROM kin k JOIN kin o ON"
        " o.family = k.family AND o.moment = k.moment WHERE k.seq = (SELECT f.seq FROM snapshot f WHERE"
        " f.id = ?1)) AND " IS_SEEN " AND " IS_COMMON " ORDER BY (SELECT COUNT(*) FROM kin_holder h WHERE"
        " h.session = s.session AND h.seq IN (SELECT o.seq FROM " KIN_OF ")) DESC, s.seq LIMIT ?2",
    [SBX_READER_NEWEST_SNAPSHOTS] =
        "SELECT " SNAPSHOT_COLUMNS " FROM snapshot s WHERE s.seq < ?1 AND " IS_COMMON " ORDER BY s.seq DESC LIMIT ?2",
    [SBX_READER_NEWEST_OF_APP] =
        "SELECT " SNAPSHOT_COLUMNS " FROM snapshot s WHERE s.tenant = ?8 AND s.seq < ?1 AND " IS_COMMON
        " ORDER BY s.seq DESC LIMIT ?2",
    [SBX_READER_PLACES_OF_ISSUE] = "SELECT p.num FROM place p JOIN issue i ON i.num = p.issue WHERE i.id = ?3 AND"
                                   " p.hits > 0 AND " IS_SEEN_ISSUE " ORDER BY p.newest DESC LIMIT ?2",
    [SBX_READER_SNAPSHOTS_OF_PLACE] =
        "SELECT " SNAPSHOT_COLUMNS " FROM snapshot s WHERE s.place = ?3 AND s.seq < ?1 AND " IS_SEEN " AND " IS_COMMON
        " ORDER BY s.seq DESC LIMIT ?2",
    /* Details are read only for the issues that are shown. */
    [SBX_READER_TOP_ISSUES] = ISSUE_QUERY("(SELECT t.* FROM " ISSUE_SUMS
                                          " GROUP BY p.issue) t JOIN issue i ON i.num = t.issue WHERE " IS_SEEN_ISSUE
                                          " AND " IS_COMMON_ISSUE " ORDER BY t.weight DESC, t.sessions DESC, t.last_ms"
                                          " DESC LIMIT ?1)") "ORDER BY t.weight DESC, t.sessions DESC, t.last_ms DESC",
    [SBX_READER_ONE_ISSUE] = ISSUE_QUERY(
        ISSUE_SUMS
        " AND p.issue = (SELECT q.num FROM issue q WHERE q.id = ?1) GROUP BY p.issue)") "WHERE " IS_SEEN_ISSUE
                                                                                        " AND " IS_COMMON_ISSUE,
    [SBX_READER_COUNT_ROWS] = "SELECT " IN_A_PLACE("TRUE") " + " IN_NO_PLACE("0", "TRUE") " + " IN_NO_PLACE(
        "2", "TRUE") ", (SELECT COUNT(*) FROM snapshot WHERE state = 0),"
                     " (SELECT COUNT(*) FROM snapshot WHERE state = 2), (SELECT"
                     " COUNT(DISTINCT issue) FROM place WHERE hits > 0), (SELECT COUNT(*) FROM erasing)",
    [SBX_READER_COUNT_OF_APP] =
        "SELECT " IN_A_PLACE("tenant = ?8") " + " IN_NO_PLACE("0", "tenant = ?8") " + " IN_NO_PLACE(
            "2", "tenant = ?8") ", (SELECT COUNT(*) FROM snapshot WHERE state = 0"
                                " AND tenant = ?8), (SELECT COUNT(*) FROM snapshot WHERE state = 2 AND tenant = ?8), "
                                "(SELECT COUNT(*) FROM "
                                "issue i"
                                " WHERE EXISTS(SELECT 1 FROM place p WHERE p.issue = i.num AND p.hits > 0) "
                                "AND " IS_SEEN_ISSUE ")",
    /* A module is withheld when only few machines lack it. The newest stall of each application is at the end of an
     * index. */
    [SBX_READER_MISSING_MODULES] =
        "SELECT m.build_id, m.name, m.is_runtime, m.next_seq > 0, t.stalls, t.frames, (SELECT s.received_ms FROM"
        " snapshot s WHERE s.seq = (SELECT MAX((SELECT MAX(g.seq) FROM gap g WHERE g.module = k.module AND g.tenant ="
        " k.tenant)) FROM lack k WHERE k.module = m.id AND k.stalls > 0 AND (?8 = 0 OR k.tenant = ?8)))"
        " FROM (SELECT l.module AS module, SUM(l.stalls) AS stalls, SUM(l.frames) AS frames FROM lack l WHERE l.stalls"
        " > 0 AND (?8 = 0 OR l.tenant = ?8) GROUP BY l.module) t JOIN module m ON m.id = t.module"
        " WHERE (?9 <= 1 OR (SELECT COUNT(*) FROM (SELECT DISTINCT r.id FROM gap o JOIN rotating r ON r.seq = o.seq"
        " WHERE o.module = m.id AND (?8 = 0 OR o.tenant = ?8) LIMIT ?9) x) >= ?9)"
        " ORDER BY t.stalls DESC, t.frames DESC, m.build_id LIMIT ?1",
    [SBX_READER_IS_SENT] = "SELECT 1 FROM symbol_sender WHERE build_id = ?1 AND tenant = ?8",
    /* When rows are withheld, only shown issues are counted; a total of all would reveal the rest. */
    [SBX_READER_COUNT_COMMON] =
        "SELECT COALESCE(SUM(t.hits), 0), 0, 0, COUNT(*), 0 FROM (SELECT SUM(p.hits) AS hits FROM issue i JOIN place p"
        " ON p.issue = i.num WHERE p.hits > 0 AND " IS_SEEN_ISSUE " AND " IS_COMMON_ISSUE " GROUP BY i.num) t",
    [SBX_READER_ISSUES_AFTER] =
        "SELECT i.id, COUNT(*), MAX(s.headline) FROM was_in w JOIN snapshot s ON s.seq = w.seq"
        " JOIN place p ON p.num = s.place JOIN issue i ON i.num = p.issue WHERE w.issue = ?1 AND i.id <> ?1"
        " AND " IS_SEEN_ISSUE " AND " IS_SEEN " AND " IS_COMMON_ISSUE " GROUP BY i.num ORDER BY COUNT(*) DESC LIMIT ?2",
    [SBX_READER_FIND_ADDRESS] =
        "SELECT i.id FROM alias a JOIN issue i ON i.num = a.issue WHERE a.id = ?1 AND " IS_SEEN_ISSUE
        " UNION ALL SELECT i.id FROM place p JOIN issue i ON i.num = p.issue WHERE p.id = ?1 AND i.id <> ?1"
        " AND " IS_SEEN_ISSUE " LIMIT 1",
    /* One step in an index, independent of the size. */
    [SBX_READER_LOOK] = "SELECT MAX(num) FROM issue",
    [SBX_READER_HAS_PAYLOAD] = "SELECT 1 FROM snapshot WHERE id = ?1 AND bytes > 0",
    [SBX_READER_READ_END] = "SELECT e.how, e.signal, e.duration_ns FROM snapshot s JOIN stall_end e ON e.first = s.id"
                            " AND e.session = s.session WHERE s.id = ?1",
};

void sbx_store_set_min_machines(struct sbx_store *store, uint32_t machines)
{
    store->min_machines = machines > 1 ? machines : 1;
}

uint32_t sbx_store_min_machines(const struct sbx_store *store)
{
    return store->min_machines > 1 ? store->min_machines : 1;
}

void sbx_store_set_sample_rows(struct sbx_store *store, uint32_t rows)
{
    store->sample_rows = rows;
}

int64_t sbx_store_sample_rows(const struct sbx_store *store)
{
    return store->sample_rows > 0 ? store->sample_rows : SBX_SAMPLE_ROWS;
}

int64_t sbx_store_sample_issue_rows(const struct sbx_store *store)
{
    return sbx_store_sample_rows(store) / SBX_SAMPLE_ISSUES;
}

struct sbx_statement *sbx_store_use_to_show(const struct sbx_store_view *view, enum sbx_reader_statement index)
{
    struct sbx_statement *statement = sbx_store_handle_use(&view->store->reader, index);
    sbx_bind_integer(statement, 8, (int64_t)view->app);
    if (sbx_statement_parameters(statement) >= 9)
        sbx_bind_integer(statement, 9, sbx_store_min_machines(view->store));
    return statement;
}

int sbx_store_envelope(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES],
                       struct sbx_byte_buffer *envelope_out)
{
    sbx_store_handle_lock(&view->store->reader);
    struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_READ_ENVELOPE);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    char key[SBX_BLOB_KEY_BYTES] = "";
    if (result > 0) {
        sbx_byte_buffer_append(envelope_out, sbx_column_blob(statement, 0), sbx_column_bytes(statement, 0));
        sbx_store_column_text(statement, 1, key, sizeof(key));
        sbx_statement_reset(statement);
        result = envelope_out->failed ? -ENOMEM : 0;
    } else if (result == 0) {
        result = -ENOENT;
    }
    sbx_store_handle_unlock(&view->store->reader);
    return result == 0 && *key ? sbx_store_blob_get(view->store, key, envelope_out) : result;
}

/* ---- triage's side ---- */

/* Three columns from `first` on. Without an end they are NULL, which reads as zero. */
static struct sbx_end_row read_end(struct sbx_statement *statement, int first)
{
    return (struct sbx_end_row){.how = (uint32_t)(int)sbx_column_integer(statement, first),
                                .signal = (uint32_t)(int)sbx_column_integer(statement, first + 1),
                                .duration_ns = sbx_column_integer(statement, first + 2)};
}

int sbx_store_triage_input(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], struct sbx_triage_input *input_out)
{
    char key[SBX_BLOB_KEY_BYTES] = "";
    *input_out = (struct sbx_triage_input){0};
    sbx_store_handle_lock(&store->reader);
    struct sbx_statement *statement = sbx_store_handle_use(&store->reader, SBX_READER_TRIAGE_INPUT);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    if (result > 0) {
        sbx_byte_buffer_append(&input_out->envelope, sbx_column_blob(statement, 0), sbx_column_bytes(statement, 0));
        input_out->state = (enum sbx_triage_state)(int)sbx_column_integer(statement, 1);
        input_out->attempts = (int)sbx_column_integer(statement, 2);
        input_out->end = read_end(statement, 3);
        sbx_store_column_text(statement, 6, key, sizeof(key));
        sbx_statement_reset(statement);
        result = input_out->envelope.failed ? -ENOMEM : 0;
    } else if (result == 0) {
        result = -ENOENT;
    }
    sbx_store_handle_unlock(&store->reader);
    return result == 0 && *key ? sbx_store_blob_get(store, key, &input_out->envelope) : result;
}

int sbx_store_read_end(struct sbx_store *store, const uint8_t id[SBX_ID_BYTES], struct sbx_end_row *end_out)
{
    *end_out = (struct sbx_end_row){0};
    sbx_store_handle_lock(&store->reader);
    struct sbx_statement *statement = sbx_store_handle_use(&store->reader, SBX_READER_READ_END);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    if (result > 0) {
        *end_out = read_end(statement, 0);
        sbx_statement_reset(statement);
    }
    sbx_store_handle_unlock(&store->reader);
    return result < 0 ? result : 0;
}

int sbx_store_each_pending(struct sbx_store *store, size_t max,
                           void (*each)(void *context, const uint8_t id[SBX_ID_BYTES], const uint8_t machine[8]),
                           void *context)
{
    int result, count = 0;
    sbx_store_handle_lock(&store->reader);
    struct sbx_statement *statement = sbx_store_handle_use(&store->reader, SBX_READER_EACH_PENDING);
    sbx_bind_integer(statement, 1, (int64_t)max);
    while ((result = sbx_store_step(statement)) > 0) {
        if (sbx_column_bytes(statement, 0) != SBX_ID_BYTES || sbx_column_bytes(statement, 1) < 8)
            continue;
        each(context, sbx_column_blob(statement, 0), sbx_column_blob(statement, 1));
        count++;
    }
    sbx_store_handle_unlock(&store->reader);
    return result < 0 ? result : count;
}

bool sbx_store_is_shared(const struct sbx_store *store)
{
    return sbx_sql_is_postgres(store->path);
}

/* Rows with id and machine. */
static int tell_each(struct sbx_statement *statement,
                     void (*each)(void *context, const uint8_t id[SBX_ID_BYTES], const uint8_t machine[8]),
                     void *context)
{
    int result, count = 0;
    while ((result = sbx_store_step(statement)) > 0) {
        if (sbx_column_bytes(statement, 0) != SBX_ID_BYTES || sbx_column_bytes(statement, 1) < 8)
            continue;
        each(context, sbx_column_blob(statement, 0), sbx_column_blob(statement, 1));
        count++;
    }
    return result < 0 ? result : count;
}

int sbx_store_take_pending(struct sbx_store *store, size_t max,
                           void (*each)(void *context, const uint8_t id[SBX_ID_BYTES], const uint8_t machine[8]),
                           void *context, bool *more_out)
{
    enum {
        BATCH = 200
    };
    struct sbx_statement *statement = NULL;
    if (!sbx_store_is_shared(store)) {
        int count = sbx_store_each_pending(store, max, each, context);
        *more_out = count < 0 || (size_t)count >= max;
        return count;
    }
    size_t batch = max < BATCH ? max : BATCH;
    sbx_store_handle_lock(&store->reader); /* this connection does not wait for our own transactions */
    int result =
        sbx_sql_prepare(sbx_store_handle_db(&store->reader),
                        "UPDATE snapshot s SET lease_ms = " SBX_POSTGRES_LEASE
                        " FROM (SELECT p.seq FROM snapshot p WHERE p.state = 0 AND p.lease_ms < " SBX_POSTGRES_NOW
                        " ORDER BY p.attempts, p.seq LIMIT ?1 FOR UPDATE SKIP LOCKED) c WHERE s.seq = c.seq"
                        " RETURNING s.id, COALESCE((SELECT r.id FROM rotating r WHERE r.seq = s.seq), s.session)",
                        &statement);
    if (result == 0) {
        sbx_bind_integer(statement, 1, (int64_t)batch);
        result = tell_each(statement, each, context);
    }
    sbx_statement_finalize(statement);
    sbx_store_handle_unlock(&store->reader);
    *more_out = result < 0 || (size_t)result >= batch;
    return result;
}

/* ---- the pages' side ---- */

enum {
    SNAPSHOT_COLUMN_COUNT = 27
};

static void print_column_id(struct sbx_statement *statement, int column, char text_out[SBX_ID_TEXT_BYTES])
{
    text_out[0] = '\0';
    if (sbx_column_bytes(statement, column) == SBX_ID_BYTES)
        sbx_id_print(sbx_column_blob(statement, column), text_out);
}

/* Read the columns of SNAPSHOT_COLUMNS, in their order. */
static void read_snapshot(struct sbx_statement *statement, struct sbx_snapshot_row *row)
{
    *row = (struct sbx_snapshot_row){
        .seq = sbx_column_integer(statement, 0),
        .received_ms = sbx_column_integer(statement, 2),
        .created_day = (uint32_t)sbx_column_integer(statement, 3),
        .bytes = sbx_column_integer(statement, 4),
        .duration_ns = sbx_column_integer(statement, 6),
        .threshold_ms = (uint32_t)sbx_column_integer(statement, 7),
        .state = (enum sbx_triage_state)(int)sbx_column_integer(statement, 10),
        .confidence = sbx_column_real(statement, 19),
        .weight = (uint32_t)sbx_column_integer(statement, 20),
        .one_in = (uint32_t)sbx_column_integer(statement, 21),
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
    print_column_id(statement, 22, row->was_in_text);
    row->end_how = (uint32_t)sbx_column_integer(statement, 23) & 0xff;
    row->end_signal = (uint32_t)sbx_column_integer(statement, 23) >> 8;
    row->kin = (uint32_t)sbx_column_integer(statement, 24);
    row->kin_first = sbx_column_integer(statement, 25);
    row->kin_held = (uint32_t)sbx_column_integer(statement, 26);
}

static void read_issue(struct sbx_statement *statement, struct sbx_issue_row *row)
{
    read_snapshot(statement, &row->newest);
    print_column_id(statement, SNAPSHOT_COLUMN_COUNT + 11, row->id_text);
    row->machines = sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 10);
    row->state = (int)sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 12);
    sbx_store_column_text(statement, SNAPSHOT_COLUMN_COUNT + 13, row->until, sizeof(row->until));
    sbx_store_column_text(statement, SNAPSHOT_COLUMN_COUNT + 14, row->owner, sizeof(row->owner));
    sbx_store_column_text(statement, SNAPSHOT_COLUMN_COUNT + 15, row->note, sizeof(row->note));
    sbx_store_column_text(statement, SNAPSHOT_COLUMN_COUNT + 16, row->path, sizeof(row->path));
    sbx_store_column_text(statement, SNAPSHOT_COLUMN_COUNT + 17, row->first_version, sizeof(row->first_version));
    row->machine_days = 0;
    row->hits = sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT);
    row->sessions = sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 1);
    row->builds = sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 2);
    row->first_ms = sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 3);
    row->last_ms = sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 4);
    row->longest_ns = sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 5);
    row->weight = sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 6);
    row->variance = sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 7);
    row->new_in_build = (int)sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 8) != 0;
    if ((int)sbx_column_integer(statement, SNAPSHOT_COLUMN_COUNT + 9) ==
        0) { /* keep only the columns of the newest stall that everybody may see */
        row->newest.app_build_id[0] = row->newest.app_version[0] = row->newest.id_text[0] = '\0';
        row->new_in_build = false;
    }
}

/* Merge the rows of a statement, newest first, into the rows that are there, which stay in order; `max` rows at
 * most. */
static int merge_snapshots(struct sbx_statement *statement, struct sbx_snapshot_row *rows, size_t max, size_t *count)
{
    struct sbx_snapshot_row row;
    size_t at = 0;
    int result = 0;
    while ((result = sbx_store_step(statement)) > 0) {
        read_snapshot(statement, &row);
        while (at < *count && rows[at].seq > row.seq)
            at++;
        if (at == max)
            break;
        *count += *count < max;
        memmove(&rows[at + 1], &rows[at], (*count - at - 1) * sizeof(row));
        rows[at++] = row;
    }
    sbx_statement_reset(statement);
    return result < 0 ? result : 0;
}

/* Read the newest of each place of an issue: an index has the order within one place, but not over several. */
static int read_snapshots_of_issue(const struct sbx_store_view *view, const uint8_t *issue, int64_t before_seq,
                                   struct sbx_snapshot_row *rows, size_t max, size_t *count_out)
{
    enum {
        PLACES_MAX = 200
    };
    int64_t places[PLACES_MAX];
    size_t place_count = 0;
    struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_PLACES_OF_ISSUE);
    sbx_bind_blob(statement, 3, issue, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, PLACES_MAX);
    int result = 0;
    while (place_count < PLACES_MAX && (result = sbx_store_step(statement)) > 0)
        places[place_count++] = sbx_column_integer(statement, 0);
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    result = result > 0 ? 0 : result;
    for (size_t i = 0; i < place_count && result == 0; i++) {
        statement = sbx_store_use_to_show(view, SBX_READER_SNAPSHOTS_OF_PLACE);
        sbx_bind_integer(statement, 1, before_seq);
        sbx_bind_integer(statement, 2, (int64_t)max);
        sbx_bind_integer(statement, 3, places[i]);
        result = merge_snapshots(statement, rows, max, count_out);
    }
    return result;
}

int sbx_store_snapshots(const struct sbx_store_view *view, const uint8_t *issue, int64_t before_seq,
                        struct sbx_snapshot_row *rows, size_t max, size_t *count_out)
{
    int result;
    int64_t before = before_seq > 0 ? before_seq : INT64_MAX;
    *count_out = 0;
    sbx_store_handle_lock(&view->store->reader);
    if (issue) {
        result = read_snapshots_of_issue(view, issue, before, rows, max, count_out);
    } else {
        struct sbx_statement *statement =
            sbx_store_use_to_show(view, view->app ? SBX_READER_NEWEST_OF_APP : SBX_READER_NEWEST_SNAPSHOTS);
        sbx_bind_integer(statement, 1, before);
        sbx_bind_integer(statement, 2, (int64_t)max);
        result = merge_snapshots(statement, rows, max, count_out);
    }
    sbx_store_handle_unlock(&view->store->reader);
    return result;
}

int sbx_store_snapshot(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES],
                       struct sbx_snapshot_row *row_out)
{
    sbx_store_handle_lock(&view->store->reader);
    struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_ONE_SNAPSHOT);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    if (result > 0) {
        read_snapshot(statement, row_out);
        sbx_statement_reset(statement);
    }
    sbx_store_handle_unlock(&view->store->reader);
    return result > 0 ? 0 : result < 0 ? result : -ENOENT;
}

int sbx_store_kin(const struct sbx_store_view *view, const uint8_t id[SBX_ID_BYTES], struct sbx_snapshot_row *rows,
                  size_t max, size_t *count_out)
{
    size_t count = 0;
    int result = 0;
    sbx_store_handle_lock(&view->store->reader);
    struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_KIN_OF_ONE);
    sbx_bind_blob(statement, 1, id, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, (int64_t)max);
    while (count < max && (result = sbx_store_step(statement)) > 0)
        read_snapshot(statement, &rows[count++]);
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(&view->store->reader);
    *count_out = count;
    return result < 0 ? result : 0;
}

int sbx_store_issues(const struct sbx_store_view *view, struct sbx_issue_row *rows, size_t max, size_t *count_out)
{
    size_t count = 0;
    int result = 0;
    sbx_store_handle_lock(&view->store->reader);
    struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_TOP_ISSUES);
    sbx_bind_integer(statement, 1, (int64_t)max);
    while (count < max && (result = sbx_store_step(statement)) > 0)
        read_issue(statement, &rows[count++]);
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(&view->store->reader);
    *count_out = count;
    return result < 0 ? result : 0;
}

int sbx_store_issue(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES], struct sbx_issue_row *row_out)
{
    sbx_store_handle_lock(&view->store->reader);
    struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_ONE_ISSUE);
    sbx_bind_blob(statement, 1, issue, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    if (result > 0) {
        read_issue(statement, row_out);
        sbx_statement_reset(statement);
    }
    sbx_store_handle_unlock(&view->store->reader);
    return result > 0 ? 0 : result < 0 ? result : -ENOENT;
}

int sbx_store_find_address(const struct sbx_store_view *view, const uint8_t address[SBX_ID_BYTES],
                           uint8_t issue_out[SBX_ID_BYTES])
{
    sbx_store_handle_lock(&view->store->reader);
    struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_FIND_ADDRESS);
    sbx_bind_blob(statement, 1, address, SBX_ID_BYTES);
    int result = sbx_store_step(statement);
    if (result > 0)
        memcpy(issue_out, sbx_column_blob(statement, 0), SBX_ID_BYTES);
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&view->store->reader);
    return result > 0 ? 0 : result < 0 ? result : -ENOENT;
}

int sbx_store_missing(const struct sbx_store_view *view, struct sbx_missing_row *rows, size_t max, size_t *count_out)
{
    size_t count = 0;
    int result = 0;
    sbx_store_handle_lock(&view->store->reader);
    struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_MISSING_MODULES);
    sbx_bind_integer(statement, 1, (int64_t)max);
    while (count < max && (result = sbx_store_step(statement)) > 0) {
        struct sbx_missing_row *row = &rows[count++];
        size_t bytes = sbx_column_bytes(statement, 0);
        *row = (struct sbx_missing_row){.is_runtime = (int)sbx_column_integer(statement, 2) != 0,
                                        .is_renamed = (int)sbx_column_integer(statement, 3) != 0,
                                        .stalls = sbx_column_integer(statement, 4),
                                        .frames = sbx_column_integer(statement, 5),
                                        .last_ms = sbx_column_integer(statement, 6)};
        if (bytes > 0 && bytes * 2 < sizeof(row->build_id))
            sbx_hex_print(sbx_column_blob(statement, 0), bytes, row->build_id);
        sbx_store_column_text(statement, 1, row->name, sizeof(row->name));
    }
    sbx_statement_reset(statement);
    sbx_store_handle_unlock(&view->store->reader);
    *count_out = count;
    return result < 0 ? result : 0;
}

int sbx_store_keep_sent(const struct sbx_store_view *view, struct sbx_stored_row *rows, size_t *count)
{
    size_t kept = 0;
    int result = 0;
    sbx_store_handle_lock(&view->store->reader);
    for (size_t i = 0; i < *count && result >= 0; i++) {
        uint8_t build_id[32];
        size_t bytes = sbx_hex_read(rows[i].build_id, build_id, sizeof(build_id));
        struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_IS_SENT);
        sbx_bind_blob(statement, 1, build_id, bytes);
        result = sbx_store_step(statement);
        sbx_statement_reset(statement);
        sbx_statement_clear(statement);
        if (result > 0)
            rows[kept++] = rows[i];
    }
    sbx_store_handle_unlock(&view->store->reader);
    *count = kept;
    return result < 0 ? result : 0;
}

int sbx_store_issues_after(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES],
                           struct sbx_issue_after *rows, size_t max, size_t *count_out)
{
    size_t count = 0;
    int result = 0;
    sbx_store_handle_lock(&view->store->reader);
    struct sbx_statement *statement = sbx_store_use_to_show(view, SBX_READER_ISSUES_AFTER);
    sbx_bind_blob(statement, 1, issue, SBX_ID_BYTES);
    sbx_bind_integer(statement, 2, (int64_t)max);
    while (count < max && (result = sbx_store_step(statement)) > 0) {
        print_column_id(statement, 0, rows[count].id_text);
        rows[count].hits = sbx_column_integer(statement, 1);
        sbx_store_column_text(statement, 2, rows[count].headline, sizeof(rows[count].headline));
        count++;
    }
    sbx_statement_reset(statement);
    sbx_statement_clear(statement);
    sbx_store_handle_unlock(&view->store->reader);
    *count_out = count;
    return result < 0 ? result : 0;
}
