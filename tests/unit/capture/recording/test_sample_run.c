/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample_run.c - equal samples make a run longer, other samples end it, and a run that was left half-written
 * counts as none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample_run.h"

static struct sbx_record sample(uint32_t stack, uint64_t when_ns)
{
    return (struct sbx_record){.kind = SBX_RECORD_LEAF,
                               .op = SBX_OP_READ,
                               .stack = stack,
                               .begin_ns = when_ns,
                               .end_ns = when_ns,
                               .cpu_ns = when_ns / 2,
                               .alloc_count = when_ns / 10};
}

static void test_equal_samples_become_one_record_with_their_count(void **state)
{
    (void)state;
    struct sbx_repeat run = {0};
    struct sbx_record first = sample(7, 1000), second = sample(7, 2000), third = sample(7, 3000),
                      other = sample(8, 4000), told;
    sbx_run_begin(&run, &first);
    assert_false(sbx_run_tell(&run, 3, &told)); /* the first is in the ring */
    assert_true(sbx_run_extend(&run, &second));
    assert_true(sbx_run_extend(&run, &third));
    assert_false(sbx_run_extend(&run, &other));
    assert_true(sbx_run_tell(&run, 3, &told));
    assert_int_equal(told.repeats, 2);
    assert_int_equal(told.thread, 3);
    assert_int_equal(told.begin_ns, 1000);
    assert_int_equal(told.end_ns, 3000);
    assert_int_equal(told.cpu_ns, 1500);
    sbx_run_end(&run);
    assert_false(sbx_run_tell(&run, 3, &told));
    assert_false(sbx_run_extend(&run, &third));
}

static void test_run_is_ended_when_it_has_lasted_long_enough(void **state)
{
    (void)state;
    struct sbx_repeat run = {0};
    struct sbx_record first = sample(7, 1000), in_time = sample(7, 1000 + SBX_RUN_NS),
                      late = sample(7, 1001 + SBX_RUN_NS);
    sbx_run_begin(&run, &first);
    assert_true(sbx_run_extend(&run, &in_time));
    assert_false(sbx_run_extend(&run, &late));
}

/* A thread may be killed between any two stores. A reader of the run must not believe it then, and the next writer must
 * not make it look complete while it is not. */
static void test_run_whose_writer_died_in_the_middle_tells_nothing(void **state)
{
    (void)state;
    struct sbx_repeat run = {0};
    struct sbx_record first = sample(7, 1000), second = sample(7, 2000), told;
    sbx_run_begin(&run, &first);
    assert_true(sbx_run_extend(&run, &second));
    assert_true(sbx_run_tell(&run, 3, &told));
    assert_int_equal(told.repeats, 1);
    sbx_run_open(&run);
    run.repeats = 77;
    assert_int_equal(run.sequence % 2, 1);
    assert_false(sbx_run_tell(&run, 3, &told));
    sbx_run_open(&run); /* the next writer begins */
    assert_int_equal(run.sequence % 2, 1);
    assert_false(sbx_run_tell(&run, 3, &told));
    sbx_run_close(&run);
    assert_int_equal(run.sequence % 2, 0);

    sbx_run_open(&run); /* if no other run begins, an end makes it readable: no run */
    run.stack = 0;
    sbx_run_end(&run);
    assert_int_equal(run.sequence % 2, 0);
    assert_int_equal(run.stack, 0);
    assert_int_equal(run.repeats, 0);
    assert_false(sbx_run_tell(&run, 3, &told));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_samples_become_one_record_with_their_count),
        cmocka_unit_test(test_run_is_ended_when_it_has_lasted_long_enough),
        cmocka_unit_test(test_run_whose_writer_died_in_the_middle_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
