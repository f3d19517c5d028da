/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_qt.c - Qt's event queues: what is recorded of them; the program sees no difference. Built for Qt 5 and for
 * Qt 6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture_settings.h"
#include "qt_tasks.h"
#include "recorded_process.h"

static int count_tasks(const struct sbx_snapshot *snapshot, uint8_t op, void *function)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        count += record->kind == SBX_RECORD_TASK && record->op == op && stack_passes(snapshot, record->stack, function);
    }
    return count;
}

/* Tasks of Qt that still lie in a queue or run. */
static int count_open(const struct sbx_snapshot *snapshot)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        bool is_qts = record->op == SBX_OP_QT_POST_EVENT || record->op == SBX_OP_QT_TIMER;
        count += is_qts && record->kind == SBX_RECORD_HOP && (record->flags & SBX_FLAG_OPEN) != 0;
    }
    return count;
}

static void expect_empty_queues(const struct sbx_snapshot *snapshot)
{
    for (uint32_t i = 0; i < snapshot->queue_count; i++) {
        const struct sbx_queue_entry *queue = &snapshot->queues[i];
        if (queue->op == SBX_OP_QT_POST_EVENT) {
            assert_int_equal(queue->queued, queue->begun + queue->cancelled);
        }
    }
}

static void test_each_sort_of_task_is_told_with_who_queued_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_uses_one_queue);
    assert_int_equal(count_tasks(snapshot, SBX_OP_QT_POST_EVENT, (void *)qt_post_here), 1);
    assert_int_equal(count_tasks(snapshot, SBX_OP_QT_POST_EVENT, (void *)qt_invoke_here), 1);
    assert_in_range(count_tasks(snapshot, SBX_OP_QT_POST_EVENT, (void *)qt_emit_here), 1,
                    2); /* 512 bytes may reach into the next function too */
    assert_int_equal(count_tasks(snapshot, SBX_OP_QT_TIMER, (void *)qt_start_here), 3);
    assert_int_equal(count_tasks(snapshot, SBX_OP_QT_TIMER, (void *)qt_shoot_here), 1);
    assert_int_equal(count_open(snapshot), 0);
    expect_empty_queues(snapshot);
    sbx_snapshot_destroy(snapshot);
}

static void test_what_goes_to_another_thread_comes_there_as_ever(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_uses_two_queues);
    bool is_elsewhere = false;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        is_elsewhere |= record->kind == SBX_RECORD_TASK && record->op == SBX_OP_QT_POST_EVENT &&
                        tid_of_record(snapshot, record) != snapshot->header.pid;
    }
    assert_true(is_elsewhere);
    assert_int_equal(count_open(snapshot), 0);
    expect_empty_queues(snapshot);
    sbx_snapshot_destroy(snapshot);
}

static void test_what_is_taken_back_lies_nowhere(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_takes_back);
    /* A call without a sender whose receiver was deleted: nothing reports its end. */
    assert_in_range(count_open(snapshot), 0, 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_of_a_flood_of_events_all_are_counted_where_they_begin_or_are_taken_back(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_floods);
    const struct sbx_queue_entry *queue = &snapshot->queues[0];
    assert_int_equal(snapshot->queue_count, 1);
    assert_true(queue->queued >= 2 * QT_FLOOD);
    assert_int_equal(queue->queued, queue->begun + queue->cancelled);
    assert_in_range(queue->cancelled, QT_FLOOD, QT_FLOOD + 8); /* Qt cancels some itself */
    assert_true(queue->begun >= QT_FLOOD);
    assert_int_equal(count_open(snapshot), 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_timers_of_an_object_that_is_gone_lie_nowhere(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_deletes_what_has_timers);
    assert_int_equal(count_open(snapshot), 1); /* it belongs to the object that stays */
    sbx_snapshot_destroy(snapshot);
}

static void test_exceptions_and_loops_inside_leave_handlers_as_ever(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_throws);
    assert_int_equal(count_open(snapshot), 0);
    sbx_snapshot_destroy(snapshot);
    snapshot = run_recorded(child_nests);
    assert_int_equal(count_tasks(snapshot, SBX_OP_QT_POST_EVENT, (void *)qt_post_here), 1);
    sbx_snapshot_destroy(snapshot);
}

static const void *word_with;

static void child_switches_the_group(void)
{
    word_with = qt_vtable_word();
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_QT));
    child_expect(qt_vtable_word() != word_with, "what leads to us is taken out");
    child_uses_one_queue();
    child_set_points(SBX_POINTS_ALL);
    child_expect(qt_vtable_word() == word_with, "and put in again");
}

static void test_the_group_is_switched_by_itself_and_leaves_nothing(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_switches_the_group);
    assert_int_equal(count_tasks(snapshot, SBX_OP_QT_POST_EVENT, (void *)qt_post_here), 0);
    assert_int_equal(count_tasks(snapshot, SBX_OP_QT_TIMER, (void *)qt_start_here), 0);
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_sort_of_task_is_told_with_who_queued_it),
        cmocka_unit_test(test_what_goes_to_another_thread_comes_there_as_ever),
        cmocka_unit_test(test_what_is_taken_back_lies_nowhere),
        cmocka_unit_test(test_of_a_flood_of_events_all_are_counted_where_they_begin_or_are_taken_back),
        cmocka_unit_test(test_timers_of_an_object_that_is_gone_lie_nowhere),
        cmocka_unit_test(test_exceptions_and_loops_inside_leave_handlers_as_ever),
        cmocka_unit_test(test_the_group_is_switched_by_itself_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
