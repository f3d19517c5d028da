/* SPDX-License-Identifier: Apache-2.0 */
/* test_backoff.c - the waiting time as a function of numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "backoff.h"
#include "deliver.h"

static void test_the_span_doubles_up_to_ten_minutes(void **state)
{
    (void)state;
    assert_int_equal(sbx_backoff_ms(1, 0, UINT64_MAX), 1000);
    assert_int_equal(sbx_backoff_ms(2, 0, UINT64_MAX), 2000);
    assert_int_equal(sbx_backoff_ms(10, 0, UINT64_MAX), 512000);
    assert_int_equal(sbx_backoff_ms(11, 0, UINT64_MAX), 600000);
    assert_int_equal(sbx_backoff_ms(64, 0, UINT64_MAX), 600000); /* a shift would have overflowed */
    assert_int_equal(sbx_backoff_ms(UINT32_MAX, 0, UINT64_MAX), 600000);
    assert_int_equal(sbx_backoff_ms(5, 0, 0), 0);
}

static void test_waits_are_spread_over_the_whole_span(void **state)
{
    (void)state;
    uint64_t random = 1;
    unsigned tenths[10] = {0};
    for (int i = 0; i < 100000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t wait_ms = sbx_backoff_ms(11, 0, random);
        assert_true(wait_ms <= 600000);
        tenths[wait_ms == 600000 ? 9 : wait_ms / 60000]++;
    }
    for (int i = 0; i < 10; i++) {
        assert_in_range(tenths[i], 9500, 10500);
    }
}

static void test_never_sooner_than_the_server_asked(void **state)
{
    (void)state;
    assert_int_equal(sbx_backoff_ms(1, 120000, 0), 120000);
    assert_int_equal(sbx_backoff_ms(1, 120000, UINT64_MAX), 180000); /* spread over half of the time in addition */
    assert_int_equal(sbx_backoff_ms(1, 86400000, UINT64_MAX), 86400000 + 600000);
    assert_int_equal(sbx_backoff_ms(11, 1, UINT64_MAX), 600001);
}

static void test_net_05_retry_after_is_clamped_to_a_day(void **state)
{
    (void)state;
    const int64_t now_s = 784111777; /* Sun, 06 Nov 1994 08:49:37 GMT */
    assert_int_equal(sbx_retry_after_ms("120", now_s), 120000);
    assert_int_equal(sbx_retry_after_ms(" 120\r\n", now_s), 120000);
    assert_int_equal(sbx_retry_after_ms("0", now_s), 0);
    assert_int_equal(sbx_retry_after_ms("86401", now_s), 86400000);
    assert_int_equal(sbx_retry_after_ms("100000000000000000000", now_s), 86400000);
    assert_int_equal(sbx_retry_after_ms("Sun, 06 Nov 1994 08:51:37 GMT", now_s), 120000);
    assert_int_equal(sbx_retry_after_ms("Sun, 06 Nov 1995 08:51:37 GMT\r\n", now_s), 86400000);
    assert_int_equal(sbx_retry_after_ms("Sun, 06 Nov 1993 08:51:37 GMT", now_s), 0); /* libcurl: -349,817,049 */
}

static void test_net_05_retry_after_that_is_no_time_asks_for_nothing(void **state)
{
    (void)state;
    const char *const values[] = {"",
                                  " ",
                                  "-5",
                                  "soon",
                                  "12 minutes",
                                  "1.5",
                                  "Sun, 99 Foo 1994",
                                  "Sun, 06 Xyz 2094 08:49:37 GMT",
                                  "Sun, 06 anF 2094 08:49:37 GMT",
                                  "Sunday, 06-Nov-94 08:49:37 GMT",
                                  "Sun, 06 Nov 0000 08:49:37 GMT"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        assert_int_equal(sbx_retry_after_ms(values[i], 784111777), 0);
    }
}

/* NET-11 in numbers: 10,000 agents whose server is away for two hours, each waiting as sbx_backoff_ms() says. When the
 * server is back, no second has more than three times the requests of an even spread over the longest wait. `asked_ms`
 * is the wait that the server's gateway asks for meanwhile. */
static void assert_spread(uint64_t asked_ms, int is_one_moment)
{
    enum {
        AGENTS = 10000,
        SECONDS = 1300
    };
    const uint64_t outage_ms = 7200000;
    unsigned arrivals[SECONDS] = {0};
    uint64_t random = 42, span_ms = is_one_moment ? 600000 : 600000 + asked_ms;
    for (int agent = 0; agent < AGENTS; agent++) {
        uint64_t at_ms = (uint64_t)agent * 60; /* the first failures are within ten minutes */
        for (uint32_t attempt = 1; at_ms < outage_ms; attempt++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            /* A date asks all agents to come at the same moment, no matter when they asked. */
            uint64_t wait_ms = is_one_moment ? outage_ms - at_ms : asked_ms;
            at_ms += sbx_backoff_ms(attempt, wait_ms, random);
        }
        assert_true(at_ms - outage_ms <= span_ms);
        arrivals[(at_ms - outage_ms) / 1000]++;
    }
    unsigned most = 0;
    for (int i = 0; i + 9 < SECONDS; i++) {
        unsigned ten = 0;
        for (int j = 0; j < 10; j++) {
            ten += arrivals[i + j];
        }
        most = ten > most ? ten : most;
    }
    double mean = (double)AGENTS * 10000 / (double)span_ms;
    if (most > 3 * mean) {
        fail_msg("%u in ten seconds where the mean is %.0f (asked for %llu ms)", most, mean,
                 (unsigned long long)asked_ms);
    }
}

static void test_net_11_a_fleet_comes_back_spread_over_minutes(void **state)
{
    (void)state;
    assert_spread(0, 0);
    assert_spread(120000, 0);
    assert_spread(600000, 0);
    assert_spread(0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_span_doubles_up_to_ten_minutes),
        cmocka_unit_test(test_waits_are_spread_over_the_whole_span),
        cmocka_unit_test(test_never_sooner_than_the_server_asked),
        cmocka_unit_test(test_net_05_retry_after_is_clamped_to_a_day),
        cmocka_unit_test(test_net_05_retry_after_that_is_no_time_asks_for_nothing),
        cmocka_unit_test(test_net_11_a_fleet_comes_back_spread_over_minutes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
