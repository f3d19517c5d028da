/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "html_writer.h"

static void assert_escapes_to(const char *text, const char *wanted)
{
    struct sbx_byte_buffer page = {0};
    sbx_html_text(&page, text);
    assert_false(page.failed);
    assert_string_equal(page.data, wanted);
    sbx_byte_buffer_finish(&page);
}

static void test_markup_in_names_is_escaped(void **state)
{
    (void)state;
    assert_escapes_to("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_escapes_to("\" onload='x' &lt;", "&quot; onload=&#39;x&#39; &amp;lt;");
    assert_escapes_to("std::map<int, char const*>::at", "std::map&lt;int, char const*&gt;::at");
}

static void test_good_unicode_stays_as_it_is(void **state)
{
    (void)state;
    assert_escapes_to("gr\xC3\xB6\xC3\x9F"
                      "e \xE2\x82\xAC \xF0\x9F\x98\x80",
                      "gr\xC3\xB6\xC3\x9F"
                      "e \xE2\x82\xAC \xF0\x9F\x98\x80");
}

/* clang-format off */ /* strings end after an escape, so that the following letter does not belong to the escape */
static void test_what_is_no_text_is_replaced(void **state)
{
    (void)state;
    assert_escapes_to("a\x80" "b", "a\xEF\xBF\xBD" "b");                  /* a lone continuation */
    assert_escapes_to("a\xC0\xBC" "b", "a\xEF\xBF\xBD\xEF\xBF\xBD" "b");  /* '<' in an overlong form */
    assert_escapes_to("a\xE0\x80\xBC" "b", "a\xEF\xBF\xBD" "b");          /* and in a longer one */
    assert_escapes_to("a\xE2\x82", "a\xEF\xBF\xBD\xEF\xBF\xBD");          /* cut off */
    assert_escapes_to("a\xED\xA0\x80" "b", "a\xEF\xBF\xBD" "b");          /* a surrogate */
    assert_escapes_to("a\xF5\x80\x80\x80", "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_escapes_to("a\x1b[2J\x7f\n", "a\xEF\xBF\xBD[2J\xEF\xBF\xBD\xEF\xBF\xBD");
}

static void test_marks_that_reorder_text_are_replaced(void **state)
{
    (void)state;
    assert_escapes_to("a\xE2\x80\xAE" "gnp.exe", "a\xEF\xBF\xBD" "gnp.exe"); /* U+202E */
    assert_escapes_to("\xE2\x81\xA6x\xE2\x81\xA9", "\xEF\xBF\xBDx\xEF\xBF\xBD"); /* U+2066, U+2069 */
    assert_escapes_to("\xE2\x80\x8B", "\xE2\x80\x8B"); /* U+200B breaks lines and nothing else */
}
/* clang-format on */

static void test_a_part_of_an_address_stays_one_part(void **state)
{
    (void)state;
    struct sbx_byte_buffer page = {0};
    sbx_html_url_part(&page, "javascript:a('x')/../?b=\"&#\xC3\xB6 -._~09azAZ");
    assert_string_equal(page.data, "javascript%3Aa%28%27x%27%29%2F..%2F%3Fb%3D%22%26%23%C3%B6%20-._~09azAZ");
    sbx_byte_buffer_finish(&page);
}

static void test_a_buffer_over_its_limit_fails_for_good(void **state)
{
    (void)state;
    struct sbx_byte_buffer buffer = {.limit = 4};
    sbx_byte_buffer_text(&buffer, "abc");
    sbx_byte_buffer_text(&buffer, "de");
    assert_true(buffer.failed);
    sbx_byte_buffer_text(&buffer, "f");
    assert_string_equal(buffer.data, "abc");
    assert_int_equal(buffer.used, 3);
    sbx_byte_buffer_finish(&buffer);
}

static void test_a_buffer_grows_over_many_appends(void **state)
{
    (void)state;
    struct sbx_byte_buffer buffer = {0};
    for (int i = 0; i < 10000; i++)
        sbx_byte_buffer_format(&buffer, "%d,", i % 10);
    assert_int_equal(buffer.used, 20000);
    assert_memory_equal(buffer.data + 19996, "8,9,", 5);
    sbx_byte_buffer_finish(&buffer);
    assert_null(buffer.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_markup_in_names_is_escaped),
        cmocka_unit_test(test_good_unicode_stays_as_it_is),
        cmocka_unit_test(test_what_is_no_text_is_replaced),
        cmocka_unit_test(test_marks_that_reorder_text_are_replaced),
        cmocka_unit_test(test_a_part_of_an_address_stays_one_part),
        cmocka_unit_test(test_a_buffer_over_its_limit_fails_for_good),
        cmocka_unit_test(test_a_buffer_grows_over_many_appends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
