/* SPDX-License-Identifier: Apache-2.0 */
/* test_watch_names.c - names are found by their hash, and only complete lines are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "watch_names.h"

static struct sbx_watch_names *read_names(const char *text)
{
    char path[] = "/tmp/sbx-test-names-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    struct sbx_watch_names *names = sbx_watch_names_create();
    assert_non_null(names);
    assert_int_equal(sbx_watch_names_add_index(names, path), 0);
    unlink(path);
    return names;
}

static void test_names_stand_beside_modules(void **state)
{
    (void)state;
    struct sbx_watch_names *names = read_names("00112233 /usr/bin/application\n"
                                               "=00000000ab worker\n"
                                               "=ffffffffff save the document\n"
                                               "=00000000ab a later name\n");
    assert_string_equal(sbx_watch_names_find(names, 0xab), "worker");
    assert_string_equal(sbx_watch_names_find(names, UINT64_C(0xffffffffff)), "save the document");
    assert_null(sbx_watch_names_find(names, 0x00112233));
    sbx_watch_names_destroy(names);
    sbx_watch_names_destroy(NULL);
}

static void test_what_is_no_line_of_ours_is_skipped(void **state)
{
    (void)state;
    char text[600] = "=00000000ac\n=00000000ad \n=0ae short\n=00000000AF upper\n=00000000b00 long\n";
    size_t at = strlen(text);
    memset(text + at, 'x', 400);
    strcpy(text + at + 400, "=00000000b1 inside\n=00000000b2 unfinished");
    struct sbx_watch_names *names = read_names(text);
    for (uint64_t what = 0; what < 0x1000; what++) {
        assert_null(sbx_watch_names_find(names, what));
    }
    sbx_watch_names_destroy(names);
}

static void test_an_index_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    struct sbx_watch_names *names = sbx_watch_names_create();
    assert_true(sbx_watch_names_add_index(names, "/nonexistent/modules") < 0);
    sbx_watch_names_destroy(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_stand_beside_modules),
        cmocka_unit_test(test_what_is_no_line_of_ours_is_skipped),
        cmocka_unit_test(test_an_index_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
