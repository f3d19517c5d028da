/* SPDX-License-Identifier: Apache-2.0 */
/* test_code_table.c - data that is remembered for an instruction is returned for that instruction only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "code_table.h"

static const uint64_t ID = UINT64_C(0xfedcba9876543210);

/* A key that maps to this entry; many keys share it. */
static uint64_t key_at(uint64_t which, uint64_t entry)
{
    return which << CODE_LINE_BITS | entry;
}

static void test_an_instruction_that_was_kept_has_its_id_and_its_line(void **state)
{
    (void)state;
    uint64_t id = 0;
    uint32_t line = 0;
    assert_false(code_table_place(key_at(77, 5), &id, &line));
    code_table_keep_place(key_at(77, 5), ID, 1234);
    assert_true(code_table_place(key_at(77, 5), &id, &line));
    assert_int_equal(id, ID);
    assert_int_equal(line, 1234);
}

static void test_an_instruction_that_shares_the_entry_is_not_told(void **state)
{
    (void)state;
    uint64_t id = 0;
    uint32_t line = 0;
    code_table_keep_place(key_at(1, 6), ID, 10);
    assert_false(code_table_place(key_at(2, 6), &id, &line));
    code_table_keep_place(key_at(2, 6), ID + 1, 20);
    assert_false(code_table_place(key_at(1, 6), &id, &line));
    assert_true(code_table_place(key_at(2, 6), &id, &line));
    assert_int_equal(id, ID + 1);
    assert_int_equal(line, 20);
}

static void test_words_that_two_wrote_at_once_tell_nothing(void **state)
{
    (void)state;
    uint64_t id = 0;
    uint32_t line = 0;
    code_table_keep_place(key_at(3, 7), ID, 30);
    const struct code_place first = code_places[7];
    code_table_keep_place(key_at(4, 7), ID * 3, 40);
    code_places[7].id =
        first.id; /* the second writer was stopped after its first word, or came between the two words of the first */
    assert_false(code_table_place(key_at(3, 7), &id, &line));
    assert_false(code_table_place(key_at(4, 7), &id, &line));
}

static void test_what_has_no_id_or_too_far_a_line_is_not_kept(void **state)
{
    (void)state;
    uint64_t id = 0;
    uint32_t line = 0;
    code_table_keep_place(key_at(5, 8), 0, 50);
    assert_false(code_table_place(key_at(5, 8), &id, &line));
    code_table_keep_place(key_at(6, 9), ID, 1u << CODE_LINE_BITS);
    assert_false(code_table_place(key_at(6, 9), &id, &line));
    assert_false(code_table_place(key_at(0, 10), &id, &line)); /* an empty entry is like a zero key, except its id */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_instruction_that_was_kept_has_its_id_and_its_line),
        cmocka_unit_test(test_an_instruction_that_shares_the_entry_is_not_told),
        cmocka_unit_test(test_words_that_two_wrote_at_once_tell_nothing),
        cmocka_unit_test(test_what_has_no_id_or_too_far_a_line_is_not_kept),
    };
    return cmocka_run_group_tests_name("code_table", tests, NULL, NULL);
}
