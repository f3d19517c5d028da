/* SPDX-License-Identifier: Apache-2.0 */
/* test_task_table.c - tasks found by their key, and queues by their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recording_builder.h"
#include "task_table.h"
#include "the_capture.h"

enum {
    KEY = 0x1001,
    SAME = 6, /* tasks with one key: all but one are stored next to its place */
    MS = 1000000
};

static struct sbx_recording_builder *the_builder;

static int attach(void **state)
{
    (void)state;
    the_builder = sbx_recording_builder_create(SBX_RECORDING_SHAPE_SMALL, NULL);
    sbx_capture_attach(the_builder->header);
    return 0;
}

static int detach(void **state)
{
    (void)state;
    sbx_recording_builder_destroy(the_builder);
    return 0;
}

static uint64_t queue_one(uint64_t key, uint64_t match, uint32_t hop)
{
    struct sbx_task_entry *entry = sbx_task_take(key, hop, (uint64_t)hop * MS);
    assert_non_null(entry);
    sbx_task_name(entry, key, match);
    entry->queued_ns = (uint64_t)hop * MS;
    return sbx_task_publish(entry, hop);
}

static void run(uint64_t id)
{
    struct sbx_task_entry *entry = sbx_task_entry_of(id);
    assert_non_null(entry);
    assert_true(sbx_task_move(entry, sbx_task_hop_of_id(id), SBX_TASK_QUEUED, SBX_TASK_RUNNING));
    assert_true(sbx_task_move(entry, sbx_task_hop_of_id(id), SBX_TASK_RUNNING, SBX_TASK_FREE));
}

static void test_tasks_of_one_key_are_found_wherever_they_lie_the_oldest_first(void **state)
{
    uint64_t ids[SAME];
    (void)state;
    for (uint32_t i = 0; i < SAME; i++) {
        ids[i] = queue_one(KEY, 0, i + 1);
    }
    for (uint32_t i = 0; i < SAME; i++) {
        assert_int_equal(sbx_task_find(KEY, 0), ids[i]);
        run(ids[i]);
    }
    assert_int_equal(sbx_task_find(KEY, 0), 0);
}

static void test_a_task_is_found_by_its_match_and_not_where_another_of_its_key_lay_before(void **state)
{
    (void)state;
    uint64_t first = queue_one(KEY, 71, 1), second = queue_one(KEY, 72, 2);
    assert_int_equal(sbx_task_find(KEY, 72), second);
    run(first);
    uint64_t third = queue_one(KEY, 73, 3); /* at the place of the first one */
    assert_int_equal(third & 0xffff, first & 0xffff);
    assert_int_equal(sbx_task_find(KEY, 71), 0);
    assert_int_equal(sbx_task_find(KEY, 73), third);
    run(second);
    run(third);
}

static void test_a_queue_is_known_by_its_place_until_it_ends_and_no_other_is_taken_for_it(void **state)
{
    const uint64_t number = 0x5000;
    (void)state;
    struct sbx_queue_entry *queue = sbx_queue_of(number, SBX_OP_TASK, MS);
    assert_non_null(queue);
    uint32_t place = (uint32_t)(queue - sbx_the_capture.queues);
    assert_ptr_equal(sbx_queue_at(place, number), queue);
    assert_null(sbx_queue_at(place, number + 1));
    assert_null(sbx_queue_at(place, 0));
    assert_int_equal(sbx_queue_comes(queue, MS), 0);
    sbx_queue_counts(queue, MS);
    sbx_queue_goes(queue, MS);
    assert_int_equal(sbx_queue_comes(queue, MS), 1);
    sbx_queue_loses(queue);
    assert_int_equal(queue->queued, 3);
    assert_int_equal(queue->begun, 1);
    assert_int_equal(queue->cancelled, 1);
    sbx_queue_ends(number);
    assert_null(sbx_queue_at(place, number));
    assert_null(sbx_queue_at(place, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_of_one_key_are_found_wherever_they_lie_the_oldest_first),
        cmocka_unit_test(test_a_task_is_found_by_its_match_and_not_where_another_of_its_key_lay_before),
        cmocka_unit_test(test_a_queue_is_known_by_its_place_until_it_ends_and_no_other_is_taken_for_it),
    };
    return cmocka_run_group_tests(tests, attach, detach);
}
