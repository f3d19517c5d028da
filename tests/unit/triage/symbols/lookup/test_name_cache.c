/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_cache.c - cached names equal the demangler's names, even if the cache is small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "demangle.h"
#include "name_cache.h"

static void test_a_kept_name_is_what_demangling_gives(void **state)
{
    (void)state;
    static char expected[SBX_NAME_BYTES_MAX];
    const size_t limits[] = {0, 200, 100000, 4 << 20};
    for (size_t l = 0; l < sizeof limits / sizeof limits[0]; l++) {
        struct sbx_name_cache *cache = sbx_name_cache_create(limits[l]);
        for (unsigned i = 0; i < 60000; i++) { /* more than there are slots, and each one again soon */
            char name[64];
            snprintf(name, sizeof name, i % 3 == 0 ? "_plain_%u" : "_ZN5outer10inner%uEv", 10000 + i / 2 % 29000);
            sbx_demangle(name, expected, sizeof expected);
            assert_string_equal(sbx_name_cache_read(cache, name), expected);
        }
        sbx_name_cache_destroy(cache);
    }
}

static void test_a_name_without_end_is_cut_and_kept_like_any(void **state)
{
    (void)state;
    static char name[3 * SBX_NAME_BYTES_MAX], expected[SBX_NAME_BYTES_MAX];
    struct sbx_name_cache *cache = sbx_name_cache_create(1 << 20);
    memset(name, 'x', sizeof name - 1);
    name[0] = '_';
    sbx_demangle(name, expected, sizeof expected);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(sbx_name_cache_read(cache, name), expected);
    }
    sbx_name_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_kept_name_is_what_demangling_gives),
        cmocka_unit_test(test_a_name_without_end_is_cut_and_kept_like_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
