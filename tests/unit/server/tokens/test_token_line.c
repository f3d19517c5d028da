/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "token_line.h"

#define DIGEST "sha256=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static const char *read_line(const char *line, struct sbx_token *token)
{
    return sbx_token_line_read(line, strlen(line), token);
}

static void test_a_line_says_the_same_when_it_is_printed_and_read_again(void **state)
{
    (void)state;
    struct sbx_token token, again;
    char line[SBX_TOKEN_LINE_BYTES];
    assert_null(
        read_line("note=build%20farm%25 roles=symbols,send id=0123456789ab app=org.ex%20ample rate=7 made=5 ends=9 "
                  "policy=000102030405060708090a0b0c0d0e0f " DIGEST,
                  &token));
    assert_string_equal(token.note, "build farm%");
    assert_string_equal(token.app, "org.ex ample");
    assert_int_equal(token.rights, SBX_RIGHT_SEND | SBX_RIGHT_SYMBOLS);
    assert_int_equal(token.an_hour, 7);
    assert_int_equal(token.made_s, 5);
    assert_int_equal(token.ends_s, 9);
    assert_true(token.has_policy_id && token.policy_id[15] == 15 && token.digest[31] == 31 && token.app_number != 0);
    sbx_token_line_print(&token, line);
    assert_null(read_line(line, &again));
    assert_memory_equal(&token, &again, sizeof(token));
    for (size_t i = 0; i < sizeof(token.app) - 1; i++)
        token.app[i] = '%';
    memset(token.note, ' ', sizeof(token.note) - 1);
    sbx_token_line_print(&token, line); /* the longest one fits */
    assert_null(read_line(line, &again));
    assert_string_equal(again.app, token.app);
    assert_string_equal(again.note, token.note);
}

static void test_without_an_application_it_is_for_all(void **state)
{
    (void)state;
    struct sbx_token token;
    assert_null(read_line("id=0123456789ab roles=admin " DIGEST, &token));
    assert_int_equal(token.rights, SBX_RIGHT_ALL);
    assert_int_equal(token.app_number, 0);
}

static void test_a_line_that_is_not_understood_gives_no_rights(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "id=0123456789ab roles=read",
        "id=0123456789ab " DIGEST,
        "roles=read " DIGEST,
        "id=0123456789ab roles=read " DIGEST " id=0123456789ab",
        "id=0123456789ab roles=read,root " DIGEST,
        "id=0123456789ab roles= " DIGEST,
        "id=0123456789ab roles=read, " DIGEST,
        "id=0123456789a roles=read " DIGEST,
        "id=0123456789ab roles=read " DIGEST "0",
        "id=0123456789ab roles=read app= " DIGEST,
        "id=0123456789ab roles=read app=%0a " DIGEST,
        "id=0123456789ab roles=read app=%2 " DIGEST,
        "id=0123456789ab roles=read rate=-1 " DIGEST,
        "id=0123456789ab roles=read rate=99999999999 " DIGEST,
        "id=0123456789ab roles=read ends=1x " DIGEST,
        "id=0123456789ab roles=read only-from=10.0.0.1 " DIGEST,
        "id=0123456789ab roles=read word " DIGEST,
    };
    struct sbx_token token;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_non_null(read_line(wrong[i], &token));
    assert_non_null(sbx_token_line_read("id=0123456789ab\0roles=read", 26, &token));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_says_the_same_when_it_is_printed_and_read_again),
        cmocka_unit_test(test_without_an_application_it_is_for_all),
        cmocka_unit_test(test_a_line_that_is_not_understood_gives_no_rights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
