/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_sums.c - stored sums equal a count from the beginning, whatever is added, moved and removed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "stall_facts.h"
#include "started_server.h"
#include "store.h"
#include "store_place.h"

static struct sbx_store *store;
static const char *place; /* of the store; asked for once, because that makes a new database */

static int set_up(void **state)
{
    char why[200] = "";
    prepare_server(state);
    place = store_place_of(fixture.data_dir);
    return sbx_store_open(place, "1", &store, why, sizeof(why));
}

static int tear_down(void **state)
{
    sbx_store_close(store);
    return remove_server(state);
}

/* Read one number from the store. */
static int64_t number_of(const char *sql)
{
    return store_number(fixture.data_dir, sql);
}

/* Rows that only one of the two queries returns. */
static void assert_same(const char *sums, const char *counted)
{
    char sql[2000];
    snprintf(
        sql, sizeof(sql),
        "SELECT (SELECT COUNT(*) FROM (SELECT * FROM (%s) a EXCEPT SELECT * FROM (%s) b) x) + (SELECT COUNT(*) FROM "
        "(SELECT * FROM (%s) c EXCEPT SELECT * FROM (%s) d) y)",
        sums, counted, counted, sums);
    if (number_of(sql) != 0)
        fail_msg("%s is not %s", sums, counted);
}

#define MACHINE "COALESCE((SELECT r.id FROM rotating r WHERE r.seq = s.seq), s.session)"

/* Stalls of earlier days are only in the sums of all days. */
static int64_t first_day(void)
{
    return store_is_postgres() ? number_of("SELECT day FROM sums_begin") : 0;
}

static void assert_sums_are_right(void)
{
    /* The sums that a stall counts in: of its place and of its application, on its day and on all days. */
    static const char *const places[] = {"place", "whole"}, *const days[] = {"day", "-1"};
    for (int i = 0; i < 4; i++) {
        const char *of = places[i / 2], *day = days[i % 2];
        char rows[60], sums[200], counted[600], since[40];
        snprintf(since, sizeof(since), "s.day >= %lld", i % 2 ? 0 : (long long)first_day());
        snprintf(rows, sizeof(rows), "place %s 0 AND day %s 0", i / 2 ? "<" : ">", i % 2 ? "<" : ">=");
        snprintf(sums, sizeof(sums), "SELECT place, day, build, hits, weight, variance, machines FROM fact WHERE %s",
                 rows);
        snprintf(counted, sizeof(counted),
                 "SELECT s.%s, %s, s.build, COUNT(*), SUM(s.weight), SUM(s.one_in * (s.one_in - 1)), COUNT(DISTINCT "
                 "%s) FROM snapshot s WHERE s.place IS NOT NULL AND %s GROUP BY 1, 2, 3",
                 of, day, MACHINE, since);
        assert_same(sums, counted);
        snprintf(sums, sizeof(sums), "SELECT place, day, build, machine_days FROM fact WHERE machine_days <> 0 AND %s",
                 rows);
        snprintf(counted, sizeof(counted),
                 "SELECT t.place, %s, t.build, COUNT(*) FROM (SELECT DISTINCT s.%s AS place, s.day AS day, s.build AS"
                 " build, %s AS who FROM snapshot s WHERE s.place IS NOT NULL AND s.day >= %lld) t GROUP BY 1, 2, 3",
                 day, of, MACHINE, (long long)first_day());
        assert_same(sums, counted);
        snprintf(sums, sizeof(sums), "SELECT place, day, build, bucket, weight FROM spread WHERE %s", rows);
        snprintf(counted, sizeof(counted),
                 "SELECT s.%s, %s, s.build, s.bucket, SUM(s.weight) FROM snapshot s WHERE s.place IS NOT NULL AND"
                 " s.bucket IS NOT NULL AND %s GROUP BY 1, 2, 3, 4",
                 of, day, since);
        assert_same(sums, counted);
        snprintf(sums, sizeof(sums), "SELECT place, day, build, who, count FROM met_day WHERE %s", rows);
        snprintf(
            counted, sizeof(counted),
            "SELECT s.%s, %s, s.build, s.machine, COUNT(*) FROM snapshot s WHERE s.place IS NOT NULL AND %s GROUP BY 1,"
            " 2, 3, 4",
            of, day, since);
        assert_same(sums, counted);
        snprintf(sums, sizeof(sums), "SELECT place, kind, word, day, build, hits, weight, us FROM label WHERE %s",
                 rows);
        snprintf(counted, sizeof(counted),
                 "SELECT s.%s, d.kind, d.word, %s, s.build, COUNT(*), SUM(s.weight), SUM(s.weight * d.us) FROM"
                 " snapshot s JOIN said d ON d.seq = s.seq WHERE s.place IS NOT NULL AND %s GROUP BY 1, 2, 3, 4, 5",
                 of, day, since);
        assert_same(sums, counted);
    }
    static const char *const met[] = {"s.place, s.process FROM snapshot s", "s.place, s.machine FROM snapshot s",
                                      "s.place, s.build FROM snapshot s",
                                      "s.place, s.machine FROM snapshot s JOIN rotating r ON r.seq = s.seq",
                                      "s.build, s.machine FROM snapshot s JOIN rotating r ON r.seq = s.seq"};
    for (int kind = 0; kind < 5; kind++) {
        char sums[100], counted[200];
        snprintf(sums, sizeof(sums), "SELECT of, who FROM met WHERE kind = %d AND of >= 0", kind);
        snprintf(counted, sizeof(counted), "SELECT DISTINCT %s WHERE s.place IS NOT NULL", met[kind]);
        assert_same(sums, counted);
    }
    assert_same("SELECT COUNT(DISTINCT machine) FROM snapshot", "SELECT COUNT(DISTINCT " MACHINE ") FROM snapshot s");
    assert_same("SELECT -num, machines FROM app WHERE machines > 0",
                "SELECT s.whole, COUNT(DISTINCT " MACHINE ") FROM snapshot s WHERE s.place IS NOT NULL GROUP BY 1");
    assert_same("SELECT -num, tenant, name FROM app WHERE machines > 0",
                "SELECT DISTINCT whole, COALESCE(tenant, 0), COALESCE(app, '') FROM snapshot WHERE place IS NOT NULL");
    assert_same("SELECT num, hits, weight, variance, sessions, machines, builds, first_ms, last_ms, longest_ns, newest"
                " FROM place WHERE hits > 0",
                "SELECT s.place, COUNT(*), SUM(s.weight), SUM(s.one_in * (s.one_in - 1)), COUNT(DISTINCT s.session),"
                " COUNT(DISTINCT " MACHINE "), COUNT(DISTINCT s.build), MIN(s.received_ms), MAX(s.received_ms),"
                " MAX(s.duration_ns), MAX(s.seq) FROM snapshot s WHERE s.place IS NOT NULL GROUP BY 1");
    assert_same("SELECT num, sure FROM place WHERE hits > 0",
                "SELECT s.place, COUNT(DISTINCT r.id) FROM snapshot s LEFT JOIN rotating r ON r.seq = s.seq"
                " WHERE s.place IS NOT NULL GROUP BY 1");
    assert_same("SELECT num, used FROM word WHERE used > 0", "SELECT word, COUNT(*) FROM said GROUP BY 1");
    /* Each application has its own sums. Where the tenant is 0, an earlier server has put them there for all. */
    assert_int_equal(
        number_of("SELECT COUNT(*) FROM said d JOIN word w ON w.num = d.word JOIN snapshot s ON s.seq = d.seq"
                  " WHERE w.tenant NOT IN (0, s.tenant)"),
        0);
    assert_same(
        "SELECT module, tenant, gaps, stalls, frames FROM lack WHERE gaps > 0",
        "SELECT g.module, s.tenant, COUNT(*), SUM(CASE WHEN g.unnamed > 0 THEN 1 ELSE 0 END), SUM(g.unnamed) FROM"
        " gap g JOIN snapshot s ON s.seq = g.seq GROUP BY 1, 2");
    assert_int_equal(
        number_of("SELECT COUNT(*) FROM issue i WHERE NOT EXISTS(SELECT 1 FROM place p WHERE p.issue = i.num)"), 0);
}

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 12) % below;
}

static void put(uint8_t name)
{
    struct sbx_stall stall = {
        .payload_id = {name},
        .session_id = {(uint8_t)(1 + draw(6))},
        .app_build_id = {1, (uint8_t)draw(3)},
        .app_build_id_bytes = 8,
        .app_what = 7 + name % 2,
        .app_version = {1, draw(3), 0},
        .created_day = 20000 + draw(3),
        .sampling = {.weight = 1 + draw(50), .one_in = 1 + draw(8)},
        .trigger = {.kind = SBX_TRIGGER_ANR, .duration_ns = (int64_t)draw(5) * 100000000, .in_progress = true}};
    stall.has_rotating_id = draw(3) > 0;
    stall.rotating_id[0] = (uint8_t)(1 + draw(4));
    enum sbx_stored stored;
    assert_int_equal(sbx_store_put(store, &stall, "abc", 3, 20001 * INT64_C(86400000) + draw(200000000), &stored), 0);
}

static void judge(uint8_t name)
{
    static const char *const words[] = {"cpu", "io", "lock", "cpu_contention"};
    const char *function = words[draw(4)];
    const uint8_t id[SBX_ID_BYTES] = {name}, key[SBX_ID_BYTES] = {(uint8_t)(1 + draw(5)), name % 2};
    const uint8_t module[] = {(uint8_t)(1 + draw(3)), 9, 9}, other_module[] = {5, 5};
    const struct sbx_gap_row gaps[] = {{module, 3, draw(2) ? "libc.so.6" : "", false, draw(4)},
                                       {other_module, 2, "libm.so.6", false, 1 + draw(4)}};
    const struct sbx_said_row said[] = {{SBX_FACT_CAUSE, words[draw(4)], draw(1000000)},
                                        {SBX_FACT_FUNCTION, function, 5},
                                        {SBX_FACT_HOLDER, draw(2) ? words[draw(4)] : "", 7}};
    const struct sbx_verdict_row verdict = {.app = words[draw(2)],
                                            .cause = function,
                                            .class_ = "off_cpu",
                                            .function = function,
                                            .module = "m",
                                            .headline = "it slept",
                                            .key = key,
                                            .said = said,
                                            .said_count = 3,
                                            .gaps = gaps,
                                            .gap_count = draw(3)};
    int result = sbx_store_put_verdict(store, id, &verdict);
    assert_true(result == 0 || result == -ENOENT);
}

static void end(uint8_t name)
{
    struct sbx_stall stall = {.payload_id = {name, 1}, .trigger = {.kind = SBX_TRIGGER_END}, .completes = {name}};
    enum sbx_stored stored;
    stall.session_id[0] = (uint8_t)(1 + draw(6));
    stall.end.how = SBX_END_ANSWERED;
    stall.end.duration_ns = (int64_t)draw(50) * 100000000;
    assert_int_equal(sbx_store_put(store, &stall, "end", 3, 20001 * INT64_C(86400000), &stored), 0);
}

static void test_sums_are_what_a_count_from_the_beginning_gives(void **state)
{
    (void)state;
    for (int step = 0; step < 900; step++) {
        uint8_t name = (uint8_t)(1 + draw(120)), id[SBX_ID_BYTES] = {(uint8_t)(1 + draw(4))};
        switch (draw(12)) {
        case 0:
            end(name);
            break;
        case 1:
            if (step > 600) /* stalls of these days keep arriving */
                assert_true(sbx_store_close_day(store, 20001) >= 0);
            assert_true(sbx_store_age(store, SBX_AGED_SNAPSHOT, 20001 * INT64_C(86400000) + draw(40000000), 1 + draw(9),
                                      NULL, NULL) >= 0);
            break;
        case 2:
            if (draw(10) == 0)
                assert_true(sbx_store_erase(store, id, 1, NULL, NULL) >= 0);
            break;
        case 3:
        case 4:
        case 5:
        case 6:
            put(name);
            break;
        default:
            judge(name);
        }
        if (step % 100 == 99)
            assert_sums_are_right();
    }
    assert_true(number_of("SELECT COUNT(*) FROM fact") > 0);
    while (sbx_store_age(store, SBX_AGED_SNAPSHOT, INT64_MAX, 1, NULL, NULL) > 0) {
    }
    assert_int_equal(sbx_store_end_ageing(store, INT64_C(1) << 50, 0, true), 0);
    static const char *const tables[] = {"fact",  "spread", "label", "met", "met_day", "said",  "word",
                                         "place", "issue",  "app",   "gap", "lack",    "module"};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) { /* and nothing is left of all of this */
        char sql[60];
        snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM %s", tables[i]);
        if (number_of(sql) != 0)
            fail_msg("%s is not empty", tables[i]);
    }
}

/* Let every write to the sums fail from now on, or allow writes again. */
static void forbid_sums(bool is_forbidden)
{
    if (!is_forbidden) {
        store_run(fixture.data_dir, store_is_postgres() ? "DROP TRIGGER no_fact ON fact; DROP FUNCTION no_sum()"
                                                        : "DROP TRIGGER no_fact");
        return;
    }
    store_run(
        fixture.data_dir,
        store_is_postgres()
            ? "CREATE FUNCTION no_sum() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;"
              " CREATE TRIGGER no_fact BEFORE INSERT OR UPDATE ON fact FOR EACH ROW EXECUTE FUNCTION no_sum()"
            : "CREATE TRIGGER no_fact BEFORE INSERT ON fact BEGIN SELECT RAISE(ABORT, 'no'); END");
}

static void test_a_verdict_that_says_the_same_again_changes_no_sum(void **state)
{
    (void)state;
    const uint8_t id[SBX_ID_BYTES] = {1}, other_key[SBX_ID_BYTES] = {9};
    struct sbx_stall stall = {.payload_id = {1},
                              .session_id = {1},
                              .app_what = 7,
                              .created_day = 20000,
                              .sampling = {.weight = 1, .one_in = 1},
                              .trigger = {.kind = SBX_TRIGGER_ANR, .duration_ns = 1000000000}};
    struct sbx_said_row said[] = {{SBX_FACT_CAUSE, "io", 1000},
                                  {SBX_FACT_FUNCTION, "it's \"f\\<\u00e4>\"", 500},
                                  {SBX_FACT_FUNCTION, "", 1},
                                  {SBX_FACT_CAUSE, "io", 7}}; /* reported already */
    const uint8_t key[SBX_ID_BYTES] = {1};
    struct sbx_verdict_row verdict = {.app = "editor",
                                      .cause = "io",
                                      .class_ = "off_cpu",
                                      .function = "f",
                                      .module = "m",
                                      .headline = "it waited",
                                      .path = "f",
                                      .key = key,
                                      .said = said,
                                      .said_count = 4};
    enum sbx_stored stored;
    assert_int_equal(sbx_store_put(store, &stall, "abc", 3, 20001 * INT64_C(86400000), &stored), 0);
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
    assert_sums_are_right();
    assert_int_equal(number_of("SELECT COUNT(*) FROM said"), 2);
    assert_int_equal(number_of("SELECT SUM(us) FROM said"), 1500);
    forbid_sums(true);
    verdict.headline = "it waited for the disk";
    verdict.path = "g";
    verdict.profile = "0 - \n1 - main\n";
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
    assert_int_equal(number_of("SELECT COUNT(*) FROM snapshot WHERE headline = 'it waited for the disk' AND state = 1"),
                     1);
    assert_int_equal(number_of("SELECT COUNT(*) FROM place WHERE path = 'g' AND hits = 1"), 1);
    assert_int_equal(number_of("SELECT COUNT(*) FROM profile"), 1);
    said[0].us = 1001;
    assert_true(sbx_store_put_verdict(store, id, &verdict) < 0);
    said[0].us = 1000;
    said[1].word = "g";
    assert_true(sbx_store_put_verdict(store, id, &verdict) < 0);
    verdict.said_count = 1;
    assert_true(sbx_store_put_verdict(store, id, &verdict) < 0);
    forbid_sums(false);
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
    assert_sums_are_right();
    assert_int_equal(number_of("SELECT COUNT(*) FROM said"), 1);
    forbid_sums(true);
    verdict.app = "mail";
    assert_true(sbx_store_put_verdict(store, id, &verdict) < 0);
    verdict.app = "editor";
    verdict.key = other_key;
    assert_true(sbx_store_put_verdict(store, id, &verdict) < 0);
    forbid_sums(false);
    assert_int_equal(sbx_store_put_verdict(store, id, &verdict), 0);
    assert_sums_are_right();
    assert_int_equal(number_of("SELECT COUNT(*) FROM place"), 1);
}

/* Stores of earlier servers, with two dozen stalls and the states that people set. Schema 8 (in PostgreSQL 7): two
 * applications with the same missing modules. Schema 7 (in PostgreSQL 5): one without a number. */
static void load(const char *sql_file)
{
    sbx_store_close(store);
    store = NULL;
    store_load(fixture.data_dir, sql_file);
}

static void open_it(void)
{
    char why[200] = "";
    if (sbx_store_open(place, "1", &store, why, sizeof(why)) != 0)
        fail_msg("%s", why);
}

/* Judge all stalls again, and remove them. */
static void use_it(void)
{
    for (uint8_t name = 1; name <= 30; name++)
        judge(name);
    put(200);
    judge(200);
    assert_sums_are_right();
    while (sbx_store_age(store, SBX_AGED_SNAPSHOT, INT64_MAX, 7, NULL, NULL) > 0)
        assert_sums_are_right();
    assert_int_equal(number_of("SELECT (SELECT COUNT(*) FROM met) + (SELECT COUNT(*) FROM met_day)"), 0);
}

static void test_the_store_of_the_server_before_is_summed_as_it_was(void **state)
{
    (void)state;
    load(store_is_postgres() ? POSTGRES_7_SQL : SCHEMA_8_SQL);
    int64_t machines = number_of("SELECT SUM(machines) FROM place"), days = number_of("SELECT COUNT(*) FROM met_day"),
            frames = number_of("SELECT SUM(frames) FROM module");
    open_it();
    assert_int_equal(number_of("SELECT COUNT(*) FROM snapshot"), 24);
    assert_int_equal(number_of("SELECT SUM(machines) FROM place"), machines);
    assert_int_equal(number_of("SELECT COUNT(*) FROM met_day"), days);
    assert_int_equal(number_of("SELECT COUNT(*) FROM issue WHERE owner = 'anna'"), 1);
    assert_int_equal(number_of("SELECT SUM(frames) FROM lack"), frames);
    assert_int_equal(number_of("SELECT COUNT(*) FROM word WHERE tenant = 0 AND used > 0"), store_is_postgres() ? 0 : 4);
    assert_sums_are_right();
    if (store_is_postgres()) /* removed stalls are looked up in the sums by their keys */
        assert_int_equal(number_of("SELECT COUNT(*) FROM pg_proc WHERE proname = 'met_day_goes' AND proconfig @>"
                                   " ARRAY['enable_hashjoin=off', 'enable_mergejoin=off']"),
                         1);
    sbx_store_close(store); /* the second time nothing changes */
    open_it();
    assert_sums_are_right();
    use_it();
}

/* Change the store to that of an earlier server: places only by day. */
static void make_older(void)
{
    static const char *const steps[] = {
        "DELETE FROM fact WHERE place < 0 OR day < 0",
        "DELETE FROM spread WHERE place < 0 OR day < 0",
        "DELETE FROM label WHERE place < 0 OR day < 0",
        "DELETE FROM met_day WHERE place < 0 OR day < 0",
        "DELETE FROM met WHERE of < 0",
        "DROP VIEW summed",
        "DROP TABLE app",
    };
    static const char *const triggers[] = {"met_comes", "met_goes", "met_day_comes", "met_day_goes"};
    char sql[80];
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        store_run(fixture.data_dir, steps[i]);
    for (size_t i = 0; i < 4 && !store_is_postgres(); i++) {
        snprintf(sql, sizeof(sql), "DROP TRIGGER %s", triggers[i]);
        store_run(fixture.data_dir, sql);
    }
    if (store_is_postgres())
        store_run(fixture.data_dir, "DROP TABLE event, look, policy, active, arrival");
    store_run(fixture.data_dir, "ALTER TABLE fact DROP COLUMN machine_days");
    store_run(fixture.data_dir, "ALTER TABLE snapshot DROP COLUMN whole");
    store_run(fixture.data_dir, store_is_postgres() ? "UPDATE version SET number = 1" : "PRAGMA user_version=6");
}

static void test_sums_of_an_older_server_are_completed_when_its_store_is_opened(void **state)
{
    (void)state;
    load(store_is_postgres() ? POSTGRES_5_SQL : SCHEMA_7_SQL);
    make_older();
    open_it();
    assert_sums_are_right();
    assert_true(number_of("SELECT COUNT(*) FROM fact WHERE place < 0 AND day < 0") > 0);
    use_it(); /* additions and subtractions change these rows */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sums_are_what_a_count_from_the_beginning_gives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_verdict_that_says_the_same_again_changes_no_sum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_store_of_the_server_before_is_summed_as_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sums_of_an_older_server_are_completed_when_its_store_is_opened, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
