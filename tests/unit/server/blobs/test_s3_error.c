/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "s3_error.h"

static void test_an_error_is_called_by_its_code(void **state)
{
    (void)state;
    static const struct {
        const char *body, *code;
    } bodies[] = {
        {"<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>no</Message></Error>", "NoSuchBucket"},
        {"<Code>a</Code><Code>b</Code>", "a"},
        {"<Code></Code>", ""},
        {"<Code>", ""},
        {"<Code>Slow", "Slow"},
        {"<Code>\033[31mred</Code>", ""}, /* the code is shown to people */
        {"<Code>No<script></Code>", "No"},
        {"<code>NoSuchBucket</code>", ""},
        {"", ""},
    };
    char code[SBX_S3_CODE_BYTES];
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        memset(code, 'x', sizeof(code));
        sbx_s3_error_code(bodies[i].body, strlen(bodies[i].body), code);
        assert_string_equal(code, bodies[i].code);
    }
    sbx_s3_error_code(NULL, 0, code);
    assert_string_equal(code, "");
}

static void test_a_code_of_any_length_is_cut(void **state)
{
    (void)state;
    char body[1000] = "<Code>", code[SBX_S3_CODE_BYTES];
    memset(body + 6, 'a', sizeof(body) - 6);
    sbx_s3_error_code(body, sizeof(body), code);
    assert_int_equal(strlen(code), SBX_S3_CODE_BYTES - 1);
    sbx_s3_error_code(body, 6 + 5, code); /* bytes behind its end are not read */
    assert_string_equal(code, "aaaaa");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_error_is_called_by_its_code),
        cmocka_unit_test(test_a_code_of_any_length_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
