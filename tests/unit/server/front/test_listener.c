/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "listener.h"

static void test_loopback_is_told_from_the_rest(void **state)
{
    (void)state;
    static const struct {
        const char *listen;
        bool is_loopback;
    } cases[] = {{"127.0.0.1:8321", true}, {"127.9.9.9:0", true}, {"localhost:1", true},  {"[::1]:8321", true},
                 {"0.0.0.0:8321", false},  {"[::]:8321", false},  {"10.1.2.3:80", false}, {"[fe80::1]:80", false}};
    char why[200];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool is_loopback = !cases[i].is_loopback;
        assert_int_equal(sbx_listen_is_loopback(cases[i].listen, &is_loopback, why, sizeof(why)), 0);
        assert_int_equal(is_loopback, cases[i].is_loopback);
    }
}

static void test_what_is_no_address_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        ":8321",
                                        "127.0.0.1:x",
                                        "127.0.0.1:65536",
                                        "127.0.0.1:-1",
                                        "127.0.0.1: 1",
                                        "127.0.0.1:1x",
                                        "example.com:80",
                                        "[::1:80",
                                        "[]:80"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        bool is_loopback;
        char why[200] = "";
        assert_int_equal(sbx_listen_is_loopback(wrong[i], &is_loopback, why, sizeof(why)), -EINVAL);
        assert_non_null(strstr(why, wrong[i]));
    }
}

static void test_port_0_takes_a_free_port_and_tells_it(void **state)
{
    (void)state;
    struct sbx_listener listener;
    char why[200];
    assert_int_equal(sbx_listener_open("127.0.0.1:0", &listener, why, sizeof(why)), 0);
    assert_true(listener.port > 0);
    assert_true(listener.is_loopback);
    close(listener.fd);
}

static void test_a_taken_port_is_named_with_the_reason(void **state)
{
    (void)state;
    struct sbx_listener first, second;
    char why[200] = "", text[40];
    assert_int_equal(sbx_listener_open("127.0.0.1:0", &first, why, sizeof(why)), 0);
    snprintf(text, sizeof(text), "127.0.0.1:%u", first.port);
    assert_int_equal(sbx_listener_open(text, &second, why, sizeof(why)), -EADDRINUSE);
    assert_non_null(strstr(why, text));
    assert_non_null(strstr(why, "in use"));
    close(first.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loopback_is_told_from_the_rest),
        cmocka_unit_test(test_what_is_no_address_is_refused_by_name),
        cmocka_unit_test(test_port_0_takes_a_free_port_and_tells_it),
        cmocka_unit_test(test_a_taken_port_is_named_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
