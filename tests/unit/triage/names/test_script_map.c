/* SPDX-License-Identifier: Apache-2.0 */
/* test_script_map.c - source maps with any content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script_map.h"

static struct sbx_script_map map;

static int tear_down(void **state)
{
    (void)state;
    sbx_script_map_finish(&map);
    return 0;
}

static int read_map(const char *json)
{
    char *exact = malloc(strlen(json) + 1);
    assert_non_null(exact);
    memcpy(exact, json, strlen(json));
    sbx_script_map_finish(&map);
    int result = sbx_script_map_read(&map, (struct sbx_name_text){exact, strlen(json)});
    free(exact);
    return result;
}

static void test_places_belong_to_the_segment_before_them(void **state)
{
    (void)state;
    assert_int_equal(read_map(")]}'\n{ \"version\" : 3, \"x\": [1, {\"y\": null}],\"names\":[\"n\"], \"sources\": "
                              "[null, \"\\ud83d\\ude00\\n\"],"
                              "\"mappings\": \"ACEAA,IAEA;;C\"}"),
                     0);
    assert_int_equal(map.source_count, 2);
    assert_int_equal(map.sources[0].bytes, 0);
    assert_int_equal(map.sources[1].bytes, 5);
    assert_memory_equal(map.sources[1].at, "\xf0\x9f\x98\x80\n", 5);
    assert_int_equal(map.segment_count, 2);
    const struct sbx_script_segment *first = sbx_script_map_find(&map, 0, 3), *second = sbx_script_map_find(&map, 0, 4);
    assert_int_equal(first->source_line, 2);
    assert_int_equal(first->name, 0);
    assert_int_equal(second->source_line, 4);
    assert_int_equal(second->name, UINT32_MAX);
    assert_ptr_equal(sbx_script_map_line(&map, 0), first);
    assert_null(sbx_script_map_line(&map, 2));
    assert_null(sbx_script_map_find(&map, 1, 0));
}

static void test_what_is_no_map_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{",
        "{}",
        "[]",
        "{\"mappings\"",
        "{\"mappings\":\"A",
        "{\"mappings\":\"*\"}",
        "{\"sources\":[\"a\",\"names\":[]}",
        "{\"sources\":[\"a\"],\"sources\":[\"b\"],\"mappings\":\"\"}",
        "{\"mappings\":\"D\"}",                              /* column -1 */
        "{\"sources\":[\"a\"],\"mappings\":\"AADA\"}",       /* line -1 */
        "{\"sources\":[\"a\"],\"mappings\":\"gggggggggA\"}", /* a number without end */
        "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        "{\"sources\":[\"\\u12",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_map(texts[i]), -EBADMSG);
        assert_int_equal(map.segment_count, 0);
    }
}

static void test_numbers_beyond_the_lists_are_left_out(void **state)
{
    (void)state;
    assert_int_equal(read_map("{\"sources\":[\"a\"],\"names\":[],\"mappings\":\"ACAA,CDAAC\"}"), 0);
    assert_int_equal(map.segment_count, 1);
    assert_int_equal(map.segments[0].name, UINT32_MAX);
}

static void test_segments_out_of_order_are_sorted(void **state)
{
    (void)state;
    assert_int_equal(read_map("{\"sources\":[\"a\"],\"mappings\":\"UAAA,LACA\"}"), 0);
    assert_int_equal(map.segments[0].column, 5);
    assert_int_equal(map.segments[1].column, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_places_belong_to_the_segment_before_them, tear_down),
        cmocka_unit_test_teardown(test_what_is_no_map_is_refused, tear_down),
        cmocka_unit_test_teardown(test_numbers_beyond_the_lists_are_left_out, tear_down),
        cmocka_unit_test_teardown(test_segments_out_of_order_are_sorted, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
