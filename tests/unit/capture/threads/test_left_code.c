/* SPDX-License-Identifier: Apache-2.0 */
/* test_left_code.c - recorder code that a jump has left is distinguished from recorder code that is still running
 * further out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "left_code.h"
#include "attached_recording.h"
#include "the_capture.h"
#include "thread_end.h"
#include "thread_registry.h"

static struct sbx_thread *the_thread;

static int attach(void **state)
{
    (void)state;
    return attached_recording_begin_here(&sbx_thread_end, &the_thread) == 0 && the_thread->stack_high != 0 ? 0 : -1;
}

/* The question that hooks ask, with the stack in between overwritten. */
__attribute__((noinline)) static bool is_inside_further_in(int byte)
{
    volatile char between[4096];
    memset((char *)between, byte, sizeof between);
    bool is_inside = sbx_thread_is_inside(the_thread);
    between[0] = 0;
    return is_inside;
}

__attribute__((noinline)) static bool asks_from_within(void)
{
    sbx_thread_enter(the_thread);
    bool is_inside = is_inside_further_in(0) && is_inside_further_in(0xff);
    sbx_thread_leave(the_thread);
    return is_inside;
}

/* Ends like code that a jump has left: its frame is gone, but it did not unregister. Returns the place that it
 * registered. */
__attribute__((noinline)) static uint64_t leaves_by_a_jump(void)
{
    volatile char frame[256];
    frame[0] = 0;
    sbx_thread_enter(the_thread);
    return SBX_INSIDE_PLACE_OF(the_thread->inside) + (uint64_t)frame[0];
}

static void test_code_that_runs_is_not_taken_for_left(void **state)
{
    (void)state;
    assert_true(asks_from_within());
    assert_int_equal(the_thread->inside, 0);
}

static void test_code_that_was_left_is_found_from_as_far_out(void **state)
{
    (void)state;
    uint64_t place = leaves_by_a_jump();
    assert_true(the_thread->inside != 0);
    assert_false(sbx_inside_is_stale(the_thread, the_thread->inside, place - 1));
    assert_true(sbx_inside_is_stale(the_thread, the_thread->inside, place));
    assert_true(sbx_code_is_found_left(the_thread, place));
    assert_int_equal(the_thread->inside, 0);
}

/* Its return address has been overwritten, so it cannot return, no matter from which frame the question is asked. */
static void test_code_that_was_left_is_found_from_further_in(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip();
#endif
    leaves_by_a_jump();
    assert_true(the_thread->inside != 0);
    assert_false(is_inside_further_in(0x5a));
    assert_int_equal(the_thread->inside, 0);
}

static void test_what_does_not_say_where_it_runs_is_not_taken_for_left(void **state)
{
    (void)state;
    the_thread->inside = 1;
    assert_true(is_inside_further_in(0));
    the_thread->inside = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_that_runs_is_not_taken_for_left),
        cmocka_unit_test(test_code_that_was_left_is_found_from_as_far_out),
        cmocka_unit_test(test_code_that_was_left_is_found_from_further_in),
        cmocka_unit_test(test_what_does_not_say_where_it_runs_is_not_taken_for_left),
    };
    return cmocka_run_group_tests(tests, attach, attached_recording_end);
}
