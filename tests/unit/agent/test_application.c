/* SPDX-License-Identifier: Apache-2.0 */
/* test_application.c - the name and version that an application which links the library gives itself are in its
 * recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "order.h"
#include "stalling_process.h"

static void child_says_what_it_is(void)
{
    char name[] = "org.example.editor";
    struct stallbox_options options = stalling_options();
    options.app_name = name;
    options.app_version[0] = 1;
    options.app_version[1] = 4;
    options.app_version[2] = 999999;
    stalling_start(&options);
    memset(name, 'x', sizeof name - 1); /* the name is only borrowed until the call returns */
    stalling_expect(stallbox_snapshot(20000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static void test_a_snapshot_has_the_name_and_version_that_the_application_gave(void **state)
{
    (void)state;
    stalling_process_run(child_says_what_it_is);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_string_equal(snapshot->header.app_name, "org.example.editor");
    assert_int_equal(snapshot->header.app_version[0], 1);
    assert_int_equal(snapshot->header.app_version[1], 4);
    assert_int_equal(snapshot->header.app_version[2], 999999);
    sbx_snapshot_destroy(snapshot);
}

static void child_was_compiled_against_an_older_header(void)
{
    struct stallbox_options options = stalling_options();
    options.sizeof_options = offsetof(struct stallbox_options, app_name);
    options.app_name = (const char *)1; /* the bytes behind an older struct are not options */
    options.app_version[0] = 7;
    stalling_start(&options);
    stalling_expect(stallbox_snapshot(20000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static void test_an_application_of_an_older_header_gives_none(void **state)
{
    (void)state;
    stalling_process_run(child_was_compiled_against_an_older_header);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_string_equal(snapshot->header.app_name, "");
    assert_int_equal(snapshot->header.app_version[0], 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_gives_what_cannot_be(void)
{
    char name[49];
    memset(name, 'n', sizeof name - 1);
    name[48] = 0;
    struct stallbox_options options = stalling_options();
    options.app_name = name;
    stalling_expect(stallbox_start(&options) == STALLBOX_BAD_ARGUMENT, "a name that is too long is refused");
    options.app_name = "two\nlines";
    stalling_expect(stallbox_start(&options) == STALLBOX_BAD_ARGUMENT, "so is one with a control character");
    options.app_name = "editor";
    options.app_version[1] = 1000000;
    stalling_expect(stallbox_start(&options) == STALLBOX_BAD_ARGUMENT, "and a number with seven digits");
    options.app_version[1] = 0;
    options.max_cpu_tenths = 5;
    stalling_expect(stallbox_start(&options) == STALLBOX_BAD_ARGUMENT, "and tenths of no budget");
    options.max_cpu_permille = 2;
    options.max_cpu_tenths = 10;
    stalling_expect(stallbox_start(&options) == STALLBOX_BAD_ARGUMENT, "and more tenths than there are");
    options.max_cpu_tenths = 5;
    name[47] = 0;
    options.app_name = name;
    stalling_expect(stallbox_start(&options) == STALLBOX_OK, "nothing was begun by these");
    const struct sbx_overhead *overhead = &stalling_own_recording()->overhead;
    for (int i = 0; i < 1000 && sbx_load_acquire(&overhead->budget_tenths) == 0; i++) {
        stalling_pause_ms(10); /* wait until the watch thread reports it */
    }
    stalling_expect(overhead->budget_permille == 2 && overhead->budget_tenths == 5,
                    "the budget is a quarter of one per cent");
    stallbox_stop(5000);
}

static void test_a_name_or_version_that_cannot_be_is_refused(void **state)
{
    (void)state;
    stalling_process_run(child_gives_what_cannot_be);
}

int main(void)
{
#define IN_FOLDERS(name) cmocka_unit_test_setup_teardown(name, stalling_process_set_up, stalling_process_tear_down)
    const struct CMUnitTest tests[] = {
        IN_FOLDERS(test_a_snapshot_has_the_name_and_version_that_the_application_gave),
        IN_FOLDERS(test_an_application_of_an_older_header_gives_none),
        IN_FOLDERS(test_a_name_or_version_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
