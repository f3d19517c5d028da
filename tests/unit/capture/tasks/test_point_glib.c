/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_glib.c - GLib's sources, pools and queues: what is recorded of them; the program sees no difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glib.h>

#include "capture_settings.h"
#include "recorded_process.h"

#define OWN_PLACE __attribute__((noinline))

static const struct sbx_record *task_of_stack(const struct sbx_snapshot *snapshot, void *function, uint8_t op)
{
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_TASK && record->op == op && passes_through(snapshot, record, function)) {
            return record;
        }
    }
    return NULL;
}

static const struct sbx_record *hop_of(const struct sbx_snapshot *snapshot, const struct sbx_record *task)
{
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (snapshot->records[i].kind == SBX_RECORD_HOP && snapshot->records[i].wait == task->wait) {
            return &snapshot->records[i];
        }
    }
    return NULL;
}

static void run_dry(void)
{
    while (g_main_context_iteration(NULL, FALSE)) {
    }
}

/* ---- nothing changes for the program ---- */

static int calls, notifies;
static gpointer told_data;
static GString *order;

static gboolean count_call(gpointer data)
{
    calls++;
    told_data = data;
    return G_SOURCE_REMOVE;
}

static gboolean call_thrice(gpointer data)
{
    return ++*(int *)data < 3;
}

static void count_notify(gpointer data)
{
    (void)data;
    notifies++;
}

static int take(int *count)
{
    int was = *count;
    *count = 0;
    return was;
}

static void ask_of_identity(int *answers)
{
    int here, other;
    guint number = g_idle_add_full(G_PRIORITY_DEFAULT, count_call, &here, count_notify);
    GSource *source = g_main_context_find_source_by_id(NULL, number);
    *answers++ = source != NULL && source->source_funcs == &g_idle_funcs;
    *answers++ = g_main_context_find_source_by_funcs_user_data(NULL, &g_idle_funcs, &here) == source;
    *answers++ = g_main_context_find_source_by_user_data(NULL, &here) == source;
    *answers++ = g_main_context_find_source_by_funcs_user_data(NULL, &g_timeout_funcs, &here) == NULL;
    *answers++ = g_source_remove(number);
    *answers++ = take(&notifies);
    run_dry();
    *answers++ = take(&calls);
    g_idle_add(count_call, &other);
    *answers++ = g_idle_remove_by_data(&other);
    *answers++ = g_idle_remove_by_data(&other);
    number = g_timeout_add_full(G_PRIORITY_DEFAULT, 100000, count_call, &here, count_notify);
    *answers++ = g_source_remove_by_funcs_user_data(&g_timeout_funcs, &here);
    *answers++ = take(&notifies);
    g_idle_add_full(G_PRIORITY_DEFAULT, count_call, &here, count_notify);
    run_dry();
    *answers++ = told_data == &here;
    *answers++ = take(&calls);
    *answers++ = take(&notifies);
}

static gboolean add_to_order(gpointer text)
{
    g_string_append(order, text);
    return G_SOURCE_REMOVE;
}

static gboolean run_inner_loop(gpointer loop)
{
    g_string_append(order, "(");
    g_idle_add_full(G_PRIORITY_HIGH, add_to_order, "inner", NULL);
    g_idle_add((GSourceFunc)(void (*)(void))g_main_loop_quit, loop);
    g_main_loop_run(loop);
    g_string_append(order, ")");
    return G_SOURCE_REMOVE;
}

static void ask_of_order(int *answers)
{
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    order = g_string_new("");
    g_idle_add_full(G_PRIORITY_DEFAULT, run_inner_loop, loop, NULL);
    g_idle_add(add_to_order, "outer");
    run_dry();
    *answers++ = (int)g_str_hash(order->str);
    int thrice = 0;
    g_timeout_add(1, call_thrice, &thrice);
    while (thrice < 3) {
        g_main_context_iteration(NULL, TRUE);
    }
    run_dry();
    *answers++ = thrice;
    g_main_context_invoke(NULL, count_call, NULL); /* runs at once: the context is the caller's own */
    *answers++ = take(&calls);
    GMainContext *context = g_main_context_new();
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, count_call, NULL, count_notify);
    g_source_attach(source, context);
    g_source_destroy(source);
    *answers++ = take(&notifies);
    *answers++ = (int)source->ref_count;
    g_source_unref(source);
    source = g_idle_source_new();
    g_source_set_callback(source, count_call, NULL, count_notify);
    g_source_attach(source, context);
    g_source_unref(source);
    g_main_context_unref(context); /* with a source in it */
    *answers++ = take(&notifies);
    *answers++ = take(&calls);
}

static void add_up(gpointer number, gpointer sum)
{
    g_atomic_int_add((gint *)sum, GPOINTER_TO_INT(number));
}

enum {
    POOLS_AFTER_ANOTHER = 200 /* more than are followed at a time */
};

static void take_briefly(gpointer data, gpointer unused)
{
    (void)unused;
    g_atomic_int_inc((gint *)data);
}

static void take_a_while(gpointer data, gpointer unused)
{
    (void)unused;
    child_pause_ms(3);
    g_atomic_int_inc((gint *)data);
}

OWN_PLACE static void push_to_the_last(GThreadPool *pool, gint *count)
{
    g_thread_pool_push(pool, count, NULL);
    KEEP_FRAME();
}

static void child_makes_pools_one_after_another(void)
{
    static gint count;
    for (int i = 0; i < POOLS_AFTER_ANOTHER; i++) {
        GThreadPool *pool = g_thread_pool_new(take_briefly, NULL, 1, i % 2, NULL);
        g_thread_pool_push(pool, &count, NULL);
        g_thread_pool_free(pool, FALSE, TRUE);
    }
    GThreadPool *pool = g_thread_pool_new(take_a_while, NULL, 1, TRUE, NULL);
    push_to_the_last(pool, &count);
    g_thread_pool_free(pool, FALSE, TRUE);
    child_expect(g_atomic_int_get(&count) == POOLS_AFTER_ANOTHER + 1, "each calls its own function");
}

static void test_a_pool_is_followed_however_many_were_freed_before(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_makes_pools_one_after_another);
    assert_non_null(task_of_stack(snapshot, (void *)push_to_the_last, SBX_OP_G_THREAD_POOL_PUSH));
    sbx_snapshot_destroy(snapshot);
}

static void ask_of_pools(int *answers)
{
    gint sum = 0;
    GThreadPool *pool = g_thread_pool_new(add_up, &sum, 3, TRUE, NULL);
    *answers++ = pool->user_data == &sum;
    for (int i = 1; i <= 100; i++) {
        *answers++ = g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
        answers -= i != 100;
    }
    g_thread_pool_free(pool, FALSE, TRUE);
    *answers++ = sum;
    GAsyncQueue *queue = g_async_queue_new();
    g_async_queue_push(queue, GINT_TO_POINTER(1));
    g_async_queue_push(queue, GINT_TO_POINTER(2));
    g_async_queue_push_front(queue, GINT_TO_POINTER(3));
    *answers++ = g_async_queue_length(queue);
    for (int i = 0; i < 3; i++) {
        *answers++ = GPOINTER_TO_INT(i == 1 ? g_async_queue_try_pop(queue) : g_async_queue_pop(queue));
    }
    *answers++ = g_async_queue_timeout_pop(queue, 1000) == NULL;
    g_async_queue_unref(queue);
}

static jmp_buf out;

static gboolean jump_out(gpointer unused)
{
    (void)unused;
    longjmp(out, 1);
    return G_SOURCE_REMOVE;
}

#ifdef HAS_CPP
extern int glib_throw_through(void);
#endif

static void ask_of_ways_out(int *answers)
{
    GMainContext *context = g_main_context_new(); /* left in the middle of a dispatch, and not used again */
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, jump_out, NULL, NULL);
    g_source_attach(source, context);
    if (setjmp(out) == 0) {
        g_main_context_iteration(context, FALSE);
        *answers++ = 0;
    } else {
        *answers++ = 1;
    }
#ifdef HAS_CPP
    *answers++ = glib_throw_through();
#endif
    g_idle_add(count_call, NULL);
    run_dry();
    *answers++ = take(&calls);
}

static void test_sources_have_the_identity_that_they_always_had(void **state)
{
    (void)state;
    const int *answers = expect_same_answers(ask_of_identity, 14);
    assert_int_equal(answers[0], 1);
    assert_int_equal(answers[1], 1);
    assert_int_equal(answers[5], 1); /* the destroy notifier ran */
}

static void test_nested_loops_timers_and_contexts_do_what_they_always_did(void **state)
{
    (void)state;
    assert_int_equal(expect_same_answers(ask_of_order, 7)[1], 3);
}

static void child_asks_of_pools(void)
{
    static const int expected[] = {1, 1, 5050, 3, 3, 1, 2, 1};
    int answers[16];
    ask_of_pools(answers);
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        child_expect(answers[i] == expected[i], "a pool or a queue answers as ever");
    }
}

/* The answers are not compared with those of this process, because GLib's threads do not exist in a child of fork(). */
static void test_pools_and_queues_hand_over_what_was_pushed(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_asks_of_pools));
}

static void test_jumps_and_exceptions_leave_callbacks_as_ever(void **state)
{
    (void)state;
#ifdef HAS_CPP
    assert_int_equal(expect_same_answers(ask_of_ways_out, 3)[1], 1);
#else
    (void)expect_same_answers(ask_of_ways_out, 2);
#endif
}

/* ---- what is recorded ---- */

static gboolean take_long(gpointer unused)
{
    (void)unused;
    child_pause_ms(5);
    return G_SOURCE_REMOVE;
}

OWN_PLACE static void add_idle_here(void)
{
    g_idle_add(take_long, NULL);
    KEEP_FRAME();
}

OWN_PLACE static void add_timer_here(void)
{
    static int times;
    g_timeout_add(1, call_thrice, &times);
    KEEP_FRAME();
}

OWN_PLACE static void attach_here(void)
{
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, take_long, &source, NULL);
    g_source_attach(source, NULL);
    g_source_unref(source);
    KEEP_FRAME();
}

static gint is_invoked;

static gboolean take_long_invoked(gpointer unused)
{
    take_long(unused);
    g_atomic_int_set(&is_invoked, 1);
    return G_SOURCE_REMOVE;
}

OWN_PLACE static gpointer invoke_here(gpointer unused)
{
    g_main_context_invoke(NULL, take_long_invoked, NULL);
    KEEP_FRAME();
    return unused;
}

static void child_adds_sources(void)
{
    add_idle_here();
    add_idle_here();
    g_source_remove(g_idle_add(count_call, &calls));
    run_dry();
    attach_here();
    run_dry();
    add_timer_here();
    for (int i = 0; i < 20; i++) {
        child_pause_ms(2);
        run_dry();
    }
    child_expect(g_main_context_acquire(NULL), "the context is ours");
    GThread *thread = g_thread_new("invoker", invoke_here, NULL);
    while (!g_atomic_int_get(&is_invoked)) {
        g_main_context_iteration(NULL, FALSE);
    }
    g_main_context_release(NULL);
    g_thread_join(thread);
}

static void test_a_source_is_told_with_who_added_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_adds_sources);
    const struct sbx_record *idle = task_of_stack(snapshot, (void *)add_idle_here, SBX_OP_G_IDLE_ADD);
    assert_non_null(idle);
    assert_non_null(hop_of(snapshot, idle));
    assert_true(idle->end_ns - idle->begin_ns >= 4900000);
    assert_non_null(task_of_stack(snapshot, (void *)attach_here, SBX_OP_G_SOURCE_ATTACH));
    const struct sbx_record *invoked = task_of_stack(snapshot, (void *)invoke_here, SBX_OP_G_MAIN_CONTEXT_INVOKE);
    assert_non_null(invoked);
    assert_int_equal(invoked->thread, idle->thread);
    assert_int_not_equal(hop_of(snapshot, invoked)->peer, snapshot->header.pid);
    assert_int_equal(snapshot->queue_count, 1); /* the default context; waiting timers lie in no queue */
    assert_int_equal(snapshot->queues[0].queued, 5);
    assert_int_equal(snapshot->queues[0].begun, 4);
    assert_int_equal(snapshot->queues[0].cancelled, 1);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_int_equal(snapshot->records[i].kind == SBX_RECORD_HOP ? snapshot->records[i].flags & SBX_FLAG_OPEN : 0,
                         0);
    }
    sbx_snapshot_destroy(snapshot);
}

/* Another thread adds items while the main thread dispatches. Some are dispatched before their number is known. */
enum {
    RACES = 3000
};
static gint raced;

static gboolean count_race(gpointer unused)
{
    (void)unused;
    g_atomic_int_inc(&raced);
    return G_SOURCE_REMOVE;
}

static gpointer add_many(gpointer unused)
{
    for (int i = 0; i < RACES; i++) {
        g_idle_add(count_race, GINT_TO_POINTER(i));
        while (g_atomic_int_get(&raced) < i - 4) {
            g_thread_yield();
        }
    }
    return unused;
}

static void child_races(void)
{
    GThread *thread = g_thread_new("adder", add_many, NULL);
    while (g_atomic_int_get(&raced) < RACES) {
        g_main_context_iteration(NULL, FALSE);
    }
    g_thread_join(thread);
}

static void test_a_source_that_is_dispatched_before_its_number_is_known_is_found_all_the_same(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_races);
    assert_int_equal(snapshot->queues[0].queued, RACES);
    assert_int_equal(snapshot->queues[0].begun, RACES); /* followed or not */
    int lying = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        lying += snapshot->records[i].kind == SBX_RECORD_HOP && (snapshot->records[i].flags & SBX_FLAG_OPEN) != 0;
    }
    assert_int_equal(lying, 0); /* each followed item was found */
    sbx_snapshot_destroy(snapshot);
}

static GAsyncQueue *items;

static void take_long_in_pool(gpointer data, gpointer unused)
{
    (void)data;
    (void)unused;
    child_pause_ms(5);
}

OWN_PLACE static void push_to_pool(GThreadPool *pool, int number)
{
    g_thread_pool_push(pool, GINT_TO_POINTER(number), NULL);
    KEEP_FRAME();
}

OWN_PLACE static void push_to_queue(int number)
{
    g_async_queue_push(items, GINT_TO_POINTER(number));
    KEEP_FRAME();
}

static gpointer pop_two(gpointer unused)
{
    g_async_queue_pop(items);
    child_pause_ms(5);
    g_async_queue_pop(items);
    child_pause_ms(5);
    g_async_queue_try_pop(items);
    return unused;
}

static void child_pushes(void)
{
    GThreadPool *pool = g_thread_pool_new(take_long_in_pool, NULL, 1, TRUE, NULL);
    push_to_pool(pool, 1);
    push_to_pool(pool, 2);
    g_thread_pool_free(pool, FALSE, TRUE);
    items = g_async_queue_new();
    push_to_queue(1);
    push_to_queue(2);
    g_thread_join(g_thread_new("popper", pop_two, NULL));
}

static void test_what_a_worker_works_at_is_told_with_who_pushed_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_pushes);
    const struct sbx_record *pooled = task_of_stack(snapshot, (void *)push_to_pool, SBX_OP_G_THREAD_POOL_PUSH);
    const struct sbx_record *popped = task_of_stack(snapshot, (void *)push_to_queue, SBX_OP_G_ASYNC_QUEUE_PUSH);
    assert_non_null(pooled);
    assert_non_null(popped);
    assert_true(pooled->end_ns - pooled->begin_ns >= 4900000);
    assert_true(popped->end_ns - popped->begin_ns >= 4900000);
    assert_int_equal(hop_of(snapshot, popped)->peer, snapshot->header.pid);
    sbx_snapshot_destroy(snapshot);
}

static void child_has_the_points_out(void)
{
    gboolean (*dispatch)(GSource *, GSourceFunc, gpointer) = g_idle_funcs.dispatch;
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_GLIB));
    child_expect(g_idle_funcs.dispatch != dispatch, "what leads to us is taken out");
    child_expect(g_idle_funcs.finalize == NULL && g_timeout_funcs.finalize == NULL, "all of it");
    add_idle_here();
    run_dry();
    child_set_points(SBX_POINTS_ALL);
    child_expect(g_idle_funcs.dispatch == dispatch, "and put in again");
}

static void test_the_group_is_switched_by_itself_and_leaves_nothing(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_has_the_points_out);
    assert_null(task_of_stack(snapshot, (void *)add_idle_here, SBX_OP_G_IDLE_ADD));
    assert_int_equal(snapshot->queue_count, 0);
    sbx_snapshot_destroy(snapshot);
}

static gboolean (*dispatch_before)(GSource *, GSourceFunc, gpointer);
static void (*finalize_before)(GSource *);
static int wrapped_dispatches, wrapped_finalizes;

static gboolean wrap_dispatch(GSource *source, GSourceFunc function, gpointer data)
{
    child_expect(++wrapped_dispatches < 100, "what is called there does not call itself");
    return dispatch_before(source, function, data);
}

static void wrap_finalize(GSource *source)
{
    child_expect(++wrapped_finalizes < 100, "nor does what is told of its end");
    if (finalize_before != NULL) {
        finalize_before(source);
    }
}

/* Two programs that wrap the dispatch functions that they find, as the recorder does: one wraps both, the other one. */
static void child_wraps_the_dispatch(void)
{
    dispatch_before = g_idle_funcs.dispatch;
    finalize_before = g_idle_funcs.finalize;
    g_idle_funcs.dispatch = wrap_dispatch;
    g_idle_funcs.finalize = wrap_finalize;
    calls = 0;
    for (int i = 0; i < 3; i++) {
        child_set_points(i == 1 ? SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_GLIB) : SBX_POINTS_ALL); /* checked again */
        child_expect(g_idle_funcs.dispatch == wrap_dispatch, "what the program has put there stays");
        g_idle_add(count_call, NULL);
        run_dry();
        child_expect(calls == i + 1 && wrapped_dispatches == i + 1, "each is dispatched once, by way of the program's");
    }
    child_expect(wrapped_finalizes == 3, "and ends once");
}

static void child_wraps_what_is_told_of_the_end(void)
{
    finalize_before = g_idle_funcs.finalize;
    g_idle_funcs.finalize = wrap_finalize;
    calls = 0;
    for (int i = 0; i < 3; i++) {
        child_set_points(i == 1 ? SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_GLIB) : SBX_POINTS_ALL);
        child_expect(g_idle_funcs.finalize == wrap_finalize, "what the program has put there stays");
        g_idle_add(count_call, NULL);
        run_dry();
        child_expect(calls == i + 1 && wrapped_finalizes == i + 1, "each is dispatched once, and ends once");
    }
}

static void test_a_program_that_wraps_the_dispatch_of_idle_sources_is_not_wrapped_again(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_wraps_the_dispatch));
    sbx_snapshot_destroy(run_recorded(child_wraps_what_is_told_of_the_end));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources_have_the_identity_that_they_always_had),
        cmocka_unit_test(test_nested_loops_timers_and_contexts_do_what_they_always_did),
        cmocka_unit_test(test_pools_and_queues_hand_over_what_was_pushed),
        cmocka_unit_test(test_a_pool_is_followed_however_many_were_freed_before),
        cmocka_unit_test(test_jumps_and_exceptions_leave_callbacks_as_ever),
        cmocka_unit_test(test_a_source_is_told_with_who_added_it),
        cmocka_unit_test(test_a_source_that_is_dispatched_before_its_number_is_known_is_found_all_the_same),
        cmocka_unit_test(test_what_a_worker_works_at_is_told_with_who_pushed_it),
        cmocka_unit_test(test_the_group_is_switched_by_itself_and_leaves_nothing),
        cmocka_unit_test(test_a_program_that_wraps_the_dispatch_of_idle_sources_is_not_wrapped_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
