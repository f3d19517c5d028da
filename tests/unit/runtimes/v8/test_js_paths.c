/* SPDX-License-Identifier: Apache-2.0 */
/* test_js_paths.c - names of scripts without the parts that differ between machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "js_paths.h"

static const char *rest(const struct js_roots *roots, const char *path)
{
    return path + js_path_prefix_bytes(roots, path, strlen(path));
}

static void test_the_programs_own_folder_is_taken_off(void **state)
{
    (void)state;
    struct js_roots roots = {.paths = {"/srv/app/", "/srv/app/tools/"}, .bytes = {9, 15}, .count = 2};
    assert_string_equal(rest(&roots, "/srv/app/lib/pay.js"), "lib/pay.js");
    assert_string_equal(rest(&roots, "/srv/app/tools/x.js"), "x.js"); /* the longer root */
    assert_string_equal(rest(&roots, "file:///srv/app/pay.mjs"), "pay.mjs");
    assert_string_equal(rest(&roots, "/srv/app/node_modules/a/b.js"), "node_modules/a/b.js");
    assert_string_equal(rest(&roots, "/srv/node_modules/a/node_modules/b/c.js"), "node_modules/a/node_modules/b/c.js");
    assert_string_equal(rest(&roots, "/srv/apple.js"), "/srv/apple.js");
    assert_string_equal(rest(&roots, "/srv/app/"), "/srv/app/");
    assert_string_equal(rest(&roots, "node:fs"), "node:fs");
    assert_string_equal(rest(&roots, ""), "");
}

static void test_a_package_is_the_folder_with_its_description(void **state)
{
    (void)state;
    char folder[] = "/tmp/js-paths-XXXXXX", path[256], package[256];
    struct js_roots roots = {.count = 0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/src", folder);
    snprintf(package, sizeof package, "%s/package.json", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    js_roots_add(&roots, path); /* no package description yet: the folder itself */
    FILE *file = fopen(package, "w");
    assert_non_null(file);
    fclose(file);
    js_roots_add(&roots, path);
    js_roots_add(&roots, path); /* there is no room for a third */
    unlink(package);
    rmdir(path);
    rmdir(folder);
    assert_int_equal(roots.count, 2);
    assert_int_equal(roots.bytes[0], strlen(path) + 1);
    assert_int_equal(roots.bytes[1], strlen(folder) + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_programs_own_folder_is_taken_off),
        cmocka_unit_test(test_a_package_is_the_folder_with_its_description),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
