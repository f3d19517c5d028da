/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate.h"

#define HERE "127.0.0.1:8321"
static char s3cret[] = "s3cret", sender[] = "of a sender", builder[] = "of-a-pipeline", reader[] = "of-a-reader";
static struct sbx_gate open_gate, local_gate, public_gate, role_gate, local_role_gate;

static struct sbx_token_ring *ring_of(size_t count)
{
    static const unsigned rights[] = {SBX_RIGHT_ALL, SBX_RIGHT_SEND, SBX_RIGHT_SYMBOLS, SBX_RIGHT_READ};
    const char *const texts[] = {s3cret, sender, builder, reader};
    struct sbx_token_ring *ring;
    char why[200];
    assert_int_equal(sbx_token_ring_create(NULL, NULL, &ring, why, sizeof(why)), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sbx_token_ring_add(ring, texts[i], rights[i]), 0);
    return ring;
}

static int set_up(void **state)
{
    (void)state;
    open_gate = (struct sbx_gate){.tokens = ring_of(0), .is_loopback = true};
    local_gate = (struct sbx_gate){.tokens = ring_of(1), .is_loopback = true};
    public_gate = (struct sbx_gate){.tokens = ring_of(1)};
    role_gate = (struct sbx_gate){.tokens = ring_of(4)};
    local_role_gate = (struct sbx_gate){.tokens = ring_of(4), .is_loopback = true};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sbx_token_ring_destroy(open_gate.tokens);
    sbx_token_ring_destroy(local_gate.tokens);
    sbx_token_ring_destroy(public_gate.tokens);
    sbx_token_ring_destroy(role_gate.tokens);
    sbx_token_ring_destroy(local_role_gate.tokens);
    return 0;
}

static enum sbx_entry check_of(const struct sbx_gate *gate, unsigned rights, bool is_write, const char *authorization,
                               const char *host, const char *origin)
{
    struct sbx_token token;
    bool has_token = sbx_gate_token(gate, authorization, &token);
    return sbx_gate_check(gate, rights, is_write, has_token ? &token : NULL, host, origin);
}

/* Check a request that sends or reads. */
static enum sbx_entry check(const struct sbx_gate *gate, bool is_write, const char *authorization, const char *host,
                            const char *origin)
{
    return check_of(gate, is_write ? SBX_RIGHT_SEND : SBX_RIGHT_READ, is_write, authorization, host, origin);
}

static void test_loopback_without_a_token_is_open_to_this_machine(void **state)
{
    (void)state;
    assert_int_equal(check(&open_gate, true, NULL, HERE, NULL), SBX_ENTRY_ALLOWED);
    assert_int_equal(check(&open_gate, false, NULL, HERE, NULL), SBX_ENTRY_ALLOWED);
}

static void test_writing_needs_the_token_even_on_loopback(void **state)
{
    (void)state;
    assert_int_equal(check(&local_gate, true, NULL, HERE, NULL), SBX_ENTRY_NEEDS_TOKEN);
    assert_int_equal(check(&local_gate, true, "Bearer s3cret", HERE, NULL), SBX_ENTRY_ALLOWED);
    assert_int_equal(check(&local_gate, false, NULL, HERE, NULL), SBX_ENTRY_ALLOWED);
}

static void test_reading_needs_the_token_on_a_public_address(void **state)
{
    (void)state;
    assert_int_equal(check(&public_gate, false, NULL, "stalls.example", NULL), SBX_ENTRY_NEEDS_TOKEN);
    assert_int_equal(check(&public_gate, false, "bearer s3cret", "stalls.example", NULL), SBX_ENTRY_ALLOWED);
    /* base64 of "oncall:s3cret": what a browser sends when asked for Basic */
    assert_int_equal(check(&public_gate, false, "Basic b25jYWxsOnMzY3JldA==", "x", NULL), SBX_ENTRY_ALLOWED);
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
        assert_int_equal(check(&public_gate, true, wrong[i], HERE, NULL), SBX_ENTRY_NEEDS_TOKEN);
}

/* DNS rebinding: a page on evil.example lets its own name resolve to 127.0.0.1, and then reads as "same origin". */
static void test_reading_on_loopback_needs_a_loopback_name(void **state)
{
    (void)state;
    static const char *const good[] = {"localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:80"};
    static const char *const bad[] = {
        "evil.example", "localhost.evil.example", "127.evil.example", "127.0.0.1.evil", "", "10.0.0.1", "[::2]"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(check(&open_gate, false, NULL, good[i], NULL), SBX_ENTRY_ALLOWED);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(check(&open_gate, false, NULL, bad[i], NULL), SBX_ENTRY_FOREIGN_HOST);
    assert_int_equal(check(&open_gate, false, NULL, NULL, NULL), SBX_ENTRY_FOREIGN_HOST);
    assert_int_equal(check(&local_gate, false, "Bearer s3cret", "proxy.example", NULL), SBX_ENTRY_ALLOWED);
}

static void test_pages_of_others_may_not_write(void **state)
{
    (void)state;
    assert_int_equal(check(&open_gate, true, NULL, HERE, "https://evil.example"), SBX_ENTRY_FROM_PAGE);
    assert_int_equal(check(&open_gate, true, NULL, HERE, "null"), SBX_ENTRY_FROM_PAGE);
}

/* A form of one of our pages has the host that it posts to as its origin. */
static void test_pages_of_our_own_may_write(void **state)
{
    (void)state;
    assert_int_equal(check(&open_gate, true, NULL, "localhost:1", "http://localhost:1"), SBX_ENTRY_ALLOWED);
    assert_int_equal(check(&open_gate, true, NULL, "localhost:1", "http://localhost:2"), SBX_ENTRY_FROM_PAGE);
    assert_int_equal(check(&open_gate, true, NULL, "evil.example", "http://evil.example"), SBX_ENTRY_FROM_PAGE);
    assert_int_equal(check(&open_gate, true, NULL, NULL, "http://"), SBX_ENTRY_FROM_PAGE);
    assert_int_equal(check(&local_gate, true, "Bearer s3cret", "proxy.example", "https://proxy.example"),
                     SBX_ENTRY_ALLOWED);
    assert_int_equal(check(&local_gate, true, NULL, "proxy.example", "https://proxy.example"), SBX_ENTRY_NEEDS_TOKEN);
}

static void test_a_token_is_for_what_it_was_given_for(void **state)
{
    (void)state;
    static const struct {
        unsigned right;
        const char *authorization;
    } roles[] = {{SBX_RIGHT_SEND, "Bearer of a sender"},
                 {SBX_RIGHT_SYMBOLS, "Bearer of-a-pipeline"},
                 {SBX_RIGHT_READ, "Bearer of-a-reader"}};
    for (size_t i = 0; i < 3; i++) {
        for (size_t wanted = 0; wanted < 3; wanted++)
            assert_int_equal(check_of(&role_gate, roles[wanted].right, wanted != 2, roles[i].authorization, "x", NULL),
                             i == wanted ? SBX_ENTRY_ALLOWED : SBX_ENTRY_NO_RIGHT);
        assert_int_equal(check_of(&role_gate, SBX_RIGHT_ADMIN, true, roles[i].authorization, "x", NULL),
                         SBX_ENTRY_NO_RIGHT);
        assert_int_equal(check_of(&role_gate, roles[i].right, i != 2, "Bearer s3cret", "x", NULL), SBX_ENTRY_ALLOWED);
        assert_int_equal(check_of(&role_gate, roles[i].right, i != 2, "Bearer of", "x", NULL), SBX_ENTRY_NEEDS_TOKEN);
    }
    assert_int_equal(check_of(&role_gate, SBX_RIGHT_SYMBOLS | SBX_RIGHT_READ, false, "Bearer of-a-pipeline", "x", NULL),
                     SBX_ENTRY_ALLOWED);
    /* On loopback a reader needs no token, whatever token it has. A writer needs one. */
    assert_int_equal(check_of(&local_role_gate, SBX_RIGHT_READ, false, "Bearer of a sender", HERE, NULL),
                     SBX_ENTRY_ALLOWED);
    assert_int_equal(check_of(&local_role_gate, SBX_RIGHT_SEND, true, "Bearer of-a-reader", HERE, NULL),
                     SBX_ENTRY_NO_RIGHT);
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
        cmocka_unit_test(test_pages_of_our_own_may_write),
        cmocka_unit_test(test_a_token_is_for_what_it_was_given_for),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
