/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c - `stallbox report`'s own part: options, formats, and what it says about paths. The answers themselves
 * are tested in triage and, with real stalls, in tests/integration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tool_folder.h"

static void test_an_unknown_format_is_named_with_those_there_are(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("report", "--format", "xml", folder);
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "unknown format 'xml'; it is text, json, perfetto, folded or pprof"));
}

static void test_nothing_found_is_said_and_fails(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("report", folder);
    assert_int_equal(result.status, 1);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, folder));
    assert_non_null(strstr(result.err, "holds no payload and no snapshot"));
}

static void test_each_unreadable_path_gets_one_line_with_its_reason(void **state)
{
    (void)state;
    static const char noise[] = "SBX1 but nothing of what should follow, for long enough to have a header";
    char *corrupt = write_file(folder, "corrupt.sbx", noise, sizeof noise, 0600);
    char *foreign = write_file(folder, "foreign", "hello", 5, 0600);
    struct tool_result result = RUN_TOOL("report", corrupt, "/nonexistent", foreign);
    assert_int_equal(result.status, 1);
    assert_string_equal(result.out, "");
    char expected[400];
    snprintf(expected, sizeof expected, "stallbox report: %s: neither a payload nor a raw snapshot (5 bytes)\n",
             foreign);
    assert_non_null(strstr(result.err, expected));
    assert_non_null(strstr(result.err, "stallbox report: /nonexistent: No such file or directory\n"));
    snprintf(expected, sizeof expected, "stallbox report: %s: ", corrupt);
    assert_non_null(strstr(result.err, expected));
    size_t lines = 0;
    for (const char *at = result.err; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    assert_int_equal(lines, 3);
    free(foreign);
    free(corrupt);
}

static void test_an_output_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    static const char noise[] = "SBX1 but nothing of what should follow, for long enough to have a header";
    char *corrupt = write_file(folder, "corrupt.sbx", noise, sizeof noise, 0600);
    struct tool_result result = RUN_TOOL("report", "-o", "/nonexistent/out", corrupt);
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "stallbox report: /nonexistent/out: No such file or directory\n"));
    free(corrupt);
}

static void test_several_snapshots_do_not_fit_one_binary_file(void **state)
{
    (void)state;
    char head[48] = "SBX1\1";
    head[16] = 1;
    char *first = write_file(folder, "first.sbx", head, sizeof head, 0600);
    head[16] = 2;
    char *second = write_file(folder, "second.sbx", head, sizeof head, 0600);
    struct tool_result result = RUN_TOOL("report", "--format=pprof", first, second);
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "2 snapshots do not fit one pprof file; name a folder with -o"));
    result = RUN_TOOL("report", "--format=perfetto", "-o", first, first, second); /* no folder */
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "is no folder"));
    free(second);
    free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_unknown_format_is_named_with_those_there_are, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_nothing_found_is_said_and_fails, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_each_unreadable_path_gets_one_line_with_its_reason, begin_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(test_an_output_that_cannot_be_written_is_named, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_several_snapshots_do_not_fit_one_binary_file, begin_folder, end_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
