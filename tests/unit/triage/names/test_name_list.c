/* SPDX-License-Identifier: Apache-2.0 */
/* test_name_list.c - lines of a name map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "name_list.h"

static struct sbx_name_text text_of(const char *text)
{
    return (struct sbx_name_text){text, strlen(text)};
}

/* FNV-1a of "stall.lua:3:spin", calculated by another program. */
static void test_ids_are_those_of_the_agent(void **state)
{
    (void)state;
    assert_int_equal(sbx_name_id(text_of("stall.lua"), 3, text_of("spin")), UINT64_C(0x7845eccd887bef74));
}

static void test_a_line_cannot_be_broken_by_a_name(void **state)
{
    (void)state;
    struct sbx_name_list list = {0};
    sbx_name_list_add(&list, 0xab, 7, text_of("a\tb.py"), text_of("f\ng"), text_of(""));
    assert_int_equal(list.bytes, strlen("00000000000000ab\t7\ta?b.py\tf?g\n"));
    assert_memory_equal(list.text, "00000000000000ab\t7\ta?b.py\tf?g\n", list.bytes);
    assert_int_equal(list.lines, 1);
    sbx_name_list_finish(&list);
}

static void test_long_names_are_cut_between_characters(void **state)
{
    (void)state;
    char long_name[1000];
    for (size_t i = 0; i + 1 < sizeof long_name; i += 2) { /* an e with an accent, 500 times */
        memcpy(long_name + i, "\xc3\xa9", 2);
    }
    assert_int_equal(sbx_name_cut((struct sbx_name_text){long_name, sizeof long_name}, 191), 190);
    assert_int_equal(sbx_name_cut((struct sbx_name_text){long_name, sizeof long_name}, 192), 192);
    assert_int_equal(sbx_name_cut((struct sbx_name_text){long_name, 10}, 192), 10);
    struct sbx_name_list list = {0};
    sbx_name_list_add(&list, 1, 1, text_of(""), (struct sbx_name_text){long_name, sizeof long_name}, text_of(""));
    assert_int_equal(list.bytes, 16 + 1 + 1 + 1 + 1 + SBX_NAME_FUNCTION_BYTES + 1);
    sbx_name_list_finish(&list);
}

static void test_more_functions_than_a_map_takes_are_left_out_and_said(void **state)
{
    (void)state;
    struct sbx_name_list list = {0};
    for (uint32_t i = 0; i < SBX_NAME_LIST_LINES_MAX + 1; i++) {
        assert_false(list.is_full);
        sbx_name_list_add(&list, i + 1, 1, text_of("a"), text_of("b"), text_of(""));
    }
    assert_true(list.is_full);
    assert_int_equal(list.lines, SBX_NAME_LIST_LINES_MAX);
    sbx_name_list_finish(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_those_of_the_agent),
        cmocka_unit_test(test_a_line_cannot_be_broken_by_a_name),
        cmocka_unit_test(test_long_names_are_cut_between_characters),
        cmocka_unit_test(test_more_functions_than_a_map_takes_are_left_out_and_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
