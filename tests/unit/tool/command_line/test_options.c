/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c - the command line reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "options.h"

enum {
    SPOOL,
    ONCE,
    OUTPUT,
    COUNT
};
static const struct sbx_option table[COUNT] = {
    [SPOOL] = {"--spool", 0, "DIR", "where"},
    [ONCE] = {"--once", 0, NULL, "end after\none round"},
    [OUTPUT] = {"--output", 'o', "A-VERY-LONG-NAME-OF-A-VALUE", "there"},
};

static struct sbx_option_reader read_words(int argc, const char *const *argv)
{
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "test", table, COUNT, argc, (char **)argv);
    return reader;
}
#define READ(...)                                                                          \
    read_words((int)(sizeof((const char *const[]){"test", __VA_ARGS__}) / sizeof(char *)), \
               (const char *const[]){"test", __VA_ARGS__})

/* Captures standard error between begin and end. */
static int saved_stderr;
static FILE *caught;
static char message[2048];

static void catch_messages(void)
{
    fflush(stderr);
    saved_stderr = dup(STDERR_FILENO);
    caught = tmpfile();
    assert_non_null(caught);
    dup2(fileno(caught), STDERR_FILENO);
}

static void end_catching(void)
{
    fflush(stderr);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    rewind(caught);
    message[fread(message, 1, sizeof message - 1, caught)] = '\0';
    fclose(caught);
}

static void test_values_come_behind_a_space_an_equals_sign_or_a_letter(void **state)
{
    (void)state;
    struct sbx_option_reader reader = READ("--spool", "a", "--spool=b=c", "-o", "d", "-oe", "--once");
    assert_int_equal(sbx_option_next(&reader), SPOOL);
    assert_string_equal(reader.value, "a");
    assert_int_equal(sbx_option_next(&reader), SPOOL);
    assert_string_equal(reader.value, "b=c");
    assert_int_equal(sbx_option_next(&reader), OUTPUT);
    assert_string_equal(reader.value, "d");
    assert_int_equal(sbx_option_next(&reader), OUTPUT);
    assert_string_equal(reader.value, "e");
    assert_int_equal(sbx_option_next(&reader), ONCE);
    assert_null(reader.value);
    assert_int_equal(sbx_option_next(&reader), SBX_OPTION_END);
    assert_int_equal(sbx_option_next(&reader), SBX_OPTION_END);
}

static void test_operands_stand_between_options_and_all_behind_two_dashes(void **state)
{
    (void)state;
    struct sbx_option_reader reader = READ("one", "--once", "-", "--", "--once", "--", "--help");
    assert_int_equal(sbx_option_next(&reader), SBX_OPTION_OPERAND);
    assert_string_equal(reader.value, "one");
    assert_int_equal(reader.next, 2);
    assert_int_equal(sbx_option_next(&reader), ONCE);
    assert_int_equal(sbx_option_next(&reader), SBX_OPTION_OPERAND);
    assert_string_equal(reader.value, "-");
    static const char *const behind[] = {"--once", "--", "--help"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sbx_option_next(&reader), SBX_OPTION_OPERAND);
        assert_string_equal(reader.value, behind[i]);
    }
    assert_int_equal(sbx_option_next(&reader), SBX_OPTION_END);
}

static void test_two_dashes_at_the_end_are_no_operand(void **state)
{
    (void)state;
    struct sbx_option_reader reader = READ("--");
    assert_int_equal(sbx_option_next(&reader), SBX_OPTION_END);
}

static void test_help_is_known_without_being_in_the_table(void **state)
{
    (void)state;
    struct sbx_option_reader reader = READ("--help", "-h");
    assert_int_equal(sbx_option_next(&reader), SBX_OPTION_HELP);
    assert_int_equal(sbx_option_next(&reader), SBX_OPTION_HELP);
}

static void assert_refused(struct sbx_option_reader reader, const char *expected)
{
    catch_messages();
    int event = sbx_option_next(&reader);
    end_catching();
    assert_int_equal(event, SBX_OPTION_BAD);
    assert_non_null(strstr(message, expected));
    assert_non_null(strstr(message, "Try 'stallbox test --help'."));
}

static void test_an_unknown_option_is_named_and_the_nearest_known_one_too(void **state)
{
    (void)state;
    assert_refused(READ("--spol"), "unknown option '--spol'; did you mean '--spool'?");
    assert_refused(READ("--outputs=x"), "unknown option '--outputs'; did you mean '--output'?");
    assert_refused(READ("--elephant"), "unknown option '--elephant'\n");
    assert_refused(READ("-x"), "unknown option '-x'\n");
    assert_refused(READ("--a-word-that-is-longer-than-thirty-two-letters"), "longer-than-thirty-two-letters'\n");
}

static void test_a_missing_an_empty_and_an_unwanted_value_are_refused(void **state)
{
    (void)state;
    assert_refused(READ("--spool"), "option '--spool' needs a value: --spool DIR");
    assert_refused(READ("--spool="), "option '--spool' got an empty value");
    assert_refused(READ("--spool", ""), "option '--spool' got an empty value");
    assert_refused(READ("--once=yes"), "option '--once' takes no value, but got 'yes'");
}

static bool read_number(const char *text, uint64_t *number_out)
{
    struct sbx_option_reader reader = READ("--spool", text);
    assert_int_equal(sbx_option_next(&reader), SPOOL);
    catch_messages();
    bool is_number = sbx_option_number(&reader, SPOOL, 1, 1000, number_out);
    end_catching();
    return is_number;
}

static void test_numbers_are_whole_and_within_their_limits(void **state)
{
    (void)state;
    uint64_t number = 0;
    assert_true(read_number("1", &number));
    assert_int_equal(number, 1);
    assert_true(read_number("1000", &number));
    assert_int_equal(number, 1000);
    static const char *const bad[] = {
        "0", "1001", "-1", "+1", " 1", "1 ", "1.5", "0x10", "x", "18446744073709551617", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        number = 7;
        assert_false(read_number(bad[i], &number));
        assert_int_equal(number, 7);
        assert_non_null(strstr(message, "option '--spool' needs a whole number from 1 to 1000"));
        assert_non_null(strstr(message, bad[i]));
    }
}

static void test_failures_and_usage_errors_name_the_command(void **state)
{
    (void)state;
    catch_messages();
    int status = sbx_failure("report", "%s: %s", "PATH", "reason");
    end_catching();
    assert_int_equal(status, SBX_EXIT_FAILED);
    assert_string_equal(message, "stallbox report: PATH: reason\n");
    catch_messages();
    status = sbx_usage_error(NULL, "unknown command '%s'", "x");
    end_catching();
    assert_int_equal(status, SBX_EXIT_USAGE);
    assert_string_equal(message, "stallbox: unknown command 'x'\nTry 'stallbox --help'.\n");
}

static void test_help_text_keeps_its_column_however_long_an_option_is(void **state)
{
    (void)state;
    char text[1024] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    sbx_options_print(table, COUNT, out);
    fclose(out);
    assert_string_equal(text, "  --spool DIR             where\n"
                              "  --once                  end after\n"
                              "                          one round\n"
                              "  -o, --output A-VERY-LONG-NAME-OF-A-VALUE\n"
                              "                          there\n"
                              "  -h, --help              this text\n");
}

static void test_word_distance_counts_changed_letters(void **state)
{
    (void)state;
    assert_int_equal(sbx_word_distance("report", "report"), 0);
    assert_int_equal(sbx_word_distance("report", "reprot"), 2);
    assert_int_equal(sbx_word_distance("report", "reports"), 1);
    assert_int_equal(sbx_word_distance("", "abc"), 3);
    assert_int_equal(sbx_word_distance("kitten", "sitting"), 3);
    assert_int_equal(sbx_word_distance("sitting", "kitten"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_come_behind_a_space_an_equals_sign_or_a_letter),
        cmocka_unit_test(test_operands_stand_between_options_and_all_behind_two_dashes),
        cmocka_unit_test(test_two_dashes_at_the_end_are_no_operand),
        cmocka_unit_test(test_help_is_known_without_being_in_the_table),
        cmocka_unit_test(test_an_unknown_option_is_named_and_the_nearest_known_one_too),
        cmocka_unit_test(test_a_missing_an_empty_and_an_unwanted_value_are_refused),
        cmocka_unit_test(test_numbers_are_whole_and_within_their_limits),
        cmocka_unit_test(test_failures_and_usage_errors_name_the_command),
        cmocka_unit_test(test_help_text_keeps_its_column_however_long_an_option_is),
        cmocka_unit_test(test_word_distance_counts_changed_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
