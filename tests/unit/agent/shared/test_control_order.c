/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control_order.h"

static struct sbx_control_page control; /* zeroed, as in a new recording */

static int begin_anew(void **state)
{
    (void)state;
    memset(&control, 0, sizeof control);
    control.wanted.enabled = 1;
    control.wanted.points = SBX_POINT_BIT(SBX_GROUP_POLL);
    return 0;
}

static void test_an_order_has_the_next_generation_and_rings_the_bell_once(void **state)
{
    (void)state;
    control.generation = 7;
    assert_int_equal(sbx_control_order(&control), 8);
    assert_int_equal(control.generation, 8);
    assert_int_equal(control.bell, 1);
}

static void test_an_order_is_taken_when_its_generation_is_in_force_and_no_other(void **state)
{
    (void)state;
    uint32_t generation = sbx_control_order(&control);
    assert_false(sbx_control_is_taken(&control, generation, false));
    control.applied = generation;
    assert_true(sbx_control_is_taken(&control, generation, false));
    assert_false(sbx_control_is_taken(&control, generation + 1, false));
}

static void test_hooks_are_waited_for_where_that_is_asked_and_those_of_the_loader_belong_to_them(void **state)
{
    (void)state;
    uint32_t generation = sbx_control_order(&control);
    control.applied = generation;
    control.hooked_points = SBX_POINT_BIT(SBX_GROUP_POLL);
    assert_false(sbx_control_is_taken(&control, generation, true));
    control.hooked_points |= SBX_POINT_BIT(SBX_GROUP_LOADER);
    assert_true(sbx_control_is_taken(&control, generation, true));
}

static void test_a_recorder_that_is_to_be_off_has_no_hook(void **state)
{
    (void)state;
    control.wanted.enabled = 0;
    uint32_t generation = sbx_control_order(&control);
    control.applied = generation;
    control.hooked_points = SBX_POINT_BIT(SBX_GROUP_LOADER);
    assert_false(sbx_control_is_taken(&control, generation, true));
    control.hooked_points = 0;
    assert_true(sbx_control_is_taken(&control, generation, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_an_order_has_the_next_generation_and_rings_the_bell_once, begin_anew),
        cmocka_unit_test_setup(test_an_order_is_taken_when_its_generation_is_in_force_and_no_other, begin_anew),
        cmocka_unit_test_setup(test_hooks_are_waited_for_where_that_is_asked_and_those_of_the_loader_belong_to_them,
                               begin_anew),
        cmocka_unit_test_setup(test_a_recorder_that_is_to_be_off_has_no_hook, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
