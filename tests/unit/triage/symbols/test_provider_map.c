/* SPDX-License-Identifier: Apache-2.0 */
/* test_provider_map.c - names of runtimes' functions, from files with any content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "provider_map.h"

#define HEAD "stallbox-provider-map 1\tlua\n"

static struct sbx_provider_map *map;

static int set_up(void **state)
{
    (void)state;
    map = sbx_provider_map_create();
    return map == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    sbx_provider_map_destroy(map);
    return 0;
}

static int add(const char *text)
{
    char *exact = malloc(strlen(text) + 1); /* exact size, so that sanitizers see a read past the end */
    assert_non_null(exact);
    memcpy(exact, text, strlen(text));
    int result = sbx_provider_map_add(map, exact, strlen(text));
    free(exact);
    return result;
}

static void test_names_are_found_by_runtime_and_id(void **state)
{
    (void)state;
    assert_int_equal(add(HEAD "00000000000000ff\t12\tapp.lua\trun\n00000000000000fe\t0\t\tmain chunk\n"), 2);
    assert_int_equal(add("stallbox-provider-map 1\tother\n00000000000000ff\t3\tx\ty"), 1); /* no newline at the end */
    const struct sbx_provider_function *found = sbx_provider_map_find(map, sbx_provider_number("lua"), 0xff);
    assert_non_null(found);
    assert_string_equal(found->function, "run");
    assert_string_equal(found->file, "app.lua");
    assert_int_equal(found->line, 12);
    assert_string_equal(sbx_provider_map_find(map, sbx_provider_number("lua"), 0xfe)->file, "");
    assert_string_equal(sbx_provider_map_find(map, sbx_provider_number("other"), 0xff)->function, "y");
    assert_null(sbx_provider_map_find(map, sbx_provider_number("other"), 0xfe));
    assert_null(sbx_provider_map_find(map, 1, 0xff));
    assert_string_equal(sbx_provider_map_name(map, sbx_provider_number("other")), "other");
    assert_null(sbx_provider_map_name(map, 1));
    assert_int_equal(sbx_provider_number("lua"),
                     UINT64_C(0x12a991191dfbb001)); /* FNV-1a of "lua", calculated by another program */
}

static void test_lines_that_are_none_are_skipped(void **state)
{
    (void)state;
    char text[8192] = HEAD "00000000000000f\t1\ta\tshort id\n"
                           "00000000000000FF\t1\ta\tcapitals\n"
                           "0000000000000000\t1\ta\tid 0\n"
                           "00000000000000ff\t-1\ta\tnegative\n"
                           "00000000000000ff\t4294967296\ta\ttoo large\n"
                           "00000000000000ff\t\ta\tno line\n"
                           "00000000000000ff\t1\ta\n"
                           "00000000000000ff\t1\ta\t\n"
                           "00000000000000ff\t1\ta\tb\tc\n"
                           "\n\n00000000000000ff\n";
    size_t length = strlen(text);
    strcat(text, "00000000000000ff\t1\ta\t");
    memset(text + strlen(text), 'x', 5000);
    text[length + 22 + 5000] = '\0';
    strcat(text, "\n00000000000000aa\t1\ta\tgood\n");
    assert_int_equal(add(text), 1);
    assert_null(sbx_provider_map_find(map, sbx_provider_number("lua"), 0xff));
    assert_non_null(sbx_provider_map_find(map, sbx_provider_number("lua"), 0xaa));
}

static void test_other_files_are_refused(void **state)
{
    (void)state;
    assert_int_equal(add(""), -EPROTO);
    assert_int_equal(add("stallbox-provider-map 2\tlua\n"), -EPROTO);
    assert_int_equal(add("stallbox-provider-map 1\n"), -EPROTO);
    assert_int_equal(add("stallbox-provider-map 1\ttwenty-four-characters--\n"), -EPROTO);
    assert_int_equal(add("\x7f"
                         "ELF\n00000000000000ff\t1\ta\tb\n"),
                     -EPROTO);
    assert_null(sbx_provider_map_find(map, sbx_provider_number("lua"), 0xff));
}

static void test_control_characters_do_not_come_through(void **state)
{
    (void)state;
    assert_int_equal(add(HEAD "00000000000000ff\t1\ta\x1b[31m\tb\x07\x7f\n"), 1);
    const struct sbx_provider_function *found = sbx_provider_map_find(map, sbx_provider_number("lua"), 0xff);
    assert_string_equal(found->file, "a?[31m");
    assert_string_equal(found->function, "b??");
}

static void test_of_equal_ids_the_smallest_line_counts_whatever_the_order(void **state)
{
    (void)state;
    assert_int_equal(
        add(HEAD "00000000000000ff\t9\ta\tlate\n00000000000000ff\t3\ta\tearly\n00000000000000ff\t7\ta\tmid\n"), 3);
    assert_string_equal(sbx_provider_map_find(map, sbx_provider_number("lua"), 0xff)->function, "early");
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_a_folder_gives_its_map_files_and_nothing_else(void **state)
{
    (void)state;
    char folder[] = "/tmp/stallbox-map-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    write_file(folder, "provider-lua.map", HEAD "00000000000000f1\t1\ta\tone\n");
    write_file(folder, "provider-bad.map", "no such file");
    write_file(folder, "other.map", HEAD "00000000000000f2\t1\ta\ttwo\n");
    write_file(folder, "provider-empty.map", "");
    assert_int_equal(sbx_provider_map_add_folder(map, folder), 0);
    assert_int_equal(sbx_provider_map_add_folder(map, "/nonexistent/folder"), 0);
    assert_non_null(sbx_provider_map_find(map, sbx_provider_number("lua"), 0xf1));
    assert_null(sbx_provider_map_find(map, sbx_provider_number("lua"), 0xf2));
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void test_lines_of_what_was_made_are_led_back(void **state)
{
    (void)state;
    assert_int_equal(add(HEAD "0000000000000001\t5\ta\tf\t1-3:5-7,4-4:20,8-9:30\n"
                              "0000000000000002\t5\ta\tg\n"
                              "0000000000000003\t5\ta\th\tx\n"
                              "0000000000000004\t5\ta\ti\t:,-1-:99999999999999999999,2-2:\n"),
                     3);
    const uint64_t lua = sbx_provider_number("lua");
    const struct sbx_provider_function *function = sbx_provider_map_find(map, lua, 1);
    assert_int_equal(sbx_provider_line(function, 0), 5);
    assert_int_equal(sbx_provider_line(function, 1), 5);
    assert_int_equal(sbx_provider_line(function, 3), 7);
    assert_int_equal(sbx_provider_line(function, 4), 20);
    assert_int_equal(sbx_provider_line(function, 5), 5);
    assert_int_equal(sbx_provider_line(function, 9), 30);
    function = sbx_provider_map_find(map, lua, 2);
    assert_int_equal(sbx_provider_line(function, 0), 5);
    assert_int_equal(sbx_provider_line(function, 17), 17);
    assert_null(sbx_provider_map_find(map, lua, 3));
    function = sbx_provider_map_find(map, lua, 4);
    for (uint32_t line = 0; line < 4; line++) {
        (void)sbx_provider_line(function, line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_are_found_by_runtime_and_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_of_what_was_made_are_led_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_that_are_none_are_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_files_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_control_characters_do_not_come_through, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_of_equal_ids_the_smallest_line_counts_whatever_the_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_gives_its_map_files_and_nothing_else, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
