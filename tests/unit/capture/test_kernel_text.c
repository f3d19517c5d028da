/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernel_text.c - parsing of the kernel's text files, as kernels of different versions write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kernel_text.h"

static void test_schedstat_tells_the_delay_second(void **state)
{
    (void)state;
    uint64_t delay_ns = 0;
    assert_true(sbx_schedstat_delay("1234567 30603743 17\n", &delay_ns));
    assert_int_equal(delay_ns, 30603743);
    assert_true(sbx_schedstat_delay("0 30603743 1\n", &delay_ns)); /* a thread that has not run yet */
}

static void test_kernel_without_schedstat_is_known_by_its_zeros(void **state)
{
    (void)state;
    uint64_t delay_ns;
    assert_false(sbx_schedstat_delay("0 0 0\n", &delay_ns));
    assert_false(sbx_schedstat_delay("", &delay_ns));
    assert_false(sbx_schedstat_delay("12\n", &delay_ns));
    assert_false(sbx_schedstat_delay("12 x 3\n", &delay_ns));
}

static void test_pressure_has_a_total_a_line(void **state)
{
    (void)state;
    static const char text[] = "some avg10=0.00 avg60=1.20 avg300=0.05 total=2339351\n"
                               "full avg10=0.00 avg60=0.00 avg300=0.00 total=973441\n";
    uint64_t total_us = 0;
    assert_true(sbx_pressure_total(text, "some", &total_us));
    assert_int_equal(total_us, 2339351);
    assert_true(sbx_pressure_total(text, "full", &total_us));
    assert_int_equal(total_us, 973441);
}

static void test_pressure_line_that_is_missing_or_cut_is_not_taken_from_the_next(void **state)
{
    (void)state;
    uint64_t total_us;
    assert_false(sbx_pressure_total("some avg10=0.00\nfull avg10=0.00 total=7\n", "some", &total_us));
    assert_false(sbx_pressure_total("some avg10=0.00 total=7\n", "full", &total_us));
    assert_false(sbx_pressure_total("some avg10=0.00 total=\n", "some", &total_us));
    assert_false(sbx_pressure_total("", "some", &total_us));
}

static void test_faults_are_found_behind_any_name(void **state)
{
    (void)state;
    uint64_t minor = 0, major = 0;
    assert_true(sbx_stat_faults("77 (a) b) (c) S 1 77 77 0 -1 4194304 5023 99 41 7 12 3 0 0 20 0\n", &minor, &major));
    assert_int_equal(minor, 5023);
    assert_int_equal(major, 41);
    assert_false(sbx_stat_faults("77 (a) S 1 77 77 0 -1 4194304 5023", &minor, &major));
    assert_false(sbx_stat_faults("", &minor, &major));
}

static void test_value_stands_at_the_begin_of_a_line(void **state)
{
    (void)state;
    uint64_t value = 0;
    static const char status[] = "Name:\tVmSwap: 5\nVmSize:\t  100 kB\nVmSwap:\t     123 kB\n";
    assert_true(sbx_line_value(status, "VmSwap:", &value));
    assert_int_equal(value, 123);
    static const char v2[] = "usage_usec 5\nnr_throttled 3\nthrottled_usec 777\nnr_bursts 0\n";
    assert_true(sbx_line_value(v2, "throttled_usec ", &value));
    assert_int_equal(value, 777);
    assert_false(sbx_line_value(v2, "throttled_time ", &value));
    assert_false(sbx_line_value("VmSwap:\tmuch\n", "VmSwap:", &value));
}

static void test_control_group_is_that_of_its_controller(void **state)
{
    (void)state;
    static const char text[] = "9:name=systemd:/\n4:memory:/pods/one\n2:cpu,cpuacct:/pods/two\n0::/user.slice\n";
    char path[32];
    assert_true(sbx_control_group_path(text, "", path, sizeof path));
    assert_string_equal(path, "/user.slice");
    assert_true(sbx_control_group_path(text, "cpu", path, sizeof path));
    assert_string_equal(path, "/pods/two");
    assert_true(sbx_control_group_path(text, "cpuacct", path, sizeof path));
    assert_string_equal(path, "/pods/two");
    assert_true(sbx_control_group_path(text, "memory", path, sizeof path));
    assert_string_equal(path, "/pods/one");
    assert_false(sbx_control_group_path(text, "blkio", path, sizeof path));
    assert_false(sbx_control_group_path(text, "memory", path, 4)); /* no room: no path, not a truncated one */
    assert_false(sbx_control_group_path("nonsense\n::\n", "cpu", path, sizeof path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedstat_tells_the_delay_second),
        cmocka_unit_test(test_kernel_without_schedstat_is_known_by_its_zeros),
        cmocka_unit_test(test_pressure_has_a_total_a_line),
        cmocka_unit_test(test_pressure_line_that_is_missing_or_cut_is_not_taken_from_the_next),
        cmocka_unit_test(test_faults_are_found_behind_any_name),
        cmocka_unit_test(test_value_stands_at_the_begin_of_a_line),
        cmocka_unit_test(test_control_group_is_that_of_its_controller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
