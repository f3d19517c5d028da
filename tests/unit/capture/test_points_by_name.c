/* SPDX-License-Identifier: Apache-2.0 */
/* test_points_by_name.c - the original functions of capture points are those that the loader finds by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "points_by_name.h"

#if defined(__x86_64__)
#define OLDEST_VERSION "GLIBC_2.2.5"
#else
#define OLDEST_VERSION "GLIBC_2.17"
#endif

static void *ask_loader(const struct sbx_point *point)
{
    void *told = dlsym(RTLD_DEFAULT, point->symbol);
#ifdef __GLIBC__
    if (told == NULL && !sbx_point_may_come_late(point)) {
        told = dlvsym(RTLD_DEFAULT, point->symbol, OLDEST_VERSION);
    }
#endif
    return told;
}

static int setup(void **state)
{
    (void)state;
    sbx_points_resolve();
    return 0;
}

static void test_an_original_is_what_the_loader_gives_for_its_name(void **state)
{
    unsigned found = 0, absent = 0;
    (void)state;
    for (size_t list = 0; list < sbx_point_list_count; list++) {
        for (size_t i = 0; i < sbx_point_lists[list]->count; i++) {
            const struct sbx_point *point = &sbx_point_lists[list]->points[i];
            void *told = ask_loader(point);
            if (*point->original != told) {
                fail_msg("%s: %p, and the loader says %p", point->symbol, *point->original, told);
            }
            found += told != NULL;
            absent += told == NULL;
        }
    }
    assert_in_range(found, 200, SBX_POINTS_MAX); /* of libc */
    assert_in_range(absent, 20, SBX_POINTS_MAX); /* of libraries that are not loaded here */
}

static void test_a_point_whose_library_may_come_late_is_known_before(void **state)
{
    (void)state;
    assert_null(dlsym(RTLD_DEFAULT, "g_idle_add"));
    assert_int_not_equal(sbx_point_named("g_idle_add"), SBX_NO_POINT);
    assert_int_not_equal(sbx_point_named("poll"), SBX_NO_POINT);
    assert_int_equal(sbx_point_named("nobody_hooks_this"), SBX_NO_POINT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_original_is_what_the_loader_gives_for_its_name),
        cmocka_unit_test(test_a_point_whose_library_may_come_late_is_known_before),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
