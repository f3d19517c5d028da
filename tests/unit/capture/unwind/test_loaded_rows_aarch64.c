/* SPDX-License-Identifier: Apache-2.0 */
/* test_loaded_rows_aarch64.c - how much of the loaded modules' code has a rule that a walk can use. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "code_map_fixture.h"

static void test_rows_of_loaded_modules_fit_their_rules(void **state)
{
    (void)state;
    struct code_map_fixture modules;
    unsigned libraries = 0;
    code_map_fixture_init(&modules, 1);
    for (uint32_t m = 0; m < modules.map->count; m++) {
        const struct sbx_code_range *range = &modules.map->ranges[m];
        if (range->rows == NULL) {
            continue;
        }
        uint64_t bytes_of[2] = {0, 0};
        uint32_t rows_of[2] = {0, 0};
        for (uint32_t i = 0; i + 1 < range->rows->count; i++) {
            if (range->rows->rules[i] == SBX_RULE_NONE) {
                continue;
            }
            bool fits = range->rows->rules[i] != SBX_RULE_UNSUPPORTED;
            bytes_of[fits] += range->rows->offsets[i + 1] - range->rows->offsets[i];
            rows_of[fits]++;
        }
        print_message("%s: %u rows fit, %u do not; bytes of code: %lu and %lu\n", modules.paths[range->module],
                      rows_of[1], rows_of[0], (unsigned long)bytes_of[1], (unsigned long)bytes_of[0]);
        assert_true(rows_of[1] > 100);
        assert_true(rows_of[0] <= rows_of[1] / 200); /* ld.so has 3, which save x30 in another register */
        libraries += strstr(modules.paths[range->module], "libc.so") != NULL;
    }
    assert_int_equal(modules.skipped, 0);
    assert_int_equal(libraries, 1);
    assert_true(modules.map->signal_return != 0);
    code_map_fixture_finish(&modules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_loaded_modules_fit_their_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
