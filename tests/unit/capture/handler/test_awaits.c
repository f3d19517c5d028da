/* SPDX-License-Identifier: Apache-2.0 */
/* test_awaits.c - a made-up runtime that says which functions await the one that it runs, under the real recorder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "await_span.h"
#include "record_codec.h"
#include "recorded_process.h"
#include "stallbox/stallbox.h"

/* The runtime of one thread: one function runs, and some functions await it. Functions are numbers; the lines are the
 * same numbers. */
struct runtime {
    uint64_t runs;
    uint64_t awaits_first; /* the next one further out is one more */
    size_t awaits;
    atomic_int asked;
};

static struct stallbox_provider *provider;

static size_t walk(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max)
{
    if (first == 0 && max > 0) {
        functions[0] = ((struct runtime *)context)->runs;
        lines[0] = 1;
    }
    return 1;
}

static size_t awaited_by(void *context, const struct stallbox_interrupted *interrupted, uint64_t *functions,
                         uint32_t *lines, size_t max)
{
    struct runtime *runtime = context;
    (void)interrupted;
    atomic_fetch_add(&runtime->asked, 1);
    for (size_t i = 0; i < runtime->awaits && i < max; i++) {
        functions[i] = runtime->awaits_first + i;
        lines[i] = (uint32_t)functions[i] | (i + 1 == runtime->awaits ? STALLBOX_PROVIDER_BORDER : 0);
    }
    return runtime->awaits;
}

static void start(void)
{
    const struct stallbox_provider_options options = {.sizeof_options = sizeof options,
                                                      .name = "test",
                                                      .walk = walk,
                                                      .flags = STALLBOX_PROVIDER_SIGNAL_SAFE,
                                                      .awaited_by = awaited_by};
    child_expect(stallbox_provider_register(&options, &provider) == STALLBOX_OK, "it is registered");
    child_start();
}

static struct sbx_snapshot *run(void (*body)(void))
{
    assert_int_equal(recorded_process_run(body), 0);
    return recorded_process_snapshot();
}

/* Does the record say that these functions awaited its thread? The frames of its stack must be exactly them. */
static bool is_awaited_by(const struct sbx_snapshot *snapshot, const struct sbx_record *record, uint64_t first,
                          size_t count)
{
    uint64_t frames[SBX_AWAITS_MAX + 1];
    if (record->kind != SBX_RECORD_AWAITED ||
        sbx_snapshot_stack(snapshot, record->stack, frames, SBX_AWAITS_MAX + 1) != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t line = (uint32_t)frames[i] & ((1u << SBX_LOGICAL_LINE_BITS) - 1);
        if (!sbx_is_logical(frames[i]) || snapshot->ids[sbx_logical_function(frames[i])] != first + i ||
            line != first + i) {
            return false;
        }
    }
    return true;
}

static unsigned count_awaits(const struct sbx_snapshot *snapshot)
{
    unsigned count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        count += snapshot->records[i].kind == SBX_RECORD_AWAITED;
    }
    return count;
}

/* ---- in a call of the thread's own ---- */

static void child_sleeps_for_two_that_await(void)
{
    struct runtime runtime = {.runs = 100, .awaits_first = 200, .awaits = 3};
    start();
    void *former = stallbox_provider_enter(provider, &runtime);
    stallbox_message_begin(1);
    child_sleep_ms(30);
    child_sleep_ms(30);
    runtime.awaits_first = 300;
    runtime.awaits = 2;
    child_sleep_ms(30);
    runtime.awaits = 0;
    child_sleep_ms(30);
    stallbox_message_end();
    stallbox_provider_leave(provider, former);
    child_finish();
}

static void test_those_who_await_a_long_message_are_told_with_the_span(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_sleeps_for_two_that_await);
    uint64_t ends_ns = 0, message = 0, longest_ns[2] = {0, 0};
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_SLEEP) {
            message = record->message;
        }
        if (record->kind != SBX_RECORD_AWAITED) {
            continue;
        }
        bool is_second = is_awaited_by(snapshot, record, 300, 2);
        assert_true(is_second || is_awaited_by(snapshot, record, 200, 3));
        assert_true(record->begin_ns + SBX_AWAITS_SHORTEST_NS - SBX_TIME_UNIT_NS <= record->end_ns);
        assert_true(!is_second || record->begin_ns >= ends_ns); /* one after the other */
        ends_ns = is_second ? ends_ns : record->end_ns;
        uint64_t ns = record->end_ns - record->begin_ns;
        longest_ns[is_second] = ns > longest_ns[is_second] ? ns : longest_ns[is_second];
        assert_true(message == 0 || record->message == message);
    }
    assert_true(longest_ns[0] >= 30000000 / 2); /* of 60 ms at least half is recorded */
    assert_true(longest_ns[1] >= SBX_AWAITS_SHORTEST_NS - SBX_TIME_UNIT_NS);
    sbx_snapshot_destroy(snapshot);
}

static void child_works_outside_of_messages(void)
{
    struct runtime runtime = {.runs = 100, .awaits_first = 200, .awaits = 3};
    start();
    void *former = stallbox_provider_enter(provider, &runtime);
    child_sleep_ms(30);
    child_sleep_ms(30);
    child_expect(runtime.asked == 0, "nobody is asked");
    stallbox_message_begin(1);
    child_sleep_ms(30);
    child_sleep_ms(30);
    stallbox_message_end();
    child_expect(runtime.asked > 0, "in a message it is");
    stallbox_provider_leave(provider, former);
    child_finish();
}

static void test_outside_of_a_message_nobody_is_asked(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_works_outside_of_messages);
    assert_true(count_awaits(snapshot) > 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_is_awaited_by_more_than_are_kept(void)
{
    struct runtime runtime = {.runs = 100, .awaits_first = 200, .awaits = SBX_AWAITS_MAX + 20};
    start();
    void *former = stallbox_provider_enter(provider, &runtime);
    stallbox_message_begin(1);
    child_sleep_ms(30);
    child_sleep_ms(30);
    stallbox_message_end();
    stallbox_provider_leave(provider, former);
    child_finish();
}

static void test_of_too_many_the_nearest_are_kept(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_is_awaited_by_more_than_are_kept);
    assert_true(count_awaits(snapshot) > 0);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_true(snapshot->records[i].kind != SBX_RECORD_AWAITED ||
                    is_awaited_by(snapshot, &snapshot->records[i], 200, SBX_AWAITS_MAX));
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- in a handler, and from outside ---- */

static void child_computes_for_one_that_awaits(void)
{
    struct runtime runtime = {.runs = 100, .awaits_first = 400, .awaits = 1};
    start();
    child_set_points(SBX_POINT_BIT(SBX_GROUP_ASYNC));
    void *former = stallbox_provider_enter(provider, &runtime);
    stallbox_message_begin(1);
    for (int i = 0; i < 200 && runtime.asked < 20; i++) { /* on a quiet machine some rounds are enough */
        compute_without_a_call();
    }
    stallbox_message_end();
    stallbox_provider_leave(provider, former);
    child_finish();
}

static void test_a_thread_that_computes_is_asked_where_the_signal_meets_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_computes_for_one_that_awaits);
    unsigned found = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        found += is_awaited_by(snapshot, &snapshot->records[i], 400, 1);
    }
    assert_true(found > 0);
    assert_int_equal(found, count_awaits(snapshot));
    sbx_snapshot_destroy(snapshot);
}

static void *sleep_in_a_message(void *unused)
{
    static struct runtime runtime = {.runs = 100, .awaits_first = 500, .awaits = 2};
    (void)unused;
    stallbox_provider_enter(provider, &runtime);
    stallbox_message_begin(1);
    child_sleep_ms(20000); /* the process ends before */
    stallbox_message_end();
    stallbox_provider_leave(provider, NULL);
    return NULL;
}

static void child_is_looked_at_while_it_sleeps(void)
{
    pthread_t thread;
    start();
    child_expect(pthread_create(&thread, NULL, sleep_in_a_message, NULL) == 0, "a thread starts");
    child_pause_ms(500);
    child_finish(); /* called while it sleeps */
}

static void test_of_a_sleeper_those_who_awaited_it_when_it_went_to_sleep_are_told(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_is_looked_at_while_it_sleeps);
    unsigned found = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        found += is_awaited_by(snapshot, &snapshot->records[i], 500, 2);
    }
    assert_true(found > 0);
    sbx_snapshot_destroy(snapshot);
}

/* ---- how often ---- */

static void test_a_span_is_told_again_when_it_has_doubled(void **state)
{
    (void)state;
    assert_false(sbx_awaits_are_due(0, 0));
    assert_false(sbx_awaits_are_due(SBX_AWAITS_SHORTEST_NS - 1, 0));
    assert_true(sbx_awaits_are_due(SBX_AWAITS_SHORTEST_NS, 0));
    assert_false(sbx_awaits_are_due(2 * SBX_AWAITS_SHORTEST_NS - 1, SBX_AWAITS_SHORTEST_NS));
    assert_true(sbx_awaits_are_due(2 * SBX_AWAITS_SHORTEST_NS, SBX_AWAITS_SHORTEST_NS));
    uint64_t told_ns = 0;
    unsigned records = 0;
    for (uint64_t ns = 0; ns < UINT64_C(60000000000); ns += 1000000) { /* a minute, with a look at each millisecond */
        if (sbx_awaits_are_due(ns, told_ns)) {
            told_ns = ns;
            records++;
        }
    }
    assert_true(records < 16 && told_ns >= UINT64_C(30000000000));
}

int main(void)
{
#define CHILD_TEST(name) cmocka_unit_test_setup_teardown(name, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CHILD_TEST(test_those_who_await_a_long_message_are_told_with_the_span),
        CHILD_TEST(test_outside_of_a_message_nobody_is_asked),
        CHILD_TEST(test_of_too_many_the_nearest_are_kept),
        CHILD_TEST(test_a_thread_that_computes_is_asked_where_the_signal_meets_it),
        CHILD_TEST(test_of_a_sleeper_those_who_awaited_it_when_it_went_to_sleep_are_told),
        cmocka_unit_test(test_a_span_is_told_again_when_it_has_doubled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
