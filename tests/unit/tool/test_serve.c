/* SPDX-License-Identifier: Apache-2.0 */
/* test_serve.c - the server as a command: it prints its address, and ends on request. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool_folder.h"

static char *data;

static int set_up(void **state)
{
    begin_folder(state);
    return asprintf(&data, "%s/data", folder) > 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    free(data);
    return end_folder(state);
}

/* The port in "listening on http://127.0.0.1:PORT/". */
static int port_in(const char *text)
{
    const char *address = strstr(text, "listening on http://127.0.0.1:");
    assert_non_null(address);
    return atoi(address + strlen("listening on http://127.0.0.1:"));
}

/* Ask for /healthz; returns the status. */
static int health_of(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(connection >= 0);
    assert_int_equal(connect(connection, (struct sockaddr *)&address, sizeof address), 0);
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_int_equal(write(connection, request, strlen(request)), (ssize_t)strlen(request));
    char answer[2048];
    assert_true(read_until(connection, "\r\n\r\n", answer, sizeof answer));
    close(connection);
    int status = 0;
    assert_int_equal(sscanf(answer, "HTTP/1.1 %d", &status), 1);
    return status;
}

static void serve_and_end_with(int signal_number)
{
    char text[4096];
    int err;
    const char *const arguments[] = {"serve", "--data", data, "--listen", "127.0.0.1:0", NULL};
    pid_t pid = start_tool(arguments, &err);
    assert_true(read_until(err, "/ (data in ", text, sizeof text));
    assert_int_equal(health_of(port_in(text)), 200);
    assert_int_equal(kill(pid, signal_number), 0);
    assert_int_equal(wait_for_tool(pid), 0);
    close(err);
}

static void test_it_prints_its_address_answers_and_ends_on_either_signal(void **state)
{
    (void)state;
    serve_and_end_with(SIGTERM);
    serve_and_end_with(SIGINT); /* with the same data folder */
}

static void test_one_data_folder_has_one_server(void **state)
{
    (void)state;
    char text[4096];
    int err;
    const char *const arguments[] = {"serve", "--data", data, "--listen", "127.0.0.1:0", NULL};
    pid_t pid = start_tool(arguments, &err);
    assert_true(read_until(err, "listening on", text, sizeof text));
    struct tool_result second = run_tool(arguments);
    assert_int_equal(second.status, 1);
    assert_non_null(strstr(second.err, data));
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(wait_for_tool(pid), 0);
    close(err);
}

static void test_what_cannot_be_is_refused_and_named(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("serve", "--data", data, "--listen", "nowhere");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "nowhere"));
    result = RUN_TOOL("serve", "--data", data, "--listen", "0.0.0.0:0"); /* open to every machine, without a token */
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "token"));
    result = RUN_TOOL("serve", "--data", "/dev/null/data", "--listen", "127.0.0.1:0");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "/dev/null/data"));
    result = RUN_TOOL("serve", "--data", data, "--token-file", "/nonexistent");
    assert_int_equal(result.status, 1);
    assert_string_equal(result.err, "stallbox serve: /nonexistent: No such file or directory\n");
    result = RUN_TOOL("serve", "--data", data, "more");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "'more'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_prints_its_address_answers_and_ends_on_either_signal, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_one_data_folder_has_one_server, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_is_refused_and_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
