/* SPDX-License-Identifier: Apache-2.0 */
/* test_unit_file.c - lines of unit files in the format of systemd.syntax(7). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_file.h"

static struct sbx_unit_file read_text(const char *text)
{
    struct sbx_unit_file unit = {0};
    assert_int_equal(sbx_unit_file_add(&unit, text, strlen(text)), 0);
    return unit;
}

static void test_settings_of_the_service_section_alone_are_kept(void **state)
{
    (void)state;
    struct sbx_unit_file unit = read_text("Type=before\n[Unit]\nType=unit\n[Service]\n# Type=comment\n; Type=other\n"
                                          "  Type = forking \r\nno setting\n[X-Service]\nType=late\n");
    assert_string_equal(sbx_unit_file_value(&unit, "Type"), "forking");
    assert_null(sbx_unit_file_value(&unit, "User"));
    assert_int_equal(unit.count, 1);
    sbx_unit_file_free(&unit);
}

static void test_a_line_goes_on_behind_a_backslash_and_over_comments(void **state)
{
    (void)state;
    struct sbx_unit_file unit =
        read_text("[Service]\nExecStart=/bin/sh -c \"a || \\\n# a comment \\\n  b\"\nUser=x\nGroup=last\\");
    assert_string_equal(sbx_unit_file_value(&unit, "ExecStart"), "/bin/sh -c \"a ||    b\"");
    assert_string_equal(sbx_unit_file_value(&unit, "User"), "x");
    assert_string_equal(sbx_unit_file_value(&unit, "Group"), "last");
    sbx_unit_file_free(&unit);
}

static void test_an_empty_value_takes_back_those_before_it(void **state)
{
    (void)state;
    size_t at = 0;
    struct sbx_unit_file unit = read_text("[Service]\nExecStart=/bin/a\nPIDFile=/run/a\n");
    const char *drop_in = "[Service]\nExecStart=\nExecStart=/bin/b\nExecStart=/bin/c\nPIDFile=\n";
    assert_int_equal(sbx_unit_file_add(&unit, drop_in, strlen(drop_in)), 0);
    assert_string_equal(sbx_unit_file_next(&unit, "ExecStart", &at), "/bin/b");
    assert_string_equal(sbx_unit_file_next(&unit, "ExecStart", &at), "/bin/c");
    assert_null(sbx_unit_file_next(&unit, "ExecStart", &at));
    assert_null(sbx_unit_file_value(&unit, "PIDFile"));
    sbx_unit_file_free(&unit);
}

static void test_words_are_whole_words_and_yes_has_several_names(void **state)
{
    (void)state;
    struct sbx_unit_file unit =
        read_text("[Service]\nRestrictAddressFamilies=AF_INET6 AF_UNIX\nRestrictAddressFamilies=AF_X\n"
                  "NoNewPrivileges=Yes\nPrivateTmp=0\n");
    assert_true(sbx_unit_file_has_word(&unit, "RestrictAddressFamilies", "AF_UNIX"));
    assert_true(sbx_unit_file_has_word(&unit, "RestrictAddressFamilies", "AF_X"));
    assert_false(sbx_unit_file_has_word(&unit, "RestrictAddressFamilies", "AF_INET"));
    assert_true(sbx_unit_file_is_set(&unit, "NoNewPrivileges"));
    assert_false(sbx_unit_file_is_set(&unit, "PrivateTmp"));
    assert_false(sbx_unit_file_is_set(&unit, "PrivateNetwork"));
    sbx_unit_file_free(&unit);
}

static void test_too_much_is_refused_and_bytes_that_are_no_text_are_left_out(void **state)
{
    (void)state;
    struct sbx_unit_file unit = {0};
    size_t bytes = SBX_UNIT_FILE_BYTES_MAX + 1;
    char *large = malloc(bytes);
    memset(large, '\n', bytes);
    assert_int_equal(sbx_unit_file_add(&unit, large, bytes), -EFBIG);
    assert_int_equal(sbx_unit_file_add(&unit, large, bytes - 1), 0);
    size_t used = (size_t)sprintf(large, "[Service]\n");
    for (int i = 0; i <= SBX_UNIT_SETTINGS_MAX; i++) {
        used += (size_t)sprintf(large + used, "A=%d\n", i);
    }
    assert_int_equal(sbx_unit_file_add(&unit, large, used), -EFBIG);
    sbx_unit_file_free(&unit);
    assert_int_equal(sbx_unit_file_add(&unit, "[Service]\nUser=a\0b\n=x\n", 22), 0);
    assert_null(sbx_unit_file_value(&unit, "User"));
    sbx_unit_file_free(&unit);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_of_the_service_section_alone_are_kept),
        cmocka_unit_test(test_a_line_goes_on_behind_a_backslash_and_over_comments),
        cmocka_unit_test(test_an_empty_value_takes_back_those_before_it),
        cmocka_unit_test(test_words_are_whole_words_and_yes_has_several_names),
        cmocka_unit_test(test_too_much_is_refused_and_bytes_that_are_no_text_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
