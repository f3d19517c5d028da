/* SPDX-License-Identifier: Apache-2.0 */
/* test_clients_since.c - the time from which clients' questions and answers are seen: from the time when the hooks are
 * installed, and no later.
 *
 * A forked worker takes this time over from its master, and a master that serves no client soon has these points
 * removed. So messages that began in a worker's first second were never judged: php-fpm's workers that hung then were
 * not reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock.h"
#include "the_capture.h"

static struct sbx_capture_settings with(uint64_t points)
{
    return (struct sbx_capture_settings){.enabled = 1, .interval_us = 1000, .points = points};
}

static uint64_t lose_points_and_get_them_back(void)
{
    struct sbx_capture_settings without = with(~SBX_POINTS_OF_CLIENTS), all = with(UINT64_MAX);
    sbx_capture_apply(&without);
    assert_int_equal(sbx_the_capture.clients_since_ns, UINT64_MAX);
    sbx_capture_apply(&all);
    assert_in_range(sbx_the_capture.clients_since_ns, sbx_now_ns(), UINT64_MAX - 1);
    return sbx_the_capture.clients_since_ns;
}

static void test_what_begins_once_all_hooks_are_in_is_seen(void **state)
{
    (void)state;
    uint64_t until_ns = lose_points_and_get_them_back();
    sbx_capture_hooks_are_in(UINT64_MAX);
    assert_in_range(sbx_the_capture.clients_since_ns, 1, sbx_now_ns());
    assert_true(sbx_the_capture.clients_since_ns < until_ns);
}

static void test_hooks_of_other_groups_say_nothing_of_clients(void **state)
{
    (void)state;
    uint64_t until_ns = lose_points_and_get_them_back();
    sbx_capture_hooks_are_in(~SBX_POINTS_OF_CLIENTS);
    assert_int_equal(sbx_the_capture.clients_since_ns, until_ns);
}

static void test_hooks_that_are_in_while_points_are_not_wanted_are_not_enough(void **state)
{
    (void)state;
    struct sbx_capture_settings without = with(~SBX_POINTS_OF_CLIENTS);
    sbx_capture_apply(&without);
    sbx_capture_hooks_are_in(UINT64_MAX);
    assert_int_equal(sbx_the_capture.clients_since_ns, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_begins_once_all_hooks_are_in_is_seen),
        cmocka_unit_test(test_hooks_of_other_groups_say_nothing_of_clients),
        cmocka_unit_test(test_hooks_that_are_in_while_points_are_not_wanted_are_not_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
