/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_conformance.c - a program with hooks sees the same as without: each result and each errno of a long script
 * of calls, in modules that are bound in every possible way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorded_process.h"

enum {
    TEXT_BYTES = 65536
};

static const char *module_path;
static char outcome[2][128]; /* files: without and with hooks */

static void run_script(const char *name, const char *text_path, bool is_recorded)
{
    char folder[160];
    static char text[TEXT_BYTES];
    snprintf(folder, sizeof folder, "%s/%s", recorded_process_folder(), name);
    child_expect(mkdir(folder, 0700) == 0, "the script has a folder");
    uint32_t slots = is_recorded ? child_header()->hooked_slots : 0;
    void *module = dlopen(module_path, RTLD_LAZY);
    child_expect(module != NULL, "the script loads");
    void (*script)(char *, size_t, const char *) = (void (*)(char *, size_t, const char *))dlsym(module, "call_script");
    if (is_recorded) {
        for (int i = 0; i < 10000 && child_header()->hooked_slots < slots + 100; i++) {
            child_pause_ms(1); /* the module thread hooks the module that was just loaded */
        }
        child_expect(child_header()->hooked_slots >= slots + 100, "the script's calls are hooked");
    }
    script(text, sizeof text, folder);
    int file = open(text_path, O_WRONLY | O_CREAT, 0600);
    child_expect(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text), "the outcome is written");
    close(file);
}

static void child_without_hooks(void)
{
    run_script("bare", outcome[0], false);
}

static void child_with_hooks(void)
{
    child_start();
    run_script("hook", outcome[1], true);
    child_finish();
}

static void read_text(const char *path, char text[TEXT_BYTES])
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t bytes = fread(text, 1, TEXT_BYTES - 1, file);
    text[bytes] = 0;
    fclose(file);
}

/* Compare line by line and fail at the first difference, because cmocka shows only the beginning of long texts. */
static void expect_same_lines(char *hooked, char *bare)
{
    char *rest_hooked = NULL, *rest_bare = NULL;
    char *line = strtok_r(hooked, "\n", &rest_hooked), *expected = strtok_r(bare, "\n", &rest_bare);
    while (line != NULL && expected != NULL) {
        assert_string_equal(line, expected);
        line = strtok_r(NULL, "\n", &rest_hooked);
        expected = strtok_r(NULL, "\n", &rest_bare);
    }
    assert_true(line == NULL && expected == NULL);
}

static void compare(const char *path)
{
    static char bare[TEXT_BYTES], hooked[TEXT_BYTES];
    module_path = path;
    for (int i = 0; i < 2; i++) {
        snprintf(outcome[i], sizeof outcome[i], "%s/outcome-%d", recorded_process_folder(), i);
    }
    assert_int_equal(recorded_process_run(child_without_hooks), 0);
    assert_int_equal(recorded_process_run(child_with_hooks), 0);
    read_text(outcome[0], bare);
    read_text(outcome[1], hooked);
    assert_non_null(strstr(bare, "done\n"));
    expect_same_lines(hooked, bare);
}

static void test_a_lazily_bound_module_sees_the_same_results(void **state)
{
    (void)state;
    compare(SCRIPT_LAZY);
}

static void test_a_module_without_plt_and_with_branch_protection_sees_the_same_results(void **state)
{
    (void)state;
    compare(SCRIPT_NO_PLT);
}

static void test_a_fortified_module_sees_the_same_results(void **state)
{
    (void)state;
    compare(SCRIPT_FORTIFIED);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_lazily_bound_module_sees_the_same_results),
        CASE(test_a_module_without_plt_and_with_branch_protection_sees_the_same_results),
        CASE(test_a_fortified_module_sees_the_same_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
