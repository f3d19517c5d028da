/* SPDX-License-Identifier: Apache-2.0 */
/* test_svg_writer.c - elements, escaping, contrast. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "printed.h"
#include "svg_writer.h"

static char *written(void (*write)(FILE *out))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    write(out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void write_hostile(FILE *out)
{
    sbx_svg_begin(out, 100, 100, "</svg><script>alert(1)</script>\" onload=\"x");
    const struct sbx_svg_text_look look = {.size = 11, .fill = SBX_SVG_INK, .bold = true};
    sbx_svg_group_begin(out, "]]>&lt;'\x02\xff");
    sbx_svg_text(out, 1, 2, &look, "operator<< <&>");
    sbx_svg_line(out, 0, 0, 1, 1, SBX_SVG_RULE, 1, "2 2");
    sbx_svg_group_end(out);
    sbx_svg_legend(out, 0, 0, ~0u);
    sbx_svg_end(out);
}

static void test_hostile_names_stay_text(void **state)
{
    (void)state;
    char *text = written(write_hostile);
    assert_svg_is_sound(text);
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "operator&lt;&lt; &lt;&amp;&gt;"));
    free(text);
}

static void write_narrow(FILE *out)
{
    const struct sbx_svg_text_look look = {.size = 10, .fill = SBX_SVG_INK};
    sbx_svg_text_within(out, 0, 0, 100, &look, "short");
    sbx_svg_text_within(out, 0, 0, 60, &look, "a_very_long_function_name");
    sbx_svg_text_within(out, 0, 0, 20, &look, "another_long_function_name");
    sbx_svg_text_within(out, 0, 0, -5, &look, "no room at all");
    sbx_svg_text_within(out, 0, 0, 60, &look,
                        "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"
                        "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2");
}

static void test_text_is_cut_to_its_room_between_characters(void **state)
{
    (void)state;
    char *text = written(write_narrow);
    assert_non_null(strstr(text, ">short</text>"));
    assert_non_null(strstr(text, ">a_very_lo\xe2\x80\xa6</text>"));
    assert_null(strstr(text, "another"));
    assert_null(strstr(text, "no room"));
    assert_non_null(strstr(text, "\xe6\xbc\xa2\xe2\x80\xa6</text>"));
    assert_int_equal(count_of(text, "<text"), 3);
    free(text);
}

static double channel(unsigned value)
{
    double share = value / 255.0;
    return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4);
}

static double luminance(const char *colour)
{
    unsigned value = (unsigned)strtoul(colour + 1, NULL, 16);
    return 0.2126 * channel(value >> 16) + 0.7152 * channel(value >> 8 & 255) + 0.0722 * channel(value & 255);
}

static double contrast(const char *a, const char *b)
{
    double first = luminance(a), second = luminance(b);
    return (fmax(first, second) + 0.05) / (fmin(first, second) + 0.05);
}

static void test_text_on_every_state_can_be_read(void **state)
{
    (void)state;
    for (enum sbx_span_state kind = 0; kind < SBX_SPAN_STATES; kind++) {
        assert_true(contrast(sbx_svg_state_fill(kind), sbx_svg_state_ink(kind)) >= 4.5);
        for (enum sbx_span_state other = 0; other < kind; other++) {
            assert_string_not_equal(sbx_svg_state_fill(kind), sbx_svg_state_fill(other));
        }
    }
    assert_true(contrast(SBX_SVG_PAPER, SBX_SVG_FAINT) >= 4.5);
    assert_true(contrast(SBX_SVG_PAPER, SBX_SVG_ALERT) >= 4.5);
}

static void test_times_have_as_many_digits_as_one_reads(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0.00 ms"},
        {420000, "0.42 ms"},
        {12340000, "12.3 ms"},
        {INT64_C(1987000000), "1\xe2\x80\xaf"
                              "987 ms"},
        {INT64_C(-2003000000), "\xe2\x88\x92"
                               "2\xe2\x80\xaf"
                               "003 ms"},
        {INT64_C(3600000000000), "3600 s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        sbx_svg_ms(text, sizeof text, cases[i].ns);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_names_stay_text),
        cmocka_unit_test(test_text_is_cut_to_its_room_between_characters),
        cmocka_unit_test(test_text_on_every_state_can_be_read),
        cmocka_unit_test(test_times_have_as_many_digits_as_one_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
