/* SPDX-License-Identifier: Apache-2.0 */
/* test_look.c - `stallbox look` as a user calls it: for this process, for others, and for none. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "run_tool.h"

static const char *pid_text(pid_t pid)
{
    static char text[16];
    snprintf(text, sizeof text, "%d", (int)pid);
    return text;
}

static void expect_failure(struct tool_result result, int status, const char *words)
{
    assert_int_equal(result.status, status);
    assert_string_equal(result.out, "");
    if (strstr(result.err, words) == NULL) {
        fail_msg("not '%s', but: %s", words, result.err);
    }
}

static pid_t sleeper;

static int start_sleeper(void **state)
{
    (void)state;
    sleeper = fork();
    if (sleeper == 0) {
        for (;;) {
            pause();
        }
    }
    return sleeper > 0 ? 0 : -1;
}

static int end_sleeper(void **state)
{
    (void)state;
    kill(sleeper, SIGKILL);
    return waitpid(sleeper, NULL, 0) == sleeper ? 0 : -1;
}

/* Look until it sleeps, because right after the fork it may not sleep yet. */
static struct tool_result look_at_sleeper(const char *option, const char *sign_of_sleep)
{
    struct tool_result result;
    for (unsigned i = 0; i < 200; i++) {
        result = RUN_TOOL("look", pid_text(sleeper), option);
        if (strstr(result.out, sign_of_sleep) != NULL) {
            break;
        }
        usleep(50000);
    }
    return result;
}

static void test_a_process_is_told_with_its_name_and_its_wait(void **state)
{
    (void)state;
    struct tool_result result = look_at_sleeper(NULL, "for a signal");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.err, "");
    assert_non_null(strstr(result.out, " thread")); /* a sanitizer adds a thread */
    assert_non_null(strstr(result.out, "Nothing was stopped.\n"));
    assert_non_null(strstr(result.out, "asleep"));
    if (strstr(result.out, "start_sleeper") == NULL || strstr(result.out, "main") == NULL) {
        fail_msg("%s", result.out);
    }
}

static void test_json_is_one_object_that_a_parser_takes(void **state)
{
    (void)state;
    struct tool_result result = look_at_sleeper("--json", "\"for\":\"for a signal\"");
    assert_int_equal(result.status, 0);
    assert_ptr_equal(strstr(result.out, "{\"pid\":"), result.out);
    FILE *parser =
        popen("python3 -c 'import json,sys; l=json.load(sys.stdin); "
              "sys.exit(0 if l[\"threads\"][0][\"asleep\"] and l[\"threads\"][0][\"stack\"][\"frames\"] else 1)'",
              "w");
    assert_non_null(parser);
    fputs(result.out, parser);
    assert_int_equal(pclose(parser), 0);
}

static void test_a_watch_ends_with_the_process_and_tells_what_it_saw(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        alarm(2);
        for (;;) {
            pause();
        }
    }
    struct tool_result result = RUN_TOOL("look", "--watch", "15", pid_text(child));
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.out, "watched for "));
    assert_non_null(strstr(result.out, "for a signal"));
}

static void test_what_is_no_process_is_refused(void **state)
{
    (void)state;
    expect_failure(RUN_TOOL("look", "2147483646"), 1, "stallbox look: there is no process 2147483646");
    expect_failure(RUN_TOOL("look"), 2, "it wants: look PID");
    expect_failure(RUN_TOOL("look", "redis"), 2, "'redis' is no PID");
    expect_failure(RUN_TOOL("look", "-5"), 2, "-5");
    expect_failure(RUN_TOOL("look", "0"), 2, "'0' is no PID");
    expect_failure(RUN_TOOL("look", "1", "2"), 2, "got '2' too");
    expect_failure(RUN_TOOL("look", "--watch", "0", "1"), 2, "--watch");
}

/* Root may look at another user's process; another user may not look at root's. */
static void test_a_process_of_another_user_is_refused_with_the_reason(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        expect_failure(RUN_TOOL("look", "1"), 1, "may not be looked at");
        return;
    }
    char line[512];
    snprintf(line, sizeof line, "setpriv --reuid=65534 --clear-groups %s look %d 2>&1", STALLBOX_BINARY, (int)getpid());
    FILE *other = popen(line, "r");
    assert_non_null(other);
    char said[1024] = "";
    size_t length = fread(said, 1, sizeof said - 1, other);
    said[length] = '\0';
    int status = pclose(other);
    if (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127) {
        skip(); /* the user nobody may have no access to this build's folder */
    }
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_non_null(strstr(said, "may not be looked at"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_process_is_told_with_its_name_and_its_wait, start_sleeper, end_sleeper),
        cmocka_unit_test_setup_teardown(test_json_is_one_object_that_a_parser_takes, start_sleeper, end_sleeper),
        cmocka_unit_test(test_a_watch_ends_with_the_process_and_tells_what_it_saw),
        cmocka_unit_test(test_what_is_no_process_is_refused),
        cmocka_unit_test(test_a_process_of_another_user_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
