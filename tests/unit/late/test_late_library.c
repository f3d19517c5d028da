/* SPDX-License-Identifier: Apache-2.0 */
/* test_late_library.c - a library that is loaded only when it is needed: completely, or not at all. The test uses
 * libm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "late_library.h"

typedef double function_of_one(double);

static function_of_one *cosine, *none;

static int forget(void **state)
{
    (void)state;
    cosine = none = NULL;
    return 0;
}

static void test_a_library_is_loaded_with_its_functions(void **state)
{
    const struct sbx_late_function functions[] = {{"cos", &cosine}};
    (void)state;
    assert_true(sbx_late_library_load("libm.so.6", functions, 1));
    assert_non_null(cosine);
    assert_true(cosine(0.0) > 0.99);
}

static void test_of_a_library_that_lacks_a_function_none_is_set(void **state)
{
    const struct sbx_late_function functions[] = {{"cos", &cosine}, {"sbx_no_such_function", &none}};
    (void)state;
    assert_false(sbx_late_library_load("libm.so.6", functions, 2));
    assert_null(cosine);
    assert_null(none);
}

static void test_a_library_that_is_not_there_is_told(void **state)
{
    const struct sbx_late_function functions[] = {{"cos", &cosine}};
    (void)state;
    assert_false(sbx_late_library_load("libsbx-no-such-library.so.9", functions, 1));
    assert_null(cosine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_library_is_loaded_with_its_functions, forget),
        cmocka_unit_test_setup(test_of_a_library_that_lacks_a_function_none_is_set, forget),
        cmocka_unit_test_setup(test_a_library_that_is_not_there_is_told, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
