/* SPDX-License-Identifier: Apache-2.0 */
/* test_macho_symbols.c - what can be found out from a symbol table without sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "macho_image.h"
#include "macho_scene.h"
#include "macho_symbols.h"

enum {
    LOCAL = 0x0e,
    GLOBAL = 0x0f
};

static struct macho_scene scene;
static struct sbx_macho_image image;
static struct sbx_macho_symbols symbols;

static int begin_scene(void **state)
{
    (void)state;
    macho_scene_init(&scene);
    return 0;
}

static int end_scene(void **state)
{
    (void)state;
    sbx_macho_symbols_finish(&symbols);
    return 0;
}

static void read_scene(void)
{
    int fd = macho_scene_open(&scene, sizeof scene);
    assert_int_equal(sbx_macho_image_read(fd, scene.uuid.uuid, &image), 0);
    assert_int_equal(sbx_macho_symbols_read(fd, &image, &symbols), 0);
    close(fd);
}

/* Let functions begin at these distances from the base. */
static void set_starts(const uint8_t *list, uint32_t bytes)
{
    memcpy(scene.start_list, list, bytes);
    scene.starts.bytes = bytes;
}

/* The size of the symbol `name` in bytes; -1: it does not exist. */
static long reach_of(const char *name)
{
    for (size_t i = 0; i < symbols.count; i++) {
        if (strcmp(symbols.symbols[i].name, name) == 0) {
            return (long)(symbols.symbols[i].end - symbols.symbols[i].begin);
        }
    }
    return -1;
}

static void test_a_function_ends_where_the_next_begins_and_at_the_end_of_its_section(void **state)
{
    (void)state;
    macho_scene_add_symbol(&scene, "_last", SCENE_CODE + 0xf0, LOCAL);
    macho_scene_add_symbol(&scene, "_first", SCENE_CODE, GLOBAL);
    macho_scene_add_symbol(&scene, "_alias", SCENE_CODE, LOCAL);
    macho_scene_add_symbol(&scene, "_second", SCENE_CODE + 0x20, GLOBAL);
    read_scene();
    assert_int_equal(symbols.count, 4);
    assert_int_equal(reach_of("first"), 0x20);
    assert_int_equal(reach_of("alias"), 0x20);
    assert_int_equal(reach_of("second"), 0xd0);
    assert_int_equal(reach_of("last"), 0x10);
    assert_false(symbols.is_stripped);
}

static void test_a_function_without_a_symbol_is_not_given_to_its_neighbour(void **state)
{
    (void)state;
    static const uint8_t starts[] = {0x80, 0x20, 0x20, 0x40, 0x00}; /* +0x1000, +0x1020, +0x1060 */
    macho_scene_add_symbol(&scene, "_first", SCENE_CODE, GLOBAL);
    macho_scene_add_symbol(&scene, "_third", SCENE_CODE + 0x60, GLOBAL);
    set_starts(starts, sizeof starts);
    read_scene();
    assert_true(symbols.is_stripped);
    assert_int_equal(reach_of("first"), 0x20);
    assert_int_equal(reach_of("third"), 0xa0);
}

static void test_where_only_exported_names_are_left_and_no_list_of_functions_they_reach_nowhere(void **state)
{
    (void)state;
    macho_scene_add_symbol(&scene, "_first", SCENE_CODE, GLOBAL);
    macho_scene_add_symbol(&scene, "_third", SCENE_CODE + 0x60, GLOBAL);
    read_scene();
    assert_true(symbols.is_stripped);
    assert_int_equal(reach_of("first"), 0);
    assert_int_equal(reach_of("third"), 0);
    sbx_macho_symbols_finish(&symbols);
    scene.header.file_type = SBX_MACHO_DSYM; /* it contains all of them */
    read_scene();
    assert_false(symbols.is_stripped);
    assert_int_equal(reach_of("first"), 0x60);
}

static void test_a_program_whose_functions_are_all_exported_is_not_stripped(void **state)
{
    (void)state;
    static const uint8_t starts[] = {0x80, 0x20, 0x60};
    macho_scene_add_symbol(&scene, "_first", SCENE_CODE, GLOBAL);
    macho_scene_add_symbol(&scene, "_same", SCENE_CODE, GLOBAL);
    macho_scene_add_symbol(&scene, "_second", SCENE_CODE + 0x60, GLOBAL);
    set_starts(starts, sizeof starts);
    read_scene();
    assert_false(symbols.is_stripped);
    assert_int_equal(reach_of("same"), 0x60);
}

static void test_names_are_as_in_source(void **state)
{
    (void)state;
    macho_scene_add_symbol(&scene, "_main", SCENE_CODE, GLOBAL);
    macho_scene_add_symbol(&scene, "__ZN3foo3barEv", SCENE_CODE + 8, GLOBAL);
    macho_scene_add_symbol(&scene, "_$s4main3addyS2iF", SCENE_CODE + 16, GLOBAL);
    macho_scene_add_symbol(&scene, "-[Sum add:to:]", SCENE_CODE + 24, LOCAL);
    macho_scene_add_symbol(&scene, "written_in_assembly", SCENE_CODE + 32, LOCAL);
    read_scene();
    static const char *const names[] = {"main", "_ZN3foo3barEv", "$s4main3addyS2iF", "-[Sum add:to:]",
                                        "written_in_assembly"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_string_equal(symbols.symbols[i].name, names[i]);
    }
    assert_int_equal(symbols.count, 5);
}

static void test_what_names_no_code_is_left_out(void **state)
{
    (void)state;
    macho_scene_add_symbol(&scene, "_elsewhere", 0, 0x01);                     /* undefined */
    macho_scene_add_symbol(&scene, "_absolute", SCENE_CODE, 0x03);             /* of no section */
    macho_scene_add_symbol(&scene, "__mh_execute_header", SCENE_BASE, GLOBAL); /* before its section */
    macho_scene_add_symbol(&scene, "_behind", SCENE_CODE + SCENE_CODE_BYTES, LOCAL);
    macho_scene_add_symbol(&scene, "_data", SCENE_CODE + 0x1000, LOCAL);
    scene.symbols[4].section = 3;
    macho_scene_add_symbol(&scene, "_nowhere", SCENE_CODE, LOCAL);
    scene.symbols[5].section = 255;
    macho_scene_add_symbol(&scene, "_stab", SCENE_CODE, 0x24);
    macho_scene_add_symbol(&scene, "_label", SCENE_CODE + 8, LOCAL);
    scene.symbols[7].description = SBX_MACHO_SYMBOL_INNER;
    macho_scene_add_symbol(&scene, "ltmp12", SCENE_CODE + 16, LOCAL);
    macho_scene_add_symbol(&scene, "_", SCENE_CODE + 20, LOCAL);
    macho_scene_add_symbol(&scene, "_nameless", SCENE_CODE + 24, LOCAL);
    scene.symbols[10].name = UINT32_MAX;
    macho_scene_add_symbol(&scene, "_function", SCENE_CODE + 32, LOCAL);
    read_scene();
    assert_int_equal(symbols.count, 1);
    assert_string_equal(symbols.symbols[0].name, "function");
    assert_false(symbols.has_debug_map);
}

static void test_object_files_that_have_the_debug_information_are_told(void **state)
{
    (void)state;
    macho_scene_add_symbol(&scene, "/src/sample.o", 0, SBX_MACHO_SYMBOL_OBJECT);
    macho_scene_add_symbol(&scene, "_main", SCENE_CODE, GLOBAL);
    read_scene();
    assert_true(symbols.has_debug_map);
    assert_false(symbols.is_stripped);
    assert_int_equal(symbols.count, 1);
}

/* The last name has no terminator in the file. */
static void test_a_name_ends_with_the_strings(void **state)
{
    (void)state;
    macho_scene_add_symbol(&scene, "_main", SCENE_CODE, GLOBAL);
    scene.symtab.string_bytes -= 2;
    read_scene();
    assert_string_equal(symbols.symbols[0].name, "mai");
}

static void test_a_list_of_functions_that_makes_no_sense_ends(void **state)
{
    (void)state;
    static const uint8_t lists[][12] = {
        {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, /* a number is never that long */
        {0xff, 0xff, 0xff, 0xff, 0x7f, 0x01},                                     /* far out of the image */
        {0x80, 0x20, 0x80, 0x80, 0x80, 0x80, 0x80},                               /* cut inside of a number */
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        macho_scene_init(&scene);
        macho_scene_add_symbol(&scene, "_first", SCENE_CODE, LOCAL);
        set_starts(lists[i], sizeof lists[i]);
        read_scene();
        assert_int_equal(reach_of("first"), SCENE_CODE_BYTES);
        sbx_macho_symbols_finish(&symbols);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_function_ends_where_the_next_begins_and_at_the_end_of_its_section,
                                        begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_a_function_without_a_symbol_is_not_given_to_its_neighbour, begin_scene,
                                        end_scene),
        cmocka_unit_test_setup_teardown(
            test_where_only_exported_names_are_left_and_no_list_of_functions_they_reach_nowhere, begin_scene,
            end_scene),
        cmocka_unit_test_setup_teardown(test_a_program_whose_functions_are_all_exported_is_not_stripped, begin_scene,
                                        end_scene),
        cmocka_unit_test_setup_teardown(test_names_are_as_in_source, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_what_names_no_code_is_left_out, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_object_files_that_have_the_debug_information_are_told, begin_scene,
                                        end_scene),
        cmocka_unit_test_setup_teardown(test_a_name_ends_with_the_strings, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_a_list_of_functions_that_makes_no_sense_ends, begin_scene, end_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
