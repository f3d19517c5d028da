/* SPDX-License-Identifier: Apache-2.0 */
/* test_audit.c - the log of what left the machine: as a table for people, as JSON, and unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tool_folder.h"

#define FIRST  "8fb3fba9e7d1a2a0762f799646521971"
#define SECOND "aab3fba9e7d1a2a0762f799646521971"
static const char the_log[] =
    "2026-11-22T19:14:28Z packed id=" FIRST " trigger=slow_message raw_bytes=7340032 payload_bytes=30000 "
    "envelope_bytes=12345 sealed_to=none sha256=00 modules_hidden=1 frames_hidden=2 thread_names_hidden=3 "
    "objects_renumbered=4 records_cut=5 detail=1 policy=0.0 consent=not-asked\n"
    "2026-11-22T19:14:29Z leaving id=" FIRST " bytes=12345 sha256=00 consent=not-asked to=http://127.0.0.1:7311\n"
    "2026-11-22T19:14:29Z answer id=" FIRST " answer=stored http=200 why=\n"
    "2026-11-22T19:15:28Z packed id=" SECOND " trigger=anr raw_bytes=7340032 payload_bytes=30000 envelope_bytes=777 "
    "sealed_to=0011223344556677 sha256=00 detail=1 policy=0.0 consent=not-asked\n";

/* Symptom: lines of 400 characters. */
static void test_text_is_a_table_that_a_terminal_has_room_for(void **state)
{
    (void)state;
    free(write_file(folder, "audit.log", the_log, sizeof the_log - 1, 0600));
    struct tool_result result = RUN_TOOL("audit", folder);
    assert_int_equal(result.status, 0);
    assert_string_equal(
        result.out,
        "made                  id        trigger          bytes  sealed to   answer\n"
        "2026-11-22T19:14:28Z  8fb3fba9  slow_message     12345  nobody      stored by http://127.0.0.1:7311\n"
        "2026-11-22T19:15:28Z  aab3fba9  anr                777  00112233    not sent\n");
}

static void test_json_has_everything_and_log_is_as_it_was_written(void **state)
{
    (void)state;
    free(write_file(folder, "audit.log", the_log, sizeof the_log - 1, 0600));
    struct tool_result result = RUN_TOOL("audit", "--format", "json", folder);
    assert_non_null(strstr(result.out, "\"id\":\"" FIRST "\""));
    assert_non_null(strstr(result.out, "\"objects_renumbered\":4"));
    assert_string_equal(RUN_TOOL("audit", "--format", "log", folder).out, the_log);
}

static void test_a_spool_from_which_nothing_has_left_prints_nothing(void **state)
{
    (void)state;
    struct tool_result result = RUN_TOOL("audit", folder);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text_is_a_table_that_a_terminal_has_room_for, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_json_has_everything_and_log_is_as_it_was_written, begin_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(test_a_spool_from_which_nothing_has_left_prints_nothing, begin_folder,
                                        end_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
