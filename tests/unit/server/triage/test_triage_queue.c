/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "triage_queue.h"

static struct sbx_triage_queue *queue;

static int make_queue(void **state)
{
    (void)state;
    queue = sbx_triage_queue_create(1000);
    return queue ? 0 : -1;
}

static int remove_queue(void **state)
{
    (void)state;
    sbx_triage_queue_destroy(queue);
    return 0;
}

static int put(uint16_t name, uint64_t machine, uint64_t place)
{
    struct sbx_waiting waiting = {.machine = machine, .place = place};
    memcpy(waiting.id, &name, sizeof(name));
    return sbx_triage_queue_put(queue, &waiting);
}

/* The next one; 0 when none is waiting. */
static uint16_t take(void)
{
    struct sbx_waiting waiting;
    uint16_t name = 0;
    if (sbx_triage_queue_take(queue, &waiting))
        memcpy(&name, waiting.id, sizeof(name));
    return name;
}

static void expect(const char *names)
{
    for (; *names; names++)
        assert_int_equal(take(), *names);
    assert_int_equal(take(), 0);
    assert_int_equal(sbx_triage_queue_count(queue), 0);
}

static void test_one_machine_is_served_in_the_order_it_came_in(void **state)
{
    (void)state;
    put('a', 1, 0), put('b', 1, 0), put('c', 1, 0);
    assert_int_equal(sbx_triage_queue_count(queue), 3);
    expect("abc");
}

static void test_machines_take_turns_however_much_one_of_them_sends(void **state)
{
    (void)state;
    put('a', 1, 0), put('b', 1, 0), put('c', 1, 0), put('d', 1, 0);
    put('x', 2, 0), put('y', 3, 0), put('z', 2, 0);
    expect("axybzcd");
}

static void test_a_place_not_seen_lately_is_first_and_only_once(void **state)
{
    (void)state;
    put('a', 1, 7);
    expect("a");
    put('b', 1, 7), put('c', 1, 0), put('d', 2, 8), put('e', 3, 8);
    expect("dbec");
}

static void test_who_makes_up_places_does_not_hold_up_the_rest(void **state)
{
    (void)state;
    put('x', 2, 0), put('y', 3, 0);
    for (uint16_t i = 0; i < 10; i++)
        put((uint16_t)('a' + i), 1, 100 + i);
    expect("abcdxefghyij");
}

static void test_what_waits_already_is_not_put_twice_and_too_many_are_refused(void **state)
{
    (void)state;
    for (uint16_t i = 1; i <= 1000; i++)
        assert_int_equal(put(i, i % 7, i % 5), 0);
    assert_int_equal(put(5, 9, 9), -EEXIST);
    assert_int_equal(put(1001, 9, 9), -ENOSPC);
    assert_int_not_equal(take(), 0);
    assert_int_equal(put(1001, 9, 9), 0);
    assert_int_equal(sbx_triage_queue_count(queue), 1000);
}

/* Symptom: triage of a hundred thousand stalls whose symbols had arrived took an hour and a half on an otherwise idle
 * server. */
static void test_triage_anew_rests_while_others_use_the_server_and_not_otherwise(void **state)
{
    (void)state;
    assert_true(sbx_triage_anew_pause_ms(0) >= 20);
    assert_true(sbx_triage_anew_pause_ms(100) >= 20);
    assert_int_equal(sbx_triage_anew_pause_ms(1000), 0);
    assert_int_equal(sbx_triage_anew_pause_ms(INT64_MAX), 0);
}

int main(void)
{
#define QUEUED(name) cmocka_unit_test_setup_teardown(name, make_queue, remove_queue)
    const struct CMUnitTest tests[] = {
        QUEUED(test_one_machine_is_served_in_the_order_it_came_in),
        QUEUED(test_machines_take_turns_however_much_one_of_them_sends),
        QUEUED(test_a_place_not_seen_lately_is_first_and_only_once),
        QUEUED(test_who_makes_up_places_does_not_hold_up_the_rest),
        QUEUED(test_triage_anew_rests_while_others_use_the_server_and_not_otherwise),
        QUEUED(test_what_waits_already_is_not_put_twice_and_too_many_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
