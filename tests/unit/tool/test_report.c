/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c - the command's own part of `stallbox report`: options, formats, and its messages about paths. The
 * answers themselves are tested in triage and, with real stalls, in tests/integration. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "payload_builder.h"
#include "tool_folder.h"

static void test_an_unknown_format_is_named_with_those_there_are(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("report", "--format", "xml", folder);
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(
        result.err, "unknown format 'xml'; it is text, json, perfetto, folded, pprof, async-folded or async-pprof"));
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
    result = RUN_TOOL("report", "--format=perfetto", "-o", first, first, second); /* without a folder */
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "is no folder"));
    free(second);
    free(first);
}

/* A payload with its own id, whose file was written `age_s` ago. */
static void write_payload_of(unsigned char id_first, uint32_t trigger, const char *name, int age_s)
{
    uint8_t *envelope = NULL;
    size_t bytes = 0;
    struct sbx_payload_builder *builder = sbx_payload_builder_create(id_first);
    sbx_builder_thread(builder, "main", 1);
    sbx_builder_payload(builder)->created_day = 0;
    if (trigger != 0) {
        sbx_builder_payload(builder)->trigger->kind = trigger;
    }
    sbx_builder_envelope(builder, &envelope, &bytes);
    char *path = write_file(folder, name, envelope, bytes, 0600);
    struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    free(path);
    free(envelope);
    sbx_payload_builder_destroy(builder);
}

static void write_payload(unsigned char id_first, const char *name, int age_s)
{
    write_payload_of(id_first, 0, name, age_s);
}

/* The id in that line of the list. */
static void id_of_line(const char *list, int line, char id_out[9])
{
    for (; line > 0; line--) {
        list = strchr(list, '\n') + 1;
    }
    assert_int_equal(sscanf(list, "%*s %*s %8[0-9a-f]", id_out), 1);
}

static void test_several_payloads_are_a_list_newest_first(void **state)
{
    (void)state;
    char newest[9], oldest[9];
    write_payload(1, "a.sbx", 100);
    write_payload(2, "b.sbx", 10);
    struct tool_result list = RUN_TOOL("report", folder);
    assert_int_equal(list.status, 0);
    assert_non_null(strstr(list.out, "2 stalls, newest first"));
    id_of_line(list.out, 2, newest);
    id_of_line(list.out, 3, oldest);
    assert_string_not_equal(newest, oldest);
    struct tool_result one = RUN_TOOL("report", folder, newest);
    assert_int_equal(one.status, 0);
    assert_non_null(strstr(one.out, newest));
    assert_null(strstr(one.out, oldest));
    assert_non_null(strstr(one.out, "More: --all"));
    write_payload(3, "c.sbx", 1);
    list = RUN_TOOL("report", folder);
    char id[9];
    id_of_line(list.out, 2, id);
    assert_string_not_equal(id, newest);
    id_of_line(list.out, 3, id);
    assert_string_equal(id, newest);
}

static void test_a_crash_is_no_stall_of_length_0_in_the_list(void **state)
{
    (void)state;
    write_payload(1, "a.sbx", 100);
    write_payload_of(2, SBX_TRIGGER_CRASH, "b.sbx", 10);
    struct tool_result list = RUN_TOOL("report", folder);
    assert_int_equal(list.status, 0);
    assert_non_null(strstr(list.out, "1 stall and 1 crash, newest first"));
    assert_non_null(strstr(list.out, "      crash  "));
}

static void test_all_tells_everything_of_each(void **state)
{
    (void)state;
    write_payload(1, "a.sbx", 100);
    write_payload(2, "b.sbx", 10);
    struct tool_result result = RUN_TOOL("report", "--all", folder);
    assert_int_equal(result.status, 0);
    const char *first = strstr(result.out, "Before the trigger");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "Before the trigger"));
    assert_null(strstr(result.out, "newest first"));
}

static void test_an_id_that_nothing_has_or_several_have_is_named(void **state)
{
    (void)state;
    write_payload(1, "a.sbx", 100);
    struct tool_result result = RUN_TOOL("report", folder, "00000000000000000000000000000000");
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.err, "neither a file nor the begin of an id here"));
    for (unsigned char id = 2; id < 40; id++) { /* more ids than there are first letters */
        char name[16];
        snprintf(name, sizeof name, "%u.sbx", id);
        write_payload(id, name, id);
    }
    bool is_ambiguous = false;
    for (const char *letter = "0123456789abcdef"; *letter != '\0'; letter++) {
        result = RUN_TOOL("report", folder, ((const char[]){*letter, '\0'}));
        is_ambiguous = is_ambiguous || (result.status == 2 && strstr(result.err, "give more of it") != NULL);
    }
    assert_true(is_ambiguous);
}

static void test_json_of_several_stays_one_line_each(void **state)
{
    (void)state;
    write_payload(1, "a.sbx", 100);
    write_payload(2, "b.sbx", 10);
    struct tool_result result = RUN_TOOL("report", "--format", "json", folder);
    assert_int_equal(result.status, 0);
    const char *second = strchr(result.out, '\n');
    assert_true(result.out[0] == '{' && second != NULL && second[1] == '{');
}

enum {
    MODULE_KIND_APP = 1 /* as in the schema */
};

/* A stall in a file that is in no usual place and that no process runs. */
static void write_stall_of(const char *path)
{
    uint8_t *envelope = NULL;
    size_t bytes = 0;
    struct sbx_payload_builder *builder = sbx_payload_builder_create(3);
    uint32_t thread = sbx_builder_thread(builder, "main", 1);
    int32_t module = sbx_builder_module_file(builder, MODULE_KIND_APP, path, NULL);
    const struct sbx_build_frame frames[] = {
        {module, sbx_build_symbol(path, "sample_hidden") + 1, true},
        {SBX_BUILD_END, 1, false},
    };
    uint32_t stack = sbx_builder_stack(builder, frames, 2);
    sbx_builder_record(
        builder, (struct sbx_build_record){
                     .thread = thread, .kind = SBX_RECORD_ASYNC, .begin_us = -2000, .end_us = -1000, .stack = stack});
    sbx_builder_envelope(builder, &envelope, &bytes);
    free(write_file(folder, "stall.sbx", envelope, bytes, 0600));
    free(envelope);
    sbx_payload_builder_destroy(builder);
}

static void test_code_is_named_from_the_store(void **state)
{
    (void)state;
    char *store = NULL;
    assert_true(asprintf(&store, "%s/store", folder) > 0);
    write_stall_of(SYMBOL_SAMPLE);
    struct tool_result *result = malloc(sizeof *result);
    *result = RUN_TOOL("report", "--format", "json", "--store", store, folder);
    assert_int_equal(result->status, 1); /* a missing named file is reported; the report is printed all the same */
    assert_non_null(strstr(result->err, "No such file"));
    assert_true(result->out[0] == '{' && strstr(result->out, "sample_hidden") == NULL);
    *result = RUN_TOOL("symbols", "add", "--store", store, SYMBOL_SAMPLE);
    assert_int_equal(result->status, 0);
    *result = RUN_TOOL("report", "--format", "json", "--store", store, folder);
    assert_int_equal(result->status, 0);
    assert_non_null(strstr(result->out, "sample_hidden"));
    free(result);
    free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_unknown_format_is_named_with_those_there_are, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_nothing_found_is_said_and_fails, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_each_unreadable_path_gets_one_line_with_its_reason, begin_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(test_an_output_that_cannot_be_written_is_named, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_several_payloads_are_a_list_newest_first, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_a_crash_is_no_stall_of_length_0_in_the_list, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_all_tells_everything_of_each, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_an_id_that_nothing_has_or_several_have_is_named, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_json_of_several_stays_one_line_each, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_code_is_named_from_the_store, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_several_snapshots_do_not_fit_one_binary_file, begin_folder, end_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
