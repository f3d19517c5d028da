/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_qt_pool.c - Qt's thread pools: what is recorded of them; the program sees no difference. Built for Qt 5
 * and for Qt 6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture_settings.h"
#include "qt_pool_work.h"
#include "recorded_process.h"

void switch_group(int is_in)
{
    child_set_points(is_in ? SBX_POINTS_ALL : SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_QT));
}

/* Count the tasks that were started in `function` and ran on another thread, or (the second one) on the main thread. */
static int count_tasks(const struct sbx_snapshot *snapshot, void *function)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        count += record->kind == SBX_RECORD_TASK && record->op == SBX_OP_QT_THREAD_POOL &&
                 stack_passes(snapshot, record->stack, function) &&
                 tid_of_record(snapshot, record) != snapshot->header.pid;
    }
    return count;
}

static int count_hops(const struct sbx_snapshot *snapshot, uint8_t flags)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        count +=
            record->kind == SBX_RECORD_HOP && record->op == SBX_OP_QT_THREAD_POOL && (record->flags & flags) == flags;
    }
    return count;
}

/* The counts of the single pool. */
static const struct sbx_queue_entry *only_queue(const struct sbx_snapshot *snapshot)
{
    const struct sbx_queue_entry *found = NULL;
    for (uint32_t i = 0; i < snapshot->queue_count; i++) {
        if (snapshot->queues[i].op == SBX_OP_QT_THREAD_POOL) {
            assert_null(found);
            found = &snapshot->queues[i];
        }
    }
    assert_non_null(found);
    return found;
}

static void test_runnables_functions_and_what_runs_concurrently_are_told_with_who_started_them(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_starts_each_sort);
    assert_int_equal(count_tasks(snapshot, (void *)qt_start_runnable_here), 1);
    assert_int_equal(count_tasks(snapshot, (void *)qt_start_function_here), 1);
    assert_int_equal(count_tasks(snapshot, (void *)qt_run_concurrently_here), 1);
    assert_int_equal(count_hops(snapshot, SBX_FLAG_OPEN), 0);
    const struct sbx_queue_entry *queue = only_queue(snapshot);
    assert_int_equal(queue->queued, 7);
    assert_int_equal(queue->begun, 7);
    sbx_snapshot_destroy(snapshot);
}

static void test_what_is_taken_back_or_cleared_lies_nowhere(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_takes_work_back);
    assert_int_equal(count_hops(snapshot, SBX_FLAG_OPEN), 0);
    assert_int_equal(count_tasks(snapshot, (void *)qt_start_runnable_here), 0);
    assert_int_equal(count_tasks(snapshot, (void *)qt_start_function_here), 0);
    const struct sbx_queue_entry *queue = only_queue(snapshot); /* counted since the queue was cleared */
    assert_int_equal(queue->queued, 1);
    assert_int_equal(queue->begun, 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_an_object_is_what_it_was_and_its_vtable_is_read_only(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_compares);
    assert_int_equal(count_hops(snapshot, SBX_FLAG_OPEN), 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_exceptions_leave_work_as_ever(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_throws_out_of_work);
    assert_int_equal(count_tasks(snapshot, (void *)qt_start_runnable_here), 1);
    assert_int_equal(count_hops(snapshot, SBX_FLAG_OPEN), 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_thread_that_waits_for_work_of_its_own_pool_runs_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_inside_of_work);
    const struct sbx_queue_entry *queue = only_queue(snapshot);
    assert_int_equal(queue->queued, 2);
    assert_int_equal(queue->begun, 2);
    assert_int_equal(count_hops(snapshot, SBX_FLAG_OPEN), 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_of_a_flood_all_are_counted_where_they_begin(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_floods_a_pool);
    const struct sbx_queue_entry *queue = only_queue(snapshot);
    assert_int_equal(queue->queued, QT_POOL_FLOOD + 1);
    assert_int_equal(queue->begun + queue->cancelled, QT_POOL_FLOOD + 1);
    assert_true(queue->begun > QT_POOL_FLOOD * 9 / 10); /* work without room counts as cancelled */
    assert_int_equal(count_hops(snapshot, SBX_FLAG_OPEN), 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_classes_beyond_those_that_are_followed_are_run_as_ever(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_has_many_classes);
    const struct sbx_queue_entry *queue = only_queue(snapshot);
    assert_in_range(queue->queued, 100, 128);
    assert_int_equal(queue->queued, queue->begun);
    sbx_snapshot_destroy(snapshot);
}

static void test_the_group_is_switched_off_and_what_was_led_runs(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_starts_and_waits);
    assert_int_equal(count_tasks(snapshot, (void *)qt_start_runnable_here), 1);
    assert_int_equal(count_tasks(snapshot, (void *)qt_start_function_here), 0);
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runnables_functions_and_what_runs_concurrently_are_told_with_who_started_them),
        cmocka_unit_test(test_what_is_taken_back_or_cleared_lies_nowhere),
        cmocka_unit_test(test_an_object_is_what_it_was_and_its_vtable_is_read_only),
        cmocka_unit_test(test_exceptions_leave_work_as_ever),
        cmocka_unit_test(test_a_thread_that_waits_for_work_of_its_own_pool_runs_it),
        cmocka_unit_test(test_of_a_flood_all_are_counted_where_they_begin),
        cmocka_unit_test(test_classes_beyond_those_that_are_followed_are_run_as_ever),
        cmocka_unit_test(test_the_group_is_switched_off_and_what_was_led_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
