/* SPDX-License-Identifier: Apache-2.0 */
/* test_send.c - one attempt to send to a real server that behaves in every way that servers do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "deliver.h"
#include "http_server.h"
#include "loopback.h"

/* Bytes with an id at the place where an envelope has it. The server checks nothing else. */
static const uint8_t id[16] = {0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static uint8_t envelope[200000];

static int fill_envelope(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof envelope; i++) {
        envelope[i] = (uint8_t)(i * 7);
    }
    memcpy(envelope + 16, id, sizeof id);
    return 0;
}

static struct sbx_send_result send_to(const struct sbx_http_answer *answers, size_t count)
{
    struct sbx_http_server *server = sbx_http_server_start(0, answers, count);
    struct sbx_send_result result = sbx_send(sbx_http_server_url(server), NULL, id, envelope, sizeof envelope);
    sbx_http_server_stop(server);
    return result;
}

static struct sbx_send_result send_text(const char *text)
{
    const struct sbx_http_answer answer = {.behaviour = SBX_HTTP_TEXT, .text = text};
    return send_to(&answer, 1);
}

#define STORED_BODY "STALLBOX-STORED deadbeef000102030405060708090a0b\n"

static void test_the_request_is_as_agreed(void **state)
{
    (void)state;
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    char url[100];
    snprintf(url, sizeof url, "%s/", sbx_http_server_url(server)); /* a slash at the end makes no difference */
    struct sbx_send_result result = sbx_send(url, "s3cret-token", id, envelope, sizeof envelope);
    assert_int_equal(result.verdict, SBX_SEND_STORED);
    assert_int_equal(result.http_status, 200);
    assert_int_equal(sbx_http_server_request_count(server), 1);
    const struct sbx_http_request *request = sbx_http_server_request(server, 0);
    assert_ptr_equal(strstr(request->head, "POST /v1/snapshots HTTP/1.1\r\n"), request->head);
    assert_non_null(strstr(request->head, "\r\nContent-Type: application/x-stallbox-envelope\r\n"));
    assert_non_null(strstr(request->head, "\r\nX-Stallbox-Payload-Id: deadbeef000102030405060708090a0b\r\n"));
    assert_non_null(strstr(request->head, "\r\nAuthorization: Bearer s3cret-token\r\n"));
    assert_null(strstr(request->head, "Expect"));
    assert_null(strstr(request->head, "Accept-Encoding"));
    assert_null(strstr(request->head, "Cookie"));
    assert_int_equal(request->body_bytes, sizeof envelope);
    assert_memory_equal(request->body, envelope, sizeof envelope);
    sbx_http_server_stop(server);
}

static void test_201_with_the_right_body_is_stored(void **state)
{
    (void)state;
    struct sbx_send_result result = send_text("HTTP/1.1 201 Created\r\nContent-Length: 49\r\n\r\n" STORED_BODY);
    assert_int_equal(result.verdict, SBX_SEND_STORED);
    assert_int_equal(result.http_status, 201);
}

static void test_net_02_anything_but_the_agreed_body_is_no_delivery(void **state)
{
    (void)state;
    const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n<html>Welcome to Hotel Wi-Fi! Please accept.</html>",
        "HTTP/1.1 200 OK\r\nContent-Length: 49\r\n\r\nSTALLBOX-STORED deadbeef000102030405060708090a0c\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\nSTALLBOX-STORED deadbeef000102030405060708090a0b",
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n" STORED_BODY " ",
        "HTTP/1.1 200 OK\r\nContent-Length: 49\r\n\r\nSTALLBOX-STORED DEADBEEF000102030405060708090A0B\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n" STORED_BODY, /* ends before its own length */
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 202 Accepted\r\nContent-Length: 49\r\n\r\n" STORED_BODY,
        "SSH-2.0-OpenSSH_9.2\r\n",
        "",
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct sbx_send_result result = send_text(answers[i]);
        if (result.verdict != SBX_SEND_LATER) {
            fail_msg("verdict %d for \"%s\"", result.verdict, answers[i]);
        }
        assert_true(strlen(result.why) > 0);
    }
}

static void test_net_03_redirects_are_not_followed(void **state)
{
    (void)state;
    struct sbx_http_server *target = sbx_http_server_start(0, NULL, 0);
    const char *const statuses[] = {"301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect",
                                    "308 Permanent Redirect"};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, "HTTP/1.1 %s\r\nLocation: %s/v1/snapshots\r\nContent-Length: 0\r\n\r\n",
                 statuses[i], sbx_http_server_url(target));
        assert_int_equal(send_text(text).verdict, SBX_SEND_LATER);
        snprintf(text, sizeof text, "HTTP/1.1 %s\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
                 statuses[i]);
        assert_int_equal(send_text(text).verdict, SBX_SEND_LATER);
    }
    /* A redirection to itself, without end. */
    struct sbx_http_answer loop = {
        .behaviour = SBX_HTTP_TEXT,
        .text = "HTTP/1.1 307 Temporary Redirect\r\nLocation: /v1/snapshots\r\nContent-Length: 0\r\n\r\n"};
    struct sbx_http_server *circle = sbx_http_server_start(0, &loop, 1);
    assert_int_equal(sbx_send(sbx_http_server_url(circle), NULL, id, envelope, sizeof envelope).verdict,
                     SBX_SEND_LATER);
    assert_int_equal(sbx_http_server_connection_count(circle), 1);
    sbx_http_server_stop(circle);
    assert_int_equal(sbx_http_server_request_count(target), 0);
    sbx_http_server_stop(target);
}

static void test_net_04_statuses_are_judged(void **state)
{
    (void)state;
    const struct {
        const char *status;
        enum sbx_send_verdict verdict;
    } statuses[] = {
        {"400 Bad Request", SBX_SEND_NEVER},   {"401 Unauthorized", SBX_SEND_LATER},
        {"403 Forbidden", SBX_SEND_LATER},     {"404 Not Found", SBX_SEND_LATER},
        {"409 Conflict", SBX_SEND_NEVER},      {"410 Gone", SBX_SEND_LATER},
        {"413 Too Large", SBX_SEND_NEVER},     {"415 Unsupported", SBX_SEND_NEVER},
        {"422 Unprocessable", SBX_SEND_NEVER}, {"408 Timeout", SBX_SEND_LATER},
        {"429 Too Many", SBX_SEND_LATER},      {"500 Internal", SBX_SEND_LATER},
        {"502 Bad Gateway", SBX_SEND_LATER},   {"503 Unavailable", SBX_SEND_LATER},
        {"504 Gateway", SBX_SEND_LATER},
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: 49\r\n\r\n" STORED_BODY, statuses[i].status);
        struct sbx_send_result result = send_text(text);
        assert_int_equal(result.http_status, atoi(statuses[i].status));
        if (result.verdict != statuses[i].verdict) {
            fail_msg("verdict %d for %s", result.verdict, statuses[i].status);
        }
        assert_int_equal(result.retry_after_ms,
                         result.http_status == 410 ? 86400000 : 0); /* 410, gone: no further try for a day */
    }
}

static void test_net_05_retry_after_is_taken_over_the_longest_wins(void **state)
{
    (void)state;
    struct sbx_send_result result =
        send_text("HTTP/1.1 429 Slow Down\r\nretry-after: 120\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(result.verdict, SBX_SEND_LATER);
    assert_int_equal(result.retry_after_ms, 120000);
    /* A date is relative to the server's clock, which here is some years behind ours. */
    assert_int_equal(send_text("HTTP/1.1 503 No\r\nRetry-After: Sun, 06 Nov 1994 08:51:37 GMT\r\n"
                               "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n")
                         .retry_after_ms,
                     120000);
    for (int status = 408; status <= 504; status += status == 408 ? 21 : status == 429 ? 71 : status == 500 ? 2 : 1) {
        char text[200]; /* 408, 429, 500, 502, 503, 504 */
        snprintf(text, sizeof text, "HTTP/1.1 %d No\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n", status);
        result = send_text(text);
        assert_int_equal(result.verdict, SBX_SEND_LATER);
        assert_int_equal(result.retry_after_ms, 120000);
    }
    const char *const nothing[] = {"-5", "soon", "Sun, 06 Nov 1994 08:49:37 GMT", ""};
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "HTTP/1.1 503 No\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", nothing[i]);
        assert_int_equal(send_text(text).retry_after_ms, 0);
    }
    assert_int_equal(
        send_text("HTTP/1.1 503 No\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n").retry_after_ms,
        86400000);
}

static void test_connections_that_break_are_tried_later(void **state)
{
    (void)state;
    const enum sbx_http_behaviour behaviours[] = {SBX_HTTP_CLOSE, SBX_HTTP_RESET, SBX_HTTP_STORE_AND_CLOSE};
    for (size_t i = 0; i < sizeof behaviours / sizeof behaviours[0]; i++) {
        const struct sbx_http_answer answer = {.behaviour = behaviours[i]};
        struct sbx_send_result result = send_to(&answer, 1);
        assert_int_equal(result.verdict, SBX_SEND_LATER);
        assert_int_equal(result.http_status, 0);
        assert_true(strlen(result.why) > 0);
    }
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", sbx_loopback_free_port());
    struct sbx_send_result result = sbx_send(url, NULL, id, envelope, sizeof envelope);
    assert_int_equal(result.verdict, SBX_SEND_LATER);
    assert_int_equal(result.http_status, 0);
}

static void test_net_06_endless_answers_are_cut_off(void **state)
{
    (void)state;
    const enum sbx_http_behaviour behaviours[] = {SBX_HTTP_FLOOD, SBX_HTTP_HEADERS, SBX_HTTP_CONTINUES};
    for (size_t i = 0; i < sizeof behaviours / sizeof behaviours[0]; i++) {
        const struct sbx_http_answer answer = {.behaviour = behaviours[i]};
        struct sbx_send_result result = send_to(&answer, 1);
        assert_int_equal(result.verdict, SBX_SEND_LATER);
        assert_string_equal(result.why, "the answer is too large");
    }
}

static void test_a_slow_server_is_waited_for(void **state)
{
    (void)state;
    const struct sbx_http_answer answer = {.behaviour = SBX_HTTP_DRIP};
    assert_int_equal(send_to(&answer, 1).verdict, SBX_SEND_STORED);
}

static void test_net_09_the_environment_is_not_asked(void **state)
{
    (void)state;
    setenv("http_proxy", "http://127.0.0.1:1/", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1/", 1);
    assert_int_equal(send_to(NULL, 0).verdict, SBX_SEND_STORED);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
    setenv("SSLKEYLOGFILE", "/tmp/keys", 1);
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    struct sbx_send_result result = sbx_send(sbx_http_server_url(server), NULL, id, envelope, sizeof envelope);
    assert_int_equal(result.verdict, SBX_SEND_LATER);
    assert_int_equal(sbx_http_server_request_count(server), 0);
    sbx_http_server_stop(server);
    unsetenv("SSLKEYLOGFILE");
}

static void test_addresses_that_may_not_be_used_are_not_tried(void **state)
{
    (void)state;
    const char *const urls[] = {"http://stallbox.example.com",
                                "http://192.0.2.1",
                                "http://[2001:db8::1]",
                                "ftp://127.0.0.1",
                                "file:///tmp",
                                "",
                                "no address",
                                "http://127.0.0.1.example.com",
                                "http://[::1",
                                "127.0.0.1:80"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct sbx_send_result result = sbx_send(urls[i], NULL, id, envelope, sizeof envelope);
        assert_int_equal(result.verdict, SBX_SEND_LATER);
        assert_int_equal(result.http_status, 0);
        assert_non_null(strstr(result.why, urls[i]));
    }
    char url[64];
    snprintf(url, sizeof url, "http://localhost:%u", sbx_loopback_free_port());
    assert_null(strstr(sbx_send(url, NULL, id, envelope, sizeof envelope).why, "use https"));
}

static void test_a_token_cannot_end_its_header(void **state)
{
    (void)state;
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    const char *const tokens[] = {"a\r\nX-Evil: 1", "", "with blank", "t\xc3\xbcr"};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        struct sbx_send_result result = sbx_send(sbx_http_server_url(server), tokens[i], id, envelope, sizeof envelope);
        assert_int_equal(result.verdict, SBX_SEND_LATER);
    }
    assert_int_equal(sbx_http_server_request_count(server), 0);
    sbx_http_server_stop(server);
}

static void note_signal(int signal)
{
    (void)signal;
    _exit(3); /* SIGPIPE reached the host program */
}

/* Looks at the process from outside of the transfer, for as long as it goes on. */
struct watcher {
    pthread_t thread;
    atomic_bool done;
    int inherited_sockets_most; /* the largest number of connections that an exec would have kept */
    bool handler_was_touched;
    unsigned looks;
};

/* Only connections count. libcurl's own wake-up socketpair is not under our control. */
static int inherited_sockets(void)
{
    int count = 0;
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_storage address;
        socklen_t bytes = sizeof address;
        int flags = fcntl(fd, F_GETFD);
        count += flags >= 0 && (flags & FD_CLOEXEC) == 0 && getsockname(fd, (struct sockaddr *)&address, &bytes) == 0 &&
                 address.ss_family != AF_UNIX;
    }
    return count;
}

static void *watch(void *context)
{
    struct watcher *watcher = context;
    while (!atomic_load(&watcher->done)) {
        struct sigaction now;
        int count = inherited_sockets();
        watcher->inherited_sockets_most =
            count > watcher->inherited_sockets_most ? count : watcher->inherited_sockets_most;
        sigaction(SIGPIPE, NULL, &now);
        watcher->handler_was_touched |= now.sa_handler != note_signal;
        watcher->looks++;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

static void test_the_host_keeps_its_signals_and_its_children_get_no_socket(void **state)
{
    (void)state;
    struct sigaction mine = {.sa_handler = note_signal};
    sigaction(SIGPIPE, &mine, NULL);
    struct watcher watcher = {.looks = 0};
    int before = inherited_sockets();
    assert_int_equal(pthread_create(&watcher.thread, NULL, watch, &watcher), 0);
    const struct sbx_http_answer slow = {.behaviour = SBX_HTTP_DRIP};
    const struct sbx_http_answer broken[] = {{.behaviour = SBX_HTTP_RESET}, {.behaviour = SBX_HTTP_CLOSE}};
    enum sbx_send_verdict verdicts[] = {send_to(&slow, 1).verdict, send_to(&broken[0], 1).verdict,
                                        send_to(&broken[1], 1).verdict};
    atomic_store(&watcher.done, true);
    pthread_join(watcher.thread, NULL);
    signal(SIGPIPE, SIG_DFL);
    assert_int_equal(verdicts[0], SBX_SEND_STORED);
    assert_int_equal(verdicts[1], SBX_SEND_LATER);
    assert_int_equal(verdicts[2], SBX_SEND_LATER);
    assert_true(watcher.looks > 100);
    assert_false(watcher.handler_was_touched);
    assert_int_equal(watcher.inherited_sockets_most, before);
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    assert_int_equal(sigismember(&blocked, SIGPIPE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_request_is_as_agreed),
        cmocka_unit_test(test_201_with_the_right_body_is_stored),
        cmocka_unit_test(test_net_02_anything_but_the_agreed_body_is_no_delivery),
        cmocka_unit_test(test_net_03_redirects_are_not_followed),
        cmocka_unit_test(test_net_04_statuses_are_judged),
        cmocka_unit_test(test_net_05_retry_after_is_taken_over_the_longest_wins),
        cmocka_unit_test(test_connections_that_break_are_tried_later),
        cmocka_unit_test(test_net_06_endless_answers_are_cut_off),
        cmocka_unit_test(test_a_slow_server_is_waited_for),
        cmocka_unit_test(test_net_09_the_environment_is_not_asked),
        cmocka_unit_test(test_addresses_that_may_not_be_used_are_not_tried),
        cmocka_unit_test(test_a_token_cannot_end_its_header),
        cmocka_unit_test(test_the_host_keeps_its_signals_and_its_children_get_no_socket),
    };
    return cmocka_run_group_tests(tests, fill_envelope, NULL);
}
