/* SPDX-License-Identifier: Apache-2.0 */
/* test_ageing.c - old stalls are removed, and values from too few machines are withheld. A real server; days pass in
 * its store while it is stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "erasure_format.h"
#include "started_server.h"

static void pass_days(unsigned days)
{
    fixture_stop(&fixture);
    fixture_grow_old(&fixture, days);
    fixture_start(&fixture);
}

static struct envelope put(enum sbx_scenario scenario, uint64_t seed, uint8_t machine)
{
    struct envelope envelope = envelope_of_machine(scenario, seed, machine);
    post_stored(fixture.port, &envelope);
    assert_int_equal(wait_for_triage(fixture.port, envelope.id), 1);
    return envelope;
}

static void test_payloads_go_before_what_was_said_of_them(void **state)
{
    (void)state;
    struct envelope old = put(SBX_SCENARIO_SLEEP, 1, 1);
    pass_days(29);
    struct envelope fresh = put(SBX_SCENARIO_SLEEP, 2, 2);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", old.id, ".sbx"), 200);
    pass_days(2); /* the first is 31 days old now */
    expect_metric("stallbox_payloads_aged_total", 1);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", old.id, ".sbx"), 404);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", old.id, ".json"), 410);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", old.id, ""), 200);
    assert_int_equal(status_of(fixture.port, "/stalls/", old.id, ""), 200);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", fresh.id, ".json"), 200);
    post_stored(fixture.port, &old); /* delayed for a month on its way: known, so not stored again */
    expect_metric("stallbox_snapshots_duplicates_total", 1);
    struct answer issues = get(fixture.port, "/v1/issues");
    assert_true(answer_has(&issues, "\"hits\":2"));
    answer_finish(&issues);
    pass_days(60); /* 91 and 62 days */
    expect_metric("stallbox_snapshots_aged_total", 1);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", old.id, ""), 404);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", fresh.id, ""), 200);
    issues = get(fixture.port, "/v1/issues");
    assert_true(answer_has(&issues, "\"hits\":1"));
    answer_finish(&issues);
    pass_days(60);
    expect_metric("stallbox_store_snapshots", 0);
    expect_metric("stallbox_store_issues", 0);
    envelope_finish(&old);
    envelope_finish(&fresh);
}

static void test_what_nobody_opened_goes_like_what_was_opened(void **state)
{
    (void)state;
    fixture_stop(&fixture);
    /* Two sealed payloads that wait for a key, one of now and one of a month ago. And what is remembered of two that
     * were opened, a month and two months ago. */
    fixture_run_sql(&fixture, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3)"
                              "INSERT INTO sealed(id, key_id, digest, received_ms, envelope)"
                              " SELECT randomblob(16), randomblob(8), randomblob(32),"
                              " (strftime('%s') - 86400 * (CASE i WHEN 0 THEN 0 WHEN 3 THEN 62 ELSE 31 END)) * 1000,"
                              " CASE WHEN i < 2 THEN randomblob(1000) END FROM n");
    fixture_start(&fixture);
    expect_metric("stallbox_payloads_aged_total", 1);
    expect_metric("stallbox_store_sealed", 1);
    fixture_stop(&fixture);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM sealed"), 2);
    fixture_start(&fixture);
}

static void test_for_ever_is_for_ever(void **state)
{
    (void)state;
    fixture_stop(&fixture);
    fixture.options.retention_days = fixture.options.payload_days = SBX_KEEP_FOR_EVER;
    fixture_start(&fixture);
    struct envelope old = put(SBX_SCENARIO_SLEEP, 1, 1);
    pass_days(4000);
    sleep_ms(300); /* time for a pass */
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", old.id, ".json"), 200);
    envelope_finish(&old);
}

static void forget(uint8_t machine)
{
    char body[2 * SBX_ERASURE_PROOF_BYTES + 2] = "";
    for (int byte = 0; byte < SBX_ERASURE_PROOF_BYTES; byte++)
        snprintf(body + strlen(body), 3, "%02x", machine);
    strcat(body, "\n");
    struct answer answer =
        ask(fixture.port, &(struct question){.path = "/v1/erasures", .body = body, .body_bytes = strlen(body)});
    assert_int_equal(answer.status, 200);
    answer_finish(&answer);
}

static void test_who_wanted_to_be_forgotten_is_remembered_as_long_as_anything_can_come(void **state)
{
    (void)state;
    struct envelope late = envelope_of_machine(SBX_SCENARIO_SLEEP, 1, 7);
    forget(7);
    pass_days(149); /* 30 days at this server, 30 in a spool, 90 with one id */
    sleep_ms(300);
    post_stored(fixture.port, &late);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 0);
    pass_days(2);
    for (int i = 0; i < 200 && metric(fixture.port, "stallbox_store_snapshots") == 0; i++) {
        post_stored(fixture.port, &late); /* the pass forgets it some milliseconds after the start */
        sleep_ms(50);
    }
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 1);
    envelope_finish(&late);
}

enum {
    MANY = 60
};

static atomic_int posted;

static void *post_while_it_ages(void *argument)
{
    (void)argument;
    for (uint64_t seed = 10000; seed < 10040; seed++) {
        struct envelope envelope = envelope_of_machine(SBX_SCENARIO_SLEEP, seed, 9);
        struct answer answer = post(fixture.port, envelope.bytes, envelope.count);
        posted += answer.status == 200;
        answer_finish(&answer);
        envelope_finish(&envelope);
    }
    return NULL;
}

static void test_uploads_go_on_while_much_is_old(void **state)
{
    (void)state;
    pthread_t poster;
    for (uint64_t seed = 1; seed <= MANY; seed++) {
        struct envelope envelope = envelope_of_machine(SBX_SCENARIO_SLEEP, seed, 1);
        post_stored(fixture.port, &envelope);
        envelope_finish(&envelope);
    }
    pass_days(91);
    posted = 0;
    assert_int_equal(pthread_create(&poster, NULL, post_while_it_ages, NULL), 0);
    pthread_join(poster, NULL);
    assert_int_equal(posted, 40);
    expect_metric("stallbox_store_snapshots", 40);
}

/* ---- too few machines ---- */

static void show_from(uint32_t machines)
{
    fixture_stop(&fixture);
    fixture.options.min_machines = machines;
    fixture_start(&fixture);
}

static bool list_has(const char *path, const char *text)
{
    struct answer answer = get(fixture.port, path);
    assert_int_equal(answer.status, 200);
    bool has = answer_has(&answer, text);
    answer_finish(&answer);
    return has;
}

static void test_col_12_what_fewer_than_k_machines_sent_is_not_shown(void **state)
{
    (void)state;
    struct envelope common[4], rare[2];
    char path[80], issue[33] = "";
    for (uint8_t i = 0; i < 4; i++) /* three machines, one of them with two stalls */
        common[i] = put(SBX_SCENARIO_SLEEP, i + 1u, i < 3 ? i + 1 : 3);
    for (uint8_t i = 0; i < 2; i++) /* one machine with many stalls */
        rare[i] = put(SBX_SCENARIO_CPU, i + 20u, 1);
    struct answer row = get(fixture.port, (snprintf(path, sizeof(path), "/v1/snapshots/%s", rare[0].id), path));
    const char *at = memmem(row.body.data, row.body.used, "\"issue\":\"", 9);
    assert_non_null(at);
    memcpy(issue, at + 9, 32);
    answer_finish(&row);

    show_from(3);
    assert_int_equal(status_of(fixture.port, "/v1/issues/", issue, ""), 404);
    assert_int_equal(status_of(fixture.port, "/issues/", issue, ""), 404);
    assert_false(list_has("/v1/issues", issue));
    assert_false(list_has("/", issue));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(status_of(fixture.port, "/v1/snapshots/", rare[i].id, ""), 404);
        assert_int_equal(status_of(fixture.port, "/v1/snapshots/", rare[i].id, ".json"), 404);
        assert_int_equal(status_of(fixture.port, "/v1/snapshots/", rare[i].id, ".folded"), 404);
        assert_int_equal(status_of(fixture.port, "/v1/snapshots/", rare[i].id, ".sbx"), 404);
        assert_int_equal(status_of(fixture.port, "/stalls/", rare[i].id, ""), 404);
        assert_false(list_has("/v1/snapshots", rare[i].id));
        assert_false(list_has("/", rare[i].id));
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(status_of(fixture.port, "/v1/snapshots/", common[i].id, ".json"), 200);
        assert_int_equal(status_of(fixture.port, "/v1/snapshots/", common[i].id, ".sbx"),
                         403); /* it names every module's build */
        assert_true(list_has("/v1/snapshots", common[i].id));
    }
    assert_true(list_has("/v1/issues", "\"hits\":4"));
    assert_true(list_has("/v1/issues", "\"withheld_below_machines\":3")); /* said in any case */
    assert_true(list_has("/v1/snapshots", "\"withheld_below_machines\":3"));
    assert_true(list_has("/", "--min-machines 3"));

    show_from(4); /* two stalls of one machine do not make four machines */
    assert_false(list_has("/v1/issues", "\"hits\""));
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", common[0].id, ".json"), 404);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 6); /* the server's totals identify nobody */

    show_from(0);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", rare[0].id, ".sbx"), 200);
    for (int i = 0; i < 4; i++)
        envelope_finish(&common[i]);
    for (int i = 0; i < 2; i++)
        envelope_finish(&rare[i]);
}

/* Symptom: where several servers share a database, each server that had shown a report kept it after another server
 * erased its stall. */
static void test_a_report_whose_payload_another_server_took_away_goes(void **state)
{
    (void)state;
    struct envelope kept = put(SBX_SCENARIO_SLEEP, 1, 1), taken = put(SBX_SCENARIO_SLEEP, 2, 2);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", kept.id, ".folded"), 200);
    double bytes = metric(fixture.port, "stallbox_renderings_bytes");
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", taken.id, ".folded"), 200);
    assert_true(metric(fixture.port, "stallbox_renderings_bytes") > bytes && bytes > 0);
    fixture_stop(&fixture);
    fixture_run_sql(&fixture, "UPDATE snapshot SET id = randomblob(16) WHERE seq = 2"); /* unknown to this server */
    fixture_start(&fixture);
    expect_metric("stallbox_renderings_bytes", bytes);
    envelope_finish(&kept);
    envelope_finish(&taken);
}

/* In an issue that all machines have, a build that only few machines run would identify them. */
static void test_col_12_a_rare_build_is_not_shown_within_a_common_issue(void **state)
{
    (void)state;
    struct envelope common[3], rare;
    for (uint8_t i = 0; i < 3; i++)
        common[i] = put(SBX_SCENARIO_SLEEP, i + 1u, i + 1);
    rare = put(SBX_SCENARIO_SLEEP, 9, 4);
    fixture_stop(&fixture);
    fixture_run_sql(&fixture, "INSERT INTO build(version, build_id, rank, sure) VALUES('6.6.6', 'beefbeef', 0, 1);"
                              "UPDATE snapshot SET app_build_id = 'beefbeef', app_version = '6.6.6', build ="
                              " last_insert_rowid() WHERE seq = 4");
    fixture.options.min_machines = 3;
    fixture_start(&fixture);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", rare.id, ""), 404);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", common[0].id, ""), 200);
    static const char *const lists[] = {"/", "/v1/issues", "/v1/snapshots"};
    for (int i = 0; i < 3; i++) {
        assert_false(list_has(lists[i], rare.id)); /* although it is the newest of its issue */
        assert_false(list_has(lists[i], "beefbeef"));
        assert_false(list_has(lists[i], "6.6.6"));
    }
    assert_true(list_has("/v1/issues", "\"hits\":4"));
    assert_true(list_has("/v1/sums", "\"withheld\":true"));
    assert_int_equal(status_of(fixture.port, "/v1/issues?version=6.6.6", "", ""), 403); /* nor can a query select it */
    envelope_finish(&rare);
    for (int i = 0; i < 3; i++)
        envelope_finish(&common[i]);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, start_server, remove_server)
    const struct CMUnitTest tests[] = {
        CASE(test_payloads_go_before_what_was_said_of_them),
        CASE(test_what_nobody_opened_goes_like_what_was_opened),
        CASE(test_for_ever_is_for_ever),
        CASE(test_who_wanted_to_be_forgotten_is_remembered_as_long_as_anything_can_come),
        CASE(test_uploads_go_on_while_much_is_old),
        CASE(test_a_report_whose_payload_another_server_took_away_goes),
        CASE(test_col_12_what_fewer_than_k_machines_sent_is_not_shown),
        CASE(test_col_12_a_rare_build_is_not_shown_within_a_common_issue),
    };
    curl_global_init(CURL_GLOBAL_ALL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    curl_global_cleanup();
    return failed;
}
