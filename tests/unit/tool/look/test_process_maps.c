/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_maps.c - lines of /proc/PID/maps, complete and broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "process_maps.h"

static struct sbx_process_maps parse(const char *text)
{
    struct sbx_process_maps maps;
    assert_int_equal(sbx_process_maps_parse(strdup(text), &maps), 0);
    return maps;
}

static void test_a_line_is_read_whole(void **state)
{
    (void)state;
    struct sbx_process_maps maps =
        parse("55d0c2a00000-55d0c2a28000 r-xp 00002000 fd:01 1234567   /usr/bin/a program (deleted)\n");
    assert_int_equal(maps.count, 1);
    assert_true(maps.mappings[0].begin == UINT64_C(0x55d0c2a00000) && maps.mappings[0].end == UINT64_C(0x55d0c2a28000));
    assert_int_equal(maps.mappings[0].offset, 0x2000);
    assert_int_equal(maps.mappings[0].inode, 1234567);
    assert_true(maps.mappings[0].is_readable && maps.mappings[0].is_executable);
    assert_string_equal(maps.mappings[0].path, "/usr/bin/a program (deleted)");
    sbx_process_maps_release(&maps);
}

static void test_a_mapping_without_a_file_has_an_empty_path(void **state)
{
    (void)state;
    struct sbx_process_maps maps = parse("7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
                                         "7f0000001000-7f0000002000 rw-p 00000000 00:00 0");
    assert_int_equal(maps.count, 2);
    assert_string_equal(maps.mappings[0].path, "");
    assert_string_equal(maps.mappings[1].path, "");
    assert_false(maps.mappings[0].is_readable);
    sbx_process_maps_release(&maps);
}

static void test_lines_that_are_no_mapping_or_go_back_are_left_out(void **state)
{
    (void)state;
    struct sbx_process_maps maps = parse("nonsense\n"
                                         "2000-1000 r--p 00000000 00:00 0\n"
                                         "5000-6000 r--p 00000000 00:00 0\n"
                                         "\n"
                                         "5800-7000 r--p 00000000 00:00 0\n"
                                         "8000-9000 r--p 00000000 00:00 0\n"
                                         "ffff\n");
    assert_int_equal(maps.count, 2);
    assert_int_equal(maps.mappings[1].begin, 0x8000);
    sbx_process_maps_release(&maps);
}

static void test_an_address_is_found_only_inside_of_a_mapping(void **state)
{
    (void)state;
    struct sbx_process_maps maps = parse("1000-2000 r--p 00000000 00:00 0\n"
                                         "3000-4000 r--p 00000000 00:00 0\n");
    assert_null(sbx_process_maps_find(&maps, 0xfff));
    assert_ptr_equal(sbx_process_maps_find(&maps, 0x1000), &maps.mappings[0]);
    assert_null(sbx_process_maps_find(&maps, 0x2000));
    assert_ptr_equal(sbx_process_maps_find(&maps, 0x3fff), &maps.mappings[1]);
    assert_null(sbx_process_maps_find(&maps, 0x4000));
    sbx_process_maps_release(&maps);
}

static void test_the_maps_of_this_process_hold_this_function(void **state)
{
    (void)state;
    struct sbx_process_maps maps;
    assert_int_equal(sbx_process_maps_read(getpid(), &maps), 0);
    const struct sbx_mapping *found =
        sbx_process_maps_find(&maps, (uint64_t)(uintptr_t)test_the_maps_of_this_process_hold_this_function);
    assert_non_null(found);
    assert_true(found->is_executable);
    sbx_process_maps_release(&maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_is_read_whole),
        cmocka_unit_test(test_a_mapping_without_a_file_has_an_empty_path),
        cmocka_unit_test(test_lines_that_are_no_mapping_or_go_back_are_left_out),
        cmocka_unit_test(test_an_address_is_found_only_inside_of_a_mapping),
        cmocka_unit_test(test_the_maps_of_this_process_hold_this_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
