/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_path.c - callstacks as lists of functions, and which of their calls are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "call_path.h"
#include "report_fixture.h"

struct two_paths {
    struct sbx_path_frame a[SBX_CALL_PATH_MAX], b[SBX_CALL_PATH_MAX];
};

/* How many outer calls two stacks share. */
static size_t shared(const char *a, const char *b)
{
    struct report_fixture *fixture = report_fixture_create();
    uint32_t first = report_fixture_stack(fixture, a), second = report_fixture_stack(fixture, b);
    struct sbx_call_paths *paths = sbx_call_paths_create(report_fixture_report(fixture));
    struct two_paths *two = malloc(sizeof *two);
    assert_non_null(two);
    size_t a_count = sbx_call_path_read(paths, first, two->a), b_count = sbx_call_path_read(paths, second, two->b);
    size_t count = sbx_call_path_shared(two->a, a_count, two->b, b_count);
    assert_int_equal(count, sbx_call_path_shared(two->b, b_count, two->a, a_count));
    free(two);
    sbx_call_paths_destroy(paths);
    report_fixture_destroy(fixture);
    return count;
}

static void test_a_path_is_outermost_first_with_inlined_calls(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    uint32_t stack = report_fixture_stack(fixture, "main@1;outer@2>middle@3>inner@4;libc.so.6!read@5");
    struct sbx_call_paths *paths = sbx_call_paths_create(report_fixture_report(fixture));
    struct sbx_path_frame path[SBX_CALL_PATH_MAX];
    assert_int_equal(sbx_call_path_read(paths, stack, path), 5);
    static const char *const expected[] = {"main", "outer", "middle", "inner", "read"};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(path[i].location->function, expected[i]);
    }
    assert_int_equal(path[1].frame, path[3].frame);
    assert_string_equal(path[4].location->module, "libc.so.6");
    sbx_call_paths_destroy(paths);
    report_fixture_destroy(fixture);
}

static void test_unknown_stacks_are_empty(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_stack(fixture, "main");
    struct sbx_call_paths *paths = sbx_call_paths_create(report_fixture_report(fixture));
    struct sbx_path_frame path[SBX_CALL_PATH_MAX];
    assert_int_equal(sbx_call_path_read(paths, 0, path), 0);
    assert_int_equal(sbx_call_path_read(paths, 2, path), 0);
    assert_int_equal(sbx_call_path_read(paths, UINT32_MAX, path), 0);
    sbx_call_paths_destroy(paths);
    report_fixture_destroy(fixture);
}

static void test_a_stack_that_is_not_whole_says_why(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    uint32_t known = report_fixture_stack(fixture, "[end:2];leaf"),
             unknown = report_fixture_stack(fixture, "[end:99];leaf");
    struct sbx_call_paths *paths = sbx_call_paths_create(report_fixture_report(fixture));
    struct sbx_path_frame path[SBX_CALL_PATH_MAX];
    assert_int_equal(sbx_call_path_read(paths, known, path), 2);
    assert_string_equal(path[0].location->function, "[stack not whole: no_row]");
    assert_int_equal(sbx_call_path_read(paths, unknown, path), 2);
    assert_string_equal(path[0].location->function, "[stack not whole: unknown]");
    sbx_call_paths_destroy(paths);
    report_fixture_destroy(fixture);
}

static void test_a_caller_that_moved_on_is_shared_but_not_what_it_calls_next(void **state)
{
    (void)state;
    assert_int_equal(shared("main@1;f@2;g@3", "main@1;f@2;g@3"), 3);
    assert_int_equal(shared("main@1;f@2;g@3", "main@1;f@2"), 2);
    assert_int_equal(shared("main@1;f@2;g@3", "main@1;f@5;g@3"), 2); /* g is called from another line: another call */
    assert_int_equal(shared("main@1;f@2;g@3", "main@1;f@2;g@9"), 3); /* g is at another line inside: the same call */
    assert_int_equal(shared("main@1;f@2", "main@1;h@2"), 1);
    assert_int_equal(shared("main@1", "libc.so.6!main@1"), 0); /* another function of the same name */
    assert_int_equal(shared("", "main"), 0);
}

static void test_inlined_calls_from_other_lines_are_other_calls(void **state)
{
    (void)state;
    assert_int_equal(shared("main@1;f@2>in@3;g@4", "main@1;f@2>in@3;g@4"), 4);
    assert_int_equal(shared("main@1;f@2>in@3", "main@1;f@2>in@8"), 3); /* the same inlined call, at another line */
    assert_int_equal(shared("main@1;f@2>in@3", "main@1;f@7>in@3"), 2); /* inlined at another line of f */
}

static void test_a_path_that_is_too_deep_keeps_both_ends(void **state)
{
    (void)state;
    struct report_fixture *fixture = report_fixture_create();
    char text[16384] = "main";
    for (unsigned i = 0; i < 900; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), ";f%u", i);
    }
    uint32_t stack = report_fixture_stack(fixture, text);
    struct sbx_call_paths *paths = sbx_call_paths_create(report_fixture_report(fixture));
    struct sbx_path_frame path[SBX_CALL_PATH_MAX];
    assert_int_equal(sbx_call_path_read(paths, stack, path), SBX_CALL_PATH_MAX);
    assert_string_equal(path[0].location->function, "main");
    assert_string_equal(path[1].location->function, "f0");
    assert_string_equal(path[SBX_CALL_PATH_MAX - 1].location->function, "f899");
    assert_string_equal(path[SBX_CALL_PATH_MAX - 2].location->function, "f898");
    size_t marks = 0;
    for (size_t i = 0; i < SBX_CALL_PATH_MAX; i++) {
        assert_non_null(path[i].location);
        marks += strcmp(path[i].location->function, "[frames left out]") == 0;
    }
    assert_int_equal(marks, 1);
    sbx_call_paths_destroy(paths);
    report_fixture_destroy(fixture);
}

static size_t without_wait(const char *stack, const char *op_name)
{
    struct report_fixture *fixture = report_fixture_create();
    uint32_t id = report_fixture_stack(fixture, stack);
    struct sbx_call_paths *paths = sbx_call_paths_create(report_fixture_report(fixture));
    struct sbx_path_frame path[SBX_CALL_PATH_MAX];
    size_t count = sbx_call_path_read(paths, id, path);
    count = sbx_call_path_without_wait(path, count, op_name);
    sbx_call_paths_destroy(paths);
    report_fixture_destroy(fixture);
    return count;
}

static void test_the_frames_of_the_wait_itself_are_taken_off(void **state)
{
    (void)state;
    assert_int_equal(without_wait("main;f;libc.so.6!nanosleep;libc.so.6!clock_nanosleep", "nanosleep"), 2);
    assert_int_equal(without_wait("main;f;libc.so.6!__GI___clock_nanosleep", "clock_nanosleep"), 2);
    assert_int_equal(without_wait("main;f;libc.so.6!__libc_read", "read"), 2);
    assert_int_equal(without_wait("main;f;libc.so.6!___pthread_cond_timedwait64;libc.so.6!__pthread_cond_wait_common",
                                  "pthread_cond_timedwait"),
                     2);
    assert_int_equal(without_wait("main;f", "nanosleep"), 2);
    assert_int_equal(without_wait("main;reader", "read"), 2); /* another function whose name begins the same */
    assert_int_equal(without_wait("", "read"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_is_outermost_first_with_inlined_calls),
        cmocka_unit_test(test_unknown_stacks_are_empty),
        cmocka_unit_test(test_a_stack_that_is_not_whole_says_why),
        cmocka_unit_test(test_a_caller_that_moved_on_is_shared_but_not_what_it_calls_next),
        cmocka_unit_test(test_inlined_calls_from_other_lines_are_other_calls),
        cmocka_unit_test(test_a_path_that_is_too_deep_keeps_both_ends),
        cmocka_unit_test(test_the_frames_of_the_wait_itself_are_taken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
