/* SPDX-License-Identifier: Apache-2.0 */
/* test_clean_text.c - names from outside are made safe for other programs' formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "clean_text.h"
#include "report_fixture.h"

static void assert_cleaned(const char *text, const char *expected)
{
    char out[256];
    size_t length = sbx_clean_text(text, out, sizeof out);
    assert_string_equal(out, expected);
    assert_int_equal(length, strlen(expected));
}

static void test_valid_text_passes_unchanged(void **state)
{
    (void)state;
    assert_cleaned("std::vector<int, std::allocator<int> >::push_back(int&&)",
                   "std::vector<int, std::allocator<int> >::push_back(int&&)");
    assert_cleaned("gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80",
                   "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80");
    assert_cleaned("", "");
    assert_cleaned(NULL, "");
}

static void test_control_characters_are_replaced(void **state)
{
    (void)state;
    assert_cleaned("a\nb\tc\x1b[31m\x7f", "a?b?c?[31m?");
    assert_cleaned("\xc2\x85", "??"); /* U+0085, next line */
}

static void test_broken_utf8_is_replaced_byte_by_byte(void **state)
{
    (void)state;
    assert_cleaned("\x80", "?");
    assert_cleaned("a\xc3", "a?");              /* cut off */
    assert_cleaned("\xc0\xaf", "??");           /* overlong */
    assert_cleaned("\xe0\x80\xaf", "???");      /* overlong */
    assert_cleaned("\xed\xa0\x80", "???");      /* surrogate */
    assert_cleaned("\xf4\x90\x80\x80", "????"); /* beyond U+10FFFF */
    assert_cleaned("\xef\xbf\xbf", "???");      /* U+FFFF is not an XML character */
    assert_cleaned("\xe6\xbc"
                   "x",
                   "??x");
}

static void test_long_text_is_cut_between_characters(void **state)
{
    (void)state;
    char out[6];
    assert_int_equal(sbx_clean_text("ab\xe6\xbc\xa2z", out, sizeof out), 5);
    assert_string_equal(out, "ab\xe6\xbc\xa2");
    char small[5];
    assert_int_equal(sbx_clean_text("ab\xe6\xbc\xa2z", small, sizeof small), 2);
    assert_string_equal(small, "ab");
}

static void test_threads_are_called_main_or_by_pattern_or_by_ordinal(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "ignored", true);
    report_fixture_thread(fixture, "bio#", false);
    report_fixture_thread(fixture, "other", false);
    const struct sbx_report *report = report_fixture_report(fixture);
    static const char *const expected[] = {"main", "bio#", "thread 2", "unknown thread"};
    for (uint32_t thread = 0; thread < 4; thread++) {
        char label[32];
        sbx_thread_label(report->stall, thread, label, sizeof label);
        assert_string_equal(label, expected[thread]);
    }
    report_fixture_destroy(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_text_passes_unchanged),
        cmocka_unit_test(test_control_characters_are_replaced),
        cmocka_unit_test(test_broken_utf8_is_replaced_byte_by_byte),
        cmocka_unit_test(test_long_text_is_cut_between_characters),
        cmocka_unit_test(test_threads_are_called_main_or_by_pattern_or_by_ordinal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
