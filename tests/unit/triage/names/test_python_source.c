/* SPDX-License-Identifier: Apache-2.0 */
/* test_python_source.c - functions in Python source files. tests/integration/python/names.py compares with the
 * interpreters themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python_source.h"

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

static void read_source(const char *source)
{
    char *exact = malloc(strlen(source) + 1); /* exact size, so that sanitizers see a read past the end */
    assert_non_null(exact);
    memcpy(exact, source, strlen(source));
    sbx_name_list_finish(&list);
    assert_int_equal(sbx_python_source_read(&list, text_of("app.py"), (struct sbx_name_text){exact, strlen(source)}),
                     0);
    free(exact);
}

static bool has(uint32_t line, const char *name)
{
    char wanted[600];
    snprintf(wanted, sizeof wanted, "%016" PRIx64 "\t%" PRIu32 "\tapp.py\t%s\n",
             sbx_name_id(text_of("app.py"), line, text_of(name)), line, name);
    return list.bytes > 0 && memmem(list.text, list.bytes, wanted, strlen(wanted)) != NULL;
}

static void test_definitions_have_qualified_and_plain_names(void **state)
{
    (void)state;
    read_source("class Shop:\n"
                "    def pay(self):\n"
                "        def inner(): pass\n"
                "        return inner\n"
                "    async def wait(self): return 1\n"
                "def main(): pass\n");
    assert_true(has(1, "<module>"));
    assert_true(has(1, "Shop"));
    assert_true(has(2, "Shop.pay") && has(2, "pay"));
    assert_true(has(3, "Shop.pay.<locals>.inner") && has(3, "inner"));
    assert_true(has(5, "Shop.wait"));
    assert_true(has(6, "main"));
    assert_false(has(6, "Shop.main"));
}

static void test_the_first_decorator_begins_a_definition(void **state)
{
    (void)state;
    read_source("@cache\n@other(lambda: 1)\ndef f(\n    a,\n): pass\n@d\nclass C: pass\n\nx = 1\ndef g(): pass\n");
    assert_true(has(1, "f") && has(2, "<lambda>") && has(6, "C") && has(10, "g"));
    assert_false(has(3, "f"));
}

static void test_lambdas_and_comprehensions_lie_where_the_interpreter_has_them(void **state)
{
    (void)state;
    read_source("def f(seq, key=lambda a, b=lambda: 2: a):\n"
                "    g = [lambda: x for x in (y for y in seq)]\n"
                "    return {k: v for k, v in seq}, {\n"
                "        k for k in seq}, sorted(seq, key=lambda v: v)\n");
    assert_true(has(1, "<lambda>"));
    assert_true(has(2, "f.<locals>.<listcomp>"));
    assert_true(has(2, "f.<locals>.<listcomp>.<lambda>")); /* up to 3.11 */
    assert_true(has(2, "f.<locals>.<lambda>"));            /* from 3.12 on */
    assert_true(has(2, "f.<locals>.<genexpr>"));           /* the first iterable is evaluated outside */
    assert_false(has(2, "f.<locals>.<listcomp>.<genexpr>"));
    assert_true(has(3, "f.<locals>.<dictcomp>") && has(3, "f.<locals>.<setcomp>"));
    assert_true(has(4, "f.<locals>.<lambda>"));
}

static void test_strings_hide_what_they_hold_and_fields_of_f_strings_do_not(void **state)
{
    (void)state;
    read_source("'''\ndef no(): pass\n'''\n"
                "s = 'def no(): pass # \\' def no2(): pass' # def no3(): pass\n"
                "t = f\"{'a'!r:>{width}} {{lambda: 0}} {sum(x for x in y)}\"\n"
                "u = rb'\\' + 'x'\n"
                "def yes(): pass\n");
    assert_true(has(7, "yes") && has(5, "<genexpr>"));
    assert_false(has(2, "no") || has(5, "<lambda>"));
}

static void test_global_names_have_no_path(void **state)
{
    (void)state;
    read_source("def make():\n    global made\n    def made(): pass\n");
    assert_true(has(3, "made"));
    assert_false(has(3, "make.<locals>.made"));
}

static void test_continued_lines_and_other_line_ends_count(void **state)
{
    (void)state;
    read_source("\xef\xbb\xbfif x and \\\r\n   y:\r\n\tdef f(): pass\r\n\tz = 1\rdef g(): pass\n\f\ndef h(): pass");
    assert_true(has(3, "f") && has(5, "g") && has(7, "h"));
}

static void test_what_is_no_python_ends(void **state)
{
    (void)state;
    static const char *const texts[] = {"",        "(",    ")))", "def",     "def f",   "class (", "lambda",  "f'{",
                                        "f'{f\"{", "[for", "@",   "def f(:", "'''\\\n", "f'{{{",   "async d", "\\"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        read_source(texts[i]);
    }
    char deep[4000]; /* more brackets and lambdas than the interpreter allows */
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    read_source(deep);
    for (size_t i = 0; i + 8 < sizeof deep; i += 8) {
        memcpy(deep + i, "lambda: ", 8);
    }
    read_source(deep);
    for (size_t i = 0; i + 4 < sizeof deep; i += 4) {
        memcpy(deep + i, "f'{f", 4);
    }
    read_source(deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_definitions_have_qualified_and_plain_names, tear_down),
        cmocka_unit_test_teardown(test_the_first_decorator_begins_a_definition, tear_down),
        cmocka_unit_test_teardown(test_lambdas_and_comprehensions_lie_where_the_interpreter_has_them, tear_down),
        cmocka_unit_test_teardown(test_strings_hide_what_they_hold_and_fields_of_f_strings_do_not, tear_down),
        cmocka_unit_test_teardown(test_global_names_have_no_path, tear_down),
        cmocka_unit_test_teardown(test_continued_lines_and_other_line_ends_count, tear_down),
        cmocka_unit_test_teardown(test_what_is_no_python_ends, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
