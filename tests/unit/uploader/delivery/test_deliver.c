/* SPDX-License-Identifier: Apache-2.0 */
/* test_deliver.c - from a spool to a real server, with everything that may happen on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "deliver.h"
#include "encode.h"
#include "envelope.h"
#include "hpke_sender.h"
#include "http_server.h"
#include "loopback.h"
#include "scene.h"
#include "spool_place.h"
#include "test_folder.h"

/* Put a valid payload whose id begins with `number`. */
static void put(struct sbx_spool *spool, uint8_t number)
{
    struct sbx_recording_builder *builder = sbx_scene_create();
    builder->header->snapshot_id[0] = number;
    struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
    struct sbx_redaction redaction = sbx_scene_redaction(1);
    uint8_t *envelope;
    size_t bytes;
    assert_int_equal(sbx_encode(snapshot, &redaction, &envelope, &bytes, NULL, 0), 0);
    assert_int_equal(sbx_spool_put(spool, snapshot->header.snapshot_id, envelope, bytes), 0);
    free(envelope);
    sbx_snapshot_destroy(snapshot);
    sbx_recording_builder_destroy(builder);
}

static unsigned waiting(const struct place *place)
{
    return sbx_test_count(place->path, ".sbx");
}

static struct sbx_deliver_counts counts_of(const struct sbx_deliverer *deliverer)
{
    struct sbx_deliver_counts counts;
    sbx_deliverer_counts(deliverer, &counts);
    return counts;
}

/* Step, and wait as the deliverer says (a minute at most in all), until the spool is empty. */
static void deliver_all(struct sbx_deliverer *deliverer)
{
    uint64_t waited_ms = 0;
    for (;;) {
        uint64_t due_ms = sbx_deliverer_step(deliverer);
        if (due_ms == UINT64_MAX) {
            return;
        }
        waited_ms += due_ms;
        assert_true(waited_ms < 60000);
        nanosleep(&(struct timespec){.tv_sec = (time_t)(due_ms / 1000), .tv_nsec = (long)(due_ms % 1000) * 1000000},
                  NULL);
    }
}

/* How often a payload whose id begins with `number` arrived. */
static unsigned arrivals(struct sbx_http_server *server, uint8_t number)
{
    unsigned count = 0;
    for (size_t i = 0; i < sbx_http_server_request_count(server); i++) {
        count += sbx_http_server_request(server, i)->body[16] == number;
    }
    return count;
}

static void test_an_empty_spool_has_nothing_due(void **state)
{
    struct place *place = *state;
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, "http://127.0.0.1:1", NULL);
    assert_true(sbx_deliverer_step(deliverer) == UINT64_MAX);
    assert_string_equal(sbx_deliverer_last_error(deliverer), "");
    sbx_deliverer_destroy(deliverer);
    sbx_deliverer_destroy(NULL);
}

static void test_all_that_waits_is_sent_oldest_first_and_kept_as_sent(void **state)
{
    struct place *place = *state;
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), "token");
    for (uint8_t i = 3; i > 0; i--) {
        put(place->spool, i);
    }
    assert_true(sbx_deliverer_step(deliverer) == UINT64_MAX);
    assert_int_equal(counts_of(deliverer).sent, 3);
    assert_int_equal(sbx_http_server_request_count(server), 3);
    for (uint8_t i = 0; i < 3; i++) {
        assert_int_equal(sbx_http_server_request(server, i)->body[16], 3 - i);
    }
    assert_int_equal(waiting(place), 0);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "sent"), ".sbx"), 3);
    assert_string_equal(sbx_deliverer_last_error(deliverer), "");
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_of_a_user_who_said_no_nothing_is_sent(void **state)
{
    struct place *place = *state;
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    put(place->spool, 1);
    sbx_test_write(sbx_test_path(place->path, "consent"), "denied\n", 7);
    uint64_t due_ms = sbx_deliverer_step(deliverer);
    assert_true(due_ms > 60000 && due_ms != UINT64_MAX);
    assert_int_equal(sbx_http_server_request_count(server), 0);
    assert_non_null(strstr(sbx_deliverer_last_error(deliverer), "does not want"));
    assert_int_equal(waiting(place), 0); /* it was deleted */
    put(place->spool, 2);
    sbx_test_write(sbx_test_path(place->path, "consent"), "gran",
                   4); /* it is not understood, so it is not sent and not deleted */
    sbx_deliverer_step(deliverer);
    assert_int_equal(sbx_http_server_request_count(server), 0);
    assert_int_equal(waiting(place), 1);
    sbx_test_write(sbx_test_path(place->path, "consent"), "granted\n", 8);
    deliver_all(deliverer);
    assert_int_equal(counts_of(deliverer).sent, 1);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_with_the_server_down_and_then_up_it_arrives_exactly_once(void **state)
{
    struct place *place = *state;
    uint16_t port = sbx_loopback_free_port();
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, url, NULL);
    put(place->spool, 1);
    put(place->spool, 2);
    sbx_deliverer_step(deliverer);
    struct sbx_deliver_counts counts = counts_of(deliverer);
    assert_int_equal(counts.sent, 0);
    assert_true(counts.later >= 1);
    assert_int_equal(waiting(place), 2);
    assert_true(strlen(sbx_deliverer_last_error(deliverer)) > 0);
    sbx_deliverer_destroy(deliverer); /* the process ends, and another one continues */

    struct sbx_http_server *server = sbx_http_server_start(port, NULL, 0);
    deliverer = sbx_deliverer_create(place->spool, url, NULL);
    deliver_all(deliverer);
    assert_int_equal(sbx_http_server_request_count(server), 2);
    assert_int_equal(arrivals(server, 1), 1);
    assert_int_equal(arrivals(server, 2), 1);
    assert_int_equal(waiting(place), 0);
    sbx_deliverer_step(deliverer);
    assert_int_equal(sbx_http_server_request_count(server), 2);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_broken_answers_are_tried_again_with_the_same_bytes(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer answers[] = {
        {.behaviour = SBX_HTTP_RESET},
        {.behaviour = SBX_HTTP_STORE_AND_CLOSE},
        {.behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"},
    };
    struct sbx_http_server *server = sbx_http_server_start(0, answers, 3);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    put(place->spool, 1);
    deliver_all(deliverer);
    assert_int_equal(counts_of(deliverer).sent, 1);
    assert_int_equal(counts_of(deliverer).later, 3);
    assert_int_equal(sbx_http_server_request_count(server), 4);
    const struct sbx_http_request *first = sbx_http_server_request(server, 0);
    for (size_t i = 1; i < 4; i++) {
        const struct sbx_http_request *request = sbx_http_server_request(server, i);
        assert_int_equal(request->body_bytes, first->body_bytes);
        assert_memory_equal(request->body, first->body, first->body_bytes);
    }
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_a_refused_payload_goes_to_bad_and_the_others_go_on(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer answers[] = {
        {.behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"},
        {.behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"},
    };
    struct sbx_http_server *server = sbx_http_server_start(0, answers, 2);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    for (uint8_t i = 1; i <= 3; i++) {
        put(place->spool, i);
    }
    deliver_all(deliverer);
    assert_int_equal(counts_of(deliverer).refused, 2);
    assert_int_equal(counts_of(deliverer).sent, 1);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "bad"), ".sbx"), 2);
    assert_int_equal(waiting(place), 0);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_when_the_server_asks_for_time_the_whole_spool_waits(void **state)
{
    struct place *place = *state;
    const char *const answers_text[] = {
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 503 Unavailable\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n",
    };
    put(place->spool, 1);
    put(place->spool, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct sbx_http_answer answer = {.behaviour = SBX_HTTP_TEXT, .text = answers_text[i]};
        struct sbx_http_server *server = sbx_http_server_start(0, &answer, 1);
        struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
        uint64_t due_ms = sbx_deliverer_step(deliverer);
        assert_true(due_ms > 3500000 && due_ms <= 3600000 + 600000);
        due_ms = sbx_deliverer_step(deliverer);
        assert_true(due_ms > 3500000 && due_ms <= 3600000 + 600000);
        assert_int_equal(sbx_http_server_request_count(server), 1); /* not the second, and no repetition */
        sbx_deliverer_destroy(deliverer);
        sbx_http_server_stop(server);
    }
    assert_int_equal(waiting(place), 2);
}

static void test_one_payload_the_server_chokes_on_does_not_hold_up_the_others(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer answer = {
        .behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 500 Oops\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"};
    struct sbx_http_server *server = sbx_http_server_start(0, &answer, 1);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    for (uint8_t i = 1; i <= 3; i++) {
        put(place->spool, i);
    }
    uint64_t due_ms = sbx_deliverer_step(deliverer);
    assert_true(due_ms > 3500000 && due_ms <= 3600000 + 600000);
    assert_int_equal(counts_of(deliverer).sent, 2);
    assert_int_equal(waiting(place), 1);
    due_ms = sbx_deliverer_step(deliverer);
    assert_true(due_ms > 3500000 && due_ms <= 3600000 + 600000);
    assert_int_equal(sbx_http_server_request_count(server), 3);
    put(place->spool, 4); /* a new one is not delayed either */
    sbx_deliverer_step(deliverer);
    assert_int_equal(arrivals(server, 4), 1);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_what_nobody_can_read_or_may_not_leave_is_never_sent(void **state)
{
    struct place *place = *state;
    put(place->spool, 1);
    size_t bytes;
    uint8_t *envelope = sbx_test_read(sbx_test_path(place->path, "01fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.sbx"), &bytes);
    /* A torn envelope. */
    sbx_test_write(sbx_test_path(place->path, "a0fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.sbx"), envelope, bytes / 2);
    /* A valid envelope under the name of another. */
    sbx_test_write(sbx_test_path(place->path, "a1fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef.sbx"), envelope, bytes);
    free(envelope);
    /* A complete envelope with a name in it. */
    const uint8_t id[16] = {0xa2};
    const char secret[] = "\x08\x01\xa2\x06\x04"
                          "anna";
    assert_int_equal(sbx_envelope_write(id, secret, sizeof secret - 1, &envelope, &bytes), 0);
    assert_int_equal(sbx_spool_put(place->spool, id, envelope, bytes), 0);
    free(envelope);
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    deliver_all(deliverer);
    assert_int_equal(counts_of(deliverer).sent, 1);
    assert_int_equal(counts_of(deliverer).unreadable, 3);
    assert_int_equal(sbx_http_server_request_count(server), 1);
    assert_int_equal(sbx_test_count(sbx_test_path(place->path, "bad"), ".sbx"), 3);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_what_waited_plain_is_sealed_before_it_leaves(void **state)
{
    struct place *place = *state;
    uint8_t secret[32];
    struct sbx_seal_key key = {.not_before_s = 1, .not_after_s = 2}; /* expired long ago */
    struct sbx_sealer *sealer = sbx_sealer_create();
    struct sbx_envelope envelope;
    /* The first answer is lost. The second try must send the same bytes, although sealing is random. */
    const struct sbx_http_answer lost = {.behaviour = SBX_HTTP_STORE_AND_CLOSE};
    struct sbx_http_server *server = sbx_http_server_start(0, &lost, 1);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    assert_int_equal(sbx_x25519_make(secret, key.key), 0);
    put(place->spool, 1);
    sbx_sealer_follow(sealer, &key, 1, 1);
    sbx_deliverer_set_sealer(deliverer, sealer);
    uint64_t due_ms = sbx_deliverer_step(deliverer);
    assert_true(due_ms > 10000 && due_ms <= 60000);
    assert_int_equal(sbx_http_server_request_count(server), 0); /* no key: nothing is sent */
    assert_int_equal(counts_of(deliverer).unsealed, 1);
    assert_non_null(strstr(sbx_deliverer_last_error(deliverer), "no seal key"));
    assert_int_equal(waiting(place), 1);

    key.not_after_s = UINT64_MAX;
    sbx_sealer_follow(sealer, &key, 1, 1);
    deliver_all(deliverer);
    assert_int_equal(counts_of(deliverer).sent, 1);
    assert_int_equal(sbx_http_server_request_count(server), 2);
    const struct sbx_http_request *first = sbx_http_server_request(server, 0),
                                  *second = sbx_http_server_request(server, 1);
    assert_int_equal(sbx_envelope_read(first->body, first->body_bytes, &envelope, NULL, 0), 0);
    assert_true(envelope.is_sealed);
    assert_int_equal(first->body_bytes, second->body_bytes);
    assert_memory_equal(first->body, second->body, first->body_bytes);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
    sbx_sealer_destroy(sealer);
}

static void test_only_one_deliverer_works_on_a_spool(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer slow_down = {
        .behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 503 No\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"};
    struct sbx_http_server *server = sbx_http_server_start(0, &slow_down, 1);
    struct sbx_deliverer *one = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    struct sbx_deliverer *two = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    put(place->spool, 1);
    assert_true(sbx_deliverer_step(one) > 3500000);
    uint64_t due_ms = sbx_deliverer_step(two);
    assert_true(due_ms > 0 && due_ms < 60000); /* it checks again whether the first is gone */
    assert_int_equal(sbx_http_server_request_count(server), 1);
    sbx_deliverer_destroy(one);
    assert_true(sbx_deliverer_step(two) > 3500000); /* it knows the wait that the server requested of the first */
    assert_int_equal(sbx_http_server_request_count(server), 1);
    sbx_deliverer_hurry(two); /* also for a person's request, because the server asked for a wait */
    assert_true(sbx_deliverer_step(two) > 3500000);
    assert_int_equal(sbx_http_server_request_count(server), 1);
    assert_int_equal(unlink(sbx_test_path(place->path, ".deliver.state")), 0);
    sbx_deliverer_destroy(two);
    two = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    assert_true(sbx_deliverer_step(two) == UINT64_MAX);
    assert_int_equal(sbx_http_server_request_count(server), 2);
    sbx_deliverer_destroy(two);
    sbx_http_server_stop(server);
}

static void test_a_server_that_chokes_on_everything_is_left_alone_after_three(void **state)
{
    struct place *place = *state;
    struct sbx_http_answer answers[8];
    for (size_t i = 0; i < 8; i++) {
        answers[i] = (struct sbx_http_answer){
            .behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 500 Oops\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"};
    }
    struct sbx_http_server *server = sbx_http_server_start(0, answers, 8);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    for (uint8_t i = 1; i <= 8; i++) {
        put(place->spool, i);
    }
    assert_true(sbx_deliverer_step(deliverer) >= 59000);
    assert_int_equal(sbx_http_server_request_count(server), 3);
    sbx_deliverer_destroy(deliverer); /* and the same after a restart */
    deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    assert_true(sbx_deliverer_step(deliverer) >= 59000);
    assert_int_equal(sbx_http_server_request_count(server), 3);
    assert_int_equal(waiting(place), 8);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

/* A clock whose time the test sets. */
static void read_clock(void *context, uint64_t *boot_ms_out, uint64_t *wall_ms_out)
{
    const uint64_t *times = context;
    *boot_ms_out = times[0];
    *wall_ms_out = times[1];
}

static void test_net_05_what_the_server_asked_for_outlives_restarts_and_clocks(void **state)
{
    struct place *place = *state;
    uint64_t times[2] = {10000000, UINT64_C(1700000000000)};
    const struct sbx_delivery_clock clock = {read_clock, times};
    const struct sbx_http_answer answers[2] = {
        {.behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 503 No\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n"},
        {.behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"},
    };
    struct sbx_http_server *server = sbx_http_server_start(0, answers, 2);
    put(place->spool, 1);
    for (int i = 0; i < 2; i++) {
        for (int restart = 0; restart < 4; restart++) {
            struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
            sbx_deliverer_set_clock(deliverer, &clock);
            times[1] += restart == 2 ? UINT64_C(31536000000) : 0; /* the wall clock is set forward a year, and back */
            times[1] -= restart == 3 ? UINT64_C(31536000000) : 0;
            uint64_t due_ms = sbx_deliverer_step(deliverer);
            assert_true(due_ms > 86400000 - 5 * 3600000 && due_ms <= 86400000 + 600000);
            assert_int_equal(sbx_http_server_request_count(server), i + 1);
            times[0] += 3600000;
            times[1] += 3600000;
            sbx_deliverer_destroy(deliverer);
        }
        times[0] += 86400000;
        times[1] += 86400000;
    }
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    sbx_deliverer_set_clock(deliverer, &clock);
    assert_true(sbx_deliverer_step(deliverer) == UINT64_MAX);
    assert_int_equal(sbx_http_server_request_count(server), 3);
    assert_false(
        sbx_test_exists(sbx_test_path(place->path, ".deliver.state"))); /* it worked, so there is nothing to remember */
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

int main(void)
{
#define DELIVER_TEST(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        DELIVER_TEST(test_an_empty_spool_has_nothing_due),
        DELIVER_TEST(test_all_that_waits_is_sent_oldest_first_and_kept_as_sent),
        DELIVER_TEST(test_of_a_user_who_said_no_nothing_is_sent),
        DELIVER_TEST(test_with_the_server_down_and_then_up_it_arrives_exactly_once),
        DELIVER_TEST(test_broken_answers_are_tried_again_with_the_same_bytes),
        DELIVER_TEST(test_a_refused_payload_goes_to_bad_and_the_others_go_on),
        DELIVER_TEST(test_when_the_server_asks_for_time_the_whole_spool_waits),
        DELIVER_TEST(test_one_payload_the_server_chokes_on_does_not_hold_up_the_others),
        DELIVER_TEST(test_what_nobody_can_read_or_may_not_leave_is_never_sent),
        DELIVER_TEST(test_what_waited_plain_is_sealed_before_it_leaves),
        DELIVER_TEST(test_only_one_deliverer_works_on_a_spool),
        DELIVER_TEST(test_a_server_that_chokes_on_everything_is_left_alone_after_three),
        DELIVER_TEST(test_net_05_what_the_server_asked_for_outlives_restarts_and_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
