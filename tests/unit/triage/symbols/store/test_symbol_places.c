/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_places.c - equal places are stored once, and chains end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "symbol_places.h"

static void test_equal_things_have_one_number(void **state)
{
    (void)state;
    struct sbx_places *places = sbx_places_create();
    char text[32];
    uint32_t numbers[5000];
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 5000; i++) {
            snprintf(text, sizeof text, "function %u", i);
            uint32_t name = sbx_places_add_text(places, text);
            uint32_t function =
                sbx_places_add_function(places, (struct sbx_function){name, SBX_SYMBOLS_DWARF, i % 2 == 0});
            uint32_t place = sbx_places_add(places, (struct sbx_place){.function = function, .line = i});
            assert_true(place > 0 && (round == 0 || numbers[i] == place));
            assert_string_equal(sbx_places_text(places, name), text);
            numbers[i] = place;
        }
    }
    assert_int_equal(sbx_places_count(places), 5000);
    assert_int_equal(sbx_places_function_count(places), 5000);
    assert_int_equal(sbx_places_add_text(places, ""), 0);
    assert_false(sbx_places_failed(places));
    sbx_places_destroy(places);
}

static void test_a_chain_begins_innermost_and_is_no_longer_than_allowed(void **state)
{
    (void)state;
    struct sbx_places *places = sbx_places_create();
    struct sbx_code_frame frames[2 * SBX_INLINES_MAX];
    uint32_t into = 0;
    for (uint32_t line = 1; line <= 2 * SBX_INLINES_MAX; line++) {
        into = sbx_places_add(places, (struct sbx_place){.line = line, .into = into});
        size_t count = sbx_places_chain(places, into, frames, 2 * SBX_INLINES_MAX);
        assert_int_equal(count, line < SBX_INLINES_MAX ? line : SBX_INLINES_MAX);
        assert_int_equal(frames[0].line, line);
        assert_int_equal(frames[0].inlined, line > 1);
    }
    assert_int_equal(sbx_places_chain(places, 0, frames, 4), 0);
    assert_int_equal(sbx_places_chain(places, UINT32_MAX, frames, 1), 1); /* the number does not exist: no answer */
    assert_string_equal(frames[0].name, "");
    assert_false(sbx_places_is_named(places, into));
    assert_int_equal(sbx_places_add(places, (struct sbx_place){.line = 1, .into = 4000000}), 0);
    assert_true(sbx_places_failed(places));
    sbx_places_destroy(places);
}

static void test_sym_07_a_text_without_end_is_cut(void **state)
{
    (void)state;
    static char text[3 * SBX_SYMBOL_NAME_BYTES_MAX];
    struct sbx_places *places = sbx_places_create();
    memset(text, 'x', sizeof text - 1);
    uint32_t number = sbx_places_add_text(places, text);
    assert_int_equal(strlen(sbx_places_text(places, number)), SBX_SYMBOL_NAME_BYTES_MAX - 1);
    assert_int_equal(sbx_places_add_text(places, text), number);
    sbx_places_destroy(places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_things_have_one_number),
        cmocka_unit_test(test_a_chain_begins_innermost_and_is_no_longer_than_allowed),
        cmocka_unit_test(test_sym_07_a_text_without_end_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
