/* SPDX-License-Identifier: Apache-2.0 */
/* test_script_source.c - functions in JavaScript source files. tests/integration/node compares with V8 itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_source.h"

static struct sbx_name_list list;

static int tear_down(void **state)
{
    (void)state;
    sbx_name_list_finish(&list);
    return 0;
}

static struct sbx_name_text text_of(const char *text)
{
    return (struct sbx_name_text){text, strlen(text)};
}

static int read_mapped(const char *source, const char *map)
{
    char *exact = malloc(strlen(source) + 1); /* exact size, so that sanitizers see a read past the end */
    assert_non_null(exact);
    memcpy(exact, source, strlen(source));
    sbx_name_list_finish(&list);
    int result =
        sbx_script_source_read(&list, text_of("app.js"), (struct sbx_name_text){exact, strlen(source)}, text_of(map));
    free(exact);
    return result;
}

static void read_source(const char *source)
{
    assert_int_equal(read_mapped(source, ""), 0);
}

/* Is there a function that begins with `begin` at code unit `place`? The text of these tests is ASCII up to there. */
static bool has(const char *begin, uint32_t place, const char *rest)
{
    char wanted[600];
    snprintf(wanted, sizeof wanted, "%016" PRIx64 "\t%s\n", sbx_name_id(text_of("app.js"), place, text_of(begin)),
             rest);
    return list.bytes > 0 && memmem(list.text, list.bytes, wanted, strlen(wanted)) != NULL;
}

static void test_functions_begin_at_their_parameters(void **state)
{
    (void)state;
    read_source("function pay(a) {}\n"
                "exports.go = function () {};");
    assert_true(has("(a) {}?exports.go = function () {};", 12, "1\tapp.js\tpay"));
    assert_true(has("() {};", 41, "2\tapp.js\texports.go"));
    assert_true(has("function pay(a) {}?exports.go = function () {};", 0, "1\tapp.js\t(anonymous)"));
}

static void test_arrows_begin_at_their_parameters_or_at_async(void **state)
{
    (void)state;
    read_source("a = (b, c) => d;\ne = { f: x => 1 };\ng(async y => 2);");
    assert_true(has("(b, c) => d;?e = { f: x => 1 };?g(async y => 2);", 4, "1\tapp.js\ta"));
    assert_true(has("x => 1 };?g(async y => 2);", 26, "2\tapp.js\tf"));
    assert_true(has("async y => 2);", 38, "3\tapp.js\t(anonymous)"));
}

static void test_methods_and_classes_are_told(void **state)
{
    (void)state;
    read_source("class A { constructor(b) {} get c() {} }");
    assert_true(has("class A { constructor(b) {} get c() {} }", 0, "1\tapp.js\tA"));
    assert_true(has("(b) {} get c() {} }", 21, "1\tapp.js\tA"));
    assert_true(has("() {} }", 33, "1\tapp.js\tget c"));
    read_source("if (a) {} for (;;) {}");
    assert_int_equal(list.lines, 1);
}

static void test_strings_templates_and_regular_expressions_hide_what_they_hold(void **state)
{
    (void)state;
    read_source("'function a(){}'; /function (b){}[/]/.test(x); // function c(){}\n"
                "/* function d(){} */ y = 4 / 2; z = 6 / function(){}() / `function e(){} ${f => 1} ${`${2}`}`;");
    assert_int_equal(list.lines, 3); /* the file, the function that is divided by, the arrow function in the template */
}

static void test_places_count_units_of_utf16_and_a_mark_of_byte_order_is_none(void **state)
{
    (void)state;
    read_source("\xef\xbb\xbf'\xf0\x9f\x98\x80';function a(){}");
    assert_true(has("(){}", 15, "1\tapp.js\ta"));
}

/* Two lines of a file were merged into one: column 9 is the name `long` of line 2, column 10 its parameters. */
static void test_a_source_map_tells_the_written_name_file_and_line(void **state)
{
    (void)state;
    static const char map[] = "{\"version\":3,\"sources\":[\"webpack://shop/./src/p\\u0061y.ts\"],\"names\":[\"long\"],"
                              "\"mappings\":\"AACA,SAASA,CAAC\",\"sourcesContent\":[\"{[\"]}";
    assert_int_equal(read_mapped("function a(b){return b}", map), 0);
    assert_true(has("(b){return b}", 10, "2\tsrc/pay.ts\tlong\t1-1:2"));
}

static void test_lines_of_a_function_are_led_back_in_runs(void **state)
{
    (void)state;
    /* Lines 1 to 3 were lines 5 to 7, line 4 was line 20. */
    static const char map[] =
        "{\"sources\":[\"a.ts\"],\"names\":[],\"mappings\":\"AAIA;AACA;AACA;AAaA\",\"version\":3}";
    assert_int_equal(read_mapped("function a(){\nx;\ny;\nz}", map), 0);
    assert_true(has("(){?x;?y;?z}", 10, "5\ta.ts\ta\t1-3:5-7,4-4:20"));
}

static void test_a_map_that_is_none_leaves_the_script(void **state)
{
    (void)state;
    assert_int_equal(read_mapped("function a(){}", "{\"mappings\":12}"), -EBADMSG);
    assert_true(has("(){}", 10, "1\tapp.js\ta"));
}

static void test_what_is_no_script_ends(void **state)
{
    (void)state;
    static const char *const texts[] = {"",           "(",           ")",     "=>",       ")=>", "function",
                                        "class",      "class A {",   "`${",   "`${`",     "'",   "/",
                                        "/[",         "/*",          "a\\u{", "async =>", "#!",  "}",
                                        "#",          "get(){",      "(){",   "[](){",    "x=>", "class{constructor(",
                                        "function*(", "\xff\xe2\x82"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        read_source(texts[i]);
    }
    char deep[4000];
    memset(deep, '{', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    read_source(deep);
    for (size_t i = 0; i + 6 < sizeof deep; i += 6) {
        memcpy(deep + i, "class{", 6);
    }
    read_source(deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_functions_begin_at_their_parameters, tear_down),
        cmocka_unit_test_teardown(test_arrows_begin_at_their_parameters_or_at_async, tear_down),
        cmocka_unit_test_teardown(test_methods_and_classes_are_told, tear_down),
        cmocka_unit_test_teardown(test_strings_templates_and_regular_expressions_hide_what_they_hold, tear_down),
        cmocka_unit_test_teardown(test_places_count_units_of_utf16_and_a_mark_of_byte_order_is_none, tear_down),
        cmocka_unit_test_teardown(test_a_source_map_tells_the_written_name_file_and_line, tear_down),
        cmocka_unit_test_teardown(test_lines_of_a_function_are_led_back_in_runs, tear_down),
        cmocka_unit_test_teardown(test_a_map_that_is_none_leaves_the_script, tear_down),
        cmocka_unit_test_teardown(test_what_is_no_script_ends, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
