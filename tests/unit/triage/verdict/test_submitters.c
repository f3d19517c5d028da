/* SPDX-License-Identifier: Apache-2.0 */
/* test_submitters.c - tasks are counted by the function that queued them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "submitters.h"

static void test_the_function_that_queued_most_tasks_is_known_with_its_first_and_newest(void **state)
{
    (void)state;
    const struct sbx_location scroll = {.function = "on_scroll"}, again = {.function = "on_scroll"},
                              click = {.function = "on_click"};
    const struct sbx_stall_task tasks[4] = {{.from = 0}, {.from = 1}, {.from = 2}, {.from = 3}};
    struct sbx_submitters submitters = {.count = 0};
    sbx_submitters_add(&submitters, &click, &tasks[0]);
    sbx_submitters_add(&submitters, &scroll, &tasks[1]);
    sbx_submitters_add(&submitters, &again, &tasks[2]); /* the same function at another place */
    sbx_submitters_add(&submitters, &click, &tasks[3]);
    assert_int_equal(submitters.count, 2);
    assert_int_equal(submitters.tasks, 4);
    const struct sbx_submitter *most = &submitters.of[submitters.most];
    assert_string_equal(most->location->function, "on_scroll"); /* of equal counts the one that came first */
    assert_ptr_equal(most->first, &tasks[1]);
    assert_ptr_equal(most->newest, &tasks[2]);
}

static void test_tasks_of_too_many_functions_are_counted_and_no_more(void **state)
{
    (void)state;
    char names[SBX_SUBMITTERS_MAX + 5][16];
    struct sbx_location locations[SBX_SUBMITTERS_MAX + 5];
    const struct sbx_stall_task task = {.from = 0};
    struct sbx_submitters submitters = {.count = 0};
    for (unsigned i = 0; i < SBX_SUBMITTERS_MAX + 5; i++) {
        snprintf(names[i], sizeof names[i], "function_%u", i);
        locations[i] = (struct sbx_location){.function = names[i]};
        sbx_submitters_add(&submitters, &locations[i], &task);
    }
    assert_int_equal(submitters.count, SBX_SUBMITTERS_MAX);
    assert_int_equal(submitters.tasks, SBX_SUBMITTERS_MAX + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_function_that_queued_most_tasks_is_known_with_its_first_and_newest),
        cmocka_unit_test(test_tasks_of_too_many_functions_are_counted_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
