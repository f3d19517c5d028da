/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_fetch.c - servers that answer the request for a policy in every wrong way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "http_server.h"
#include "policy_fetch.h"

static uint8_t bytes[SBX_BUNDLE_BYTES_MAX];

/* One request to a server that answers in this way. `request_out` may be NULL. */
static struct sbx_fetch_result ask(enum sbx_http_behaviour behaviour, const char *text, const char *tag,
                                   struct sbx_http_request *request_out)
{
    const struct sbx_http_answer answer = {behaviour, text, 0};
    struct sbx_http_server *server = sbx_http_server_start(0, &answer, 1);
    struct sbx_keyset keyset = {.version = 1};
    memcpy(keyset.app_id, "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef", 16);
    struct sbx_fetch_result result = sbx_policy_fetch(sbx_http_server_url(server), &keyset, tag, 2000, bytes);
    if (request_out != NULL && sbx_http_server_request_count(server) == 1) {
        *request_out = *sbx_http_server_request(server, 0);
    }
    sbx_http_server_stop(server);
    return result;
}

static void test_a_bundle_comes_with_its_tag(void **state)
{
    (void)state;
    struct sbx_http_request request = {.head = ""};
    struct sbx_fetch_result result =
        ask(SBX_HTTP_TEXT, "HTTP/1.1 200 OK\r\nETag: \"abc\"\r\nContent-Length: 4\r\n\r\nSBXP", "", &request);
    assert_int_equal(result.verdict, SBX_FETCH_BUNDLE);
    assert_int_equal(result.byte_count, 4);
    assert_memory_equal(bytes, "SBXP", 4);
    assert_string_equal(result.tag, "\"abc\"");
    assert_true(result.is_certain); /* the server is this machine */
    assert_ptr_equal(strstr(request.head, "GET /v1/policy/0123456789abcdef0123456789abcdef HTTP/1.1\r\n"),
                     request.head);
    assert_null(strstr(request.head, "If-None-Match"));
    assert_null(strstr(request.head, "Authorization")); /* the request says nothing about this machine */
    assert_null(strstr(request.head, "Accept-Encoding"));
    assert_null(strstr(request.head, "Cookie"));

    result = ask(SBX_HTTP_TEXT, "HTTP/1.1 304 Not Modified\r\n\r\n", "\"abc\"", &request);
    assert_int_equal(result.verdict, SBX_FETCH_SAME);
    assert_non_null(strstr(request.head, "If-None-Match: \"abc\"\r\n"));
    result = ask(SBX_HTTP_TEXT, "HTTP/1.1 304 Not Modified\r\n\r\n", "", NULL); /* the question was not asked */
    assert_int_equal(result.verdict, SBX_FETCH_FAILED);
    result = ask(SBX_HTTP_TEXT, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "", NULL);
    assert_int_equal(result.verdict, SBX_FETCH_NONE);
}

static void test_pol_13_an_endless_answer_is_cut_off(void **state)
{
    (void)state;
    struct sbx_fetch_result result = ask(SBX_HTTP_FLOOD, NULL, "", NULL);
    assert_int_equal(result.verdict, SBX_FETCH_FAILED);
    assert_string_equal(result.why, "the answer is too large");
    result = ask(SBX_HTTP_HEADERS, NULL, "", NULL);
    assert_int_equal(result.verdict, SBX_FETCH_FAILED);
    result = ask(SBX_HTTP_TEXT, "HTTP/1.1 200 OK\r\nContent-Length: 10485760\r\n\r\nSBXP", "", NULL);
    assert_int_equal(result.verdict, SBX_FETCH_FAILED);
    assert_string_equal(result.why, "the answer is too large");
    char *chunked = malloc(200000); /* 100 chunks of 1,000 bytes, and no end */
    assert_non_null(chunked);
    int used = sprintf(chunked, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 100; i++) {
        used += sprintf(chunked + used, "3e8\r\n%01000d\r\n", 7);
    }
    result = ask(SBX_HTTP_TEXT, chunked, "", NULL);
    assert_int_equal(result.verdict, SBX_FETCH_FAILED);
    assert_string_equal(result.why, "the answer is too large");
    free(chunked);
}

static void test_pol_13_a_slow_answer_is_given_up(void **state)
{
    (void)state;
    time_t begin = time(NULL);
    struct sbx_fetch_result result = ask(SBX_HTTP_DRIP, NULL, "", NULL); /* a byte each 20 ms; the time-out is 2 s */
    assert_int_equal(result.verdict, SBX_FETCH_FAILED);
    assert_true(time(NULL) - begin < 30);
}

static void test_pol_13_what_is_compressed_is_not_inflated(void **state)
{
    (void)state;
    struct sbx_fetch_result result = ask(
        SBX_HTTP_TEXT, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08", "", NULL);
    assert_int_equal(result.verdict, SBX_FETCH_BUNDLE);
    assert_int_equal(result.byte_count, 3);
    struct sbx_bundle bundle;
    assert_non_null(sbx_bundle_parse(bytes, result.byte_count, &bundle)); /* E_FORMAT then */
}

static void test_redirects_and_troubles_are_failures(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nSBXP", /* broken off before its length */
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        assert_int_equal(ask(SBX_HTTP_TEXT, answers[i], "", NULL).verdict, SBX_FETCH_FAILED);
    }
    struct sbx_fetch_result result =
        ask(SBX_HTTP_TEXT, "HTTP/1.1 503 Later\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", "", NULL);
    assert_int_equal(result.verdict, SBX_FETCH_FAILED);
    assert_int_equal(result.retry_after_ms, 7000);
    struct sbx_keyset keyset = {.version = 1};
    result = sbx_policy_fetch("http://192.0.2.1", &keyset, "", 2000, bytes); /* unencrypted to another machine */
    assert_int_equal(result.verdict, SBX_FETCH_FAILED);
    assert_non_null(strstr(result.why, "https"));
}

static void test_polls_are_spread_sooner_after_failures_and_never_before_the_server_asked(void **state)
{
    (void)state;
    assert_int_equal(sbx_policy_pause_ms(3600000, 0, 0, 0), 2700000);
    assert_int_equal(sbx_policy_pause_ms(3600000, 0, 0, UINT64_MAX), 4500000);
    assert_int_equal(sbx_policy_pause_ms(3600000, 1, 0, 0), 60000);
    assert_int_equal(sbx_policy_pause_ms(3600000, 1, 0, UINT64_MAX), 120000);
    assert_int_equal(sbx_policy_pause_ms(3600000, 4, 0, UINT64_MAX), 960000);
    assert_int_equal(sbx_policy_pause_ms(86400000, UINT32_MAX, 0, UINT64_MAX), 3840000);
    assert_int_equal(sbx_policy_pause_ms(900000, 6, 0, 0), 675000); /* not later than without failures */
    assert_int_equal(sbx_policy_pause_ms(3600000, 1, 7200000, 0), 7200000);
    assert_int_equal(sbx_policy_pause_ms(3600000, 0, 7200000, UINT64_MAX), 7800000);
    assert_int_equal(sbx_policy_pause_ms(604800000, 0, 0, UINT64_MAX), 756000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bundle_comes_with_its_tag),
        cmocka_unit_test(test_pol_13_an_endless_answer_is_cut_off),
        cmocka_unit_test(test_pol_13_a_slow_answer_is_given_up),
        cmocka_unit_test(test_pol_13_what_is_compressed_is_not_inflated),
        cmocka_unit_test(test_redirects_and_troubles_are_failures),
        cmocka_unit_test(test_polls_are_spread_sooner_after_failures_and_never_before_the_server_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
