/* SPDX-License-Identifier: Apache-2.0 */
/* test_js_string.c - strings of all shapes as UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "js_string.h"
#include "made_up_heap.h"

static void expect(uint64_t string, size_t room, const char *text)
{
    char to[64];
    struct js_pages pages = {.known = {0}};
    struct js_text out = {.to = to, .room = room};
    assert_true(js_string_append(&pages, string, &out));
    assert_int_equal(out.bytes, strlen(text));
    assert_memory_equal(to, text, out.bytes);
}

static uint64_t shaped(uint32_t shape, uint64_t first, uint64_t second, uint32_t length)
{
    uint64_t string = heap_object(TYPE_TWO_BYTE_STRING | 8 | shape, 4);
    heap_set_length(string, length);
    heap_put(string, JS_STRING_FIRST, first);
    heap_put(string, JS_STRING_SECOND, second);
    return string;
}

static void test_flat_strings_of_both_widths_are_utf_8(void **state)
{
    (void)state;
    static const uint16_t wide[] = {'a', 0x4e2d, 0xd83d, 0xde00, 0xd800};
    heap_clear();
    expect(heap_string("price", 5), 64, "price");
    expect(heap_string("n\xe4h", 3), 64, "n\xc3\xa4h");
    expect(heap_wide_string(wide, 5), 64, "a\xe4\xb8\xad\xf0\x9f\x98\x80\xef\xbf\xbd");
    expect(heap_wide_string(wide, 5), 3, "a"); /* no part of a character */
}

static void test_slices_parts_and_strings_outside_are_followed(void **state)
{
    (void)state;
    static const char outside[] = "outside";
    heap_clear();
    uint64_t flat = heap_string("0123456789", 10), empty = heap_string("", 0);
    expect(shaped(3, flat, heap_number(2), 3), 64, "234");
    expect(shaped(3, shaped(3, flat, heap_number(2), 6), heap_number(1), 2), 64, "34");
    expect(shaped(1, flat, empty, 10), 64, "0123456789");
    expect(shaped(1, shaped(1, flat, flat, 20), heap_string("!", 1), 21), 64, "01234567890123456789!");
    expect(shaped(5, flat, 0, 10), 64, "0123456789");
    expect(shaped(2, 0, (uint64_t)(uintptr_t)outside, 7), 64, "outside");
}

static void test_a_string_that_was_moved_is_read_where_it_is_now(void **state)
{
    (void)state;
    heap_clear();
    uint64_t flat = heap_string("moved", 5), old = heap_string("-----", 5);
    heap_put(old, 0, flat - JS_OBJECT_TAG);
    expect(old, 64, "moved");
}

static void test_what_is_no_string_has_no_text(void **state)
{
    (void)state;
    char to[8];
    struct js_pages pages = {.known = {0}};
    struct js_text out = {.to = to, .room = sizeof to};
    heap_clear();
    uint64_t loop = shaped(5, 0, 0, 3), beyond = shaped(3, heap_string("abc", 3), heap_number(2), 3);
    heap_put(loop, JS_STRING_FIRST, loop);
    assert_false(js_string_append(&pages, loop, &out));
    assert_false(js_string_append(&pages, beyond, &out));
    assert_false(js_string_append(&pages, heap_object(128, 4), &out));
    assert_false(js_string_append(&pages, heap_number(7), &out));
    assert_false(js_string_append(&pages, 0x11, &out));
    assert_false(js_string_append(&pages, UINT64_C(0xffff800000000001), &out));
    assert_false(js_string_append(&pages, UINT64_C(0xfffffffffffffff1), &out)); /* its end is address 0 */
}

static void test_parts_without_end_are_left_off(void **state)
{
    (void)state;
    char to[8];
    struct js_pages pages = {.known = {0}};
    struct js_text out = {.to = to, .room = sizeof to};
    heap_clear();
    uint64_t loop = shaped(1, 0, 0, 3);
    heap_put(loop, JS_STRING_FIRST, loop);
    heap_put(loop, JS_STRING_SECOND, loop);
    assert_false(js_string_append(&pages, loop, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat_strings_of_both_widths_are_utf_8),
        cmocka_unit_test(test_slices_parts_and_strings_outside_are_followed),
        cmocka_unit_test(test_a_string_that_was_moved_is_read_where_it_is_now),
        cmocka_unit_test(test_what_is_no_string_has_no_text),
        cmocka_unit_test(test_parts_without_end_are_left_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
