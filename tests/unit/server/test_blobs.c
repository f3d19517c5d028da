/* SPDX-License-Identifier: Apache-2.0 */
/* test_blobs.c - a complete server that stores payloads outside of its database: in a folder, or in the bucket that
 * STALLBOX_TEST_BLOBS and STALLBOX_TEST_BLOBS_KEY name (tests/integration/blobs starts a real one). */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <curl/curl.h>

#include "blobs.h"
#include "started_server.h"

static char folder[128];
static const char *bucket;

static int prepare_outside(void **state)
{
    prepare_server(state);
    bucket = getenv("STALLBOX_TEST_BLOBS");
    snprintf(folder, sizeof(folder), "%s/blobs", fixture.data_dir);
    fixture.options.blobs = bucket ? bucket : folder;
    fixture.options.blobs_secret = getenv("STALLBOX_TEST_BLOBS_KEY");
    return 0;
}

/* The blob key of a payload; "" when its row has none. */
static void key_of_payload(const char *id, char key_out[SBX_BLOB_KEY_BYTES])
{
    char sql[200];
    key_out[0] = '\0';
    for (size_t i = 1; i < SBX_BLOB_KEY_BYTES; i++) {
        snprintf(sql, sizeof(sql), "SELECT COALESCE(unicode(substr(blob, %zu, 1)), 0) FROM snapshot WHERE id = x'%s'",
                 i, id);
        key_out[i - 1] = (char)fixture_count(&fixture, sql);
        key_out[i] = '\0';
        if (key_out[i - 1] == '\0')
            return;
    }
}

/* Does the key have bytes? */
static bool is_there(const char *key)
{
    struct sbx_blobs *blobs;
    struct sbx_byte_buffer out = {0};
    char why[SBX_BLOB_WHY_BYTES];
    assert_int_equal(sbx_blobs_open(fixture.options.blobs, fixture.options.blobs_secret, &blobs, why, sizeof(why)), 0);
    int result = sbx_blobs_get(blobs, key, 1 << 20, &out, why, sizeof(why));
    assert_true(result == 0 || result == -ENOENT);
    sbx_byte_buffer_finish(&out);
    sbx_blobs_close(blobs);
    return result == 0;
}

static long post_status(const struct envelope *envelope)
{
    struct answer answer = post(fixture.port, envelope->bytes, envelope->count);
    answer_finish(&answer);
    return answer.status;
}

static void test_a_payload_outside_is_as_good_as_one_inside(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 1), other = envelope_of(SBX_SCENARIO_CPU, 1);
    char key[SBX_BLOB_KEY_BYTES];
    fixture_start(&fixture);
    post_stored(fixture.port, &envelope);
    post_stored(fixture.port, &envelope); /* posted again: the same key */
    memcpy(other.bytes + 16, envelope.bytes + 16, 16);
    assert_int_equal(wait_for_triage(fixture.port, envelope.id), 1);
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", envelope.id, ".sbx");
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body.used, envelope.count);
    assert_memory_equal(answer.body.data, envelope.bytes, envelope.count);
    answer_finish(&answer);
    assert_int_equal(status_of(fixture.port, "/stalls/", envelope.id, ""), 200);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", envelope.id, ".json"), 200);
    fixture_stop(&fixture);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM payload"), 0);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM blob_debt"), 0);
    key_of_payload(envelope.id, key);
    assert_true(is_there(key));
    envelope_finish(&envelope);
    envelope_finish(&other);
}

static void test_ageing_takes_the_bytes_away_and_a_payload_that_comes_again_is_known(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 2);
    char key[SBX_BLOB_KEY_BYTES];
    fixture_start(&fixture);
    post_stored(fixture.port, &envelope);
    assert_int_equal(wait_for_triage(fixture.port, envelope.id), 1);
    fixture_stop(&fixture);
    key_of_payload(envelope.id, key);
    fixture_grow_old(&fixture, 31);
    fixture_start(&fixture);
    expect_metric("stallbox_payloads_aged_total", 1);
    for (int waited = 0; waited < 500 && fixture_count(&fixture, "SELECT COUNT(*) FROM blob_debt") > 0; waited++)
        sleep_ms(20);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM blob_debt"), 0);
    assert_false(is_there(key));
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", envelope.id, ".sbx"), 404);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", envelope.id, ""), 200);
    assert_int_equal(post_status(&envelope), 200);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM snapshot"), 1);
    envelope_finish(&envelope);
}

/* A blob store that is away: nothing is acknowledged that is not stored, nothing that was stored is lost, and the
 * server recovers by itself. */
static void test_nothing_is_lost_while_the_store_of_blobs_is_away(void **state)
{
    (void)state;
    struct envelope first = envelope_of(SBX_SCENARIO_SLEEP, 3), second = envelope_of(SBX_SCENARIO_SLEEP, 4);
    const char *where = fixture.options.blobs, *secret = fixture.options.blobs_secret;
    char key[SBX_BLOB_KEY_BYTES], why[300] = "";
    fixture_start(&fixture);
    post_stored(fixture.port, &first);
    assert_int_equal(wait_for_triage(fixture.port, first.id), 1);
    fixture_stop(&fixture);
    key_of_payload(first.id, key);

    fixture.options.blobs = NULL; /* must not be forgotten */
    assert_true(sbx_server_start(&fixture.options, &fixture.server, why, sizeof(why)) < 0);
    assert_non_null(strstr(why, "--blobs"));
    fixture.server = NULL;

    fixture.options.blobs = "http://127.0.0.1:9/away";
    fixture.options.blobs_secret = "key secret";
    fixture_start(&fixture);
    struct answer answer = post(fixture.port, second.bytes, second.count);
    assert_int_equal(answer.status, 503);
    assert_non_null(strcasestr(answer.headers.data, "retry-after: "));
    answer_finish(&answer);
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", first.id, ""), 200); /* the rows exist */
    assert_int_equal(status_of(fixture.port, "/v1/snapshots/", first.id, ".sbx"), 503);
    fixture_stop(&fixture);
    fixture_grow_old(&fixture, 31); /* its payload should be removed, but cannot */
    fixture_start(&fixture);
    expect_metric("stallbox_payloads_aged_total", 1);
    fixture_stop(&fixture);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM snapshot"), 1);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM blob_debt WHERE at_ms = 0"), 1);

    fixture.options.blobs = where;
    fixture.options.blobs_secret = secret;
    assert_true(is_there(key));
    fixture_run_sql(&fixture, "UPDATE blob_debt SET at_ms = 1"); /* and the failed put was long ago */
    fixture_start(&fixture);
    post_stored(fixture.port, &second);
    assert_int_equal(wait_for_triage(fixture.port, second.id), 1);
    for (int waited = 0; waited < 500 && fixture_count(&fixture, "SELECT COUNT(*) FROM blob_debt") > 0; waited++)
        sleep_ms(20);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM blob_debt"), 0);
    assert_false(is_there(key));
    envelope_finish(&first);
    envelope_finish(&second);
}

static void test_a_payload_that_somebody_took_away_outside_is_said_to_be_gone(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 5);
    struct sbx_blobs *blobs;
    char key[SBX_BLOB_KEY_BYTES], why[SBX_BLOB_WHY_BYTES];
    fixture_start(&fixture);
    post_stored(fixture.port, &envelope);
    assert_int_equal(wait_for_triage(fixture.port, envelope.id), 1);
    fixture_stop(&fixture);
    key_of_payload(envelope.id, key);
    assert_int_equal(sbx_blobs_open(fixture.options.blobs, fixture.options.blobs_secret, &blobs, why, sizeof(why)), 0);
    assert_int_equal(sbx_blobs_remove(blobs, key, why, sizeof(why)), 0);
    sbx_blobs_close(blobs);
    fixture_run_sql(&fixture, "UPDATE snapshot SET state = 0");
    fixture_start(&fixture);
    assert_int_equal(wait_for_triage(fixture.port, envelope.id), 0);
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", envelope.id, "");
    assert_true(answer_has(&answer, "gone from the store of blobs"));
    answer_finish(&answer);
    envelope_finish(&envelope);
}

int main(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT); /* before there are threads */
#define CASE(test) cmocka_unit_test_setup_teardown(test, prepare_outside, remove_server)
    const struct CMUnitTest tests[] = {
        CASE(test_a_payload_outside_is_as_good_as_one_inside),
        CASE(test_ageing_takes_the_bytes_away_and_a_payload_that_comes_again_is_known),
        CASE(test_nothing_is_lost_while_the_store_of_blobs_is_away),
        CASE(test_a_payload_that_somebody_took_away_outside_is_said_to_be_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
