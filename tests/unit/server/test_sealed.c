/* SPDX-License-Identifier: Apache-2.0 */
/* test_sealed.c - sealed payloads: a server with the key, a server without it, and one that gets it later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "hpke_sender.h"
#include "sealer.h"
#include "started_server.h"
#include "token_book.h"

static struct sbx_unseal_keys keys; /* 0 and 1 */
static struct sbx_sealer *sealers[2];

static int prepare(void **state)
{
    uint8_t secret[32], key[32];
    prepare_server(state);
    keys.count = 2;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sbx_x25519_make(secret, key), 0);
        assert_int_equal(sbx_unseal_key_init(secret, &keys.keys[i]), 0);
        sealers[i] = sbx_sealer_create();
        assert_non_null(sealers[i]);
        assert_int_equal(sbx_sealer_hold(sealers[i], key), 0);
    }
    return 0;
}

static int finish(void **state)
{
    for (int i = 0; i < 2; i++)
        sbx_sealer_destroy(sealers[i]);
    return remove_server(state);
}

/* Start a server with the first `count` keys. */
static void start_with_keys(uint32_t count)
{
    keys.count = count;
    fixture.options.unseal_keys = count ? &keys : NULL;
    fixture_start(&fixture);
}

/* Seal the payload to key `which`. Takes the payload. */
static struct envelope seal(struct envelope plain, int which)
{
    struct envelope sealed = {0};
    char why[200];
    assert_int_equal(
        sbx_sealer_seal(sealers[which], plain.bytes, plain.count, &sealed.bytes, &sealed.count, why, sizeof(why)), 0);
    memcpy(sealed.id, plain.id, sizeof(sealed.id));
    envelope_finish(&plain);
    return sealed;
}

/* The same payload, sealed to key `which`. */
static struct envelope sealed_of(uint64_t seed, int which)
{
    return seal(envelope_of(SBX_SCENARIO_SLEEP, seed), which);
}

/* A payload that claims to stand for a million stalls. */
static struct envelope heavy_of(uint64_t seed)
{
    struct sbx_payload_builder *builder;
    Stallbox__V1__Sampling sampling = STALLBOX__V1__SAMPLING__INIT;
    assert_true(sbx_scenario_build(SBX_SCENARIO_SLEEP, false, seed, &builder));
    sampling.weight = sampling.one_in = 1000000;
    sbx_builder_payload(builder)->sampling = &sampling;
    return envelope_of_builder(builder);
}

static void assert_post(const void *bytes, size_t count, long status, const char *text)
{
    struct answer answer = post(fixture.port, bytes, count);
    if (answer.status != status || !answer_has(&answer, text))
        fail_msg("%ld: %.*s", answer.status, (int)answer.body.used, answer.body.data);
    answer_finish(&answer);
}

static void test_a_server_with_the_key_triages_what_was_sealed(void **state)
{
    (void)state;
    start_with_keys(2);
    struct envelope one = sealed_of(1, 0), two = sealed_of(2, 1);
    post_stored(fixture.port, &one);
    post_stored(fixture.port, &two); /* a rotation: both keys are in use */
    expect_metric("stallbox_triaged_total", 2);
    assert_int_equal(wait_for_triage(fixture.port, one.id), 1);
    assert_int_equal(wait_for_triage(fixture.port, two.id), 1);
    assert_true(metric(fixture.port, "stallbox_store_sealed") == 0);
    post_stored(fixture.port, &one); /* the answer was lost; it is known, although the sealed bytes are gone */
    assert_true(metric(fixture.port, "stallbox_snapshots_duplicates_total") == 1);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 2);
    envelope_finish(&one);
    envelope_finish(&two);
}

/* Symptom: the collector limited what a plain payload stands for, but a sealed one could stand for a million stalls. */
static void test_a_sealed_payload_stands_for_no_more_stalls_than_a_plain_one(void **state)
{
    (void)state;
    start_with_keys(1);
    struct envelope sealed = seal(heavy_of(1), 0), plain = heavy_of(2);
    post_stored(fixture.port, &sealed);
    post_stored(fixture.port, &plain);
    expect_metric("stallbox_triaged_total", 2);
    struct answer list = get(fixture.port, "/v1/issues");
    if (!answer_has(&list, "\"estimated\":20000,"))
        fail_msg("%.*s", (int)list.body.used, list.body.data);
    answer_finish(&list);
    envelope_finish(&sealed);
    envelope_finish(&plain);
}

static void test_a_collector_without_the_key_keeps_it_for_one_that_has_it(void **state)
{
    (void)state;
    struct envelope sealed[3];
    start_with_keys(0);
    for (int i = 0; i < 3; i++) {
        sealed[i] = sealed_of(10 + (uint64_t)i, i == 2);
        post_stored(fixture.port, &sealed[i]);
        post_stored(fixture.port, &sealed[i]);
    }
    assert_true(metric(fixture.port, "stallbox_store_sealed") == 3);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 0);
    assert_true(metric(fixture.port, "stallbox_snapshots_duplicates_total") == 3);
    struct answer page = get(fixture.port, "/");
    assert_true(answer_has(&page, "3 payloads are sealed to a key that this server does not have"));
    answer_finish(&page);
    fixture_stop(&fixture);

    start_with_keys(1); /* the first of two keys */
    expect_metric("stallbox_triaged_total", 2);
    assert_int_equal(wait_for_triage(fixture.port, sealed[0].id), 1);
    assert_int_equal(wait_for_triage(fixture.port, sealed[1].id), 1);
    assert_true(metric(fixture.port, "stallbox_store_sealed") == 1);
    fixture_stop(&fixture);

    start_with_keys(2);
    expect_metric("stallbox_triaged_total", 1);
    assert_int_equal(wait_for_triage(fixture.port, sealed[2].id), 1);
    assert_true(metric(fixture.port, "stallbox_store_sealed") == 0);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 3);
    for (int i = 0; i < 3; i++)
        envelope_finish(&sealed[i]);
}

/* COL-4. Whatever is wrong inside, the answer is the same. */
static void test_col_04_hostile_sealed_payloads_are_refused_alike(void **state)
{
    (void)state;
    start_with_keys(1);
    struct envelope sealed = sealed_of(20, 0);
    static const struct {
        size_t at, bytes;
        uint8_t value;
    } damages[] = {
        {40, 32, 0x00},      /* enc: x of the point at infinity */
        {40, 32, 0xff},      /* enc: above the prime */
        {72, 1, 0x5a},       /* ciphertext */
        {4096 - 1, 1, 0x5a}, /* tag */
        {16, 1, 0x5a},       /* another id, which the additional data binds */
    };
    char first[200] = "";
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        uint8_t *copy = malloc(sealed.count);
        memcpy(copy, sealed.bytes, sealed.count);
        for (size_t k = 0; k < damages[i].bytes; k++)
            copy[damages[i].at + k] = damages[i].bytes == 1 ? copy[damages[i].at] ^ damages[i].value : damages[i].value;
        uint32_t crc = sbx_crc32c(sbx_crc32c(0, copy, 36), copy + 40, sealed.count - 40);
        memcpy(copy + 36, &crc, 4);
        struct answer answer = post(fixture.port, copy, sealed.count);
        assert_int_equal(answer.status, 400);
        if (i == 0)
            snprintf(first, sizeof(first), "%.*s", (int)answer.body.used, answer.body.data);
        assert_int_equal(strlen(first), answer.body.used);
        assert_memory_equal(answer.body.data, first, answer.body.used);
        answer_finish(&answer);
        free(copy);
    }
    uint8_t *copy = malloc(sealed.count);
    memcpy(copy, sealed.bytes, sealed.count);
    copy[5] = 2; /* an unknown suite */
    assert_post(copy, sealed.count, 415, "415: ");
    copy[5] = 1;
    assert_post(copy, sealed.count - 1, 400, "400: "); /* truncated */
    copy[100] ^= 1;
    assert_post(copy, sealed.count, 400, "checksum"); /* damaged on the way */
    free(copy);
    assert_true(metric(fixture.port, "stallbox_store_sealed") == 0);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 0);
    envelope_finish(&sealed);
}

static void test_other_sealed_bytes_under_a_known_id_are_a_conflict(void **state)
{
    (void)state;
    start_with_keys(0);
    struct envelope one = sealed_of(30, 0), again = sealed_of(30, 0); /* the same payload with another ephemeral key */
    post_stored(fixture.port, &one);
    assert_post(again.bytes, again.count, 409, "other bytes");
    assert_true(metric(fixture.port, "stallbox_store_sealed") == 1);
    envelope_finish(&one);
    envelope_finish(&again);
}

/* A payload was sent plain before sealing was required, and its answer was lost. Then it is sent again sealed. */
static void test_a_payload_that_came_plain_and_comes_sealed_is_one(void **state)
{
    (void)state;
    start_with_keys(1);
    struct envelope plain = envelope_of(SBX_SCENARIO_SLEEP, 40), sealed = sealed_of(40, 0);
    post_stored(fixture.port, &plain);
    assert_int_equal(wait_for_triage(fixture.port, plain.id), 1);
    post_stored(fixture.port, &sealed);
    expect_metric("stallbox_store_sealed", 0);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 1);
    envelope_finish(&plain);
    envelope_finish(&sealed);
}

/* A collector without the key accepts anything that looks sealed. The one with the key finds out, once. */
static void test_what_opens_to_nothing_is_said_and_kept_and_blocks_nothing(void **state)
{
    (void)state;
    start_with_keys(0);
    struct envelope bad = sealed_of(50, 0), good = sealed_of(51, 0);
    bad.bytes[200] ^= 1;
    uint32_t crc = sbx_crc32c(sbx_crc32c(0, bad.bytes, 36), bad.bytes + 40, bad.count - 40);
    memcpy(bad.bytes + 36, &crc, 4);
    post_stored(fixture.port, &bad);
    post_stored(fixture.port, &good);
    fixture_stop(&fixture);
    start_with_keys(1);
    assert_int_equal(wait_for_triage(fixture.port, good.id), 1);
    assert_true(metric(fixture.port, "stallbox_store_unsealing_failed") == 1);
    assert_true(metric(fixture.port, "stallbox_store_sealed") == 0);
    envelope_finish(&bad);
    envelope_finish(&good);
}

static long post_with(const char *secret, const struct envelope *envelope)
{
    char header[128];
    snprintf(header, sizeof(header), "Authorization: Bearer %s", secret);
    struct answer answer =
        ask(fixture.port,
            &(struct question){
                .path = "/v1/snapshots", .body = envelope->bytes, .body_bytes = envelope->count, .header = header});
    answer_finish(&answer);
    return answer.status;
}

/* The content says which application a payload belongs to. A server with the key checks that at once, and one that gets
 * the key later checks it then. */
static void test_col_07_a_seal_does_not_hide_whose_a_payload_is(void **state)
{
    (void)state;
    struct sbx_token of_all = {.rights = SBX_RIGHT_ALL},
                     of_shop = {.rights = SBX_RIGHT_SEND, .app = "shop", .an_hour = 3};
    char all[SBX_TOKEN_SECRET_BYTES], shop[SBX_TOKEN_SECRET_BYTES], book[128], why[300];
    struct envelope first = sealed_of(60, 0), second = sealed_of(61, 0), third = sealed_of(62, 0);
    snprintf(book, sizeof(book), "%s/tokens", fixture.data_dir);
    assert_int_equal(sbx_token_book_add(book, &of_all, all, why, sizeof(why)), 0);
    assert_int_equal(sbx_token_book_add(book, &of_shop, shop, why, sizeof(why)), 0);
    start_with_keys(0);
    assert_int_equal(post_with(shop, &first), 200);
    fixture_stop(&fixture);
    start_with_keys(1);
    assert_int_equal(post_with(shop, &second), 403);
    assert_int_equal(post_with(all, &second), 200);
    for (int waited = 0; waited < 500; waited++) { /* the triage thread reads both tables */
        sleep_ms(20);
        if (fixture_count(&fixture, "SELECT COUNT(*) FROM snapshot") == 1 &&
            fixture_count(&fixture, "SELECT COUNT(*) FROM sealed WHERE failure IS NOT NULL") == 1)
            break;
    }
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM snapshot"), 1);
    assert_int_equal(fixture_count(&fixture, "SELECT COUNT(*) FROM sealed WHERE failure LIKE '%another application%'"),
                     1);
    assert_int_equal(post_with(shop, &third), 403);
    assert_int_equal(post_with(shop, &third), 403);
    assert_int_equal(post_with(shop, &third), 429); /* a token's rate also limits sealed payloads */
    envelope_finish(&first);
    envelope_finish(&second);
    envelope_finish(&third);
}

int main(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT); /* before there are threads */
#define PREPARED(name) cmocka_unit_test_setup_teardown(name, prepare, finish)
    const struct CMUnitTest tests[] = {
        PREPARED(test_a_server_with_the_key_triages_what_was_sealed),
        PREPARED(test_a_sealed_payload_stands_for_no_more_stalls_than_a_plain_one),
        PREPARED(test_a_collector_without_the_key_keeps_it_for_one_that_has_it),
        PREPARED(test_col_04_hostile_sealed_payloads_are_refused_alike),
        PREPARED(test_other_sealed_bytes_under_a_known_id_are_a_conflict),
        PREPARED(test_a_payload_that_came_plain_and_comes_sealed_is_one),
        PREPARED(test_what_opens_to_nothing_is_said_and_kept_and_blocks_nothing),
        PREPARED(test_col_07_a_seal_does_not_hide_whose_a_payload_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
