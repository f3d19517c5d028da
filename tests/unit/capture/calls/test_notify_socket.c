/* SPDX-License-Identifier: Apache-2.0 */
/* test_notify_socket.c - which addresses are the notify socket's, and what is read of messages sent there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "notify_socket.h"

static unsigned pings, stops;
static uint64_t timeout_us;

static void told(enum sbx_notify_word word, uint64_t value)
{
    pings += word == SBX_NOTIFY_PING;
    stops += word == SBX_NOTIFY_STOPPING;
    timeout_us = word == SBX_NOTIFY_TIMEOUT ? value : timeout_us;
}

static int begin(void **state)
{
    (void)state;
    sbx_the_notify_socket = (struct sbx_notify_socket){.descriptor = -1};
    pings = stops = 0;
    timeout_us = 0;
    return 0;
}

/* The text is in memory that ends with it, so that a sanitizer sees a read past the end. */
static void read_text(const char *text)
{
    size_t bytes = strlen(text);
    char *copy = malloc(bytes != 0 ? bytes : 1);
    memcpy(copy, text, bytes);
    sbx_notify_socket_read(copy, bytes);
    free(copy);
}

static void test_only_whole_lines_are_words(void **state)
{
    (void)state;
    sbx_notify_socket_start("/run/systemd/notify", told);
    read_text("WATCHDOG=1");
    read_text("STATUS=WATCHDOG=1\nWATCHDOG=1\nREADY=1");
    assert_int_equal(pings, 2);
    read_text("WATCHDOG=10");
    read_text("WATCHDOG=trigger");
    read_text("XWATCHDOG=1");
    read_text("WATCHDOG=");
    read_text("");
    read_text("\n\n");
    assert_int_equal(pings, 2);
    read_text("STOPPING=1\n");
    assert_int_equal(stops, 1);
    read_text("WATCHDOG_USEC=20000000");
    assert_int_equal(timeout_us, 20000000);
    read_text("WATCHDOG_USEC=0");
    read_text("WATCHDOG_USEC=1x");
    read_text("WATCHDOG_USEC=99999999999999999999999999999");
    assert_int_equal(timeout_us, 20000000);
}

static void test_an_address_is_known_with_and_without_the_zero_behind_it(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/notify"};
    const size_t bytes = offsetof(struct sockaddr_un, sun_path) + strlen(address.sun_path);
    sbx_notify_sent(3, &address, bytes, "WATCHDOG=1", 10); /* before there is a socket */
    sbx_notify_socket_start("/run/systemd/notify", told);
    assert_int_equal(pings, 0);
    sbx_notify_sent(3, &address, bytes, "WATCHDOG=1", 10);
    sbx_notify_sent(3, &address, bytes + 1, "WATCHDOG=1", 10);
    assert_int_equal(pings, 2);
    sbx_notify_sent(3, &address, bytes - 1, "WATCHDOG=1", 10);
    sbx_notify_sent(3, &address, 2, "WATCHDOG=1", 10);
    sbx_notify_sent(3, NULL, 0, "WATCHDOG=1", 10);
    address.sun_path[1] = 'R';
    sbx_notify_sent(3, &address, bytes, "WATCHDOG=1", 10);
    assert_int_equal(pings, 2);
    address.sun_path[1] = 'r';
    sbx_notify_connected(3, &address, bytes);
    sbx_notify_sent(3, NULL, 0, "WATCHDOG=1", 10);
    sbx_notify_sent(4, NULL, 0, "WATCHDOG=1", 10);
    assert_int_equal(pings, 3);
}

static void test_an_abstract_address_begins_with_a_zero(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0manager"};
    sbx_notify_socket_start("@manager", told);
    sbx_notify_sent(3, &address, offsetof(struct sockaddr_un, sun_path) + 8, "WATCHDOG=1", 10);
    assert_int_equal(pings, 1);
    begin(state);
    sbx_notify_socket_start("vsock:2:1234", told);
    sbx_notify_socket_start("/", told);
    assert_null(sbx_the_notify_socket.told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_only_whole_lines_are_words, begin),
        cmocka_unit_test_setup(test_an_address_is_known_with_and_without_the_zero_behind_it, begin),
        cmocka_unit_test_setup(test_an_abstract_address_begins_with_a_zero, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
