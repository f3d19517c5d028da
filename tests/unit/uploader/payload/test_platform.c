/* SPDX-License-Identifier: Apache-2.0 */
/* test_platform.c - the machine, described by six small numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "platform.h"

static struct sbx_platform parse(const char *text)
{
    struct sbx_platform platform = {.os = 99, .os_major = 99};
    sbx_platform_parse_os_release(text, strlen(text), &platform);
    return platform;
}

static void test_os_release_files_of_distributions_are_understood(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint32_t os, major;
    } files[] = {
        {"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nVERSION=\"12 (bookworm)\"\nID=debian\n", 1,
         12},
        {"NAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\nID=ubuntu\nID_LIKE=debian\n", 2, 22},
        {"NAME=\"Fedora Linux\"\nID=fedora\nVERSION_ID=40\n", 3, 40},
        {"ID=\"rhel\"\nVERSION_ID=\"9.3\"", 4, 9},
        {"ID='rocky'\nVERSION_ID='8.10'\n", 4, 8},
        {"ID=\"opensuse-tumbleweed\"\nVERSION_ID=\"20240212\"\n", 5, 0}, /* a date would show the last update */
        {"ID=arch\nBUILD_ID=rolling\n", 6, 0},
        {"ID=alpine\nVERSION_ID=3.19.1\n", 7, 3},
        {"ID=annas-own-linux\nVERSION_ID=1\n", 0, 1},
        {"", 0, 0},
        {"ID=\nVERSION_ID=\n\n===\nID", 0, 0},
        {"ID=\"debian", 0, 0},
        {"VERSION_ID=99999999999999999999\n", 0, 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct sbx_platform platform = parse(files[i].text);
        assert_int_equal(platform.os, files[i].os);
        assert_int_equal(platform.os_major, files[i].major);
    }
}

static void test_of_the_kernel_only_two_numbers_are_taken(void **state)
{
    (void)state;
    struct sbx_platform platform = {.os = 0};
    sbx_platform_parse_kernel("6.1.0-18-amd64-annas-laptop", &platform);
    assert_int_equal(platform.kernel_major, 6);
    assert_int_equal(platform.kernel_minor, 1);
    sbx_platform_parse_kernel("5.15.153.1-microsoft-standard-WSL2", &platform);
    assert_int_equal(platform.kernel_major, 5);
    assert_int_equal(platform.kernel_minor, 15);
    sbx_platform_parse_kernel("annas-kernel", &platform);
    assert_int_equal(platform.kernel_major, 0);
    assert_int_equal(platform.kernel_minor, 0);
    sbx_platform_parse_kernel("-2.-4", &platform); /* sscanf() with %u gave 4294967294 */
    assert_int_equal(platform.kernel_major, 0);
    assert_int_equal(platform.kernel_minor, 0);
}

static void test_powers_of_two_are_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(sbx_platform_log2(0), 0);
    assert_int_equal(sbx_platform_log2(1), 0);
    assert_int_equal(sbx_platform_log2(2), 1);
    assert_int_equal(sbx_platform_log2(3), 1);
    assert_int_equal(sbx_platform_log2(4), 2);
    assert_int_equal(sbx_platform_log2(7), 3);
    assert_int_equal(sbx_platform_log2(15), 4); /* "16 GiB" less the firmware's part */
    assert_int_equal(sbx_platform_log2(16), 4);
    assert_true(sbx_platform_log2(UINT64_MAX) <= 40);
}

static void test_this_machine_is_one(void **state)
{
    (void)state;
    struct sbx_platform platform;
    sbx_platform_read(&platform);
    assert_true(platform.kernel_major >= 3);
    assert_true(platform.log2_cores < 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_os_release_files_of_distributions_are_understood),
        cmocka_unit_test(test_of_the_kernel_only_two_numbers_are_taken),
        cmocka_unit_test(test_powers_of_two_are_the_nearest),
        cmocka_unit_test(test_this_machine_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
