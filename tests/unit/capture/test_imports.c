/* SPDX-License-Identifier: Apache-2.0 */
/* test_imports.c - which functions the modules of this process call. The test program contains the searching code, so
 * its own calls do not count. It loads a module whose calls do count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <poll.h>

#include "imports.h"
#include "point.h"

static void *load(void)
{
    void *module = dlopen(IMPORTING_MODULE, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(module);
    return module;
}

static void test_a_point_or_a_name_is_imported_as_long_as_a_module_that_calls_it_is_loaded(void **state)
{
    (void)state;
    assert_int_equal(poll(NULL, 0, 0), 0); /* the call in the searching module */
    assert_false(sbx_imports_any(SBX_POINT_BIT(SBX_GROUP_POLL), ""));
    assert_false(sbx_imports_any(0, "no_such_function\0getppid\0"));
    void *module = load();
    assert_true(sbx_imports_any(SBX_POINT_BIT(SBX_GROUP_POLL), ""));
    assert_false(sbx_imports_any(SBX_POINT_BIT(SBX_GROUP_SLEEP) | SBX_POINT_BIT(SBX_GROUP_PROCESS), ""));
    assert_true(sbx_imports_any(0, "no_such_function\0getppid\0"));
    assert_false(sbx_imports_any(0, "no_such_function\0"));
    assert_int_equal(dlclose(module), 0);
#ifdef __GLIBC__ /* musl's dlclose() does not unload a module */
    assert_false(sbx_imports_any(SBX_POINT_BIT(SBX_GROUP_POLL), "getppid\0"));
#endif
}

static void test_what_the_c_library_itself_calls_does_not_count(void **state)
{
    (void)state;
    assert_false(sbx_imports_any(0, "_dl_find_dso_for_object\0_rtld_global_ro\0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_point_or_a_name_is_imported_as_long_as_a_module_that_calls_it_is_loaded),
        cmocka_unit_test(test_what_the_c_library_itself_calls_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
