/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbols_send.c - `stallbox symbols add --server` with a server whose answers the test chooses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "http_server.h"
#include "run_tool.h"

#define ANSWER(status, headers, body) \
    "HTTP/1.1 " status "\r\n" headers "Content-Type: text/plain\r\nConnection: close\r\n\r\n" body "\n"

static const char map[] = "stallbox-provider-map 1\ttoy\nd1450bc5fa9af7e6\t3\ttoy.script\tspin\n";
static char *folder;

static int set_up(void **state)
{
    (void)state;
    folder = make_folder();
    free(write_file(folder, "provider-toy.map", map, strlen(map), 0600));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

static char *path_in(const char *name)
{
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

static void test_a_server_that_is_busy_is_asked_again_when_it_says(void **state)
{
    (void)state;
    static const struct sbx_http_answer answers[] = {
        {.behaviour = SBX_HTTP_TEXT, .text = ANSWER("429 Too Many Requests", "Retry-After: 1\r\n", "not now: busy")},
        {.behaviour = SBX_HTTP_CLOSE},
        {.behaviour = SBX_HTTP_TEXT, .text = ANSWER("201 Created", "", "added names of runtime toy: 1 new function")},
    };
    char *path = path_in("provider-toy.map"), *token = write_file(folder, "token", "s3cret\n", 7, 0600), plain[200];
    struct sbx_http_server *server = sbx_http_server_start(0, answers, 3);
    struct tool_result result =
        RUN_TOOL("symbols", "add", "--server", sbx_http_server_url(server), "--token-file", token, path);
    assert_int_equal(result.status, 0);
    assert_ptr_equal(strstr(result.out, "added names of runtime toy: 1 new function ("), result.out);
    assert_non_null(strstr(result.err, "not now: busy; again in 1 s"));
    assert_int_equal(sbx_http_server_connection_count(server), 3);
    const struct sbx_http_request *last = sbx_http_server_request(server, sbx_http_server_request_count(server) - 1);
    assert_ptr_equal(strstr(last->head, "PUT /v1/symbols HTTP/1.1\r\n"), last->head);
    assert_non_null(strstr(last->head, "Authorization: Bearer s3cret\r\n"));
    assert_non_null(strstr(last->head, "Content-Encoding: zstd\r\n"));
    assert_int_equal(ZSTD_decompress(plain, sizeof plain, last->body, last->body_bytes), strlen(map));
    assert_memory_equal(plain, map, strlen(map));
    sbx_http_server_stop(server);
    free(token);
    free(path);
}

static void test_what_is_refused_is_named_in_a_line_and_the_rest_is_sent(void **state)
{
    (void)state;
    static const struct sbx_http_answer answers[] = {
        {.behaviour = SBX_HTTP_TEXT,
         .text = ANSWER("422 Unprocessable", "", "refused names of runtime toy: bad\x1b[2J")},
        {.behaviour = SBX_HTTP_TEXT, .text = ANSWER("201 Created", "", "added 0011 stallbox: dwarf, 3 functions")},
    };
    char *path = path_in("provider-toy.map");
    struct sbx_http_server *server = sbx_http_server_start(0, answers, 2);
    struct tool_result result =
        RUN_TOOL("symbols", "add", "--server", sbx_http_server_url(server), path, STALLBOX_BINARY);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "provider-toy.map: refused names of runtime toy: bad?[2J\n"));
    assert_ptr_equal(strchr(result.err, '\n'), result.err + strlen(result.err) - 1);
    assert_non_null(strstr(result.out, "added 0011 stallbox"));
    const struct sbx_http_request *last = sbx_http_server_request(server, sbx_http_server_request_count(server) - 1);
    assert_ptr_equal(strstr(last->head, "PUT /v1/symbols?build-id="), last->head);
    assert_non_null(strstr(last->head, "&name=stallbox HTTP/1.1\r\n"));
    sbx_http_server_stop(server);
    free(path);
}

static void test_a_server_that_wants_nothing_from_us_is_asked_once(void **state)
{
    (void)state;
    static const struct sbx_http_answer answers[] = {
        {.behaviour = SBX_HTTP_TEXT, .text = ANSWER("403 Forbidden", "", "403: this token is for something else")},
        {.behaviour = SBX_HTTP_TEXT, .text = ANSWER("404 Not Found", "", "404: nothing is here")},
    };
    char *path = path_in("provider-toy.map");
    struct sbx_http_server *server = sbx_http_server_start(0, answers, 2);
    struct tool_result result =
        RUN_TOOL("symbols", "add", "--server", sbx_http_server_url(server), path, STALLBOX_BINARY);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "this token is for something else"));
    assert_int_equal(sbx_http_server_connection_count(server), 1);
    result = RUN_TOOL("symbols", "add", "--server", sbx_http_server_url(server), path, STALLBOX_BINARY);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "this server takes no symbols"));
    assert_int_equal(sbx_http_server_connection_count(server), 2);
    sbx_http_server_stop(server);
    free(path);
}

static void test_what_cannot_be_is_refused_before_anything_is_sent(void **state)
{
    (void)state;
    static const char *const bad[][6] = {
        {"--token-file", "x", "f", NULL, NULL, "are for a --server"},
        {"--server", "http://127.0.0.1:1", "--store", "x", "f", "--server or --store"},
        {"--server", "http://symbols.example", "f", NULL, NULL, "https"},
        {"--server", "ftp://127.0.0.1", "f", NULL, NULL, "http"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tool_result result = RUN_TOOL("symbols", "add", bad[i][0], bad[i][1], bad[i][2], bad[i][3], bad[i][4]);
        assert_int_equal(result.status, 2);
        assert_string_equal(result.out, "");
        assert_non_null(strstr(result.err, bad[i][5]));
    }
    char *text = write_file(folder, "notes.txt", "no program", 10, 0600);
    struct tool_result result = RUN_TOOL("symbols", "add", "--server", "http://127.0.0.1:1", text, "/nonexistent/x");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "notes.txt: neither a 64-bit ELF file"));
    assert_non_null(strstr(result.err, "/nonexistent/x: No such file"));
    free(text);
}

int main(void)
{
#define IN_A_FOLDER(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(test_a_server_that_is_busy_is_asked_again_when_it_says),
        IN_A_FOLDER(test_what_is_refused_is_named_in_a_line_and_the_rest_is_sent),
        IN_A_FOLDER(test_a_server_that_wants_nothing_from_us_is_asked_once),
        IN_A_FOLDER(test_what_cannot_be_is_refused_before_anything_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
