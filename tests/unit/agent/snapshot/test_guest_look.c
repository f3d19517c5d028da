/* SPDX-License-Identifier: Apache-2.0 */
/* test_guest_look.c - a recorder that rests is asked to look. A recorder that cannot answer is not waited for. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "answering_keeper.h"
#include "clock.h"
#include "guest_look.h"
#include "order.h"

#define SINCE_NS UINT64_C(5000000)

static char path[64];
static int file;
static struct sbx_recording_builder *keeper;

static int begin(void **state)
{
    (void)state;
    strcpy(path, "/tmp/test-guest-look-XXXXXX");
    close(mkstemp(path));
    keeper = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, path);
    file = open(path, O_RDWR | O_CLOEXEC);
    return file >= 0 ? 0 : -1;
}

static int finish(void **state)
{
    (void)state;
    close(file);
    sbx_recording_builder_destroy(keeper);
    unlink(path);
    return 0;
}

static void look(struct sbx_recording_builder *builder)
{
    sbx_store_release(&builder->control->looked_ns, SINCE_NS + 1);
}

static void test_a_recorder_that_rests_is_woken_and_looks(void **state)
{
    (void)state;
    answering_keeper_begin(keeper, look);
    bool has_looked = sbx_guest_look(file, SINCE_NS, UINT64_MAX);
    assert_int_equal(keeper->control->look_request, 1);
    assert_int_equal(keeper->control->bell, 1);
    answering_keeper_end();
    assert_true(has_looked);
}

static void test_one_that_answers_without_a_look_is_not_waited_for_any_longer(void **state)
{
    (void)state;
    answering_keeper_begin(keeper, NULL);
    bool has_looked = sbx_guest_look(file, SINCE_NS, UINT64_MAX);
    answering_keeper_end();
    assert_false(has_looked);
}

static void test_one_that_has_looked_since_is_not_asked(void **state)
{
    (void)state;
    keeper->control->looked_ns = SINCE_NS;
    assert_true(sbx_guest_look(file, SINCE_NS, UINT64_MAX));
    assert_int_equal(keeper->control->look_request, 0);
    assert_int_equal(keeper->control->bell, 0);
}

static void test_one_that_says_nothing_is_waited_for_until_then(void **state)
{
    (void)state;
    assert_false(sbx_guest_look(file, SINCE_NS, sbx_now_ns() + 2000000));
    assert_int_equal(keeper->control->look_request, 1);
    assert_false(sbx_guest_look(file, SINCE_NS, 0));
    assert_int_equal(keeper->control->look_request, 1); /* there was no time to ask twice */
}

/* A store into the missing page would raise SIGBUS. */
static void test_a_file_that_was_cut_short_harms_nobody(void **state)
{
    (void)state;
    assert_int_equal(truncate(path, SBX_CONTROL_AT), 0);
    assert_false(sbx_guest_look(file, SINCE_NS, UINT64_MAX));
}

static void test_a_file_that_may_only_be_read_is_not_waited_for(void **state)
{
    (void)state;
    int readable = open(path, O_RDONLY | O_CLOEXEC);
    assert_false(sbx_guest_look(readable, SINCE_NS, UINT64_MAX));
    close(readable);
    assert_int_equal(keeper->control->look_request, 0);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_a_recorder_that_rests_is_woken_and_looks),
        WITH_FILE(test_one_that_answers_without_a_look_is_not_waited_for_any_longer),
        WITH_FILE(test_one_that_has_looked_since_is_not_asked),
        WITH_FILE(test_one_that_says_nothing_is_waited_for_until_then),
        WITH_FILE(test_a_file_that_was_cut_short_harms_nobody),
        WITH_FILE(test_a_file_that_may_only_be_read_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
