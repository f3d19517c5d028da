/* SPDX-License-Identifier: Apache-2.0 */
/* test_server.c - the collector and its routes over real sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <curl/curl.h>

#include "envelope_format.h"
#include "started_server.h"

static int start_impatient(void **state)
{
    prepare_server(state);
    fixture.options.request_deadline_ms = 1000;
    fixture_start(&fixture);
    return 0;
}

static void assert_answer(struct answer answer, long status, const char *text)
{
    if (answer.status != status || (text && !answer_has(&answer, text)))
        fail_msg("wanted %ld with \"%s\", got %ld: %s", status, text ? text : "", answer.status,
                 answer.body.data ? answer.body.data : "");
    answer_finish(&answer);
}

static void assert_post(const struct question *question, long status, const char *text)
{
    assert_answer(ask(fixture.port, question), status, text);
}

/* ---- the collector ---- */

static void test_a_payload_is_stored_once_however_often_it_comes(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 1);
    for (int i = 0; i < 3; i++)
        post_stored(fixture.port, &envelope);
    assert_true(metric(fixture.port, "stallbox_snapshots_received_total") == 3);
    assert_true(metric(fixture.port, "stallbox_snapshots_stored_total") == 1);
    assert_true(metric(fixture.port, "stallbox_snapshots_duplicates_total") == 2);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 1);
    assert_true(metric(fixture.port, "stallbox_store_bytes") > (double)envelope.count);
    envelope_finish(&envelope);
}

static void test_other_bytes_under_a_taken_id_are_a_conflict(void **state)
{
    (void)state;
    struct envelope first = envelope_of(SBX_SCENARIO_SLEEP, 1), second = envelope_of(SBX_SCENARIO_LOCK, 1);
    assert_string_equal(first.id, second.id);
    post_stored(fixture.port, &first);
    assert_answer(post(fixture.port, second.bytes, second.count), 409, first.id);
    assert_true(metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"conflict\"}") == 1);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 1);
    envelope_finish(&first);
    envelope_finish(&second);
}

static void test_what_is_no_payload_is_refused_with_a_reason(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_IO, 2);
    assert_answer(post(fixture.port, "hello", 5), 400, "400: ");
    assert_answer(post(fixture.port, "", 0), 400, "400: ");
    assert_answer(post(fixture.port, envelope.bytes, envelope.count - 1), 400, "400: ");
    envelope.bytes[envelope.count / 2] ^= 1;
    assert_answer(post(fixture.port, envelope.bytes, envelope.count), 400, "400: ");
    assert_true(metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"invalid\"}") == 4);
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 0);
    envelope_finish(&envelope);
}

/* The server answers before the body and closes. A client that is still sending may see the closed connection and not
 * the answer, because TCP then discards the answer. So this checks the server's own count of refusals; the answer
 * itself is checked by hand below. */
static void assert_refused_early(const struct question *question)
{
    struct answer answer = ask(fixture.port, question);
    if (answer.status != 0) {
        assert_answer(answer, 413, "413: ");
        return;
    }
    answer_finish(&answer);
}

static void test_too_large_a_body_is_refused_told_or_untold(void **state)
{
    (void)state;
    size_t bytes = SBX_ENVELOPE_BYTES_MAX + 1;
    char *body = calloc(1, bytes);
    assert_refused_early(&(struct question){.path = "/v1/snapshots", .body = body, .body_bytes = bytes});
    assert_refused_early(
        &(struct question){.path = "/v1/snapshots", .body = body, .body_bytes = bytes, .is_chunked = 1});
    assert_post(&(struct question){.path = "/v1/snapshots", .body = body, .body_bytes = bytes - 1}, 400, "400: ");
    assert_true(metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"too_large\"}") == 2);
    free(body);
}

/* Send raw bytes that no client library would send. Returns everything that the server sends until it closes. */
static struct sbx_byte_buffer talk(const char *request, size_t bytes)
{
    struct sbx_byte_buffer said = {0};
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(fixture.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char piece[4096];
    ssize_t count;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(fd, request, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
    while ((count = recv(fd, piece, sizeof(piece), 0)) > 0)
        sbx_byte_buffer_append(&said, piece, (size_t)count);
    close(fd);
    return said;
}

static void test_a_length_over_the_limit_is_refused_before_the_body(void **state)
{
    (void)state;
    static const char request[] =
        "POST /v1/snapshots HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000000000\r\n\r\n";
    struct sbx_byte_buffer said = talk(request, sizeof(request) - 1);
    assert_non_null(said.data);
    assert_non_null(strstr(said.data, " 413 "));
    sbx_byte_buffer_finish(&said);
}

static void test_two_lengths_in_one_request_are_refused(void **state)
{
    (void)state;
    static const char request[] = "POST /v1/snapshots HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                                  "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    struct sbx_byte_buffer said = talk(request, sizeof(request) - 1);
    assert_true(!said.data || strstr(said.data, " 400 ") != NULL);
    sbx_byte_buffer_finish(&said);
}

static void test_sealed_newer_and_encoded_bodies_are_unsupported(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 3);
    assert_post(&(struct question){.path = "/v1/snapshots",
                                   .body = envelope.bytes,
                                   .body_bytes = envelope.count,
                                   .header = "Content-Encoding: gzip"},
                415, "Content-Encoding");
    uint8_t sealed[64] = SBX_ENVELOPE_MAGIC;
    sealed[4] = SBX_ENVELOPE_VERSION + 1;
    assert_answer(post(fixture.port, sealed, sizeof(sealed)), 415, "415: ");
    assert_true(metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"unsupported\"}") == 2);
    envelope_finish(&envelope);
}

static void test_a_web_page_may_not_post(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 3);
    assert_post(&(struct question){.path = "/v1/snapshots",
                                   .body = envelope.bytes,
                                   .body_bytes = envelope.count,
                                   .header = "Origin: https://evil.example"},
                403, "web pages");
    assert_true(metric(fixture.port, "stallbox_store_snapshots") == 0);
    envelope_finish(&envelope);
}

enum {
    CLIENTS = 4,
    POSTS_OF_CLIENT = 8
};

static void *post_and_read(void *argument)
{
    uint64_t client = (uint64_t)(uintptr_t)argument;
    for (uint64_t i = 0; i < POSTS_OF_CLIENT; i++) {
        /* Every payload is posted by two clients: this one and its neighbour. */
        struct envelope envelope = envelope_of(SBX_SCENARIO_LOCK, (client % 2) * 100 + i);
        struct answer page = get(fixture.port, i % 2 ? "/" : "/v1/issues");
        post_stored(fixture.port, &envelope);
        answer_finish(&page);
        envelope_finish(&envelope);
    }
    return NULL;
}

static void test_many_clients_at_once_store_each_payload_once(void **state)
{
    (void)state;
    pthread_t threads[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, post_and_read, (void *)(uintptr_t)i), 0);
    for (size_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(metric(fixture.port, "stallbox_snapshots_stored_total") == 2 * POSTS_OF_CLIENT);
    assert_true(metric(fixture.port, "stallbox_snapshots_duplicates_total") == (CLIENTS - 2) * POSTS_OF_CLIENT);
    for (int i = 0; i < 3000 && metric(fixture.port, "stallbox_store_pending") > 0; i++)
        sleep_ms(20);
    assert_true(metric(fixture.port, "stallbox_triaged_total") == 2 * POSTS_OF_CLIENT);
    assert_true(metric(fixture.port, "stallbox_store_issues") == 1);
}

/* ---- tokens ---- */

static void test_posting_needs_the_token_and_reading_on_loopback_does_not(void **state)
{
    (void)state;
    struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, 4);
    struct question question = {.path = "/v1/snapshots", .body = envelope.bytes, .body_bytes = envelope.count};
    struct answer answer = ask(fixture.port, &question);
    assert_non_null(strstr(answer.headers.data, "WWW-Authenticate: Bearer"));
    assert_answer(answer, 401, "401: ");
    question.header = "Authorization: Bearer wrong-horse";
    assert_post(&question, 401, NULL);
    question.header = "Authorization: Bearer correct-horse";
    assert_post(&question, 200, envelope.id);
    assert_answer(get(fixture.port, "/v1/snapshots"), 200, envelope.id);
    assert_true(metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"unauthorized\"}") == 2);
    envelope_finish(&envelope);
}

static void test_a_public_address_without_a_token_is_refused_to_start(void **state)
{
    (void)state;
    char why[300] = "";
    struct sbx_server *server = NULL;
    fixture.options.listen = "0.0.0.0:0";
    assert_int_equal(sbx_server_start(&fixture.options, &server, why, sizeof(why)), -EINVAL);
    assert_non_null(strstr(why, "0.0.0.0:0"));
    assert_non_null(strstr(why, "token"));
    assert_null(server);
    fixture.options.token = "";
    assert_int_equal(sbx_server_start(&fixture.options, &server, why, sizeof(why)), -EINVAL);
}

static void test_on_a_public_address_reading_needs_the_token_but_health_does_not(void **state)
{
    (void)state;
    fixture.options.listen = "0.0.0.0:0";
    fixture.options.token = "correct-horse";
    fixture_start(&fixture);
    static const char *const closed[] = {"/",
                                         "/v1/issues",
                                         "/v1/snapshots",
                                         "/metrics",
                                         "/style.css",
                                         "/nothing",
                                         "/stalls/00112233445566778899aabbccddeeff"};
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
        assert_answer(get(fixture.port, closed[i]), 401, "401: ");
    assert_answer(get(fixture.port, "/healthz"), 200, "ok\n");
    assert_post(&(struct question){.path = "/", .header = "Authorization: Bearer correct-horse"}, 200,
                "<!doctype html>");
    struct answer answer = get(fixture.port, "/");
    assert_non_null(strstr(answer.headers.data, "WWW-Authenticate: Basic"));
    answer_finish(&answer);
}

static void test_reading_under_a_foreign_name_is_refused(void **state)
{
    (void)state;
    assert_post(&(struct question){.path = "/", .header = "Host: evil.example"}, 403, "localhost");
    assert_post(&(struct question){.path = "/", .header = "Host: localhost:1"}, 200, NULL);
}

/* ---- start ---- */

static void test_a_second_server_on_the_same_folder_is_refused(void **state)
{
    (void)state;
    char why[300] = "";
    struct sbx_server *second = NULL;
    assert_int_equal(sbx_server_start(&fixture.options, &second, why, sizeof(why)), -EBUSY);
    assert_non_null(strstr(why, fixture.data_dir));
}

static void test_a_folder_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    char why[300] = "";
    struct sbx_server *server = NULL;
    fixture.options.data_dir = "/proc/no/such/folder";
    assert_int_equal(sbx_server_start(&fixture.options, &server, why, sizeof(why)), -ENOENT);
    assert_non_null(strstr(why, "/proc/no/such/folder"));
    fixture.options.data_dir = fixture.data_dir;
}

static void test_a_store_that_is_no_database_is_left_alone(void **state)
{
    (void)state;
    if (fixture.options.database) /* about SQLite's file */
        skip();
    char path[100], why[300] = "";
    struct sbx_server *server = NULL;
    snprintf(path, sizeof(path), "%s/store.db", fixture.data_dir);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("someone's letters ", file);
    fclose(file);
    assert_true(sbx_server_start(&fixture.options, &server, why, sizeof(why)) < 0);
    assert_non_null(strstr(why, path));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 18000);
}

/* ---- routes ---- */

static void test_unknown_paths_and_ids_are_not_found(void **state)
{
    (void)state;
    static const char *const paths[] = {"/nothing",
                                        "/stalls/",
                                        "/stalls/x",
                                        "/stalls/00112233445566778899aabbccddeeff",
                                        "/stalls/00112233445566778899aabbccddeeff.json",
                                        "/stalls/../../etc/passwd",
                                        "/stalls/..%2f..%2fetc%2fpasswd",
                                        "/v1/snapshots/",
                                        "/v1/snapshots/00112233445566778899AABBCCDDEEFF",
                                        "/v1/snapshots/%00",
                                        "/v1/snapshots/00112233445566778899aabbccddeeff",
                                        "/v1/snapshots/00112233445566778899aabbccddeeff.",
                                        "/v1/snapshots/00112233445566778899aabbccddeeff.json",
                                        "/v1/snapshots/00112233445566778899aabbccddeeff.exe",
                                        "/v1/issues/00112233445566778899aabbccddeeff",
                                        "/issues/00112233445566778899aabbccddeeff",
                                        "/v1",
                                        "//",
                                        "/v1/"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        assert_answer(get(fixture.port, paths[i]), 404, "404");
}

static void test_wrong_methods_are_named_with_the_right_ones(void **state)
{
    (void)state;
    struct answer answer = ask(fixture.port, &(struct question){.path = "/metrics", .body = "x", .body_bytes = 1});
    assert_non_null(strstr(answer.headers.data, "Allow: GET, HEAD\r\n"));
    assert_answer(answer, 405, "405");
    answer = ask(fixture.port, &(struct question){.method = "DELETE", .path = "/v1/snapshots"});
    assert_non_null(strstr(answer.headers.data, "Allow: GET, HEAD, POST\r\n"));
    assert_answer(answer, 405, "405: ");
    assert_post(&(struct question){.method = "PUT", .path = "/nothing", .body = "x", .body_bytes = 1}, 404, "404");
}

static void test_head_tells_what_get_would_and_no_more(void **state)
{
    (void)state;
    static const char *const paths[] = {"/", "/healthz", "/v1/issues", "/style.css", "/icon.svg", "/nothing"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct answer whole = get(fixture.port, paths[i]);
        struct answer head = ask(fixture.port, &(struct question){.method = "HEAD", .path = paths[i]});
        assert_int_equal(head.status, whole.status);
        assert_int_equal(head.body.used, 0);
        assert_non_null(strstr(head.headers.data, "Content-Length: "));
        answer_finish(&whole);
        answer_finish(&head);
    }
}

static void test_every_answer_carries_the_security_headers(void **state)
{
    (void)state;
    static const char *const paths[] = {"/", "/healthz", "/metrics", "/v1/snapshots", "/nothing", "/style.css"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct answer answer = get(fixture.port, paths[i]);
        assert_non_null(strstr(answer.headers.data, "Content-Security-Policy: default-src 'none'; script-src 'self'; "
                                                    "connect-src 'self'; style-src 'self' 'sha256-"));
        assert_null(strstr(answer.headers.data, "unsafe"));
        assert_non_null(strstr(answer.headers.data, "frame-ancestors 'none'"));
        assert_non_null(strstr(answer.headers.data, "X-Content-Type-Options: nosniff"));
        assert_non_null(strstr(answer.headers.data, "Referrer-Policy: no-referrer"));
        answer_finish(&answer);
    }
}

static void test_lists_are_paged_by_seq(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct envelope envelope = envelope_of(SBX_SCENARIO_SLEEP, seed);
        post_stored(fixture.port, &envelope);
        envelope_finish(&envelope);
    }
    assert_answer(get(fixture.port, "/v1/snapshots?limit=2"), 200, "\"before\":2}");
    assert_answer(get(fixture.port, "/v1/snapshots?limit=2&before=2"), 200, "\"seq\":1,");
    assert_answer(get(fixture.port, "/v1/snapshots?before=9223372036854775807"), 200, "\"seq\":3,");
}

/* Symptom: /healthz, which needs no token, counted all stalls. */
static void test_health_is_told_without_a_look_at_the_stalls(void **state)
{
    (void)state;
    fixture_run_sql(&fixture, "ALTER TABLE snapshot RENAME TO elsewhere");
    assert_answer(get(fixture.port, "/metrics"), 503, "the store does not answer");
    assert_answer(get(fixture.port, "/healthz"), 200, "ok\n");
    fixture_run_sql(&fixture, "ALTER TABLE elsewhere RENAME TO snapshot");
}

/* ---- deadlines ---- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* Send one byte every 100 ms until the server closes the connection. Returns how long that took; -1: it never
 * closed. */
static int64_t drip(const char *request, size_t bytes)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(fixture.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int64_t begin_ms = now_ms();
    char answer[256];
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    for (size_t i = 0; now_ms() - begin_ms < 20000; i++) {
        if (send(fd, i < bytes ? &request[i] : "x", 1, MSG_NOSIGNAL) < 0)
            break;
        sleep_ms(100);
        ssize_t count = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN))
            break;
    }
    int64_t took_ms = now_ms() - begin_ms;
    close(fd);
    return took_ms < 20000 ? took_ms : -1;
}

static void test_a_dripping_head_is_cut_at_the_deadline(void **state)
{
    (void)state;
    int64_t took_ms = drip("GET / HTTP/1.1\r\nX-Slow: ", 24);
    assert_true(took_ms >= 900);
    assert_true(metric(fixture.port, "stallbox_connections_closed_late_total") == 1);
}

static void test_a_dripping_body_is_cut_at_the_deadline_and_counted(void **state)
{
    (void)state;
    static const char request[] = "POST /v1/snapshots HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n";
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(fixture.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int64_t begin_ms = now_ms();
    ssize_t count = -1;
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), (ssize_t)sizeof(request) - 1);
    while (now_ms() - begin_ms < 20000 && send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
        char byte;
        sleep_ms(50);
        count = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN))
            break;
    }
    assert_true(now_ms() - begin_ms < 20000);
    close(fd);
    for (int i = 0; i < 200 && metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"incomplete\"}") != 1;
         i++)
        sleep_ms(20);
    assert_true(metric(fixture.port, "stallbox_snapshots_rejected_total{reason=\"incomplete\"}") == 1);
    assert_true(metric(fixture.port, "stallbox_connections_closed_late_total") == 1);
}

int main(void)
{
    static char token[] = "correct-horse";
    curl_global_init(CURL_GLOBAL_DEFAULT); /* before there are threads */
#define STARTED(name)   cmocka_unit_test_setup_teardown(name, start_server, remove_server)
#define IMPATIENT(name) cmocka_unit_test_setup_teardown(name, start_impatient, remove_server)
#define PREPARED(name)  cmocka_unit_test_setup_teardown(name, prepare_server, remove_server)
    const struct CMUnitTest tests[] = {
        STARTED(test_a_payload_is_stored_once_however_often_it_comes),
        STARTED(test_other_bytes_under_a_taken_id_are_a_conflict),
        STARTED(test_what_is_no_payload_is_refused_with_a_reason),
        STARTED(test_too_large_a_body_is_refused_told_or_untold),
        STARTED(test_a_length_over_the_limit_is_refused_before_the_body),
        STARTED(test_two_lengths_in_one_request_are_refused),
        STARTED(test_sealed_newer_and_encoded_bodies_are_unsupported),
        STARTED(test_a_web_page_may_not_post),
        STARTED(test_many_clients_at_once_store_each_payload_once),
        cmocka_unit_test_prestate_setup_teardown(test_posting_needs_the_token_and_reading_on_loopback_does_not,
                                                 start_server, remove_server, token),
        PREPARED(test_a_public_address_without_a_token_is_refused_to_start),
        PREPARED(test_on_a_public_address_reading_needs_the_token_but_health_does_not),
        STARTED(test_reading_under_a_foreign_name_is_refused),
        STARTED(test_a_second_server_on_the_same_folder_is_refused),
        PREPARED(test_a_folder_that_cannot_be_made_is_named),
        PREPARED(test_a_store_that_is_no_database_is_left_alone),
        STARTED(test_unknown_paths_and_ids_are_not_found),
        STARTED(test_wrong_methods_are_named_with_the_right_ones),
        STARTED(test_head_tells_what_get_would_and_no_more),
        STARTED(test_every_answer_carries_the_security_headers),
        STARTED(test_lists_are_paged_by_seq),
        STARTED(test_health_is_told_without_a_look_at_the_stalls),
        IMPATIENT(test_a_dripping_head_is_cut_at_the_deadline),
        IMPATIENT(test_a_dripping_body_is_cut_at_the_deadline_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
