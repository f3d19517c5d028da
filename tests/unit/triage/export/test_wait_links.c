/* SPDX-License-Identifier: Apache-2.0 */
/* test_wait_links.c - which thread each wait waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stall_scene.h"
#include "wait_links.h"

#define MS(ms) ((int64_t)(ms)*1000)

static struct sbx_stall_scene *scene;
static struct sbx_wait_link *links;
static size_t count;

static int begin(void **state)
{
    (void)state;
    scene = sbx_scene_create(4, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(links);
    sbx_scene_destroy(scene);
    return 0;
}

static void put(uint32_t thread, uint8_t kind, uint8_t op, int64_t begin_ms, int64_t end_ms, uint32_t peer,
                uint32_t wait)
{
    sbx_scene_record(scene, (struct sbx_build_record){.thread = thread,
                                                      .kind = kind,
                                                      .op = op,
                                                      .begin_us = MS(begin_ms),
                                                      .end_us = MS(end_ms),
                                                      .stack = sbx_scene_stack(scene, "work < main"),
                                                      .peer = peer,
                                                      .wait = wait});
}

static void make_links(void)
{
    assert_int_equal(sbx_wait_links_create(sbx_scene_stall(scene), &links, &count), 0);
}

static void test_a_wait_is_joined_with_who_ended_it(void **state)
{
    (void)state;
    put(0, SBX_RECORD_COND, SBX_OP_COND_WAIT, -900, -100, 0, 7);
    put(2, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, -101, -101, 1, 7);
    put(3, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, -50, -50, 0, 8); /* of a wait that was not recorded */
    make_links();
    assert_int_equal(count, 1);
    assert_int_equal(links[0].waiter, 0);
    assert_int_equal(links[0].other, 2);
    assert_true(links[0].woke);
    assert_true(links[0].at_ns == -101 * INT64_C(1000000));
    assert_int_not_equal(links[0].stack, 0);
}

static void test_a_lock_has_a_holder_as_well(void **state)
{
    (void)state;
    put(0, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, -900, -100, 2, 7);
    put(1, SBX_RECORD_WAKE, SBX_OP_MUTEX_UNLOCK, -100, -100, 1, 7);
    make_links();
    assert_int_equal(count, 2);
    assert_int_equal(links[0].other, 1);
    assert_int_equal(links[1].other, 1);
    assert_true(links[0].woke != links[1].woke);
}

static void test_a_lock_that_is_still_waited_for_has_its_holder(void **state)
{
    (void)state;
    sbx_scene_call(scene, 0, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 3, 1, 950000});
    make_links();
    assert_int_equal(count, 1);
    assert_int_equal(links[0].other, 2);
    assert_false(links[0].woke);
    assert_true(links[0].begin_ns == -950 * INT64_C(1000000));
    assert_true(links[0].end_ns == 0);
}

static void test_the_longest_come_first_and_nobody_waits_for_himself(void **state)
{
    (void)state;
    put(0, SBX_RECORD_COND, SBX_OP_COND_WAIT, -900, -890, 0, 1);
    put(0, SBX_RECORD_COND, SBX_OP_COND_WAIT, -800, -300, 0, 2);
    put(0, SBX_RECORD_COND, SBX_OP_COND_WAIT, -200, -100, 0, 3);
    put(0, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, -100, -100, 0, 3); /* from a signal handler, perhaps */
    put(1, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, -890, -890, 0, 1);
    put(1, SBX_RECORD_WAKE, SBX_OP_COND_SIGNAL, -300, -300, 0, 2);
    make_links();
    assert_int_equal(count, 2);
    assert_true(links[0].end_ns == -300 * INT64_C(1000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_wait_is_joined_with_who_ended_it, begin, end),
        cmocka_unit_test_setup_teardown(test_a_lock_has_a_holder_as_well, begin, end),
        cmocka_unit_test_setup_teardown(test_a_lock_that_is_still_waited_for_has_its_holder, begin, end),
        cmocka_unit_test_setup_teardown(test_the_longest_come_first_and_nobody_waits_for_himself, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
