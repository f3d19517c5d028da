/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "stall_facts.h"
#include "started_server.h"
#include "store.h"
#include "store_place.h"
#include "store_symbols.h"

static struct sbx_store *store;
#define ALL (&(struct sbx_store_view){store, 0}) /* a view that sees all applications */
static const char *version, *place;

static void open_store(void)
{
    char why[200] = "";
    assert_int_equal(sbx_store_open(place, version, &store, why, sizeof(why)), 0);
}

static int set_up(void **state)
{
    prepare_server(state);
    version = "1";
    place = store_place_of(fixture.data_dir);
    open_store();
    return 0;
}

static int tear_down(void **state)
{
    sbx_store_close(store);
    return remove_server(state);
}

static struct sbx_stall stall_of(uint8_t name, uint8_t session, uint8_t build)
{
    struct sbx_stall stall = {.payload_id = {name},
                              .session_id = {session},
                              .app_build_id = {build, build},
                              .app_build_id_bytes = 8,
                              .created_day = 20000,
                              .sampling = {.weight = 1, .one_in = 1},
                              .trigger = {.kind = SBX_TRIGGER_ANR, .duration_ns = name * 1000000, .threshold_ms = 5}};
    return stall;
}

static enum sbx_stored put(uint8_t name, uint8_t session, uint8_t build, const char *bytes)
{
    struct sbx_stall stall = stall_of(name, session, build);
    enum sbx_stored stored;
    assert_int_equal(sbx_store_put(store, &stall, bytes, strlen(bytes), 1000 + name, &stored), 0);
    return stored;
}

/* A different place for each function. */
static const uint8_t *key_of(const char *function)
{
    static uint8_t key[SBX_ID_BYTES];
    uint32_t hash = 1;
    for (const char *at = function; *at && *at != '.'; at++)
        hash = hash * 31 + (uint8_t)*at;
    memset(key, 0, sizeof(key));
    memcpy(key, &hash, sizeof(hash));
    return key;
}

static void judge(uint8_t name, const char *cause, const char *function)
{
    const struct sbx_said_row said[] = {{SBX_FACT_CAUSE, cause, 1000 * name}, {SBX_FACT_FUNCTION, function, 1000}};
    const struct sbx_verdict_row verdict = {.app = "app",
                                            .cause = cause,
                                            .class_ = "off_cpu",
                                            .function = function,
                                            .module = "m.so",
                                            .headline = "it slept",
                                            .confidence = 0.9,
                                            .key = key_of(function),
                                            .path = function,
                                            .said = said,
                                            .said_count = 2};
    const uint8_t id[SBX_ID_BYTES] = {name};
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
}

static size_t list_issues(struct sbx_issue_row rows[4])
{
    size_t count;
    assert_int_equal(sbx_store_issues(ALL, rows, 4, &count), 0);
    return count;
}

/* The end of stall `name`, after `ms`. */
static enum sbx_stored put_end(uint8_t name, uint8_t session, uint32_t how, int64_t ms)
{
    struct sbx_stall end = stall_of((uint8_t)(name ^ 0x80), session, 1);
    enum sbx_stored stored;
    end.trigger.kind = SBX_TRIGGER_END;
    end.completes[0] = name;
    end.end.how = how;
    end.end.signal = how == SBX_END_DIED ? 9 : 0;
    end.end.duration_ns = ms * 1000000;
    end.has_rotating_id = true;
    end.rotating_id[0] = name;
    assert_int_equal(sbx_store_put(store, &end, "end", 3, 2000, &stored), 0);
    return stored;
}

static struct sbx_snapshot_row row_of(uint8_t name)
{
    struct sbx_snapshot_row row;
    const uint8_t id[SBX_ID_BYTES] = {name};
    assert_int_equal(sbx_store_snapshot(ALL, id, &row), 0);
    return row;
}

/* The end in the form that triage gets. */
static struct sbx_end_row end_of(uint8_t name)
{
    struct sbx_end_row end;
    const uint8_t id[SBX_ID_BYTES] = {name};
    assert_int_equal(sbx_store_read_end(store, id, &end), 0);
    return end;
}

static void keep_first(void *context, const uint8_t id[SBX_ID_BYTES], const uint8_t machine[8])
{
    (void)machine;
    memcpy(context, id, SBX_ID_BYTES);
}

/* The first stall that waits for triage. */
static int next_pending(uint8_t id_out[SBX_ID_BYTES])
{
    return sbx_store_each_pending(store, 1, keep_first, id_out) == 1 ? 0 : -ENOENT;
}

static void test_the_same_payload_is_stored_once_and_other_bytes_conflict(void **state)
{
    (void)state;
    struct sbx_store_counts counts;
    assert_int_equal(put(1, 1, 1, "abc"), SBX_STORED_NEW);
    assert_int_equal(put(1, 1, 1, "abc"), SBX_STORED_BEFORE);
    assert_int_equal(put(1, 1, 1, "abd"), SBX_STORED_CONFLICT);
    assert_int_equal(put(1, 1, 1, "ab"), SBX_STORED_CONFLICT);
    assert_int_equal(sbx_store_count(ALL, &counts), 0);
    assert_int_equal(counts.snapshots, 1);
    assert_true(counts.bytes > 0);
}

static void test_the_end_of_a_stall_completes_it_once_and_is_no_snapshot(void **state)
{
    (void)state;
    struct sbx_store_counts counts;
    struct sbx_issue_row issues[4];
    put(5, 1, 1, "abc");
    put(6, 1, 1, "abc");
    judge(5, "sleep", "f");
    judge(6, "sleep", "f");
    assert_int_equal(put_end(5, 1, SBX_END_ANSWERED, 9000), SBX_STORED_NEW);
    assert_int_equal(row_of(5).duration_ns, INT64_C(9000000000));
    assert_int_equal(row_of(5).state, SBX_TRIAGE_PENDING); /* its headline must be written again */
    assert_int_equal(row_of(6).duration_ns, 6000000);
    assert_int_equal(row_of(6).state, SBX_TRIAGE_DONE);
    assert_int_equal(list_issues(issues), 1);
    assert_int_equal(issues[0].hits, 2);
    assert_int_equal(issues[0].longest_ns, INT64_C(9000000000));
    judge(5, "sleep", "f");
    assert_int_equal(put_end(5, 1, SBX_END_ANSWERED, 9000), SBX_STORED_BEFORE);
    assert_int_equal(put_end(5, 1, SBX_END_DIED, 99000), SBX_STORED_BEFORE); /* the first end counts */
    assert_int_equal(row_of(5).state, SBX_TRIAGE_DONE);
    assert_int_equal(row_of(5).duration_ns, INT64_C(9000000000));
    assert_int_equal(end_of(5).how, SBX_END_ANSWERED);
    assert_int_equal(end_of(6).how, SBX_END_NONE);
    assert_int_equal(sbx_store_count(ALL, &counts), 0);
    assert_int_equal(counts.snapshots, 2);
}

static void test_an_end_that_comes_before_its_stall_waits_for_it(void **state)
{
    (void)state;
    assert_int_equal(put_end(5, 1, SBX_END_DIED, 9000), SBX_STORED_NEW);
    assert_int_equal(put_end(6, 2, SBX_END_ANSWERED, 9000), SBX_STORED_NEW);
    put(5, 1, 1, "abc");
    put(6, 1, 1, "abc"); /* of a process other than that end's */
    assert_int_equal(row_of(5).duration_ns, INT64_C(9000000000));
    assert_int_equal(row_of(6).duration_ns, 6000000);
    assert_int_equal(end_of(5).how, SBX_END_DIED);
    assert_int_equal(end_of(5).signal, 9);
    assert_int_equal(row_of(5).end_how, SBX_END_DIED); /* the lists show it as well */
    assert_int_equal(row_of(5).end_signal, 9);
    assert_int_equal(row_of(6).end_how, SBX_END_NONE);
    assert_int_equal(end_of(5).duration_ns, INT64_C(9000000000));
    assert_int_equal(end_of(6).how, SBX_END_NONE);
}

/* Is the end of this stall stored, with or without the stall itself? */
static int has_end(uint8_t name)
{
    char sql[100];
    if (store_is_postgres())
        snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM stall_end WHERE get_byte(first, 0) = %d", name);
    else
        snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM stall_end WHERE substr(first, 1, 1) = x'%02x'", name);
    return store_number(fixture.data_dir, sql) != 0;
}

static void test_an_end_goes_with_its_stall_its_machine_or_its_age(void **state)
{
    (void)state;
    const uint8_t rotating_id[SBX_ROTATING_ID_BYTES] = {6};
    put(5, 1, 1, "abc");
    put_end(5, 1, SBX_END_ANSWERED, 9000);
    assert_int_equal(sbx_store_age(store, SBX_AGED_SNAPSHOT, 1900, 1, NULL, NULL), 1);
    assert_false(has_end(5));
    put_end(6, 1, SBX_END_ANSWERED, 9000); /* the stall itself never arrived */
    assert_int_equal(sbx_store_erase(store, rotating_id, 3000, NULL, NULL), 0);
    assert_false(has_end(6));
    assert_int_equal(put_end(6, 1, SBX_END_ANSWERED, 9000), SBX_STORED_BEFORE); /* nor is it stored any more */
    assert_false(has_end(6));
    put_end(7, 1, SBX_END_ANSWERED, 9000);
    assert_int_equal(sbx_store_end_ageing(store, 2000, INT64_MIN, false), 0);
    assert_true(has_end(7));
    assert_int_equal(sbx_store_end_ageing(store, 2001 + INT64_C(31) * 86400000, INT64_MIN, false), 0);
    assert_false(has_end(7));
}

/* A stall of a worker of family 9, reported at that moment; `holder` is the session of the process that its thread
 * waited for, 0: none. */
static void put_kin(uint8_t name, uint8_t session, uint64_t moment, uint8_t holder)
{
    struct sbx_stall_process process = {.is_recorded = true, .is_worker = true, .session_id = {holder}};
    struct sbx_stall stall = stall_of(name, session, 1);
    enum sbx_stored stored;
    stall.family.is_worker = true;
    stall.family.id[0] = 9;
    stall.family.moment = moment;
    stall.processes = &process;
    stall.process_count = holder != 0;
    assert_int_equal(sbx_store_put(store, &stall, "bytes", 5, 1000 + name, &stored), 0);
    assert_int_equal(stored, SBX_STORED_NEW);
    judge(name, holder != 0 ? "lock" : "cpu", holder != 0 ? "ask" : "dig");
}

static void test_stalls_of_one_family_at_one_moment_are_kin_and_who_held_them_comes_first(void **state)
{
    (void)state;
    struct sbx_snapshot_row rows[8];
    size_t count;
    put_kin(1, 11, 77, 13);
    put_kin(2, 12, 77, 13);
    put_kin(3, 13, 77, 0);
    put_kin(4, 14, 78, 13); /* at another moment */
    const uint8_t id[SBX_ID_BYTES] = {1}, alone[SBX_ID_BYTES] = {4};
    assert_int_equal(sbx_store_kin(ALL, id, rows, 8, &count), 0);
    assert_int_equal(count, 3);
    assert_int_equal(rows[0].id[0], 3);
    assert_int_equal(rows[0].kin, 3);
    assert_int_equal(rows[0].kin_held, 2);
    assert_int_equal(rows[1].kin_held, 0);
    assert_int_equal(rows[1].kin_first, rows[0].kin_first);
    assert_int_equal(sbx_store_snapshot(ALL, alone, rows), 0);
    assert_int_equal(rows[0].kin, 1);
    assert_int_equal(sbx_store_kin(ALL, alone, rows, 8, &count), 0);
    assert_int_equal(count, 1);
}

static void test_a_stall_that_goes_leaves_no_kin_behind(void **state)
{
    (void)state;
    struct sbx_snapshot_row row;
    put_kin(1, 11, 77, 13);
    put_kin(2, 13, 77, 0);
    const uint8_t id[SBX_ID_BYTES] = {2};
    assert_int_equal(sbx_store_age(store, SBX_AGED_SNAPSHOT, 1002, 1, NULL, NULL), 1);
    assert_int_equal(sbx_store_snapshot(ALL, id, &row), 0);
    assert_int_equal(row.kin, 1);
    assert_int_equal(row.kin_held, 0);
}

static void test_rows_and_bytes_are_there_after_reopening(void **state)
{
    (void)state;
    struct sbx_snapshot_row row;
    struct sbx_byte_buffer envelope = {0};
    const uint8_t id[SBX_ID_BYTES] = {7};
    put(7, 1, 0xab, "the envelope");
    sbx_store_close(store);
    open_store();
    assert_int_equal(sbx_store_snapshot(ALL, id, &row), 0);
    assert_int_equal(row.state, SBX_TRIAGE_PENDING);
    assert_int_equal(row.received_ms, 1007);
    assert_int_equal(row.duration_ns, 7000000);
    assert_string_equal(row.trigger, "anr");
    assert_string_equal(row.app_build_id, "abab000000000000");
    assert_string_equal(row.app_version, "");
    assert_int_equal(sbx_store_envelope(ALL, id, &envelope), 0);
    assert_string_equal(envelope.data, "the envelope");
    sbx_byte_buffer_finish(&envelope);
}

static void test_what_is_not_there_is_not_found(void **state)
{
    (void)state;
    struct sbx_snapshot_row row;
    struct sbx_issue_row issue;
    struct sbx_byte_buffer envelope = {0};
    uint8_t id[SBX_ID_BYTES] = {7};
    const struct sbx_verdict_row verdict = {.key = id};
    assert_int_equal(sbx_store_snapshot(ALL, id, &row), -ENOENT);
    assert_int_equal(sbx_store_issue(ALL, id, &issue), -ENOENT);
    assert_int_equal(sbx_store_envelope(ALL, id, &envelope), -ENOENT);
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), -ENOENT);
    assert_int_equal(sbx_store_begin_triage(store, id), -ENOENT);
    assert_int_equal(next_pending(id), -ENOENT);
}

static void test_snapshots_are_listed_newest_first_page_by_page(void **state)
{
    (void)state;
    struct sbx_snapshot_row rows[3];
    size_t count;
    for (uint8_t name = 1; name <= 5; name++)
        put(name, 1, 1, "x");
    assert_int_equal(sbx_store_snapshots(ALL, NULL, 0, rows, 3, &count), 0);
    assert_int_equal(count, 3);
    assert_int_equal(rows[0].id[0], 5);
    assert_int_equal(rows[2].id[0], 3);
    assert_int_equal(sbx_store_snapshots(ALL, NULL, rows[2].seq, rows, 3, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(rows[1].id[0], 1);
}

static void test_issues_count_hits_and_processes_and_span_their_times(void **state)
{
    (void)state;
    struct sbx_issue_row rows[4];
    put(1, 1, 1, "x"), put(2, 1, 1, "x"), put(3, 2, 2, "x"), put(4, 9, 2, "x");
    judge(1, "sleep", "f"), judge(2, "sleep", "f.cold"), judge(3, "sleep", "f"), judge(4, "lock", "g");
    assert_int_equal(list_issues(rows), 2);
    assert_int_equal(rows[0].hits, 3);
    assert_int_equal(rows[0].sessions, 2);
    assert_int_equal(rows[0].builds, 2);
    assert_int_equal(rows[0].first_ms, 1001);
    assert_int_equal(rows[0].last_ms, 1003);
    assert_int_equal(rows[0].longest_ns, 3000000);
    assert_int_equal(rows[0].newest.id[0], 3);
    assert_string_equal(rows[0].newest.cause, "sleep");
    assert_string_equal(rows[1].newest.function, "g");
    assert_string_equal(rows[0].id_text, rows[0].newest.issue_text);
}

static void put_weighed(uint8_t name, uint32_t weight, uint32_t one_in)
{
    struct sbx_stall stall = stall_of(name, name, 1);
    enum sbx_stored stored;
    stall.sampling.weight = weight;
    stall.sampling.one_in = one_in;
    assert_int_equal(sbx_store_put(store, &stall, "x", 1, 1000 + name, &stored), 0);
}

static void test_weights_are_summed_and_so_is_their_variance(void **state)
{
    (void)state;
    struct sbx_issue_row rows[4];
    struct sbx_snapshot_row row;
    const uint8_t id[SBX_ID_BYTES] = {3};
    put_weighed(1, 1, 1), put_weighed(2, 8, 8), put_weighed(3, 1024 + 37, 1024), put_weighed(4, 2, 2);
    judge(1, "sleep", "f"), judge(2, "sleep", "f"), judge(3, "sleep", "f"), judge(4, "lock", "g");
    assert_int_equal(list_issues(rows), 2);
    assert_int_equal(rows[0].hits, 3);
    assert_int_equal(rows[0].weight, 1 + 8 + 1024 + 37);
    assert_int_equal(rows[0].variance, 8 * 7 + 1024 * 1023);
    assert_int_equal(rows[1].weight, 2);
    assert_int_equal(sbx_store_snapshot(ALL, id, &row), 0);
    assert_int_equal(row.weight, 1024 + 37);
    assert_int_equal(row.one_in, 1024);
    judge(3, "lock", "g"); /* a new verdict moves its weight too */
    assert_int_equal(list_issues(rows), 2);
    int64_t sum = rows[0].weight + rows[1].weight;
    assert_int_equal(sum, 1 + 8 + 1024 + 37 + 2);
}

/* Symptom: a payload with one_in 1048576 made the error of every sum 1048576. */
static void test_no_payload_stands_for_more_than_ten_thousand_stalls(void **state)
{
    (void)state;
    struct sbx_issue_row rows[4];
    struct sbx_snapshot_row row;
    const uint8_t id[SBX_ID_BYTES] = {2};
    put_weighed(1, 1, 1), put_weighed(2, 1048576, 1048576), put_weighed(3, 1, 1048576);
    judge(1, "sleep", "f"), judge(2, "sleep", "f"), judge(3, "sleep", "f");
    assert_int_equal(list_issues(rows), 1);
    assert_int_equal(rows[0].weight, 1 + 10000 + 1);
    assert_int_equal(rows[0].variance, 2 * 10000 * 9999);
    assert_int_equal(sbx_store_snapshot(ALL, id, &row), 0);
    assert_int_equal(row.weight, 10000);
    assert_int_equal(row.one_in, 10000);
}

static void run_file(sqlite3 *db, const char *path)
{
    static char sql[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    sql[fread(sql, 1, sizeof(sql) - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Replace our store by one that a server of schema 3 made (schema_3.sql contains its data of five stalls), and change
 * it. */
static void open_old_store(const char *changes)
{
    char path[100], other[110];
    sqlite3 *db;
    sbx_store_close(store);
    snprintf(path, sizeof(path), "%s/store.db", fixture.data_dir);
    for (int i = 0; i < 3; i++) {
        snprintf(other, sizeof(other), "%s%s", path, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
        unlink(other);
    }
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run_file(db, SCHEMA_3_SQL);
    assert_int_equal(sqlite3_exec(db, changes, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    open_store();
}

static void test_the_store_of_an_older_server_is_summed_and_triaged_anew(void **state)
{
    (void)state;
    if (store_is_postgres()) /* there never was an older PostgreSQL store */
        skip();
    struct sbx_issue_row rows[4];
    struct sbx_renamed renamed;
    uint8_t old[SBX_ID_BYTES], now[SBX_ID_BYTES];
    char old_text[SBX_ID_TEXT_BYTES];
    open_old_store("");
    assert_int_equal(list_issues(rows), 3);
    assert_string_equal(rows[1].newest.function, "g"); /* in two processes */
    assert_int_equal(rows[1].hits, 2);
    assert_int_equal(rows[1].sessions, 2);
    assert_int_equal(rows[1].machines, 2);
    assert_int_equal(rows[1].longest_ns, 400000000);
    assert_int_equal(rows[1].last_ms, 1728172800000);
    assert_int_equal(rows[0].weight + rows[2].weight, 1 + 8);
    assert_int_equal(rows[0].variance + rows[2].variance, 8 * 7);
    snprintf(old_text, sizeof(old_text), "%s", rows[1].id_text);
    assert_true(sbx_id_parse(rows[1].id_text, 32, old));
    for (uint8_t name = 4; name >= 1; name--) { /* the judged ones, the newest first */
        assert_int_equal(sbx_store_next_renamed(store, &renamed), 0);
        assert_int_equal(renamed.id[0], name);
        judge(name, name > 2 ? "lock" : "cpu", name > 2 ? "g" : "f");
        assert_int_equal(sbx_store_end_renamed(store, &renamed), 0);
    }
    assert_int_equal(sbx_store_next_renamed(store, &renamed), -ENOENT);
    assert_int_equal(list_issues(rows), 2); /* cpu and cpu_contention of f are one issue now */
    assert_int_equal(rows[0].hits + rows[1].hits, 4);
    assert_int_equal(sbx_store_find_address(ALL, old, now), 0); /* and the old address leads to it */
    assert_memory_equal(now, key_of("g"), SBX_ID_BYTES);
}

/* A store of the first schema, without weights and gaps. */
static void test_a_store_without_weights_is_given_them(void **state)
{
    (void)state;
    if (store_is_postgres()) /* there never was an older PostgreSQL store */
        skip();
    struct sbx_issue_row rows[4];
    open_old_store("DROP INDEX snapshot_of_issue; ALTER TABLE snapshot DROP COLUMN weight;"
                   "ALTER TABLE snapshot DROP COLUMN one_in; ALTER TABLE issue DROP COLUMN weight;"
                   "ALTER TABLE issue DROP COLUMN variance; DROP TABLE gap; DROP TABLE module; DROP TABLE was_in;"
                   "CREATE INDEX snapshot_of_issue ON snapshot(issue, seq); PRAGMA user_version=1");
    for (int times = 0; times < 2; times++) { /* the second time nothing changes */
        assert_int_equal(list_issues(rows), 3);
        assert_int_equal(rows[0].weight, 2);
        assert_int_equal(rows[0].variance, 0);
        sbx_store_close(store);
        open_store();
    }
}

static void test_a_new_verdict_moves_a_snapshot_between_issues(void **state)
{
    (void)state;
    struct sbx_issue_row rows[4];
    put(1, 1, 1, "x"), put(2, 2, 1, "x");
    judge(1, "sleep", "f"), judge(2, "sleep", "f");
    judge(2, "lock", "g");
    assert_int_equal(list_issues(rows), 2);
    assert_int_equal(rows[0].hits + rows[1].hits, 2);
    judge(1, "lock", "g");
    assert_int_equal(list_issues(rows), 1);
    assert_int_equal(rows[0].hits, 2);
    judge(1, "lock", "g");
    assert_int_equal(list_issues(rows), 1);
    assert_int_equal(rows[0].hits, 2);
}

static void test_an_issue_of_a_new_build_only_is_new(void **state)
{
    (void)state;
    struct sbx_issue_row rows[4];
    put(1, 1, 1, "x"), put(2, 2, 2, "x");
    judge(1, "sleep", "old"), judge(2, "sleep", "fresh");
    assert_int_equal(list_issues(rows), 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(rows[i].new_in_build, strcmp(rows[i].newest.function, "fresh") == 0);
}

static void test_pending_ones_are_given_oldest_first_until_they_are_judged(void **state)
{
    (void)state;
    uint8_t id[SBX_ID_BYTES];
    put(5, 1, 1, "x"), put(3, 1, 1, "x");
    assert_int_equal(next_pending(id), 0);
    assert_int_equal(id[0], 5);
    judge(5, "io", "f");
    assert_int_equal(next_pending(id), 0);
    assert_int_equal(id[0], 3);
    assert_int_equal(sbx_store_put_failure(store, id, "no"), 0);
    assert_int_equal(next_pending(id), -ENOENT);
}

static void test_one_that_took_a_server_down_waits_behind_the_others(void **state)
{
    (void)state;
    uint8_t id[SBX_ID_BYTES] = {1};
    put(1, 1, 1, "x"), put(2, 1, 1, "x");
    assert_int_equal(sbx_store_begin_triage(store, id), 0);
    assert_int_equal(next_pending(id), 0);
    assert_int_equal(id[0], 2);
}

static void test_a_payload_that_never_ends_its_triage_is_given_up(void **state)
{
    (void)state;
    const uint8_t id[SBX_ID_BYTES] = {1};
    put(1, 1, 1, "x");
    for (int i = 0; i < SBX_TRIAGE_ATTEMPTS_MAX; i++)
        assert_int_equal(sbx_store_begin_triage(store, id), 0);
    assert_int_equal(sbx_store_begin_triage(store, id), -EDEADLK);
    assert_int_equal(sbx_store_put_off_triage(store, id), 0);
    assert_int_equal(sbx_store_begin_triage(store, id), 0);
    judge(1, "io", "f");
    assert_int_equal(sbx_store_begin_triage(store, id), 0);
}

static void test_failures_are_tried_again_by_another_version_only(void **state)
{
    (void)state;
    uint8_t id[SBX_ID_BYTES] = {1};
    struct sbx_snapshot_row row;
    put(1, 1, 1, "x");
    assert_int_equal(sbx_store_put_failure(store, id, "a reason"), 0);
    assert_int_equal(sbx_store_snapshot(ALL, id, &row), 0);
    assert_int_equal(row.state, SBX_TRIAGE_FAILED);
    assert_string_equal(row.failure, "a reason");
    sbx_store_close(store);
    open_store();
    assert_int_equal(next_pending(id), -ENOENT);
    sbx_store_close(store);
    version = "2";
    open_store();
    assert_int_equal(next_pending(id), 0);
}

static void test_a_store_of_a_newer_server_is_refused(void **state)
{
    (void)state;
    char why[200] = "";
    struct sbx_store *other = NULL;
    store_run(fixture.data_dir, store_is_postgres() ? "UPDATE version SET number = 99" : "PRAGMA user_version=99");
    assert_int_equal(sbx_store_open(place, version, &other, why, sizeof(why)), -EPROTO);
    assert_non_null(strstr(why, "newer"));
    assert_null(other);
}

static void test_text_that_looks_like_sql_is_only_text(void **state)
{
    (void)state;
    struct sbx_issue_row rows[4];
    put(1, 1, 1, "x");
    judge(1, "io", "'; DROP TABLE snapshot; --");
    assert_int_equal(list_issues(rows), 1);
    assert_string_equal(rows[0].newest.function, "'; DROP TABLE snapshot; --");
}

/* As judge(), for a stall that has `unnamed` frames without a name in the module {9, 9, 9, 9}. */
static void judge_with_gap(uint8_t name, const char *function, uint32_t unnamed)
{
    static const uint8_t build_id[] = {9, 9, 9, 9};
    const struct sbx_gap_row gap = {.build_id = build_id, .build_id_bytes = 4, .name = "m", .unnamed = unnamed};
    const struct sbx_verdict_row verdict = {.app = "app",
                                            .cause = "cpu",
                                            .class_ = "on_cpu",
                                            .function = function,
                                            .module = "m",
                                            .headline = function,
                                            .gaps = &gap,
                                            .gap_count = unnamed > 0,
                                            .key = key_of(function)};
    const uint8_t id[SBX_ID_BYTES] = {name};
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
}

static void test_an_issue_that_symbols_take_apart_says_what_became_of_it(void **state)
{
    (void)state;
    static const uint8_t build_id[] = {9, 9, 9, 9};
    struct sbx_issue_row issues[4];
    struct sbx_issue_after after[4];
    struct sbx_missing_row missing[4];
    struct sbx_renamed renamed;
    uint8_t old[SBX_ID_BYTES];
    size_t count;
    int64_t stalls;
    for (uint8_t name = 1; name <= 3; name++) {
        put(name, name, 1, "abc");
        judge_with_gap(name, "m+0x10", 2);
    }
    assert_int_equal(list_issues(issues), 1);
    assert_true(sbx_id_parse(issues[0].id_text, 32, old));
    assert_int_equal(sbx_store_missing(ALL, missing, 4, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(missing[0].stalls, 3);
    assert_int_equal(missing[0].frames, 6);
    assert_int_equal(sbx_store_next_renamed(store, &renamed), -ENOENT);

    assert_int_equal(sbx_store_symbols_came(store, build_id, 4, 5, &stalls), 0);
    assert_int_equal(stalls, 3);
    for (uint8_t name = 3; name >= 1; name--) { /* newest first */
        assert_int_equal(sbx_store_next_renamed(store, &renamed), 0);
        assert_int_equal(renamed.id[0], name);
        judge_with_gap(name, name == 2 ? "parse" : "sort", 0);
        assert_int_equal(sbx_store_end_renamed(store, &renamed), 0);
    }
    assert_int_equal(sbx_store_next_renamed(store, &renamed), -ENOENT);
    assert_int_equal(sbx_store_missing(ALL, missing, 4, &count), 0);
    assert_int_equal(count, 0);
    assert_int_equal(sbx_store_issue(ALL, old, &issues[0]), -ENOENT);
    assert_int_equal(sbx_store_issues_after(ALL, old, after, 4, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(after[0].hits, 2);
    assert_string_equal(after[0].headline, "sort");
    assert_string_equal(row_of(2).headline, "parse");
    assert_int_equal(strlen(row_of(2).was_in_text), 32);

    judge_with_gap(1, "other", 0);
    assert_int_equal(sbx_store_issues_after(ALL, old, after, 4, &count), 0);
    assert_int_equal(count, 3);
    judge_with_gap(2, "m+0x10", 2); /* a gap that comes back was never closed */
    assert_string_equal(row_of(2).was_in_text, "");
    assert_int_equal(sbx_store_issue(ALL, old, &issues[0]), 0);
}

static void test_symbols_that_one_server_took_are_heard_by_the_other_once(void **state)
{
    (void)state;
    static const uint8_t build_id[] = {9, 9, 9, 9};
    uint8_t heard[32];
    struct sbx_store *other;
    struct sbx_renamed renamed;
    size_t bytes = 0;
    int64_t stalls, seen = -1, own = -1, late = -1;
    char why[200] = "";
    assert_int_equal(sbx_store_open(place, version, &other, why, sizeof(why)), 0);
    put(1, 1, 1, "abc");
    judge_with_gap(1, "m+0x10", 2);
    assert_int_equal(sbx_store_newest_arrival(other, &seen), 0);
    assert_int_equal(sbx_store_newest_arrival(store, &own), 0);
    assert_int_equal(sbx_store_next_arrival(other, &seen, heard, &bytes), -ENOENT);
    assert_int_equal(sbx_store_symbols_came(store, build_id, 4, 5, &stalls), 0);
    assert_int_equal(sbx_store_next_renamed(other, &renamed),
                     0); /* triaged by a worker that has not heard: still without names */
    judge_with_gap(1, "m+0x10", 2);
    assert_int_equal(sbx_store_end_renamed(other, &renamed), 0);
    assert_int_equal(sbx_store_next_renamed(other, &renamed), -ENOENT);
    assert_int_equal(sbx_store_next_arrival(store, &own, heard, &bytes), -ENOENT); /* its own are not news to it */
    assert_int_equal(sbx_store_next_arrival(other, &seen, heard, &bytes), 0);
    assert_int_equal(bytes, 4);
    assert_memory_equal(heard, build_id, 4);
    assert_int_equal(sbx_store_next_renamed(other, &renamed), 0); /* so it waits for triage again */
    assert_int_equal(sbx_store_next_arrival(other, &seen, heard, &bytes), -ENOENT);
    assert_int_equal(sbx_store_newest_arrival(other, &late), 0); /* a worker that starts now knows of it */
    assert_int_equal(sbx_store_next_arrival(other, &late, heard, &bytes), -ENOENT);
    sbx_store_close(other);
}

int main(void)
{
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_the_same_payload_is_stored_once_and_other_bytes_conflict),
        STORE_TEST(test_the_end_of_a_stall_completes_it_once_and_is_no_snapshot),
        STORE_TEST(test_an_end_that_comes_before_its_stall_waits_for_it),
        STORE_TEST(test_an_end_goes_with_its_stall_its_machine_or_its_age),
        STORE_TEST(test_stalls_of_one_family_at_one_moment_are_kin_and_who_held_them_comes_first),
        STORE_TEST(test_a_stall_that_goes_leaves_no_kin_behind),
        STORE_TEST(test_rows_and_bytes_are_there_after_reopening),
        STORE_TEST(test_what_is_not_there_is_not_found),
        STORE_TEST(test_snapshots_are_listed_newest_first_page_by_page),
        STORE_TEST(test_issues_count_hits_and_processes_and_span_their_times),
        STORE_TEST(test_weights_are_summed_and_so_is_their_variance),
        STORE_TEST(test_no_payload_stands_for_more_than_ten_thousand_stalls),
        STORE_TEST(test_the_store_of_an_older_server_is_summed_and_triaged_anew),
        STORE_TEST(test_a_store_without_weights_is_given_them),
        STORE_TEST(test_a_new_verdict_moves_a_snapshot_between_issues),
        STORE_TEST(test_an_issue_of_a_new_build_only_is_new),
        STORE_TEST(test_pending_ones_are_given_oldest_first_until_they_are_judged),
        STORE_TEST(test_one_that_took_a_server_down_waits_behind_the_others),
        STORE_TEST(test_a_payload_that_never_ends_its_triage_is_given_up),
        STORE_TEST(test_failures_are_tried_again_by_another_version_only),
        STORE_TEST(test_a_store_of_a_newer_server_is_refused),
        STORE_TEST(test_text_that_looks_like_sql_is_only_text),
        STORE_TEST(test_symbols_that_one_server_took_are_heard_by_the_other_once),
        STORE_TEST(test_an_issue_that_symbols_take_apart_says_what_became_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
