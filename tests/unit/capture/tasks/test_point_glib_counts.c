/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_glib_counts.c - tasks of GLib's queues that never run leave the table and the counts of their queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glib.h>

#include "capture_settings.h"
#include "recorded_process.h"

/* Hops that lie in a queue at the snapshot. */
static int count_lying(const struct sbx_snapshot *snapshot, uint8_t op)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        count += record->kind == SBX_RECORD_HOP && record->op == op && (record->flags & SBX_FLAG_OPEN) != 0;
    }
    return count;
}

/* The number of tasks that lie in all queues together, according to the counts. */
static int64_t count_pending(const struct sbx_snapshot *snapshot)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < snapshot->queue_count; i++) {
        const struct sbx_queue_entry *queue = &snapshot->queues[i];
        assert_true(queue->queued >= queue->begun + queue->cancelled);
        count += (int64_t)(queue->queued - queue->begun - queue->cancelled);
    }
    return count;
}

static void expect_nothing_lies(const struct sbx_snapshot *snapshot)
{
    assert_int_equal(count_pending(snapshot), 0);
    assert_int_equal(count_lying(snapshot, SBX_OP_G_THREAD_POOL_PUSH), 0);
    assert_int_equal(count_lying(snapshot, SBX_OP_G_ASYNC_QUEUE_PUSH), 0);
    assert_int_equal(count_lying(snapshot, SBX_OP_G_IDLE_ADD), 0);
    assert_int_equal(count_lying(snapshot, SBX_OP_G_SOURCE_ATTACH), 0);
}

/* ---- pools ---- */

static gint pool_goes_on, pool_took;

static void wait_in_pool(gpointer data, gpointer unused)
{
    (void)data;
    (void)unused;
    g_atomic_int_inc(&pool_took);
    for (int i = 0; i < 20000 && !g_atomic_int_get(&pool_goes_on); i++) {
        child_pause_ms(1);
    }
}

static gpointer let_pool_go(gpointer unused)
{
    child_pause_ms(20); /* until the pool is being freed; if it is not yet, more tasks run */
    g_atomic_int_set(&pool_goes_on, 1);
    return unused;
}

static void child_frees_a_pool_with_items(void)
{
    GThreadPool *pool = g_thread_pool_new(wait_in_pool, NULL, 1, TRUE, NULL);
    for (int i = 1; i <= 200; i++) { /* more than are followed at once */
        g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
    }
    while (g_atomic_int_get(&pool_took) == 0) {
        child_pause_ms(1);
    }
    GThread *thread = g_thread_new("lets-go", let_pool_go, NULL);
    g_thread_pool_free(pool, TRUE, TRUE);
    g_thread_join(thread);
}

static void test_items_of_a_pool_that_is_freed_at_once_lie_nowhere(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_frees_a_pool_with_items);
    expect_nothing_lies(snapshot);
    sbx_snapshot_destroy(snapshot);
}

/* ---- asynchronous queues ---- */

static void child_lets_go_of_a_queue_with_items(void)
{
    GAsyncQueue *queue = g_async_queue_new();
    g_async_queue_ref(queue);
    for (int i = 1; i <= 200; i++) {
        g_async_queue_push(queue, GINT_TO_POINTER(i));
    }
    g_async_queue_unref(queue);
    child_expect(GPOINTER_TO_INT(g_async_queue_pop(queue)) == 1, "somebody has it still");
    g_async_queue_unref(queue);
}

static void test_items_of_a_queue_that_is_gone_lie_nowhere(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_lets_go_of_a_queue_with_items);
    expect_nothing_lies(snapshot);
    sbx_snapshot_destroy(snapshot);
}

static void child_keeps_a_queue_that_somebody_let_go_of(void)
{
    GAsyncQueue *queue = g_async_queue_new_full(NULL);
    g_async_queue_push(g_async_queue_ref(queue), GINT_TO_POINTER(1));
    g_async_queue_push(queue, GINT_TO_POINTER(2));
    g_async_queue_unref(queue);
}

static void test_items_of_a_queue_that_somebody_has_lie_there(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_keeps_a_queue_that_somebody_let_go_of);
    assert_int_equal(count_pending(snapshot), 2);
    assert_int_equal(count_lying(snapshot, SBX_OP_G_ASYNC_QUEUE_PUSH), 2);
    sbx_snapshot_destroy(snapshot);
}

static gint compare(gconstpointer left, gconstpointer right, gpointer unused)
{
    (void)unused;
    return GPOINTER_TO_INT(left) - GPOINTER_TO_INT(right);
}

static void child_sorts_and_removes_items(void)
{
    GAsyncQueue *queue = g_async_queue_new();
    for (int i = 200; i >= 1; i--) {
        g_async_queue_push_sorted(queue, GINT_TO_POINTER(i), compare, NULL);
    }
    g_async_queue_lock(queue);
    g_async_queue_push_sorted_unlocked(queue, GINT_TO_POINTER(201), compare, NULL);
    child_expect(g_async_queue_remove_unlocked(queue, GINT_TO_POINTER(201)), "it is there");
    g_async_queue_unlock(queue);
    for (int i = 1; i <= 100; i++) {
        child_expect(GPOINTER_TO_INT(g_async_queue_pop(queue)) == i, "they are in order");
    }
    for (int i = 101; i <= 200; i++) {
        child_expect(g_async_queue_remove(queue, GINT_TO_POINTER(i)), "it is there");
        child_expect(!g_async_queue_remove(queue, GINT_TO_POINTER(i)), "and not any more");
    }
}

static void test_items_that_are_sorted_in_and_removed_are_counted_in_and_out(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_sorts_and_removes_items);
    expect_nothing_lies(snapshot);
    assert_int_equal(snapshot->queue_count, 1);
    assert_int_equal(snapshot->queues[0].queued, 201);
    assert_int_equal(snapshot->queues[0].begun, 100);
    assert_int_equal(snapshot->queues[0].cancelled, 101);
    sbx_snapshot_destroy(snapshot);
}

/* ---- sources ---- */

static gboolean never(gpointer unused)
{
    (void)unused;
    child_expect(FALSE, "what was removed is not called");
    return G_SOURCE_REMOVE;
}

static gboolean once(gpointer unused)
{
    (void)unused;
    return G_SOURCE_REMOVE;
}

static void run_dry(void)
{
    while (g_main_context_iteration(NULL, FALSE)) {
    }
}

enum {
    SOURCES = 10000 /* more than are known by number at once */
};

static void child_removes_sources(void)
{
    static guint numbers[SOURCES];
    for (int i = 0; i < SOURCES; i++) {
        numbers[i] = g_idle_add(never, GINT_TO_POINTER(i));
    }
    for (int i = 0; i < SOURCES; i++) {
        child_expect(g_source_remove(numbers[i]), "it is there");
    }
}

static void test_sources_that_are_removed_leave_their_queue_followed_or_not(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_removes_sources);
    expect_nothing_lies(snapshot);
    assert_int_equal(snapshot->queues[0].queued, SOURCES);
    assert_int_equal(snapshot->queues[0].cancelled, SOURCES);
    sbx_snapshot_destroy(snapshot);
}

static void child_attaches_and_runs_sources(void)
{
    for (int i = 0; i < 500; i++) {
        GSource *source = g_idle_source_new();
        g_source_set_callback(source, i % 2 == 0 ? once : never, GINT_TO_POINTER(i), NULL);
        g_source_attach(source, NULL);
        if (i % 2 != 0) {
            g_source_destroy(source);
        }
        g_source_unref(source);
    }
    for (int i = 0; i < SOURCES; i++) {
        g_idle_add(once, GINT_TO_POINTER(i));
    }
    run_dry();
    g_source_unref(g_idle_source_new()); /* a source that never was in a context */
}

static void test_sources_that_ran_are_not_counted_as_removed(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_attaches_and_runs_sources);
    expect_nothing_lies(snapshot);
    assert_int_equal(snapshot->queues[0].queued, SOURCES + 500);
    assert_int_equal(snapshot->queues[0].begun, SOURCES + 250);
    assert_int_equal(snapshot->queues[0].cancelled, 250);
    sbx_snapshot_destroy(snapshot);
}

/* Destroys contexts with a source in them, until a new one has the address of an earlier one. */
static void child_makes_a_context_where_another_was(void)
{
    static GMainContext *had[64];
    for (int i = 0; i < 64; i++) {
        GMainContext *context = had[i] = g_main_context_new();
        GSource *source = g_idle_source_new();
        g_source_set_callback(source, never, NULL, NULL);
        g_source_attach(source, context);
        g_source_unref(source);
        g_main_context_unref(context);
        for (int k = 0; k < i; k++) {
            if (had[k] == context) {
                return;
            }
        }
    }
    child_expect(FALSE, "an address is used again");
}

static void test_a_queue_where_another_was_has_counts_of_its_own(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_makes_a_context_where_another_was);
    for (uint32_t i = 0; i < snapshot->queue_count; i++) {
        assert_int_equal(snapshot->queues[i].queued, 1);
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- what is told of what lies there ---- */

static void child_arms_many_timers_and_adds_one_call(void)
{
    for (int i = 0; i < 100; i++) {
        g_timeout_add(1000000, never, GINT_TO_POINTER(i));
        child_pause_ms(1); /* slow enough that each is followed */
    }
    g_idle_add(never, NULL);
    child_pause_ms(5);
}

static void test_timers_do_not_hide_what_lies_in_a_queue(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_arms_many_timers_and_adds_one_call);
    assert_int_equal(count_lying(snapshot, SBX_OP_G_IDLE_ADD), 1);
    assert_int_equal(count_lying(snapshot, SBX_OP_G_TIMEOUT_ADD), 63); /* as many as there are places */
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_of_a_pool_that_is_freed_at_once_lie_nowhere),
        cmocka_unit_test(test_items_of_a_queue_that_is_gone_lie_nowhere),
        cmocka_unit_test(test_items_of_a_queue_that_somebody_has_lie_there),
        cmocka_unit_test(test_items_that_are_sorted_in_and_removed_are_counted_in_and_out),
        cmocka_unit_test(test_sources_that_are_removed_leave_their_queue_followed_or_not),
        cmocka_unit_test(test_sources_that_ran_are_not_counted_as_removed),
        cmocka_unit_test(test_a_queue_where_another_was_has_counts_of_its_own),
        cmocka_unit_test(test_timers_do_not_hide_what_lies_in_a_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
