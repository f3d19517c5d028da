/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate.h"

#define HERE "127.0.0.1:8321"
static const struct sbx_gate open_gate = {.token = NULL, .is_loopback = true};
static const struct sbx_gate local_gate = {.token = "s3cret", .is_loopback = true};
static const struct sbx_gate public_gate = {.token = "s3cret", .is_loopback = false};

static void test_loopback_without_a_token_is_open_to_this_machine(void **state)
{
    (void)state;
    assert_int_equal(sbx_gate_check(&open_gate, true, NULL, HERE, NULL), SBX_ENTRY_ALLOWED);
    assert_int_equal(sbx_gate_check(&open_gate, false, NULL, HERE, NULL), SBX_ENTRY_ALLOWED);
}

static void test_writing_needs_the_token_even_on_loopback(void **state)
{
    (void)state;
    assert_int_equal(sbx_gate_check(&local_gate, true, NULL, HERE, NULL), SBX_ENTRY_NEEDS_TOKEN);
    assert_int_equal(sbx_gate_check(&local_gate, true, "Bearer s3cret", HERE, NULL), SBX_ENTRY_ALLOWED);
    assert_int_equal(sbx_gate_check(&local_gate, false, NULL, HERE, NULL), SBX_ENTRY_ALLOWED);
}

static void test_reading_needs_the_token_on_a_public_address(void **state)
{
    (void)state;
    assert_int_equal(sbx_gate_check(&public_gate, false, NULL, "stalls.example", NULL), SBX_ENTRY_NEEDS_TOKEN);
    assert_int_equal(sbx_gate_check(&public_gate, false, "bearer s3cret", "stalls.example", NULL), SBX_ENTRY_ALLOWED);
    /* base64 of "oncall:s3cret": what a browser sends when asked for Basic */
    assert_int_equal(sbx_gate_check(&public_gate, false, "Basic b25jYWxsOnMzY3JldA==", "x", NULL), SBX_ENTRY_ALLOWED);
}

static void test_what_is_nearly_the_token_is_not(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "Bearer",
                                        "Bearer ",
                                        "Bearer s3cre",
                                        "Bearer s3crets",
                                        "Bearer s3cres",
                                        "Bearer s3crets3cret",
                                        "Bearer S3CRET",
                                        "s3cret",
                                        "Basic s3cret",
                                        "Basic ",
                                        "Basic ====",
                                        "Basic b25jYWxs",
                                        "Basic OnMzY3Jl",
                                        "Basic b25j\xff",
                                        "Digest s3cret"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(sbx_gate_check(&public_gate, true, wrong[i], HERE, NULL), SBX_ENTRY_NEEDS_TOKEN);
}

/* DNS rebinding: a page on evil.example lets its name resolve to 127.0.0.1 and reads as "same origin". */
static void test_reading_on_loopback_needs_a_loopback_name(void **state)
{
    (void)state;
    static const char *const good[] = {"localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:80"};
    static const char *const bad[] = {
        "evil.example", "localhost.evil.example", "127.evil.example", "127.0.0.1.evil", "", "10.0.0.1", "[::2]"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(sbx_gate_check(&open_gate, false, NULL, good[i], NULL), SBX_ENTRY_ALLOWED);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(sbx_gate_check(&open_gate, false, NULL, bad[i], NULL), SBX_ENTRY_FOREIGN_HOST);
    assert_int_equal(sbx_gate_check(&open_gate, false, NULL, NULL, NULL), SBX_ENTRY_FOREIGN_HOST);
    assert_int_equal(sbx_gate_check(&local_gate, false, "Bearer s3cret", "proxy.example", NULL), SBX_ENTRY_ALLOWED);
}

static void test_pages_of_others_may_not_write(void **state)
{
    (void)state;
    assert_int_equal(sbx_gate_check(&open_gate, true, NULL, HERE, "https://evil.example"), SBX_ENTRY_FROM_PAGE);
    assert_int_equal(sbx_gate_check(&open_gate, true, NULL, HERE, "null"), SBX_ENTRY_FROM_PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loopback_without_a_token_is_open_to_this_machine),
        cmocka_unit_test(test_writing_needs_the_token_even_on_loopback),
        cmocka_unit_test(test_reading_needs_the_token_on_a_public_address),
        cmocka_unit_test(test_what_is_nearly_the_token_is_not),
        cmocka_unit_test(test_reading_on_loopback_needs_a_loopback_name),
        cmocka_unit_test(test_pages_of_others_may_not_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
