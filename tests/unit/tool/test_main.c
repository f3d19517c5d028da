/* SPDX-License-Identifier: Apache-2.0 */
/* test_main.c - what all commands have in common: help, version, typing errors, exit statuses, a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run_tool.h"

static const char *const command_names[] = {"run",  "report",  "show", "audit", "consent", "symbols", "policy",
                                            "seal", "deliver", "ctl",  "look",  "unit",    "serve",   "token"};
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

/* One option in the form of help and man page: "k seal-key VALUE", "- now VALUE", "q quiet". Sorted, and each only
 * once. */
struct option_set {
    char options[64][64];
    size_t count;
};

static void add_option(struct option_set *set, char letter, const char *name, size_t length, bool has_value)
{
    char option[64];
    snprintf(option, sizeof option, "%c %.*s%s", letter, (int)length, name, has_value ? " VALUE" : "");
    size_t at = 0;
    while (at < set->count && strcmp(set->options[at], option) < 0) {
        at++;
    }
    if (at < set->count && strcmp(set->options[at], option) == 0) {
        return; /* two verbs of one command have the option */
    }
    assert_true(set->count < 64);
    memmove(set->options + at + 1, set->options + at, (set->count - at) * sizeof set->options[0]);
    memcpy(set->options[at], option, sizeof option);
    set->count++;
}

/* Reads " -k, --seal-key FILE ..." or " --now TIME ..."; every command has --help. */
static void read_help(const char *help, struct option_set *set)
{
    for (const char *line = help; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + strspn(line, " ");
        char letter = '-';
        if (at > line && at[0] == '-' && at[1] != '-' && at[2] == ',') {
            letter = at[1];
            at += 4;
        }
        size_t length = strncmp(at, "--", 2) == 0 ? strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-") : 0;
        if (at == line || length == 0 || (length == 4 && strncmp(at + 2, "help", 4) == 0)) {
            continue;
        }
        add_option(set, letter, at + 2, length,
                   at[2 + length] == ' ' && at[3 + length] >= 'A' && at[3 + length] <= 'Z');
    }
}

/* ".It Fl k , Fl Fl seal-key Ar file" */
static void read_man_page(const char *command, struct option_set *set)
{
    char path[512], line[1024];
    snprintf(path, sizeof path, STALLBOX_MAN_FOLDER "/stallbox-%s.1", command);
    FILE *page = fopen(path, "re");
    assert_non_null(page);
    while (fgets(line, sizeof line, page) != NULL) {
        const char *name = strstr(line, "Fl Fl ");
        if (strncmp(line, ".It Fl ", 7) != 0 || name == NULL) {
            continue;
        }
        char letter = line[8] == ' ' ? line[7] : '-';
        size_t length = strspn(name + 6, "abcdefghijklmnopqrstuvwxyz-");
        if (length != 4 || strncmp(name + 6, "help", 4) != 0) {
            add_option(set, letter, name + 6, length, strstr(name, " Ar ") != NULL);
        }
    }
    fclose(page);
}

static void test_help_and_man_page_of_each_command_have_the_same_options(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        static struct option_set helped, written;
        helped.count = written.count = 0;
        read_help(RUN_TOOL(command_names[i], "--help").out, &helped);
        read_man_page(command_names[i], &written);
        for (size_t k = 0; k < helped.count || k < written.count; k++) {
            const char *one = k < helped.count ? helped.options[k] : "",
                       *other = k < written.count ? written.options[k] : "";
            if (strcmp(one, other) != 0) {
                fail_msg("stallbox %s: --help has '%s' where the man page has '%s'", command_names[i], one, other);
            }
        }
        assert_true(helped.count > 0 || strcmp(command_names[i], "ctl") == 0); /* ctl has none */
    }
}

/* Symptom: `stallbox report >/dev/full` ended with 0 although nothing was written. */
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
        cmocka_unit_test(test_help_and_man_page_of_each_command_have_the_same_options),
        cmocka_unit_test(test_data_that_does_not_arrive_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
