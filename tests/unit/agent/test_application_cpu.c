/* SPDX-License-Identifier: Apache-2.0 */
/* test_application_cpu.c - the recorder asks the kernel for the process's CPU time only where that is cheap, or where
 * nothing else gives it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "application_cpu.h"

enum {
    FEW = SBX_THREADS_ADDED_UP,
    MANY = SBX_THREADS_ADDED_UP + 1,
    MUCH = 10 * SBX_QUIET_CPU_NS,
};

static uint64_t used_ns;
static unsigned times_asked;

static uint64_t ask(void)
{
    times_asked++;
    return used_ns;
}

/* A tick in which the application used `used` of CPU time and the sampler saw `seen` of it. */
static bool tick(struct sbx_application_cpu *cpu, uint32_t threads, uint64_t used, uint64_t seen)
{
    used_ns += used;
    return sbx_application_has_run(cpu, threads, seen, ask);
}

/* Begin with a count that has been asked for once. */
static int begin(void **state)
{
    static struct sbx_application_cpu cpu;
    cpu = (struct sbx_application_cpu){.is_known = false};
    used_ns = 1000000000;
    tick(&cpu, FEW, 0, 0);
    times_asked = 0;
    *state = &cpu;
    return 0;
}

static void test_a_program_of_few_threads_is_asked_each_tick(void **state)
{
    assert_true(tick(*state, FEW, MUCH, MUCH));
    assert_false(tick(*state, FEW, SBX_QUIET_CPU_NS - 1, 0));
    assert_int_equal(times_asked, 2);
    assert_int_equal(((struct sbx_application_cpu *)*state)->ran_ns, SBX_QUIET_CPU_NS - 1);
}

/* Symptom: the kernel took a sixth of the watch thread's time to add up 2,000 threads. */
static void test_of_many_threads_it_is_not_asked_while_some_are_seen_to_run(void **state)
{
    for (int i = 0; i < 10; i++) {
        assert_true(tick(*state, MANY, 5 * (uint64_t)MUCH, MUCH));
        assert_int_equal(((struct sbx_application_cpu *)*state)->ran_ns, MUCH);
    }
    assert_int_equal(times_asked, 0);
}

/* CPU time from before, when nobody asked, proves nothing about this tick. And one quiet look does not prove that the
 * process rests. */
static void test_the_first_answer_after_a_while_only_says_where_the_next_tick_begins(void **state)
{
    struct sbx_application_cpu *cpu = *state;
    tick(cpu, MANY, MUCH, MUCH);
    assert_true(tick(cpu, MANY, 0, 0));
    assert_int_equal(cpu->ran_ns, 0);
    assert_false(tick(cpu, MANY, 0, 0));
    assert_true(tick(cpu, MANY, MUCH, 0));
    assert_int_equal(times_asked, 3);
}

static void test_a_count_that_goes_back_is_no_time(void **state)
{
    used_ns -= 1000;
    assert_false(tick(*state, FEW, 0, 0));
    assert_int_equal(((struct sbx_application_cpu *)*state)->ran_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_program_of_few_threads_is_asked_each_tick, begin),
        cmocka_unit_test_setup(test_of_many_threads_it_is_not_asked_while_some_are_seen_to_run, begin),
        cmocka_unit_test_setup(test_the_first_answer_after_a_while_only_says_where_the_next_tick_begins, begin),
        cmocka_unit_test_setup(test_a_count_that_goes_back_is_no_time, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
