/* SPDX-License-Identifier: Apache-2.0 */
/* test_search_path.c - sys.path at two times, made of list and string objects by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "search_path.h"

enum {
    TYPE = 0x1234560,
    ITEMS = 8
};

/* Strings of 3.11 and a list. */
static union {
    uint64_t words[40];
    char bytes[320];
} strings[ITEMS];
static uint64_t items[ITEMS], list[5];
static struct search_path path;

static void append(const char *text)
{
    size_t at = list[2];
    memset(&strings[at], 0, sizeof strings[at]);
    strings[at].words[1] = TYPE;
    strings[at].words[2] = strlen(text);
    strings[at].words[4] = 1 << 2 | 1 << 5 | 1 << 6;
    memcpy(strings[at].bytes + 48, text, strlen(text));
    items[at] = (uint64_t)(uintptr_t)&strings[at];
    list[2] = at + 1;
}

static int begin(void **state)
{
    (void)state;
    memset(list, 0, sizeof list);
    list[3] = (uint64_t)(uintptr_t)items;
    path =
        (struct search_path){.layout = cpython_layout_of(11), .string_type = TYPE, .list = (uint64_t)(uintptr_t)list};
    return chdir("/");
}

static void expect_source(const char *file, const char *source)
{
    assert_string_equal(file + search_path_cut(&path, file, strlen(file)), source);
}

static void test_a_folder_that_is_added_later_is_taken_off(void **state)
{
    (void)state;
    append("/srv/launcher");
    search_path_keep(&path);
    expect_source("/srv/app/shop/price.py", "/srv/app/shop/price.py");
    append("/srv/app");
    expect_source("/srv/app/shop/price.py", "shop/price.py");
    expect_source("/srv/launcher/run.py", "run.py");
}

static void test_a_folder_that_is_taken_out_again_is_still_known(void **state)
{
    (void)state;
    append("/srv/app");
    search_path_keep(&path);
    list[2] = 0;
    expect_source("/srv/app/shop/price.py", "shop/price.py");
}

static void test_an_empty_entry_is_the_working_folder_as_it_was(void **state)
{
    (void)state;
    assert_int_equal(chdir("/usr/lib"), 0);
    search_path_learn_folder(&path);
    assert_int_equal(chdir("/"), 0);
    append("");
    expect_source("/usr/lib/shop/price.py", "shop/price.py");
    path.folder_bytes = 0; /* could not be found out */
    expect_source("/usr/lib/shop/price.py", "/usr/lib/shop/price.py");
}

static void test_an_entry_that_is_not_absolute_lies_below_the_working_folder(void **state)
{
    (void)state;
    assert_int_equal(chdir("/usr"), 0);
    search_path_learn_folder(&path);
    append("lib");
    append("./share");
    expect_source("/usr/lib/shop/price.py", "shop/price.py");
    expect_source("/usr/share/shop/price.py", "shop/price.py");
    expect_source("/usr/games/shop/price.py", "/usr/games/shop/price.py");
}

/* Releases behind a symbolic link: the interpreter resolves it for sys.path, but not in the script's own path. */
static void test_the_folder_of_the_script_is_known_by_the_name_it_was_started_by(void **state)
{
    (void)state;
    static const char script[] = "/srv/current/shop.py";
    append("/srv/releases/42");
    search_path_keep(&path);
    search_path_keep_script(&path, script, sizeof script - 1);
    expect_source(script, "shop.py");
    expect_source("/srv/releases/42/price.py", "price.py");
    search_path_keep_script(&path, "<string>", 8);
    assert_int_equal(path.kept_count, 2);
}

static void test_an_entry_with_dots_is_what_it_stands_for(void **state)
{
    (void)state;
    append("/srv/app/bin/..");
    expect_source("/srv/app/shop/price.py", "shop/price.py");
}

static void test_what_cannot_be_read_adds_nothing(void **state)
{
    (void)state;
    append("/srv/app");
    items[1] = 4096 * 3; /* nothing is mapped there */
    items[2] = items[0] + 4;
    list[2] = 3;
    expect_source("/srv/app/price.py", "price.py");
    list[3] = 4096 * 3;
    expect_source("/srv/app/price.py", "/srv/app/price.py");
    list[2] = UINT64_MAX;
    expect_source("/srv/app/price.py", "/srv/app/price.py");
    path.list = 4096 * 3;
    expect_source("/srv/app/price.py", "/srv/app/price.py");
    path.list = 0;
    expect_source("/srv/app/price.py", "/srv/app/price.py");
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_folder_that_is_added_later_is_taken_off),
        TEST(test_a_folder_that_is_taken_out_again_is_still_known),
        TEST(test_an_empty_entry_is_the_working_folder_as_it_was),
        TEST(test_an_entry_that_is_not_absolute_lies_below_the_working_folder),
        TEST(test_the_folder_of_the_script_is_known_by_the_name_it_was_started_by),
        TEST(test_an_entry_with_dots_is_what_it_stands_for),
        TEST(test_what_cannot_be_read_adds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
