/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json_document.h"

static void test_commas_stand_between_values_only(void **state)
{
    (void)state;
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '{');
    sbx_document_open(&json, "empty", '[');
    sbx_document_close(&json, ']');
    sbx_document_open(&json, "list", '[');
    sbx_document_integer(&json, NULL, -1);
    sbx_document_open(&json, NULL, '{');
    sbx_document_bool(&json, "yes", true);
    sbx_document_close(&json, '}');
    sbx_document_close(&json, ']');
    sbx_document_number(&json, "half", 0.5);
    sbx_document_string(&json, "none", NULL);
    sbx_document_close(&json, '}');
    assert_string_equal(json.text.data, "{\"empty\":[],\"list\":[-1,{\"yes\":true}],\"half\":0.5,\"none\":null}");
    sbx_byte_buffer_finish(&json.text);
}

static void test_strings_are_escaped(void **state)
{
    (void)state;
    struct sbx_document json = {0};
    sbx_document_string(&json, NULL, "a\"b\\c</script>\n\xff\xC3\xB6");
    assert_string_equal(json.text.data, "\"a\\\"b\\\\c\\u003c/script>\xEF\xBF\xBD\xEF\xBF\xBD\xC3\xB6\"");
    sbx_byte_buffer_finish(&json.text);
}

static void test_numbers_that_json_has_not_are_null(void **state)
{
    (void)state;
    struct sbx_document json = {0};
    sbx_document_open(&json, NULL, '[');
    sbx_document_number(&json, NULL, INFINITY);
    sbx_document_number(&json, NULL, NAN);
    sbx_document_integer(&json, NULL, INT64_MIN);
    sbx_document_close(&json, ']');
    assert_string_equal(json.text.data, "[null,null,-9223372036854775808]");
    sbx_byte_buffer_finish(&json.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas_stand_between_values_only),
        cmocka_unit_test(test_strings_are_escaped),
        cmocka_unit_test(test_numbers_that_json_has_not_are_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
