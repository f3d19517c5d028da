/* SPDX-License-Identifier: Apache-2.0 */
/* test_delivery_memory.c - waits that survive the process, the boot and a clock that was set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery_memory.h"

static const char url[] = "https://stalls.example.org";
static const struct sbx_delivery_now then = {
    .boot_ms = 5000000, .wall_ms = UINT64_C(1700000000000), .boot_id = "0a1b2c3d-0000-4000-8000-000000000001"};
static struct sbx_delivery_memory written, seen;
static char text[SBX_DELIVERY_MEMORY_BYTES_MAX];

static size_t print_some(void)
{
    written.server = (struct sbx_hold){.fails = 3, .is_asked = true, .due_ms = then.boot_ms + 60000, .wait_ms = 90000};
    written.payload_count = SBX_HOLDS_MAX;
    for (size_t i = 0; i < SBX_HOLDS_MAX; i++) {
        written.payloads[i] =
            (struct sbx_hold){.fails = UINT32_MAX, .due_ms = then.boot_ms + i, .wait_ms = 2 * 86400000};
        memset(written.payloads[i].id, (int)i, SBX_PAYLOAD_ID_BYTES);
    }
    size_t bytes = sbx_delivery_memory_print(&written, url, &then, text);
    assert_true(bytes < sizeof text);
    return bytes;
}

static void test_what_is_printed_is_read_back(void **state)
{
    (void)state;
    size_t bytes = print_some();
    sbx_delivery_memory_parse(text, bytes, url, &then, &seen);
    assert_int_equal(seen.server.fails, 3);
    assert_true(seen.server.is_asked);
    assert_int_equal(seen.server.due_ms, then.boot_ms + 60000);
    assert_int_equal(seen.payload_count, SBX_HOLDS_MAX);
    for (size_t i = 0; i < SBX_HOLDS_MAX; i++) {
        assert_memory_equal(seen.payloads[i].id, written.payloads[i].id, SBX_PAYLOAD_ID_BYTES);
        assert_int_equal(seen.payloads[i].due_ms, i == 0 ? 0 : then.boot_ms + i);
        assert_int_equal(seen.payloads[i].fails, UINT32_MAX);
    }
}

static void test_after_a_reboot_the_wall_clock_counts_and_never_waits_longer_than_it_was(void **state)
{
    (void)state;
    size_t bytes = print_some();
    const struct {
        int64_t boot_ms, wall_ms; /* after the wait was stored */
        bool is_same_boot;
        uint64_t left_ms;
    } cases[] = {
        {10000, 10000, true, 50000},
        {10000, INT64_C(31536000000), true, 50000},      /* the wall clock is set; this boot's clock is right */
        {-4999000, 10000, false, 50000},                 /* rebooted */
        {-4999000, -INT64_C(31536000000), false, 90000}, /* and set back a year: not longer than the wait was */
        {-4999000, INT64_C(31536000000), false, 0},      /* set forward: it is tried */
        {60000, 60000, true, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sbx_delivery_now now = then;
        now.boot_ms += (uint64_t)cases[i].boot_ms;
        now.wall_ms += (uint64_t)cases[i].wall_ms;
        now.boot_id[0] = cases[i].is_same_boot ? '0' : '1';
        sbx_delivery_memory_parse(text, bytes, url, &now, &seen);
        assert_int_equal(seen.server.due_ms, cases[i].left_ms == 0 ? 0 : now.boot_ms + cases[i].left_ms);
        assert_int_equal(seen.server.fails, 3);
    }
    struct sbx_delivery_now nameless = then;
    nameless.boot_id[0] = '\0'; /* two unknown boots are not the same */
    bytes = sbx_delivery_memory_print(&written, url, &nameless, text);
    nameless.boot_ms += 1000;
    nameless.wall_ms += 5000;
    sbx_delivery_memory_parse(text, bytes, url, &nameless, &seen);
    assert_int_equal(seen.server.due_ms, nameless.boot_ms + 55000);
}

static void test_of_another_server_nothing_is_believed(void **state)
{
    (void)state;
    size_t bytes = print_some();
    sbx_delivery_memory_parse(text, bytes, "https://other.example.org", &then, &seen);
    assert_true(sbx_delivery_memory_is_empty(&seen));
}

static void test_damaged_lines_are_passed_over(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "stallbox-delivery 2 x\nserver 0 1 1 1 1 1\n",
        "server 0 1 1 1 1 1\n",
        "stallbox-delivery 1 x\nserver",
        "stallbox-delivery 1 x\nserver\n",
        "stallbox-delivery 1 x\nserver 0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        sbx_delivery_memory_parse(texts[i], strlen(texts[i]), url, &then, &seen);
        assert_true(sbx_delivery_memory_is_empty(&seen));
    }
    size_t bytes = print_some();
    for (size_t cut = 0; cut < 400; cut++) { /* as after a truncation: complete lines count */
        sbx_delivery_memory_parse(text, cut, url, &then, &seen);
        assert_true(seen.payload_count <= 4);
    }
    char *at = strstr(text, " 90000\n");
    memcpy(at, " 9000x\n", 7);
    sbx_delivery_memory_parse(text, bytes, url, &then, &seen);
    assert_int_equal(seen.server.fails, 0);
    assert_int_equal(seen.payload_count, 0); /* the server of these is not known */
    bytes = print_some();
    at = strstr(text, "payload 0202");
    memset(at + 8, 'x', 4);
    sbx_delivery_memory_parse(text, bytes, url, &then, &seen);
    assert_int_equal(seen.payload_count, SBX_HOLDS_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_printed_is_read_back),
        cmocka_unit_test(test_after_a_reboot_the_wall_clock_counts_and_never_waits_longer_than_it_was),
        cmocka_unit_test(test_of_another_server_nothing_is_believed),
        cmocka_unit_test(test_damaged_lines_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
