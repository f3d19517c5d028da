/* SPDX-License-Identifier: Apache-2.0 */
/* test_token_file.c - when a secret is read, and when it is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tool_folder.h"
#include "token_file.h"

static char token[SBX_TOKEN_MAX + 1];
static char why[200];

static int read_token(const char *text, size_t length, unsigned mode)
{
    memset(token, 'x', sizeof token);
    why[0] = '\0';
    char *path = write_file(folder, "token", text, length, mode);
    int result = sbx_token_read(path, token, why, sizeof why);
    if (result != 0) {
        assert_ptr_equal(strstr(why, path), why); /* the message begins with the file's name */
    }
    free(path);
    return result;
}

static void test_the_first_line_is_the_token_whatever_ends_it(void **state)
{
    (void)state;
    static const char *const texts[] = {"s3cret", "s3cret\n", "s3cret\r\n", "s3cret\nsecond line\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(read_token(texts[i], strlen(texts[i]), 0600), 0);
        assert_string_equal(token, "s3cret");
    }
    assert_int_equal(read_token("s3cret", 6, 0400), 0);
}

static void test_loc_18_a_file_that_others_may_read_or_write_is_refused(void **state)
{
    (void)state;
    static const unsigned modes[] = {0640, 0604, 0620, 0602, 0644};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(read_token("s3cret\n", 7, modes[i]), -EPERM);
        assert_non_null(strstr(why, "chmod 600"));
    }
}

static void test_what_cannot_stand_in_a_header_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n", "two words\n", "tab\there\n", "\x01\n", "caf\xc3\xa9\n", " space first\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(read_token(texts[i], strlen(texts[i]), 0600), -EINVAL);
    }
    assert_int_equal(read_token("nul\0byte\n", 9, 0600), -EINVAL);
}

static void test_the_longest_token_fits_and_a_longer_one_is_refused(void **state)
{
    (void)state;
    char text[SBX_TOKEN_MAX + 3];
    memset(text, 'a', sizeof text);
    text[SBX_TOKEN_MAX] = '\n';
    assert_int_equal(read_token(text, SBX_TOKEN_MAX, 0600), 0);
    assert_int_equal(strlen(token), SBX_TOKEN_MAX);
    assert_int_equal(read_token(text, SBX_TOKEN_MAX + 1, 0600), 0);
    assert_int_equal(strlen(token), SBX_TOKEN_MAX);
    text[SBX_TOKEN_MAX] = 'a';
    assert_int_equal(read_token(text, SBX_TOKEN_MAX + 1, 0600), -EINVAL);
    assert_int_equal(read_token(text, SBX_TOKEN_MAX + 3, 0600), -EINVAL);
}

static void test_a_missing_file_is_named(void **state)
{
    (void)state;
    assert_int_equal(sbx_token_read("/nonexistent/token", token, why, sizeof why), -ENOENT);
    assert_string_equal(why, "/nonexistent/token: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_first_line_is_the_token_whatever_ends_it, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_loc_18_a_file_that_others_may_read_or_write_is_refused, begin_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(test_what_cannot_stand_in_a_header_is_refused, begin_folder, end_folder),
        cmocka_unit_test_setup_teardown(test_the_longest_token_fits_and_a_longer_one_is_refused, begin_folder,
                                        end_folder),
        cmocka_unit_test(test_a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
