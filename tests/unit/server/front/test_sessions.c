/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sessions.h"

static void test_a_session_stands_for_its_token_until_it_ends(void **state)
{
    (void)state;
    char text[SBX_SESSION_TEXT_BYTES], other[SBX_SESSION_TEXT_BYTES];
    uint8_t token[SBX_TOKEN_DIGEST], three[SBX_TOKEN_DIGEST] = {3}, five[SBX_TOKEN_DIGEST] = {5};
    struct sbx_sessions *sessions = sbx_sessions_create(4);
    assert_int_equal(sbx_sessions_open(sessions, three, 100, text), 0);
    assert_int_equal(sbx_sessions_open(sessions, five, 100, other), 0);
    assert_int_equal(strlen(text), SBX_SESSION_TEXT_BYTES - 1);
    assert_string_not_equal(text, other);
    assert_true(sbx_sessions_find(sessions, text, 101, token));
    assert_int_equal(token[0], 3);
    assert_true(sbx_sessions_find(sessions, other, 101, token));
    assert_int_equal(token[0], 5);
    sbx_sessions_close(sessions, other);
    assert_false(sbx_sessions_find(sessions, other, 101, token));
    assert_true(sbx_sessions_find(sessions, text, 99 + SBX_SESSION_LIFE_S, token));
    assert_false(sbx_sessions_find(sessions, text, 100 + SBX_SESSION_LIFE_S, token));
    sbx_sessions_destroy(sessions);
}

static void test_what_is_no_session_is_none(void **state)
{
    (void)state;
    char text[SBX_SESSION_TEXT_BYTES];
    uint8_t token[SBX_TOKEN_DIGEST];
    static const uint8_t zero[SBX_TOKEN_DIGEST];
    struct sbx_sessions *sessions = sbx_sessions_create(4);
    assert_false(sbx_sessions_find(sessions, NULL, 1, token));
    assert_false(sbx_sessions_find(sessions, "", 1, token));
    assert_int_equal(sbx_sessions_open(sessions, zero, 1, text), 0);
    text[10] ^= 1;
    assert_false(sbx_sessions_find(sessions, text, 1, token));
    text[10] ^= 1;
    text[SBX_SESSION_TEXT_BYTES - 2] = '\0';
    assert_false(sbx_sessions_find(sessions, text, 1, token));
    sbx_sessions_destroy(sessions);
}

static void test_one_too_many_ends_the_oldest(void **state)
{
    (void)state;
    char texts[5][SBX_SESSION_TEXT_BYTES];
    uint8_t token[SBX_TOKEN_DIGEST];
    static const uint8_t zero[SBX_TOKEN_DIGEST];
    struct sbx_sessions *sessions = sbx_sessions_create(4);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sbx_sessions_open(sessions, zero, 10 + i, texts[i]), 0);
    assert_false(sbx_sessions_find(sessions, texts[0], 20, token));
    for (int i = 1; i < 5; i++)
        assert_true(sbx_sessions_find(sessions, texts[i], 20, token));
    sbx_sessions_destroy(sessions);
}

static void test_guessing_has_to_be_slow(void **state)
{
    (void)state;
    struct sbx_sessions *sessions = sbx_sessions_create(4);
    for (int i = 0; i < 30; i++)
        assert_true(sbx_sessions_may_fail(sessions, 1000));
    assert_false(sbx_sessions_may_fail(sessions, 1000));
    assert_true(sbx_sessions_may_fail(sessions, 1002));
    assert_false(sbx_sessions_may_fail(sessions, 1002));
    sbx_sessions_destroy(sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_session_stands_for_its_token_until_it_ends),
        cmocka_unit_test(test_what_is_no_session_is_none),
        cmocka_unit_test(test_one_too_many_ends_the_oldest),
        cmocka_unit_test(test_guessing_has_to_be_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
