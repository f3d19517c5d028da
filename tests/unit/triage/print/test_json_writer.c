/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_writer.c - the output is well formed for any input. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_writer.h"

static char *written;
static size_t written_bytes;
static struct sbx_json json;

static int begin(void **state)
{
    (void)state;
    sbx_json_init(&json, open_memstream(&written, &written_bytes));
    return json.out == NULL;
}

static void assert_written(const char *expected)
{
    fclose(json.out);
    assert_string_equal(written, expected);
    free(written);
}

static void test_commas_stand_between_values(void **state)
{
    (void)state;
    sbx_json_begin_object(&json);
    sbx_json_key(&json, "a");
    sbx_json_begin_array(&json);
    sbx_json_integer(&json, -1);
    sbx_json_begin_object(&json);
    sbx_json_end_object(&json);
    sbx_json_null(&json);
    sbx_json_end_array(&json);
    sbx_json_key(&json, "b");
    sbx_json_bool(&json, true);
    sbx_json_key(&json, "c");
    sbx_json_unsigned(&json, UINT64_MAX);
    sbx_json_end_object(&json);
    assert_written("{\"a\":[-1,{},null],\"b\":true,\"c\":18446744073709551615}");
}

static void test_texts_are_escaped_and_valid_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"plain", "\"plain\""},
        {"q\"b\\s/", "\"q\\\"b\\\\s/\""},
        {"\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9c", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9c\""},
        {"\xff\xfe", "\"\\ufffd\\ufffd\""},
        {"\xc3", "\"\\ufffd\""},                                  /* truncated */
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},                       /* not the shortest form */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* a surrogate */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* beyond Unicode */
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},
        {NULL, "null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(begin(NULL), 0);
        sbx_json_text(&json, cases[i].text);
        assert_written(cases[i].expected);
    }
}

static void test_numbers_are_finite_and_short(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *expected;
    } cases[] = {
        {0, "0"},
        {-0.0, "0"},
        {1.5, "1.5"},
        {-2.125, "-2.125"},
        {100, "100"},
        {1e15, "1000000000000000"},
        {0.0004, "0"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-0.0001, "0"},
        {1234.5678, "1234.568"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(begin(NULL), 0);
        sbx_json_number(&json, cases[i].value);
        assert_written(cases[i].expected);
    }
    assert_int_equal(begin(NULL), 0);
    sbx_json_number(&json, -1.7e308);
    fclose(json.out);
    assert_true(strlen(written) > 300 && strspn(written, "-0123456789") == strlen(written));
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_commas_stand_between_values, begin),
        cmocka_unit_test(test_texts_are_escaped_and_valid_utf8),
        cmocka_unit_test(test_numbers_are_finite_and_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
