/* SPDX-License-Identifier: Apache-2.0 */
/* test_main.c - what every command has in common: help, version, typing errors, exit statuses, a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_tool.h"

static const char *const command_names[] = {"run",    "report", "show",    "audit", "consent", "symbols",
                                            "policy", "seal",   "deliver", "ctl",   "look",    "serve"};
enum {
    COMMAND_COUNT = sizeof command_names / sizeof command_names[0]
};

static void test_help_lists_every_command_on_standard_output(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("--help");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.err, "");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char line[64];
        snprintf(line, sizeof line, "\n  %-9s ", command_names[i]);
        assert_non_null(strstr(result.out, line));
    }
    struct tool_result other = RUN_TOOL("help");
    assert_int_equal(other.status, 0);
    assert_string_equal(other.out, result.out);
}

static void test_each_command_has_help_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        struct tool_result asked = RUN_TOOL("help", command_names[i]);
        struct tool_result option = RUN_TOOL(command_names[i], "--help");
        char start[64];
        snprintf(start, sizeof start, "usage: stallbox %s ", command_names[i]);
        assert_int_equal(asked.status, 0);
        assert_int_equal(option.status, 0);
        assert_ptr_equal(strstr(asked.out, start), asked.out);
        assert_string_equal(asked.out, option.out);
        assert_string_equal(option.err, "");
    }
}

static void test_the_version_is_that_of_the_library(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("--version");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "stallbox " STALLBOX_EXPECTED_VERSION "\n");
}

static void test_no_command_is_wrong_usage_and_leaves_standard_output_alone(void **state)
{
    (void)state;
    struct tool_result result = run_tool((const char *const[]){NULL});
    assert_int_equal(result.status, 2);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, "usage: stallbox COMMAND"));
}

static void test_an_unknown_command_is_named_with_the_nearest_one(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("reprot", "x");
    assert_int_equal(result.status, 2);
    assert_string_equal(result.out, "");
    assert_string_equal(result.err,
                        "stallbox: unknown command 'reprot'; did you mean 'report'?\nTry 'stallbox --help'.\n");
    result = RUN_TOOL("help", "elephant");
    assert_int_equal(result.status, 2);
    assert_string_equal(result.err, "stallbox: unknown command 'elephant'\nTry 'stallbox --help'.\n");
    result = RUN_TOOL("--verbose");
    assert_int_equal(result.status, 2);
    assert_string_equal(result.err, "stallbox: unknown option '--verbose'\nTry 'stallbox --help'.\n");
}

static void test_an_unknown_option_of_each_command_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        struct tool_result result = RUN_TOOL(command_names[i], "--no-such-option");
        assert_int_equal(result.status, 2);
        assert_string_equal(result.out, "");
        assert_non_null(strstr(result.err, "--no-such-option"));
        char hint[64];
        snprintf(hint, sizeof hint, "Try 'stallbox %s --help'.", command_names[i]);
        assert_non_null(strstr(result.err, hint));
    }
}

static void test_each_command_wants_its_arguments(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        struct tool_result result = RUN_TOOL(command_names[i]);
        assert_int_equal(result.status, 2);
        assert_string_equal(result.out, "");
        assert_true(strlen(result.err) > 0);
    }
}

/* Symptom: `stallbox report >/dev/full` would end with 0 though nothing arrived. */
static void test_data_that_does_not_arrive_is_a_failure(void **state)
{
    (void)state;
    int status = system(STALLBOX_BINARY " --version >/dev/full 2>/dev/null");
    assert_true(status >= 0);
    assert_int_equal(status >> 8, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_lists_every_command_on_standard_output),
        cmocka_unit_test(test_each_command_has_help_both_ways),
        cmocka_unit_test(test_the_version_is_that_of_the_library),
        cmocka_unit_test(test_no_command_is_wrong_usage_and_leaves_standard_output_alone),
        cmocka_unit_test(test_an_unknown_command_is_named_with_the_nearest_one),
        cmocka_unit_test(test_an_unknown_option_of_each_command_is_named),
        cmocka_unit_test(test_each_command_wants_its_arguments),
        cmocka_unit_test(test_data_that_does_not_arrive_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
