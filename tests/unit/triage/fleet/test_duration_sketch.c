/* SPDX-License-Identifier: Apache-2.0 */
/* test_duration_sketch.c - quantiles within one per cent, and counts that are removed again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "duration_sketch.h"

enum {
    LOWEST = 0,
    BUCKETS = 2400
};

static void assert_within_one_percent(int64_t found, int64_t truth)
{
    int64_t off = llabs(found - truth);
    assert_true(off * 100 <= truth + 100); /* plus a nanosecond for rounding */
}

static void test_a_bucket_stands_for_each_of_its_durations_within_one_percent(void **state)
{
    (void)state;
    for (int64_t ns = 100; ns < INT64_C(1) << 60; ns += ns / 7 + 1) {
        assert_within_one_percent(sbx_duration_of_bucket(sbx_duration_bucket(ns)), ns);
    }
    assert_int_equal(sbx_duration_of_bucket(sbx_duration_bucket(0)), 0);
    assert_int_equal(sbx_duration_of_bucket(sbx_duration_bucket(-5)), 0);
    assert_true(sbx_duration_bucket(0) < sbx_duration_bucket(1));
    assert_true(sbx_duration_of_bucket(sbx_duration_bucket(INT64_MAX)) > 0);
}

static int by_value(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

static void test_quantiles_are_those_of_the_durations_within_one_percent(void **state)
{
    (void)state;
    enum {
        COUNT = 5000
    };
    static int64_t durations[COUNT];
    static struct sbx_bucket_count counts[BUCKETS];
    uint64_t seed = 7;
    for (int i = 0; i < BUCKETS; i++) {
        counts[i].bucket = LOWEST + i;
    }
    for (int i = 0; i < COUNT; i++) { /* 1 ms to an hour, most of them short; some are removed again */
        seed = seed * UINT64_C(6364136223846793005) + 1;
        durations[i] = INT64_C(1000000) << (seed >> 40) % 21;
        durations[i] += (int64_t)(seed >> 20) % durations[i];
        counts[sbx_duration_bucket(durations[i]) - LOWEST].count++;
        counts[sbx_duration_bucket((int64_t)(seed >> 30)) - LOWEST].count++;
        counts[sbx_duration_bucket((int64_t)(seed >> 30)) - LOWEST].count--;
    }
    qsort(durations, COUNT, sizeof durations[0], by_value);
    static const double shares[] = {0, 0.01, 0.5, 0.9, 0.99, 1};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        assert_within_one_percent(sbx_duration_quantile(counts, BUCKETS, shares[i]),
                                  durations[shares[i] > 0 ? (int)ceil(shares[i] * COUNT) - 1 : 0]);
    }
    assert_int_equal(sbx_duration_quantile(counts, 0, 0.5), 0);
    const struct sbx_bucket_count three[] = {{1000, 0}, {1100, 1}, {1200, 1}, {1300, 1}};
    assert_int_equal(sbx_duration_quantile(three, 4, 0.9), sbx_duration_of_bucket(1300)); /* of few the largest */
    assert_int_equal(sbx_duration_quantile(three, 4, 0), sbx_duration_of_bucket(1100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bucket_stands_for_each_of_its_durations_within_one_percent),
        cmocka_unit_test(test_quantiles_are_those_of_the_durations_within_one_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
