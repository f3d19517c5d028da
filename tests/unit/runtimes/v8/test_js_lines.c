/* SPDX-License-Identifier: Apache-2.0 */
/* test_js_lines.c - functions, and the lines of positions in their scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "js_lines.h"
#include "made_up_heap.h"

static struct js_numbers counted;

static struct js_function look(uint64_t word)
{
    struct js_pages pages = {.known = {0}};
    struct js_function function;
    assert_int_equal(js_function_look(&pages, &heap_layout, 0x1000, word, &function), JS_FUNCTION);
    return function;
}

static uint32_t line(const struct js_function *function, uint32_t position, uint32_t budget)
{
    struct js_pages pages = {.known = {0}};
    return js_line_of(&pages, &heap_layout, function, &counted, position, &budget);
}

static int set_up(void **state)
{
    (void)state;
    heap_clear();
    memset(&counted, 0, sizeof counted);
    return 0;
}

static void test_lines_end_as_in_javascript(void **state)
{
    (void)state;
    static const uint16_t wide[] = {'a', 0x2028, 'b', 0x2029, '\r', '\n', 'c'};
    struct js_function narrow = look(heap_function(heap_script(0, heap_string("a\nb\r\nc\rd", 8), 7), 0, 0, 1));
    struct js_function other = look(heap_function(heap_script(0, heap_wide_string(wide, 7), 8), 0, 0, 1));
    assert_int_equal(line(&narrow, 0, 9), 1);
    assert_int_equal(line(&narrow, 2, 9), 2);
    assert_int_equal(line(&narrow, 5, 9), 3);
    assert_int_equal(line(&narrow, 7, 9), 4);
    assert_int_equal(line(&narrow, 9, 9), 0); /* the position does not exist */
    assert_int_equal(line(&other, 6, 9), 4);
}

static void test_a_table_is_asked_first(void **state)
{
    (void)state;
    uint64_t script = heap_script(0, heap_string("", 0), 7), table = heap_object(TYPE_OF_ARRAY, 5);
    static const int32_t ends[] = {10, 20, 30};
    heap_put(table, JS_ARRAY_LENGTH, heap_number(3));
    for (int i = 0; i < 3; i++) {
        heap_put(table, JS_ARRAY_ITEMS + 8 * i, heap_number(ends[i]));
    }
    heap_put(script, JS_SCRIPT_LINE_ENDS, table);
    heap_put(script, JS_SCRIPT_LINE, heap_number(100)); /* the script begins at line 101 of another file */
    struct js_function function = look(heap_function(script, 0, 0, 1));
    assert_int_equal(line(&function, 0, 0), 101);
    assert_int_equal(line(&function, 10, 0), 101);
    assert_int_equal(line(&function, 11, 0), 102);
    assert_int_equal(line(&function, 25, 0), 103);
}

static void test_a_long_source_is_counted_in_parts(void **state)
{
    (void)state;
    enum {
        LENGTH = 40000
    };
    static char source[LENGTH];
    memset(source, 'x', sizeof source);
    for (int i = 9; i < LENGTH; i += 10) {
        source[i] = '\n';
    }
    struct js_function function = look(heap_function(heap_script(0, heap_string(source, LENGTH), 9), 0, 0, 1));
    uint32_t found = 0, walks = 0;
    for (; found == 0 && walks < 20; walks++) {
        found = line(&function, 35005, 2);
    }
    assert_int_equal(found, 3501);
    assert_int_equal(walks, 5);                        /* nine blocks, two at a time */
    assert_int_equal(line(&function, 35015, 1), 3502); /* the earlier blocks are remembered */
}

static void test_a_function_has_name_file_and_place(void **state)
{
    (void)state;
    struct js_pages pages = {.known = {0}};
    struct js_description it;
    static const char source[] = "var a = 1;\nfunction pay(a) { return a; } x => y";
    uint64_t script = heap_script(heap_string("/a/b.js", 7), heap_string(source, sizeof source - 1), 3);
    struct js_function named = look(heap_function(script, heap_string("pay", 3), 17, 1)),
                       other = look(heap_function(script, 0, 30, 2));
    assert_true(js_function_describe(&pages, &heap_layout, &named, &it));
    assert_memory_equal(it.name, "pay", it.name_bytes);
    assert_memory_equal(it.file, "/a/b.js", it.file_bytes);
    assert_int_equal(it.position, 17);
    assert_true(js_function_describe(&pages, &heap_layout, &other, &it));
    assert_memory_equal(it.name, "(anonymous)", it.name_bytes);
    assert_int_equal(it.position, 30);
    assert_true(named.key != other.key);
    /* The source from the function's position on, without control characters, at most 48 bytes: the id is made of
     * this. */
    assert_int_equal(it.begin_bytes, sizeof source - 1 - 30);
    assert_memory_equal(it.begin, source + 30, it.begin_bytes);
}

static void test_what_is_no_function_is_none(void **state)
{
    (void)state;
    struct js_pages pages = {.known = {0}};
    struct js_function function;
    uint64_t builtin = heap_function(heap_number(0), 0, 0, 1);
    assert_int_equal(js_function_look(&pages, &heap_layout, 1, builtin, &function), JS_BUILT_IN);
    assert_int_equal(js_function_look(&pages, &heap_layout, 1, heap_number(5), &function), JS_NOTHING);
    assert_int_equal(js_function_look(&pages, &heap_layout, 1, heap_string("12345678", 8), &function), JS_NOTHING);
    assert_int_equal(js_function_look(&pages, &heap_layout, 1, 0x1001, &function), JS_NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lines_end_as_in_javascript, set_up),
        cmocka_unit_test_setup(test_a_table_is_asked_first, set_up),
        cmocka_unit_test_setup(test_a_long_source_is_counted_in_parts, set_up),
        cmocka_unit_test_setup(test_a_function_has_name_file_and_place, set_up),
        cmocka_unit_test_setup(test_what_is_no_function_is_none, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
