/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_table.c - each distinct key gets one number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "text_table.h"

static void test_equal_keys_have_one_number_and_others_have_others(void **state)
{
    (void)state;
    struct sbx_text_table table;
    sbx_text_table_init(&table);
    char a[] = "x", b[] = "x"; /* equal texts at two addresses */
    bool is_new;
    assert_int_equal(sbx_text_table_number(&table, a, 0, 0, &is_new), 1);
    assert_true(is_new);
    assert_int_equal(sbx_text_table_number(&table, b, 0, 0, &is_new), 1);
    assert_false(is_new);
    assert_int_equal(sbx_text_table_number(&table, a, 1, 0, &is_new), 2);
    assert_int_equal(sbx_text_table_number(&table, a, 0, 1, &is_new), 3);
    assert_int_equal(sbx_text_table_number(&table, NULL, 0, 0, &is_new), 4);
    assert_int_equal(sbx_text_table_number(&table, "", 0, 0, &is_new), 5);
    assert_int_equal(sbx_text_table_number(&table, NULL, 0, 0, &is_new), 4);
    sbx_text_table_finish(&table);
}

static void test_numbers_survive_growth(void **state)
{
    (void)state;
    enum {
        KEYS = 20000
    };
    struct sbx_text_table table;
    sbx_text_table_init(&table);
    bool is_new;
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_int_equal(sbx_text_table_number(&table, NULL, i << 32, i, &is_new), i + 1);
        assert_true(is_new);
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_int_equal(sbx_text_table_number(&table, NULL, i << 32, i, &is_new), i + 1);
        assert_false(is_new);
    }
    sbx_text_table_finish(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_keys_have_one_number_and_others_have_others),
        cmocka_unit_test(test_numbers_survive_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
