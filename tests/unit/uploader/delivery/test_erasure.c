/* SPDX-License-Identifier: Apache-2.0 */
/* test_erasure.c - rotating ids, and requests to delete everything that has such an id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "consent.h"
#include "deliver.h"
#include "erasure.h"
#include "http_server.h"
#include "identity.h"
#include "spool_place.h"
#include "test_folder.h"
#include "unseal.h"

#define ERASING "HTTP/1.1 202 Accepted\r\nRetry-After: 30\r\nContent-Length: 17\r\n\r\nSTALLBOX-ERASING\n"
#define ERASED  "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\nSTALLBOX-ERASED\n"

static void test_an_id_stays_for_its_period_and_the_next_has_another(void **state)
{
    struct place *place = *state;
    uint8_t id[3][16], again[16];
    struct stat status;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sbx_identity_rotating_id(place->spool, 228 + i, id[i]), 0);
    }
    assert_memory_not_equal(id[0], id[1], 16);
    assert_memory_not_equal(id[1], id[2], 16);
    assert_int_equal(sbx_identity_rotating_id(place->spool, 229, again), 0);
    assert_memory_equal(again, id[1], 16);
    assert_int_equal(stat(sbx_test_path(place->path, "identity"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    struct sbx_identity identity;
    assert_int_equal(sbx_identity_read(place->spool, "identity", &identity), 0);
    assert_int_equal(identity.first_period, 228);
    assert_int_equal(identity.last_period, 230);
}

/* The numbers of erasure_format.h, calculated once by hand with Python's hmac and hashlib, and by the server's code. */
static void test_ids_are_as_written_down_and_both_sides_agree(void **state)
{
    (void)state;
    struct sbx_identity identity = {.first_period = 0};
    uint8_t proof[32], id[16], theirs[16];
    char text[65];
    assert_int_equal(sbx_identity_proof(&identity, 229, proof), 0);
    for (int i = 0; i < 32; i++) {
        snprintf(text + 2 * i, 3, "%02x", proof[i]);
    }
    assert_string_equal(text, "a51a2fe1097f13299f06aff7b1d0859b5ae4c5abaae614254bf414d45f59e6bf");
    assert_int_equal(sbx_identity_id_of_proof(proof, id), 0);
    for (int i = 0; i < 16; i++) {
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    }
    assert_string_equal(text, "1dcce20ddf47575d3d7f3d7868e52238");
    assert_int_equal(sbx_rotating_id_of_proof(proof, theirs), 0);
    assert_memory_equal(theirs, id, 16);
}

static void test_two_processes_make_one_secret(void **state)
{
    struct place *place = *state;
    uint8_t id[8][16];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            uint8_t ours[16];
            _exit(sbx_identity_rotating_id(place->spool, 7, ours) == 0 && write(ends[1], ours, 16) == 16 ? 0 : 1);
        }
    }
    for (int i = 0; i < 8; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
        assert_int_equal(read(ends[0], id[i], 16), 16);
        assert_memory_equal(id[i], id[0], 16);
    }
    close(ends[0]);
    close(ends[1]);
}

static void test_a_no_asks_for_every_period_and_a_yes_begins_anew(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer erased = {.behaviour = SBX_HTTP_TEXT, .text = ERASED};
    struct sbx_http_server *server = sbx_http_server_start(0, &erased, 1);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), "token");
    uint8_t before[2][16], after[16], id[16], proof[32];
    assert_int_equal(sbx_identity_rotating_id(place->spool, 228, before[0]), 0);
    assert_int_equal(sbx_identity_rotating_id(place->spool, 229, before[1]), 0);
    assert_int_equal(sbx_consent_write(place->path, SBX_CONSENT_DENIED), 0);
    assert_false(sbx_test_exists(sbx_test_path(place->path, "identity")));
    assert_int_equal(sbx_test_count(place->path, ".erase"), 1);
    /* The user says yes before anything was delivered. The erasure is requested all the same. */
    assert_int_equal(sbx_consent_write(place->path, SBX_CONSENT_GRANTED), 0);
    assert_int_equal(sbx_identity_rotating_id(place->spool, 229, after), 0);
    assert_memory_not_equal(after, before[1], 16);
    assert_true(sbx_deliverer_step(deliverer) == UINT64_MAX);
    assert_int_equal(sbx_http_server_request_count(server), 1);
    const struct sbx_http_request *request = sbx_http_server_request(server, 0);
    assert_non_null(strstr(request->head, "POST /v1/erasures "));
    assert_non_null(strstr(request->head, "Authorization: Bearer token"));
    assert_int_equal(request->body_bytes, 130);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 32; k++) {
            unsigned byte;
            assert_int_equal(sscanf((const char *)request->body + 65 * i + 2 * k, "%2x", &byte), 1);
            proof[k] = (uint8_t)byte;
        }
        assert_int_equal(sbx_rotating_id_of_proof(proof, id), 0);
        assert_memory_equal(id, before[i], 16);
    }
    assert_int_equal(sbx_test_count(place->path, ".erase"), 0);
    assert_true(sbx_deliverer_step(deliverer) == UINT64_MAX); /* only once */
    assert_int_equal(sbx_http_server_request_count(server), 1);
    assert_true(sbx_test_exists(sbx_test_path(place->path, "identity")));
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_it_is_asked_until_the_server_says_it_is_done(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer answers[] = {
        {.behaviour = SBX_HTTP_TEXT, .text = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"},
        {.behaviour = SBX_HTTP_TEXT,
         .text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"}, /* a captive portal */
        {.behaviour = SBX_HTTP_CLOSE},
        {.behaviour = SBX_HTTP_TEXT, .text = ERASING},
        {.behaviour = SBX_HTTP_TEXT, .text = ERASED},
    };
    enum {
        LAST = sizeof(answers) / sizeof(answers[0]) - 1
    };
    struct sbx_http_server *server = sbx_http_server_start(0, answers, LAST + 1);
    uint8_t id[16];
    assert_int_equal(sbx_identity_rotating_id(place->spool, 228, id), 0);
    assert_int_equal(sbx_consent_write(place->path, SBX_CONSENT_DENIED), 0);
    for (unsigned i = 0; i <= LAST; i++) {
        char why[200] = "";
        struct sbx_erasure_pace pace = {.fails = 0}; /* each try is made by another process */
        uint64_t due_ms = sbx_erasures_step(place->spool, sbx_http_server_url(server), NULL, &pace, 1000, UINT64_MAX,
                                            why, sizeof why);
        assert_int_equal(sbx_http_server_request_count(server), i + 1);
        assert_true(i < LAST ? due_ms != UINT64_MAX && why[0] != '\0' : due_ms == UINT64_MAX);
        if (i == LAST - 1) { /* not a failure, and not the end */
            assert_string_equal(why, "deletion request: the server is at work on it; it is asked again");
            assert_true(due_ms >= 30000); /* as the server says */
        }
        if (i < LAST) { /* not before it is due */
            assert_int_equal(
                sbx_erasures_step(place->spool, sbx_http_server_url(server), NULL, &pace, 1000, 0, why, sizeof why),
                due_ms);
            assert_int_equal(sbx_http_server_request_count(server), i + 1);
        }
        assert_int_equal(sbx_test_count(place->path, ".erase"), i < LAST);
    }
    sbx_http_server_stop(server);
}

static void test_killed_between_the_word_and_the_rename_it_is_asked_all_the_same(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer erased = {.behaviour = SBX_HTTP_TEXT, .text = ERASED};
    struct sbx_http_server *server = sbx_http_server_start(0, &erased, 1);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    uint8_t id[16];
    assert_int_equal(sbx_identity_rotating_id(place->spool, 228, id), 0);
    sbx_test_write(sbx_test_path(place->path, "consent"), "denied\n", 7);
    assert_true(sbx_deliverer_step(deliverer) == UINT64_MAX);
    assert_int_equal(sbx_http_server_request_count(server), 1);
    assert_false(sbx_test_exists(sbx_test_path(place->path, "identity")));
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_a_spool_whose_payloads_carry_no_id_asks_for_nothing(void **state)
{
    struct place *place = *state;
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    assert_int_equal(sbx_consent_write(place->path, SBX_CONSENT_DENIED), 0);
    sbx_deliverer_step(deliverer);
    assert_int_equal(sbx_http_server_request_count(server), 0);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

int main(void)
{
#define ERASURE_TEST(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        ERASURE_TEST(test_an_id_stays_for_its_period_and_the_next_has_another),
        ERASURE_TEST(test_ids_are_as_written_down_and_both_sides_agree),
        ERASURE_TEST(test_two_processes_make_one_secret),
        ERASURE_TEST(test_a_no_asks_for_every_period_and_a_yes_begins_anew),
        ERASURE_TEST(test_it_is_asked_until_the_server_says_it_is_done),
        ERASURE_TEST(test_killed_between_the_word_and_the_rename_it_is_asked_all_the_same),
        ERASURE_TEST(test_a_spool_whose_payloads_carry_no_id_asks_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
