/* SPDX-License-Identifier: Apache-2.0 */
/* test_erasure.c - a machine asks to be forgotten: what is removed, what stays, and what the answer does not reveal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpke_sender.h"
#include "sealer.h"
#include "started_server.h"

static struct envelope of_machine(uint64_t seed, uint8_t machine)
{
    return envelope_of_machine(SBX_SCENARIO_SLEEP, seed, machine);
}

/* Send "0101...01
 * " for each machine. */
static struct answer ask_to_forget(const uint8_t *machines, size_t count)
{
    char body[4096] = "";
    for (size_t i = 0; i < count; i++) {
        for (int byte = 0; byte < SBX_ERASURE_PROOF_BYTES; byte++)
            snprintf(body + strlen(body), 3, "%02x", machines[i]);
        strcat(body, "\n");
    }
    return ask(fixture.port, &(struct question){.path = "/v1/erasures", .body = body, .body_bytes = strlen(body)});
}

static void forget(uint8_t machine)
{
    struct answer answer = ask_to_forget(&machine, 1);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body.used, sizeof(SBX_ERASED_ANSWER) - 1);
    assert_memory_equal(answer.body.data, SBX_ERASED_ANSWER, sizeof(SBX_ERASED_ANSWER) - 1);
    answer_finish(&answer);
}

/* How many files of the data folder contain these bytes. */
static int files_with(const uint8_t *bytes, size_t count)
{
    static const char *const names[] = {"store.db", "store.db-wal", "renderings.db", "renderings.db-wal"};
    int found = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", fixture.data_dir, names[i]);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        fseek(file, 0, SEEK_END);
        size_t size = (size_t)ftell(file);
        char *content = malloc(size + 1);
        rewind(file);
        assert_int_equal(fread(content, 1, size, file), size);
        found += memmem(content, size, bytes, count) != NULL;
        free(content);
        fclose(file);
    }
    return found;
}

static void test_col_11_the_right_proof_deletes_what_carries_its_id_and_nothing_else(void **state)
{
    (void)state;
    if (fixture.options.database) /* about SQLite's file */
        skip();
    struct envelope one = of_machine(1, 1), two = of_machine(2, 1), other = of_machine(3, 2);
    const struct envelope *all[] = {&one, &two, &other};
    for (int i = 0; i < 3; i++) {
        post_stored(fixture.port, all[i]);
        assert_int_equal(wait_for_triage(fixture.port, all[i]->id), 1);
    }
    assert_true(files_with(one.bytes + 40, 64) > 0);
    forget(1);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", one.id, ""), 404);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", one.id, ".json"), 404);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", two.id, ".sbx"), 404);
    assert_int_equal(status_of(fixture.port, "/stalls/", two.id, ""), 404);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", other.id, ".json"), 200);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 1);
    assert_true(metric(fixture.port, "stallbox_snapshots_erased_total") == 2);
    assert_true(metric(fixture.port, "stallbox_store_issues") == 1); /* the other machine had the same issue */
    struct answer issues = get(fixture.port, "/v1/issues");
    assert_true(answer_has(&issues, "\"hits\":1"));
    answer_finish(&issues);
    assert_int_equal(files_with(one.bytes + 40, 64), 0); /* overwritten, not only unlinked */
    assert_int_equal(files_with((const uint8_t *)one.bytes + 16, 16), 0);
    forget(1); /* again: the same answer */
    forget(2);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 0);
    assert_true(metric(fixture.port, "stallbox_store_issues") == 0);
    for (int i = 0; i < 3; i++)
        envelope_finish((struct envelope *)(uintptr_t)all[i]);
}

static void test_col_11_a_wrong_proof_deletes_nothing_and_is_answered_alike(void **state)
{
    (void)state;
    struct envelope one = of_machine(1, 1);
    post_stored(fixture.port, &one);
    forget(9); /* of no machine */
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 1);
    envelope_finish(&one);
}

static void test_what_arrives_after_the_request_is_not_kept(void **state)
{
    (void)state;
    struct envelope late = of_machine(5, 1);
    forget(1);
    post_stored(fixture.port, &late); /* its sender need not try again */
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 0);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", late.id, ""), 404);
    envelope_finish(&late);
}

/* A collector without the key cannot see which machine a payload belongs to. It remembers the request until a collector
 * with the key sees it. */
static void test_what_is_sealed_is_dropped_when_it_is_opened(void **state)
{
    (void)state;
    uint8_t secret[32], key[32];
    char why[200];
    struct sbx_unseal_keys keys = {.count = 1};
    struct sbx_sealer *sealer = sbx_sealer_create();
    assert_int_equal(sbx_x25519_make(secret, key), 0);
    assert_int_equal(sbx_unseal_key_init(secret, &keys.keys[0]), 0);
    assert_int_equal(sbx_sealer_hold(sealer, key), 0);
    struct envelope plain[2] = {of_machine(1, 1), of_machine(2, 2)}, sealed[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sbx_sealer_seal(sealer, plain[i].bytes, plain[i].count, &sealed[i].bytes, &sealed[i].count,
                                         why, sizeof(why)),
                         0);
        memcpy(sealed[i].id, plain[i].id, sizeof(sealed[i].id));
        post_stored(fixture.port, &sealed[i]);
    }
    forget(1);
    fixture_stop(&fixture);
    fixture.options.unseal_keys = &keys;
    fixture_start(&fixture);
    assert_int_equal(wait_for_triage(fixture.port, plain[1].id), 1);
    for (int i = 0; i < 200 && metric(fixture.port, "stallbox_store_sealed") != 0; i++)
        sleep_ms(20);
    assert_true(metric(fixture.port, "stallbox_store_sealed") == 0);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 1);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", plain[0].id, ""), 404);
    for (int i = 0; i < 2; i++) {
        envelope_finish(&plain[i]);
        envelope_finish(&sealed[i]);
    }
    sbx_sealer_destroy(sealer);
}

/* Add `count` stalls of machine 1, copies of the one that it sent. No client would post such stalls. */
static void copy_stalls(int count)
{
    char sql[1200];
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO snapshot(id, received_ms, created_day, bytes, session, app_build_id, app_version, trigger,"
        " duration_ns, threshold_ms, state) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <"
        " %d) SELECT randomblob(16), s.received_ms, s.created_day, 0, randomblob(16), '', '', 'anr', 1, 1, 2 FROM n"
        " CROSS JOIN (SELECT * FROM snapshot LIMIT 1) s; INSERT OR IGNORE INTO rotating(seq, id) SELECT s.seq, r.id"
        " FROM snapshot s CROSS JOIN (SELECT id FROM rotating LIMIT 1) r",
        count);
    fixture_stop(&fixture);
    fixture_run_sql(&fixture, sql);
}

static void expect_nothing_left(void)
{
    expect_metric("stallbox_erasures_waiting", 0);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 0);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM rotating"), 0);
}

/* Symptom: an erasure of 6,000 stalls had no answer within the server's deadline. */
static void test_what_is_too_much_for_an_answer_goes_on_behind_it(void **state)
{
    (void)state;
    uint8_t machine = 1;
    if (fixture.options.database) /* writes into SQLite's file */
        skip();
    struct envelope one = of_machine(1, 1), late = of_machine(5, 1);
    post_stored(fixture.port, &one);
    copy_stalls(1500);
    fixture_start(&fixture);
    struct answer answer = ask_to_forget(&machine, 1);
    assert_int_equal(answer.status, 202);
    assert_int_equal(answer.body.used, sizeof(SBX_ERASING_ANSWER) - 1);
    assert_memory_equal(answer.body.data, SBX_ERASING_ANSWER, sizeof(SBX_ERASING_ANSWER) - 1);
    answer_finish(&answer);
    post_stored(fixture.port, &late); /* refused from the first moment on */
    expect_nothing_left();
    assert_true(metric(fixture.port, "stallbox_snapshots_erased_total") == 1501);
    forget(1); /* a repeated request is answered when it is done */
    envelope_finish(&one);
    envelope_finish(&late);
}

static void test_an_erasure_goes_on_in_the_server_that_comes_after(void **state)
{
    (void)state;
    if (fixture.options.database)
        skip();
    struct envelope one = of_machine(1, 1);
    post_stored(fixture.port, &one);
    copy_stalls(700);
    fixture_run_sql(&fixture, "INSERT INTO erasing(id, at_ms) SELECT DISTINCT id, 1 FROM rotating");
    fixture_start(&fixture); /* the request is not repeated */
    expect_nothing_left();
    envelope_finish(&one);
}

static void assert_refused(const char *body, size_t bytes, long status)
{
    struct answer answer =
        ask(fixture.port, &(struct question){.path = "/v1/erasures", .body = body, .body_bytes = bytes});
    assert_int_equal(answer.status, status);
    answer_finish(&answer);
}

static void test_what_is_no_request_is_refused_whole(void **state)
{
    (void)state;
    struct envelope one = of_machine(1, 1);
    post_stored(fixture.port, &one);
    char body[65 * 41 + 1];
    for (int i = 0; i < 41; i++) {
        memset(body + 65 * i, '0', 64);
        for (int k = 1; k < 64; k += 2)
            body[65 * i + k] = '1';
        body[65 * i + 64] = '\n';
    }
    assert_refused(body, (size_t)65 * 41, 400); /* one too many */
    assert_refused(body, 64, 400);
    assert_refused(body, 66, 400);
    body[65 + 10] = 'g';
    assert_refused(body, 130, 400); /* the first is valid and the second is not: neither is done */
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 1);
    struct answer answer = get(fixture.port, "/v1/erasures");
    assert_int_equal(answer.status, 405);
    answer_finish(&answer);
    answer = ask(fixture.port,
                 &(struct question){
                     .path = "/v1/erasures", .body = body, .body_bytes = 65, .header = "Origin: https://evil.example"});
    assert_int_equal(answer.status, 403); /* a web page may not send this */
    answer_finish(&answer);
    envelope_finish(&one);
}

static void test_with_a_token_it_is_needed(void **state)
{
    (void)state;
    fixture_stop(&fixture);
    fixture.options.token = "open sesame";
    fixture_start(&fixture);
    uint8_t machine = 1;
    struct answer answer = ask_to_forget(&machine, 1);
    assert_int_equal(answer.status, 401);
    answer_finish(&answer);
}

int main(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT); /* before there are threads */
#define STARTED(name) cmocka_unit_test_setup_teardown(name, start_server, remove_server)
    const struct CMUnitTest tests[] = {
        STARTED(test_col_11_the_right_proof_deletes_what_carries_its_id_and_nothing_else),
        STARTED(test_col_11_a_wrong_proof_deletes_nothing_and_is_answered_alike),
        STARTED(test_what_arrives_after_the_request_is_not_kept),
        STARTED(test_what_is_sealed_is_dropped_when_it_is_opened),
        STARTED(test_what_is_too_much_for_an_answer_goes_on_behind_it),
        STARTED(test_an_erasure_goes_on_in_the_server_that_comes_after),
        STARTED(test_what_is_no_request_is_refused_whole),
        STARTED(test_with_a_token_it_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
