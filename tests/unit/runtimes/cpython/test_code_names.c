/* SPDX-License-Identifier: Apache-2.0 */
/* test_code_names.c - strings of all widths as UTF-8; paths without the parts that differ between machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "code_names.h"

enum {
    TYPE = 0x1234560
};

/* A string object of 3.11, written by hand. */
static union {
    uint64_t words[40];
    uint8_t bytes[320];
} object;

static uint64_t string(unsigned width, int is_ascii, uint64_t length, const void *characters)
{
    memset(&object, 0, sizeof object);
    object.words[1] = TYPE;
    object.words[2] = length;
    object.words[4] = width << 2 | 1 << 5 | (is_ascii ? 1 << 6 : 0);
    memcpy(object.bytes + (is_ascii ? 48 : 72), characters, length * width);
    return (uint64_t)(uintptr_t)&object;
}

static void expect(uint64_t at, size_t room, const char *text)
{
    char to[64];
    size_t bytes = code_name_text(cpython_layout_of(11), TYPE, at, to, room);
    assert_int_equal(bytes, strlen(text));
    assert_memory_equal(to, text, bytes);
}

static void test_names_of_all_widths_are_utf_8(void **state)
{
    (void)state;
    static const uint8_t latin[] = {'n', 0xe4, 'h'};
    static const uint16_t two[] = {'a', 0x4e2d, 0x6587};
    static const uint32_t four[] = {0x1f40d, 'x'};
    expect(string(1, 1, 5, "price"), 64, "price");
    expect(string(1, 0, 3, latin), 64, "n\xc3\xa4h");
    expect(string(2, 0, 3, two), 64, "a\xe4\xb8\xad\xe6\x96\x87");
    expect(string(4, 0, 2, four), 64, "\xf0\x9f\x90\x8dx");
    expect(string(2, 0, 3, two), 6, "a\xe4\xb8\xad"); /* no part of a character */
    expect(string(4, 0, 2, four), 3, "");
}

static void test_what_is_no_string_has_no_text(void **state)
{
    (void)state;
    char to[64];
    const struct cpython_layout *layout = cpython_layout_of(11);
    uint64_t at = string(1, 1, 5, "price");
    assert_int_equal(code_name_text(layout, TYPE + 8, at, to, sizeof to), 0);
    assert_int_equal(code_name_text(layout, TYPE, at + 4, to, sizeof to), 0);
    assert_int_equal(code_name_text(layout, TYPE, 0, to, sizeof to), 0);
    assert_int_equal(code_name_text(layout, TYPE, 4096 * 3, to, sizeof to), 0); /* nothing is mapped there */
    assert_int_equal(code_name_text(layout, TYPE, 8, to, sizeof to),
                     0); /* nor in the first page, which has not been asked about */
    object.words[4] = 3u << 2 | 1 << 5;
    assert_int_equal(code_name_text(layout, TYPE, at, to, sizeof to), 0);
    string(1, 1, 5, "price");
    object.words[2] = UINT64_MAX;
    assert_true(code_name_text(layout, TYPE, at, to, sizeof to) <= sizeof to); /* whatever size it claims */
}

static struct source_prefix prefixes[8];
static size_t prefix_count;

static void expect_source(const char *path, const char *source)
{
    struct source_cut cut = {0};
    for (size_t i = 0; i < prefix_count; i++) {
        source_cut_try(&cut, &prefixes[i], path, strlen(path));
    }
    assert_string_equal(path + source_cut_bytes(&cut, path, strlen(path)), source);
}

static void test_paths_lose_the_longest_entry_of_the_search_path(void **state)
{
    (void)state;
    static const char *const paths[] = {"/home/me/src", "/usr/lib/python3",   "/usr/lib/python3/dist-packages/", "",
                                        "rel",          "/usr/lib/python3.11"};
    prefix_count = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        memcpy(prefixes[prefix_count].path, paths[i], strlen(paths[i]));
        prefix_count += source_prefix_finish(&prefixes[prefix_count], strlen(paths[i]));
    }
    assert_int_equal(prefix_count, 4);
    expect_source("/home/me/src/shop/price.py", "shop/price.py");
    expect_source("/usr/lib/python3/dist-packages/flask/app.py", "flask/app.py");
    expect_source("/usr/lib/python3/json.py", "json.py");
    expect_source("/usr/lib/python3.11/asyncio/events.py", "python3.11/asyncio/events.py");
    expect_source("/home/me/srcs/a.py", "/home/me/srcs/a.py");
    expect_source("app.py", "app.py");
    expect_source("./app.py", "app.py");
    expect_source("src/app.py", "app.py"); /* run as a script from the parent folder */
    expect_source("rc/app.py", "rc/app.py");
    expect_source("<string>", "<string>");
    expect_source("", "");
}

static void expect_tidy(const char *path, const char *tidy)
{
    char own[64];
    memcpy(own, path, strlen(path));
    own[source_path_tidy(own, strlen(path))] = '\0';
    assert_string_equal(own, tidy);
}

static void test_paths_lose_what_the_way_to_start_a_program_leaves_in_them(void **state)
{
    (void)state;
    expect_tidy("/srv/app/./shop.py", "/srv/app/shop.py");
    expect_tidy("/srv/app/bin/../shop.py", "/srv/app/shop.py");
    expect_tidy("/srv/app/bin/lib/../../shop.py", "/srv/app/shop.py");
    expect_tidy("/srv//app/.//shop.py", "/srv/app/shop.py");
    expect_tidy("/../../shop.py", "/shop.py");
    expect_tidy("./shop.py", "shop.py");
    expect_tidy("../lib/../shop.py", "../shop.py");
    expect_tidy("../../shop.py", "../../shop.py");
    expect_tidy("a/../../shop.py", "../shop.py");
    expect_tidy("/srv/app/..", "/srv/");
    expect_tidy("/srv/.hidden/..shop/x.", "/srv/.hidden/..shop/x.");
    expect_tidy("<frozen a//b>", "<frozen a//b>");
    expect_tidy("/", "/");
    expect_tidy("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_all_widths_are_utf_8),
        cmocka_unit_test(test_what_is_no_string_has_no_text),
        cmocka_unit_test(test_paths_lose_the_longest_entry_of_the_search_path),
        cmocka_unit_test(test_paths_lose_what_the_way_to_start_a_program_leaves_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
