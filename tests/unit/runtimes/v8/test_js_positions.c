/* SPDX-License-Identifier: Apache-2.0 */
/* test_js_positions.c - tables of source positions, and frames that name their bytecodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "js_positions.h"
#include "made_up_heap.h"

/* Encode a difference: sign in the lowest bit, seven bits a byte. */
static uint32_t put(uint8_t *to, int64_t number)
{
    uint64_t rest = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
    uint32_t used = 0;
    do {
        to[used] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        rest >>= 7;
        used++;
    } while (rest != 0);
    return used;
}

static uint64_t table_of(const uint8_t *bytes, uint32_t length)
{
    uint64_t table = heap_object(TYPE_OF_BYTES, 2 + (length + 7) / 8);
    heap_put(table, JS_ARRAY_LENGTH, heap_number((int32_t)length));
    memcpy((void *)(uintptr_t)(table - JS_OBJECT_TAG + JS_ARRAY_ITEMS), bytes, length);
    return table;
}

static int32_t find(uint64_t table, uint32_t offset)
{
    struct js_pages pages = {.known = {0}};
    uint64_t position = 0;
    return js_positions_find(&pages, &heap_layout, table, offset, &position) ? js_position_script(position) : -2;
}

static void test_the_last_entry_before_the_instruction_counts(void **state)
{
    (void)state;
    uint8_t bytes[64];
    uint32_t used = 0;
    /* offsets 4, 9 (not a statement), 300; positions 10, 7, 5000 */
    static const int64_t numbers[] = {5, (10 + 1) << 1, -(5 + 1), (7 - 10) * 2, 291, (5000 - 7) * 2};
    for (int i = 0; i < 6; i++) {
        used += put(bytes + used, numbers[i]);
    }
    heap_clear();
    uint64_t table = table_of(bytes, used);
    assert_int_equal(find(table, 3), -2);
    assert_int_equal(find(table, 4), 10);
    assert_int_equal(find(table, 8), 10);
    assert_int_equal(find(table, 9), 7);
    assert_int_equal(find(table, 299), 7);
    assert_int_equal(find(table, 100000), 5000);
}

static void test_a_table_that_is_none_or_cut_has_nothing_behind(void **state)
{
    (void)state;
    static const uint8_t endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    heap_clear();
    assert_int_equal(find(table_of(endless, sizeof endless), 5), -2);
    assert_int_equal(find(table_of(endless, 1), 5), -2);
    assert_int_equal(find(heap_string("abc", 3), 5), -2);
    assert_int_equal(find(heap_number(0), 5), -2);
}

static void test_an_interpreted_frame_names_its_bytecode(void **state)
{
    (void)state;
    struct js_pages pages = {.known = {0}};
    uint64_t frame[8] = {0}, table = 0, fp = (uint64_t)(uintptr_t)&frame[5];
    uint32_t offset = 0;
    heap_clear();
    uint64_t bytecodes = heap_object(TYPE_OF_BYTECODES, 9), positions = heap_string("", 0);
    heap_put(bytecodes, JS_BYTECODES_LENGTH, heap_number(16));
    heap_put(bytecodes, JS_BYTECODES_POSITIONS, positions);
    frame[5 + JS_FRAME_BYTECODES / 8] = bytecodes;
    frame[5 + JS_FRAME_BYTECODE / 8] = heap_number(56 - 1 + 12);
    assert_true(js_frame_bytecode(&pages, &heap_layout, fp, &table, &offset));
    assert_int_equal(offset, 12);
    assert_int_equal(table, positions);
    frame[5 + JS_FRAME_BYTECODE / 8] = heap_number(56 - 1 + 16); /* behind the last */
    assert_false(js_frame_bytecode(&pages, &heap_layout, fp, &table, &offset));
    frame[5 + JS_FRAME_BYTECODE / 8] = positions; /* as in frames of baseline code */
    assert_false(js_frame_bytecode(&pages, &heap_layout, fp, &table, &offset));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_entry_before_the_instruction_counts),
        cmocka_unit_test(test_a_table_that_is_none_or_cut_has_nothing_behind),
        cmocka_unit_test(test_an_interpreted_frame_names_its_bytecode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
