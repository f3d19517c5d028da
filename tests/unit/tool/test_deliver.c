/* SPDX-License-Identifier: Apache-2.0 */
/* test_deliver.c - the delivery loop as a command: it ends on request, and reports what it could not do. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool_folder.h"

/* Port 9 (discard) of loopback, where no server listens. */
#define NOBODY "http://127.0.0.1:9"
/* An address of a network that is reserved for examples (RFC 5737). */
#define ELSEWHERE "https://192.0.2.7:9"

static char *spool;

static int set_up(void **state)
{
    begin_folder(state);
    return asprintf(&spool, "%s/spool", folder) > 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    free(spool);
    return end_folder(state);
}

static void test_an_empty_spool_is_delivered_at_once(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("deliver", "--spool", spool, "--server", NOBODY, "--once");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "");
}

static void test_it_waits_for_work_and_ends_on_either_signal(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT};
    for (size_t i = 0; i < 2; i++) {
        char text[1024];
        int err;
        const char *const arguments[] = {"deliver", "--spool", spool, "--server", NOBODY, NULL};
        pid_t pid = start_tool(arguments, &err);
        assert_true(read_until(err, "watching ", text, sizeof text));
        assert_non_null(strstr(text, spool));
        assert_int_equal(kill(pid, signals[i]), 0);
        assert_int_equal(wait_for_tool(pid), 0);
        close(err);
    }
}

static void test_missing_options_are_named(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("deliver", "--server", NOBODY);
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "--spool DIR is missing"));
    result = RUN_TOOL("deliver", "--spool", spool);
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "--server URL is missing"));
    result = RUN_TOOL("deliver", "--spool", spool, "--server", NOBODY, "more");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "'more'"));
    result = RUN_TOOL("deliver", "--spool", spool, "--server", "ftp://x", "--once");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "'ftp://x' is no http:// or https:// address"));
}

static void test_what_is_not_sealed_is_said_so(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("deliver", "--spool", spool, "--server", ELSEWHERE, "--once");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.err, "payloads are not sealed"));
}

/* Symptom: the message was printed at each start, also where nothing leaves the machine. */
static void test_that_is_said_until_a_payload_has_left_and_not_to_this_machine(void **state)
{
    static const char log[] = "2026-01-01T00:00:00Z leaving id=00 bytes=1 sha256=00 consent=granted to=" ELSEWHERE "\n";
    (void)state;
    struct tool_result result = RUN_TOOL("deliver", "--spool", spool, "--server", NOBODY, "--once");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.err, "");
    free(write_file(spool, "audit.log", log, sizeof log - 1, 0600));
    result = RUN_TOOL("deliver", "--spool", spool, "--server", ELSEWHERE, "--once");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.err, "");
}

static void test_plain_http_to_another_machine_is_refused_at_once(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("deliver", "--spool", spool, "--server", "http://192.0.2.7:7311", "--once");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "use https"));
}

static void test_an_impossible_spool_is_named(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("deliver", "--spool", "/dev/null/spool", "--server", NOBODY, "--once");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "/dev/null/spool"));
}

static void test_a_token_that_others_may_read_is_refused(void **state)
{
    (void)state;
    char *token = write_file(folder, "token", "s3cret\n", 7, 0644);
    struct tool_result result =
        RUN_TOOL("deliver", "--spool", spool, "--server", NOBODY, "--token-file", token, "--once");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, token));
    assert_non_null(strstr(result.err, "chmod 600"));
    assert_null(strstr(result.err, "s3cret"));
    free(token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_empty_spool_is_delivered_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_waits_for_work_and_ends_on_either_signal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_options_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_sealed_is_said_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_that_is_said_until_a_payload_has_left_and_not_to_this_machine, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_plain_http_to_another_machine_is_refused_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_impossible_spool_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_token_that_others_may_read_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
