/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_cost.c - what is charged: calls that pass, turns of a loop, and new clock readings, at the price that a
 * clock reading has on this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "attached_recording.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_clock.h"
#include "thread_cost.h"
#include "thread_registry.h"

enum {
    CALLS = 1000,
    MOVES_A_READING = 4, /* of a clock's sequence, when both of its lines are drawn */
};

static struct sbx_thread *the_thread;
static struct sbx_cost_sums sums;

static void nothing(struct sbx_thread *thread)
{
    (void)thread;
}

static const struct sbx_thread_end end = {.begins = nothing, .completes = nothing};

static int attach(void **state)
{
    (void)state;
    return attached_recording_begin_here(&end, &the_thread);
}

static struct sbx_clock_price price;
static uint64_t process_ns; /* CPU time of the process; does not grow where caches are to be warm */

static int begin_anew(void **state)
{
    (void)state;
    price = (struct sbx_clock_price){.wall_ps = 10000, .anew_ps = 650000};
    sbx_cost_collect(&sums, &price, process_ns);
    return 0;
}

/* The growth since the last call: of the group's calls, and of captures of the kind. */
static uint64_t new_pass_ns(uint32_t group)
{
    uint64_t before_ns = sums.pass_ns[group];
    sbx_cost_collect(&sums, &price, process_ns);
    return sums.pass_ns[group] - before_ns;
}

static uint64_t new_capture_ns(enum sbx_cost_kind kind)
{
    uint64_t before_ns = sums.capture_ns[kind];
    sbx_cost_collect(&sums, &price, process_ns);
    return sums.capture_ns[kind] - before_ns;
}

/* Symptom: 40 ns were charged however long a clock reading takes. In a virtual machine whose clock is a system call
 * that is a tenth. */
static void test_a_call_that_may_block_costs_two_looks_at_the_clock_and_what_is_around_them(void **state)
{
    (void)state;
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_FILE, CALLS);
    uint64_t cheap_ns = new_pass_ns(SBX_GROUP_FILE);
    assert_int_equal(cheap_ns, CALLS * sbx_cost_of_pass_ps(SBX_GROUP_FILE, &price) / 1000);
    price.wall_ps += 300000;
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_FILE, CALLS);
    assert_int_equal(new_pass_ns(SBX_GROUP_FILE) - cheap_ns, CALLS * 2 * 300);
}

/* Symptom: a server's reads and writes, which read no clock, were charged like those that may wait. */
static void test_a_prompt_call_is_charged_without_a_clock_and_less_for_cold_caches(void **state)
{
    (void)state;
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_FILE, CALLS);
    sbx_cost_prompt_passes(&the_thread->cost, SBX_GROUP_FILE, CALLS);
    price.wall_ps += 300000;
    uint64_t warm_ns = CALLS * (uint64_t)(sbx_cost_of_pass_ps(SBX_GROUP_FILE, &price) + sbx_cost_of_prompt_ps()) / 1000;
    assert_int_equal(new_pass_ns(SBX_GROUP_FILE), warm_ns);
    sbx_cost_prompt_passes(&the_thread->cost, SBX_GROUP_FILE, CALLS);
    process_ns += CALLS * UINT64_C(300000);
    uint64_t prompt_ns = new_pass_ns(SBX_GROUP_FILE) - CALLS * (uint64_t)sbx_cost_of_prompt_ps() / 1000;
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_FILE, CALLS);
    process_ns += CALLS * UINT64_C(300000);
    uint64_t others_ns =
        new_pass_ns(SBX_GROUP_FILE) - CALLS * (uint64_t)sbx_cost_of_pass_ps(SBX_GROUP_FILE, &price) / 1000;
    assert_true(prompt_ns > 0 && prompt_ns < others_ns);
    assert_int_equal(new_pass_ns(SBX_GROUP_FILE), 0);
}

static void test_an_allocation_costs_no_look_at_the_clock(void **state)
{
    (void)state;
    uint32_t before_ps = sbx_cost_of_pass_ps(SBX_GROUP_ALLOC, &price);
    price.wall_ps += 300000;
    assert_int_equal(sbx_cost_of_pass_ps(SBX_GROUP_ALLOC, &price), before_ps);
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_ALLOC, CALLS);
    assert_int_equal(new_pass_ns(SBX_GROUP_ALLOC), CALLS * before_ps / 1000);
}

/* Symptom: the most expensive hook of a server, a turn of its loop, was not charged at all. */
static void test_turns_of_a_loop_are_charged_to_its_polls(void **state)
{
    (void)state;
    the_thread->loop.hits += CALLS;
    uint64_t turns_ns = new_pass_ns(SBX_GROUP_POLL);
    assert_int_equal(turns_ns, CALLS * sbx_cost_of_turn_ps(&price) / 1000);
    assert_true(turns_ns > 0);
    assert_int_equal(new_pass_ns(SBX_GROUP_POLL), 0);
}

static void test_a_loop_that_is_found_elsewhere_counts_its_turns_anew(void **state)
{
    (void)state;
    the_thread->loop.hits = CALLS;
    new_pass_ns(SBX_GROUP_POLL);
    the_thread->loop.hits = 10;
    assert_int_equal(new_pass_ns(SBX_GROUP_POLL), 10 * sbx_cost_of_turn_ps(&price) / 1000);
}

/* Symptom: the first reading of a thread's clocks after a wait asks the kernel, 0.6 us, and was not in any capture's
 * time. */
static void test_each_reading_of_the_clocks_for_which_the_kernel_was_asked_is_charged(void **state)
{
    (void)state;
    the_thread->clock.sequence += 10 * MOVES_A_READING + 2;
    assert_int_equal(new_capture_ns(SBX_COST_CALL), 10 * 650);
    assert_int_equal(new_capture_ns(SBX_COST_CALL), 0);
    the_thread->clock.sequence += 2; /* together with what was left from before */
    assert_int_equal(new_capture_ns(SBX_COST_CALL), 650);
}

static void test_a_reading_moves_the_sequence_by_as_much_as_is_counted_for_one(void **state)
{
    (void)state;
    struct sbx_thread_clock clock = {.sequence = 0};
    sbx_clock_start();
    for (int i = 0; i < 1000 && sbx_clock_source() != SBX_CLOCK_RSEQ; i++) {
        const struct timespec moment = {0, 1000000};
        nanosleep(&moment, NULL);
        sbx_clock_calibrate();
    }
    if (sbx_clock_source() != SBX_CLOCK_RSEQ) {
        skip(); /* an emulator, or a kernel without rseq: nothing is counted there */
    }
    for (int i = 0; i < 10; i++) {
        sbx_thread_clock_read_slow(&clock);
    }
    sbx_thread_clock_disarm(&clock);
    assert_int_equal(clock.sequence, 10 * MOVES_A_READING);
}

/* Symptom: calls of a server that did other work in between were charged like calls in a tight loop, a fifth of the
 * cost that a profiler found. */
static void test_turns_that_are_rare_are_charged_for_cold_caches_up_to_a_bound(void **state)
{
    (void)state;
    the_thread->loop.hits += CALLS;
    uint64_t warm_ns = new_pass_ns(SBX_GROUP_POLL);
    the_thread->loop.hits += CALLS;
    process_ns += CALLS * UINT64_C(1000); /* one in each microsecond */
    uint64_t dense_ns = new_pass_ns(SBX_GROUP_POLL);
    the_thread->loop.hits += CALLS;
    process_ns += CALLS * UINT64_C(300000);
    uint64_t rare_ns = new_pass_ns(SBX_GROUP_POLL);
    the_thread->loop.hits += CALLS;
    process_ns += CALLS * UINT64_C(3000000);
    assert_true(warm_ns < dense_ns && dense_ns < rare_ns);
    assert_true(rare_ns > 3 * warm_ns);
    assert_int_equal(new_pass_ns(SBX_GROUP_POLL), rare_ns);
}

static void test_cold_caches_are_charged_to_the_groups_whose_calls_found_them_so(void **state)
{
    (void)state;
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_FILE, CALLS);
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_ALLOC, CALLS);
    process_ns += CALLS * UINT64_C(300000);
    uint64_t file_ns = sums.pass_ns[SBX_GROUP_FILE], alloc_ns = sums.pass_ns[SBX_GROUP_ALLOC];
    assert_int_equal(new_pass_ns(SBX_GROUP_POLL), 0);
    assert_true(sums.pass_ns[SBX_GROUP_FILE] - file_ns >
                CALLS * sbx_cost_of_pass_ps(SBX_GROUP_FILE, &price) / 1000 + CALLS * 50);
    assert_int_equal(sums.pass_ns[SBX_GROUP_ALLOC] - alloc_ns,
                     CALLS * sbx_cost_of_pass_ps(SBX_GROUP_ALLOC, &price) / 1000);
}

static void test_a_wait_is_a_burst_of_its_own_and_a_turn_that_waited_is_one(void **state)
{
    (void)state;
    process_ns += CALLS * UINT64_C(300000);
    the_thread->loop.hits += CALLS;
    uint64_t turns_ns = new_pass_ns(SBX_GROUP_POLL);
    process_ns += CALLS * UINT64_C(300000);
    the_thread->loop.hits += CALLS;
    the_thread->clock.sequence += CALLS * MOVES_A_READING;
    assert_int_equal(new_pass_ns(SBX_GROUP_POLL), turns_ns);
    process_ns += CALLS * UINT64_C(300000);
    the_thread->clock.sequence += CALLS * MOVES_A_READING;
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_COND, CALLS);
    uint64_t calls_ns = CALLS * sbx_cost_of_pass_ps(SBX_GROUP_COND, &price) / 1000;
    assert_int_equal(new_pass_ns(SBX_GROUP_COND), calls_ns + CALLS * 500); /* each call; waits are among them */
}

/* Symptom: calls of a Java server that were handed on were charged as those that are followed, five times what a
 * profiler found. */
static void test_calls_of_threads_that_are_followed_lightly_cost_half_and_are_bursts_as_those_of_a_loop(void **state)
{
    bool had_loop = the_thread->has_loop;
    (void)state;
    the_thread->has_loop = false;
    sbx_store_relaxed(&sbx_the_capture.follows_lightly, 1);
    process_ns += CALLS * UINT64_C(300000);
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_FILE, CALLS);
    uint64_t calls_ns = CALLS * sbx_cost_of_pass_ps(SBX_GROUP_FILE, &price) / 1000;
    assert_int_equal(new_pass_ns(SBX_GROUP_FILE), calls_ns / 2 + CALLS / 8 * 500);
    the_thread->has_loop = true; /* no other thread is followed so */
    process_ns += CALLS * UINT64_C(300000);
    sbx_cost_passes(&the_thread->cost, SBX_GROUP_FILE, CALLS);
    assert_int_equal(new_pass_ns(SBX_GROUP_FILE), calls_ns + CALLS * 500);
    sbx_store_relaxed(&sbx_the_capture.follows_lightly, 0);
    the_thread->has_loop = had_loop;
}

static void test_a_thread_that_has_the_seat_of_one_before_begins_with_nothing(void **state)
{
    (void)state;
    the_thread->clock.sequence = 100 * MOVES_A_READING;
    the_thread->loop.hits = CALLS;
    sbx_cost_collect(&sums, &price, process_ns);
    uint32_t generation = the_thread->entry->generation;
    the_thread->entry->generation = generation + 1;
    the_thread->clock.sequence = 200 * MOVES_A_READING;
    the_thread->loop.hits = CALLS + 5;
    uint64_t pass_ns = sums.pass_ns[SBX_GROUP_POLL];
    assert_int_equal(new_capture_ns(SBX_COST_CALL), 200 * 650);
    assert_int_equal(sums.pass_ns[SBX_GROUP_POLL] - pass_ns, (CALLS + 5) * sbx_cost_of_turn_ps(&price) / 1000);
    the_thread->entry->generation = generation;
}

static void test_a_price_is_measured_and_leaves_no_clock_armed(void **state)
{
    (void)state;
    struct sbx_clock_price measured = sbx_clock_price();
    assert_true(measured.wall_ps > 0);
    assert_true(measured.anew_ps > 0);
    int32_t offset = sbx_the_clock_scale.rseq_offset;
    assert_true(sbx_clock_source() != SBX_CLOCK_RSEQ || !sbx_clock_word_is_ours(offset));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_call_that_may_block_costs_two_looks_at_the_clock_and_what_is_around_them,
                               begin_anew),
        cmocka_unit_test_setup(test_a_prompt_call_is_charged_without_a_clock_and_less_for_cold_caches, begin_anew),
        cmocka_unit_test_setup(test_an_allocation_costs_no_look_at_the_clock, begin_anew),
        cmocka_unit_test_setup(test_turns_of_a_loop_are_charged_to_its_polls, begin_anew),
        cmocka_unit_test_setup(test_a_loop_that_is_found_elsewhere_counts_its_turns_anew, begin_anew),
        cmocka_unit_test_setup(test_each_reading_of_the_clocks_for_which_the_kernel_was_asked_is_charged, begin_anew),
        cmocka_unit_test_setup(test_turns_that_are_rare_are_charged_for_cold_caches_up_to_a_bound, begin_anew),
        cmocka_unit_test_setup(test_cold_caches_are_charged_to_the_groups_whose_calls_found_them_so, begin_anew),
        cmocka_unit_test_setup(test_a_wait_is_a_burst_of_its_own_and_a_turn_that_waited_is_one, begin_anew),
        cmocka_unit_test_setup(
            test_calls_of_threads_that_are_followed_lightly_cost_half_and_are_bursts_as_those_of_a_loop, begin_anew),
        cmocka_unit_test_setup(test_a_thread_that_has_the_seat_of_one_before_begins_with_nothing, begin_anew),
        cmocka_unit_test_setup(test_a_reading_moves_the_sequence_by_as_much_as_is_counted_for_one, begin_anew),
        cmocka_unit_test_setup(test_a_price_is_measured_and_leaves_no_clock_armed, begin_anew),
    };
    return cmocka_run_group_tests(tests, attach, attached_recording_end);
}
