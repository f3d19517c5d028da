/* SPDX-License-Identifier: Apache-2.0 */
/* test_operator_log.c - the log for operators, and the log for log collectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "operator_log.h"

static char *said;
static size_t said_bytes;
static struct sbx_operator_log lines;

static int begin(void **state)
{
    (void)state;
    lines = (struct sbx_operator_log){.out = open_memstream(&said, &said_bytes)};
    return lines.out ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    fclose(lines.out);
    free(said);
    return 0;
}

static void say_a_build_id(const char *build_id)
{
    sbx_operator_log_of(&lines, SBX_LOG_WARNING, "symbols", (struct sbx_log_subject){"build_id", build_id},
                        "symbols of build-id %s differ", build_id);
}

static void test_a_line_for_people_is_a_sentence(void **state)
{
    (void)state;
    say_a_build_id("3da6");
    assert_string_equal(said, "stallbox serve: symbols of build-id 3da6 differ\n");
}

/* A time like 2026-11-26T20:14:05.123Z; a 0 in the pattern stands for any digit. */
static void assert_begins_with_a_time(const char *text)
{
    static const char pattern[] = "{\"time\":\"0000-00-00T00:00:00.000Z\"";
    for (size_t i = 0; pattern[i] != '\0'; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        assert_true(pattern[i] == '0' ? is_digit : pattern[i] == text[i]);
    }
}

static void test_a_line_for_a_collector_is_an_object(void **state)
{
    (void)state;
    lines.is_json = true;
    say_a_build_id("3da6");
    assert_begins_with_a_time(said);
    assert_string_equal(strchr(said, ','), ",\"level\":\"warning\",\"part\":\"symbols\",\"build_id\":\"3da6\","
                                           "\"message\":\"symbols of build-id 3da6 differ\"}\n");
}

static void test_without_a_subject_there_is_no_member_of_it(void **state)
{
    (void)state;
    lines.is_json = true;
    sbx_operator_log(&lines, SBX_LOG_INFO, "ageing", "%d stalls aged out", 7);
    assert_string_equal(strchr(said, ','),
                        ",\"level\":\"info\",\"part\":\"ageing\",\"message\":\"7 stalls aged out\"}\n");
}

/* A path may contain any bytes. They must not end the line or begin another one. */
static void test_a_hostile_name_stays_inside_of_its_line(void **state)
{
    (void)state;
    lines.is_json = true;
    say_a_build_id("\"}\n{\"level\":\"info\xff");
    assert_int_equal(strcspn(said, "\n"), said_bytes - 1);
    assert_null(strstr(said, "\"}{"));
    assert_non_null(strstr(said, "\\\"}"));
}

static void test_what_is_too_long_is_cut_and_the_line_is_whole(void **state)
{
    char text[3000];
    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    lines.is_json = true;
    sbx_operator_log(&lines, SBX_LOG_INFO, "server", "%s", text);
    assert_true(said_bytes < 1200);
    assert_string_equal(said + said_bytes - 4, "x\"}\n");
}

static void test_a_silent_log_is_silent(void **state)
{
    (void)state;
    struct sbx_operator_log silent = {.is_json = true};
    sbx_operator_log(&silent, SBX_LOG_INFO, "server", "never");
    sbx_operator_log(NULL, SBX_LOG_INFO, "server", "never");
    fflush(lines.out);
    assert_int_equal(said_bytes, 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(test_a_line_for_people_is_a_sentence),
        CASE(test_a_line_for_a_collector_is_an_object),
        CASE(test_without_a_subject_there_is_no_member_of_it),
        CASE(test_a_hostile_name_stays_inside_of_its_line),
        CASE(test_what_is_too_long_is_cut_and_the_line_is_whole),
        CASE(test_a_silent_log_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
