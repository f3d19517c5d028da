/* SPDX-License-Identifier: Apache-2.0 */
/* test_line_table.c - packed numbers, and the lines that they encode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "line_table.h"
#include "made_up_memory.h"
#include "packed_numbers.h"

static _Alignas(8) uint8_t memory[4096];

static struct sbx_vm_bytes bytes_of(const void *bytes, uint32_t count)
{
    memset(memory, 0xee, sizeof memory);
    memcpy(memory, bytes, count);
    made_up_memory_is(memory, sizeof memory);
    return (struct sbx_vm_bytes){.at = (uint64_t)(uintptr_t)memory, .left = count};
}

/* Encodes as HotSpot does (L = 192, six bits a byte). */
static uint32_t pack(uint8_t *to, uint32_t number, uint32_t excess)
{
    uint32_t low = 192 - excess, at = 0;
    while (number >= low && at < 4) {
        number -= low;
        to[at++] = (uint8_t)(low + (number & 63) + excess);
        number >>= 6;
    }
    to[at++] = (uint8_t)(number + excess);
    return at;
}

static void test_each_number_comes_back_as_it_was_packed(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {0,   1,     190,   191,    192,     193,        255,        256,
                                       447, 12479, 12480, 798911, 1000000, 0x7fffffff, 0x80000000, 0xffffffff};
    for (uint32_t excess = 0; excess < 2; excess++) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            uint8_t packed[8];
            uint32_t count = pack(packed, numbers[i], excess);
            struct sbx_packed_numbers from = {.bytes = bytes_of(packed, count), .excess = excess};
            assert_int_equal(sbx_packed_next(&from), numbers[i]);
            assert_false(from.is_damaged);
            assert_int_equal(from.bytes.left, 0);
            const uint8_t *at = packed;
            assert_int_equal(sbx_packed_read(&at, packed + count, excess), numbers[i]);
            assert_ptr_equal(at, packed + count);
        }
    }
}

static void test_a_number_that_is_cut_off_is_damaged(void **state)
{
    (void)state;
    uint8_t packed[8];
    uint32_t count = pack(packed, 1000000, 0);
    for (uint32_t cut = 0; cut < count; cut++) {
        struct sbx_packed_numbers from = {.bytes = bytes_of(packed, cut)};
        assert_int_equal(sbx_packed_next(&from), 0);
        assert_true(from.is_damaged);
        const uint8_t *at = packed;
        (void)sbx_packed_read(&at, packed + cut, 0);
        assert_null(at);
    }
}

static void test_a_zero_byte_is_no_number_where_each_byte_is_one_more(void **state)
{
    (void)state;
    struct sbx_packed_numbers from = {.bytes = bytes_of("\0\0", 2), .excess = 1};
    (void)sbx_packed_next(&from);
    assert_true(from.is_damaged);
}

static void test_the_line_is_that_of_the_nearest_pair_before(void **state)
{
    (void)state;
    /* bci 0 line 7 (escape), bci 4 line 8, bci 5 line 3 (escape), bci 36 line 4, end */
    static const uint8_t table[] = {0xff, 0, 14, 4 << 3 | 1, 0xff, 2, 9, 31 << 3 | 1, 0, 0xff, 2, 2};
    static const uint32_t expected[] = {7, 7, 7, 7, 8, 3, 3, 3};
    for (int32_t bci = 0; bci < 8; bci++) {
        assert_int_equal(sbx_line_of(bytes_of(table, sizeof table), 0, bci), expected[bci]);
    }
    assert_int_equal(sbx_line_of(bytes_of(table, sizeof table), 0, 35), 3);
    assert_int_equal(sbx_line_of(bytes_of(table, sizeof table), 0, 36), 4);
    assert_int_equal(sbx_line_of(bytes_of(table, sizeof table), 0, 60000), 4);
    assert_int_equal(sbx_line_of(bytes_of(table, sizeof table), 0, -1), 0);
}

static void test_bytecodes_may_go_back(void **state)
{
    (void)state;
    /* bci 8 line 2, bci 2 line 5: in the order of the source */
    static const uint8_t table[] = {8 << 3 | 2, 0xff, 11, 6, 0};
    assert_int_equal(sbx_line_of(bytes_of(table, sizeof table), 0, 2), 5);
    assert_int_equal(sbx_line_of(bytes_of(table, sizeof table), 0, 9), 2);
}

static void test_a_table_without_its_end_ends_where_the_method_does(void **state)
{
    (void)state;
    static const uint8_t table[] = {1 << 3 | 1, 1 << 3 | 1, 0xff};
    assert_int_equal(sbx_line_of(bytes_of(table, sizeof table), 0, 40), 2);
    assert_int_equal(sbx_line_of((struct sbx_vm_bytes){.at = 8, .left = 100}, 0, 40), 0); /* no memory there */
}

static void test_bytes_may_begin_and_end_anywhere(void **state)
{
    (void)state;
    for (uint32_t begin = 0; begin < 9; begin++) {
        for (uint32_t count = 0; count < 20; count++) {
            struct sbx_vm_bytes bytes = bytes_of("abcdefghijklmnopqrstuvwxyz{|", 28);
            bytes.at += begin;
            bytes.left = count;
            for (uint32_t i = 0; i < count; i++) {
                assert_int_equal(sbx_vm_next_byte(&bytes), 'a' + (int)(begin + i));
            }
            assert_int_equal(sbx_vm_next_byte(&bytes), -1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_number_comes_back_as_it_was_packed),
        cmocka_unit_test(test_a_number_that_is_cut_off_is_damaged),
        cmocka_unit_test(test_a_zero_byte_is_no_number_where_each_byte_is_one_more),
        cmocka_unit_test(test_the_line_is_that_of_the_nearest_pair_before),
        cmocka_unit_test(test_bytecodes_may_go_back),
        cmocka_unit_test(test_a_table_without_its_end_ends_where_the_method_does),
        cmocka_unit_test(test_bytes_may_begin_and_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
