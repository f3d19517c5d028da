/* SPDX-License-Identifier: Apache-2.0 */
/* test_names_worker.c - source files are read in a separate process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "names_worker.h"

#define TEXT(text)                  \
    {                               \
        (text), sizeof(text "") - 1 \
    }

static void test_what_files_name_comes_out_in_their_order(void **state)
{
    (void)state;
    struct sbx_names_job jobs[] = {
        {.runtime = SBX_NAMES_PYTHON, .file = TEXT("a.py"), .text = TEXT("def first(): pass\n"), .result = -1},
        {.runtime = SBX_NAMES_PYTHON, .file = TEXT("b.py"), .text = TEXT("def second(): pass\n"), .result = -1},
    };
    struct sbx_name_list lists[SBX_NAMES_RUNTIMES] = {{0}};
    assert_int_equal(sbx_names_worker_read(jobs, 2, lists), 0);
    assert_int_equal(jobs[0].result, 0);
    assert_int_equal(jobs[1].result, 0);
    const struct sbx_name_list *list = &lists[SBX_NAMES_PYTHON];
    const char *first = memmem(list->text, list->bytes, "\ta.py\tfirst\n", 12),
               *second = memmem(list->text, list->bytes, "\tb.py\tsecond\n", 13);
    assert_true(first != NULL && second != NULL && first < second);
    sbx_name_list_finish(&lists[SBX_NAMES_PYTHON]);
}

/* Bytes that cannot be read end the reading process, as a fault in a parser would. */
static void test_a_file_that_ends_the_process_is_named_and_the_others_are_read(void **state)
{
    (void)state;
    struct sbx_names_job jobs[] = {
        {.runtime = SBX_NAMES_PYTHON, .file = TEXT("a.py"), .text = TEXT("def first(): pass\n"), .result = 0},
        {.runtime = SBX_NAMES_PYTHON, .file = TEXT("bad.py"), .text = {(const char *)(uintptr_t)64, 100}, .result = 0},
        {.runtime = SBX_NAMES_PYTHON, .file = TEXT("c.py"), .text = TEXT("def third(): pass\n"), .result = 0},
    };
    struct sbx_name_list lists[SBX_NAMES_RUNTIMES] = {{0}};
    assert_int_equal(sbx_names_worker_read(jobs, 3, lists), 0);
    assert_int_equal(jobs[0].result, 0);
    assert_int_equal(jobs[1].result, -ECHILD);
    assert_int_equal(jobs[2].result, 0);
    const struct sbx_name_list *list = &lists[SBX_NAMES_PYTHON];
    assert_non_null(memmem(list->text, list->bytes, "\ta.py\tfirst\n", 12));
    assert_non_null(memmem(list->text, list->bytes, "\tc.py\tthird\n", 12));
    sbx_name_list_finish(&lists[SBX_NAMES_PYTHON]);
}

static void test_no_files_are_no_lines(void **state)
{
    (void)state;
    struct sbx_name_list lists[SBX_NAMES_RUNTIMES] = {{0}};
    assert_int_equal(sbx_names_worker_read(NULL, 0, lists), 0);
    assert_int_equal(lists[SBX_NAMES_PYTHON].bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_files_name_comes_out_in_their_order),
        cmocka_unit_test(test_a_file_that_ends_the_process_is_named_and_the_others_are_read),
        cmocka_unit_test(test_no_files_are_no_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
