/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_spans.c - what is known of a thread's time, without any guess. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "random_report.h"
#include "thread_spans.h"

static int make(void **state)
{
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    report_fixture_thread(fixture, "worker", false);
    *state = fixture;
    return 0;
}

static int destroy(void **state)
{
    report_fixture_destroy(*state);
    return 0;
}

static struct sbx_thread_spans spans_of(struct report_fixture *fixture, uint32_t thread)
{
    struct sbx_thread_spans spans;
    assert_int_equal(sbx_thread_spans_init(&spans, report_fixture_report(fixture)->stall, thread), 0);
    return spans;
}

static void assert_ms(int64_t ns, double ms)
{
    assert_int_equal(ns, ms_to_ns(ms));
}

static void test_a_sample_lasts_to_the_next_one_near(void **state)
{
    report_fixture_sample(*state, 0, -10, 1, -1, "main;f");
    report_fixture_sample(*state, 0, -8, 1, -1, "main;g");
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.count, 2);
    assert_ms(spans.spans[0].end_ns, -10);
    assert_ms(spans.spans[0].drawn_end_ns, -8);
    assert_ms(spans.spans[0].until_ns, -8);
    assert_ms(spans.spans[1].earliest_ns, -10);
    assert_false(spans.spans[1].cut);
    sbx_thread_spans_finish(&spans);
}

static void test_a_sample_is_not_stretched_over_a_long_gap(void **state)
{
    report_fixture_sample(*state, 0, -500, 1, -1, "main;f");
    report_fixture_sample(*state, 0, -10, 1, -1, "main;f");
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_true(spans.reach_ns < ms_to_ns(490));
    assert_ms(spans.spans[0].drawn_end_ns, -500);
    assert_ms(spans.spans[0].until_ns, -10);
    sbx_thread_spans_finish(&spans);
}

static void test_the_same_stack_without_cpu_time_between_is_drawn_through(void **state)
{
    report_fixture_sample(*state, 0, -500, 1, 20, "main;f");
    report_fixture_sample(*state, 0, -10, 1, 20.1, "main;f");
    report_fixture_sample(*state, 1, -500, 0, 20, "main;f");
    report_fixture_sample(*state, 1, -10, 0, 400, "main;f"); /* it ran, but the code is not known */
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_ms(spans.spans[0].drawn_end_ns, -10);
    assert_int_equal(spans.spans[0].tail, SBX_SPAN_OFF_CPU);
    sbx_thread_spans_finish(&spans);
    spans = spans_of(*state, 1);
    assert_ms(spans.spans[0].drawn_end_ns, -500);
    assert_int_equal(spans.spans[0].tail, SBX_SPAN_ON_CPU);
    sbx_thread_spans_finish(&spans);
}

static void test_reach_follows_the_sampling_interval_within_limits(void **state)
{
    struct sbx_stall *stall = report_fixture_stall(*state);
    static const struct {
        uint32_t interval_us, gap_us, async_us;
        double reach_ms;
    } cases[] = {{1000, 5000, 0, 30}, {1000, 5000, 8000, 48}, {0, 0, 0, 5}, {1000000, 0, 0, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stall->policy.interval_us = cases[i].interval_us;
        stall->policy.gap_us = cases[i].gap_us;
        stall->policy.async_interval_us = cases[i].async_us;
        struct sbx_thread_spans spans = spans_of(*state, 0);
        assert_ms(spans.reach_ns, cases[i].reach_ms);
        sbx_thread_spans_finish(&spans);
    }
}

static void test_a_message_boundary_cuts(void **state)
{
    report_fixture_sample(*state, 0, -10, 1, -1, "main;f");
    report_fixture_message(*state, 0, -11, -9, 1, 1);
    report_fixture_sample(*state, 0, -7, 2, -1, "main;f");
    report_fixture_message(*state, 0, -8, -6.5, 2, 1);
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.count, 2);
    assert_int_equal(spans.message_count, 2);
    assert_ms(spans.spans[0].drawn_end_ns, -9);
    assert_ms(spans.spans[0].until_ns, -9);
    assert_true(spans.spans[1].cut);
    assert_ms(spans.spans[1].earliest_ns, -8);    /* not before its message began */
    assert_ms(spans.spans[1].drawn_end_ns, -6.5); /* the last one goes on to the end of its message */
    assert_ms(spans.spans[0].earliest_ns, -11);
    assert_false(spans.spans[0].history_begin);
    sbx_thread_spans_finish(&spans);
}

static void test_an_edge_of_the_same_message_does_not_cut(void **state)
{
    report_fixture_sample(*state, 0, -10, 2, -1, "main;f"); /* exactly at its message's begin */
    report_fixture_sample(*state, 0, -9, 2, -1, "main;f");
    report_fixture_message(*state, 0, -10, -8, 2, 1);
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_false(spans.spans[1].cut);
    assert_ms(spans.spans[0].drawn_end_ns, -9);
    sbx_thread_spans_finish(&spans);
}

static void test_idle_time_cuts_and_has_no_tail_drawn(void **state)
{
    report_fixture_sample(*state, 0, -10, 0, -1, "main;f");
    report_fixture_idle(*state, 0, -9, -5);
    report_fixture_sample(*state, 0, -4, 0, -1, "main;f");
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.count, 3);
    assert_ms(spans.spans[0].drawn_end_ns, -9);
    assert_int_equal(spans.spans[1].state, SBX_SPAN_IDLE);
    assert_ms(spans.spans[1].drawn_end_ns, -5);
    assert_true(spans.spans[2].cut);
    sbx_thread_spans_finish(&spans);
}

static void test_looks_inside_a_measured_wait_are_no_spans_of_their_own(void **state)
{
    struct sbx_stall_record look = {.kind = SBX_RECORD_BLOCKED,
                                    .op = SBX_OP_NANOSLEEP,
                                    .begin_ns = ms_to_ns(-60),
                                    .end_ns = ms_to_ns(-60),
                                    .cpu_ns = -1,
                                    .peer = -1,
                                    .message = 1,
                                    .stack = report_fixture_stack(*state, "main;f;libc.so.6!nanosleep")};
    report_fixture_record(*state, look);
    report_fixture_wait(*state, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -100, -20, 1, -1, "main;f");
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.count, 1);
    assert_true(spans.spans[0].measured);
    assert_ms(spans.spans[0].begin_ns, -100);
    assert_ms(spans.spans[0].end_ns, -20);
    assert_int_equal(spans.spans[0].state, SBX_SPAN_SLEEP);
    assert_string_equal(sbx_span_wait_name(&spans.spans[0]), "nanosleep");
    sbx_thread_spans_finish(&spans);
}

static void test_a_measured_wait_inside_another_is_nested(void **state)
{
    report_fixture_wait(*state, 0, SBX_RECORD_POLL, SBX_OP_POLL, -80, -40, 1, -1, "main;f;libc.so.6!getaddrinfo");
    report_fixture_wait(*state, 0, SBX_RECORD_SOCKET, SBX_OP_GETADDRINFO, -100, -20, 1, -1, "main;f");
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.count, 2);
    assert_int_equal(spans.spans[0].op, SBX_OP_GETADDRINFO);
    assert_false(spans.spans[0].nested);
    assert_true(spans.spans[1].nested);
    assert_int_equal(spans.spans[0].state, SBX_SPAN_NETWORK);
    sbx_thread_spans_finish(&spans);
}

static void test_waits_that_overlap_by_rounding_are_laid_side_by_side(void **state)
{
    report_fixture_wait(*state, 0, SBX_RECORD_FILE, SBX_OP_READ, -10, -5, 1, -1, "main;f");
    report_fixture_wait(*state, 0, SBX_RECORD_FILE, SBX_OP_READ, -5.001, -2, 1, -1, "main;f");
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.count, 2);
    assert_ms(spans.spans[1].begin_ns, -5);
    assert_ms(spans.spans[1].end_ns, -2);
    sbx_thread_spans_finish(&spans);
}

static void test_the_call_open_at_the_trigger_is_a_span_that_has_not_ended(void **state)
{
    struct sbx_stall_record look = {.kind = SBX_RECORD_BLOCKED,
                                    .op = SBX_OP_MUTEX_LOCK,
                                    .begin_ns = 0,
                                    .end_ns = 0,
                                    .cpu_ns = -1,
                                    .peer = -1,
                                    .message = 4,
                                    .stack = report_fixture_stack(*state, "main;f")};
    report_fixture_record(*state, look);
    struct sbx_stall_thread *self = report_fixture_thread_at(*state, 0);
    self->call_kind = SBX_RECORD_LOCK;
    self->call_op = SBX_OP_MUTEX_LOCK;
    self->call_ns = ms_to_ns(700);
    self->call_peer = 1;
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.count, 1);
    const struct sbx_span *span = &spans.spans[0];
    assert_true(span->unfinished);
    assert_ms(span->begin_ns, -700);
    assert_ms(span->end_ns, 0);
    assert_int_equal(span->stack, look.stack);
    assert_int_equal(span->message, 4);
    assert_int_equal(span->peer, 1);
    assert_int_equal(span->state, SBX_SPAN_LOCK);
    sbx_thread_spans_finish(&spans);
}

static void test_the_cpu_clock_says_what_samples_were(void **state)
{
    report_fixture_sample(*state, 0, -40, 1, 100, "main;f");
    report_fixture_sample(*state, 0, -30, 1, 109, "main;f"); /* ran for nine of ten ms */
    report_fixture_sample(*state, 0, -20, 1, -1, "main;f");  /* not read */
    report_fixture_sample(*state, 0, -10, 1, 111, "main;f"); /* ran for two of twenty ms */
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.spans[0].tail, SBX_SPAN_ON_CPU);
    assert_true(spans.spans[0].tail_cpu_share > 0.89 && spans.spans[0].tail_cpu_share < 0.91);
    assert_int_equal(spans.spans[1].tail, SBX_SPAN_OFF_CPU);
    assert_int_equal(spans.spans[2].tail, SBX_SPAN_OFF_CPU);
    assert_true(spans.spans[2].tail_cpu_share > 0.09 && spans.spans[2].tail_cpu_share < 0.11);
    assert_true(spans.spans[3].tail_cpu_share < 0);
    sbx_thread_spans_finish(&spans);
}

static void test_a_wait_uses_no_cpu_time_so_the_rest_gets_it(void **state)
{
    report_fixture_sample(*state, 0, -110, 1, 100, "main;f");
    report_fixture_wait(*state, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -105, -5, 1, 105, "main;f"); /* 5 ms in 105 */
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.spans[0].tail, SBX_SPAN_ON_CPU);
    assert_true(spans.spans[0].tail_cpu_share > 0.99);
    sbx_thread_spans_finish(&spans);
}

static void test_blocked_looks_say_in_what(void **state)
{
    static const struct {
        uint8_t op;
        uint64_t amount;
        enum sbx_span_state state;
        const char *name;
    } cases[] = {
        {SBX_OP_MUTEX_LOCK, 0, SBX_SPAN_LOCK, "pthread_mutex_lock"},
        {SBX_OP_COND_WAIT, 0, SBX_SPAN_WAIT, "pthread_cond_wait"},
        {SBX_OP_EPOLL_WAIT, 0, SBX_SPAN_WAIT, "epoll_wait"},
        {SBX_OP_USLEEP, 0, SBX_SPAN_SLEEP, "usleep"},
        {SBX_OP_FSYNC, 0, SBX_SPAN_IO, "fsync"},
        {SBX_OP_RECV, 0, SBX_SPAN_NETWORK, "recv"},
        {SBX_OP_SYSCALL, 202, SBX_SPAN_WAIT, "futex"},
        {SBX_OP_SYSCALL, 35, SBX_SPAN_SLEEP, "nanosleep"},
        {SBX_OP_SYSCALL, 9999, SBX_SPAN_OFF_CPU, "system call"},
        {SBX_OP_RUNNING, 0, SBX_SPAN_RUNNABLE, "running"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sbx_stall_record look = {.kind = SBX_RECORD_BLOCKED,
                                        .op = cases[i].op,
                                        .amount = cases[i].amount,
                                        .begin_ns = ms_to_ns(-100 + (double)i),
                                        .end_ns = ms_to_ns(-100 + (double)i),
                                        .cpu_ns = -1,
                                        .peer = -1};
        report_fixture_record(*state, look);
    }
    struct sbx_thread_spans spans = spans_of(*state, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(spans.spans[i].state, cases[i].state);
        assert_string_equal(sbx_span_wait_name(&spans.spans[i]), cases[i].name);
        assert_int_equal(sbx_span_is_wait(&spans.spans[i]), cases[i].op != SBX_OP_RUNNING);
    }
    sbx_thread_spans_finish(&spans);
}

static void test_the_judged_message_that_has_not_ended_is_there(void **state)
{
    struct sbx_stall *stall = report_fixture_stall(*state);
    stall->trigger.in_progress = true;
    stall->trigger.message = 9;
    stall->trigger.duration_ns = ms_to_ns(800);
    report_fixture_message(*state, 0, -1000, -900, 8, 1);
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.message_count, 2);
    assert_ms(spans.messages[1].begin_ns, -800);
    assert_ms(spans.messages[1].end_ns, 0);
    sbx_thread_spans_finish(&spans);
    spans = spans_of(*state, 1);
    assert_int_equal(spans.message_count, 0);
    sbx_thread_spans_finish(&spans);
}

static void test_a_thread_without_records_has_no_spans(void **state)
{
    struct sbx_thread_spans spans = spans_of(*state, 1);
    assert_int_equal(spans.count, 0);
    assert_int_equal(spans.message_count, 0);
    sbx_thread_spans_finish(&spans);
}

/* Check S1 and S3 of thread_spans.h. */
static void assert_in_order(const struct sbx_thread_spans *spans)
{
    const struct sbx_span *outer = NULL, *nested = NULL;
    for (size_t i = 0; i < spans->count; i++) {
        const struct sbx_span *span = &spans->spans[i];
        assert_true(span->begin_ns <= span->end_ns && span->end_ns <= span->drawn_end_ns &&
                    span->drawn_end_ns <= span->until_ns && span->earliest_ns <= span->begin_ns);
        if (span->nested) {
            assert_true(outer != NULL && outer->measured && span->measured);
            assert_true(span->begin_ns >= outer->begin_ns && span->end_ns <= outer->end_ns);
            assert_true(nested == NULL || nested->end_ns <= span->begin_ns);
            nested = span;
            continue;
        }
        assert_true(outer == NULL || outer->until_ns <= span->begin_ns);
        assert_true(span->tail_cpu_share <= 1 && span->own_cpu_share <= 1);
        outer = span;
        nested = NULL;
    }
    for (size_t i = 0; i < spans->message_count; i++) {
        assert_true(spans->messages[i].begin_ns <= spans->messages[i].end_ns);
        assert_true(i == 0 || spans->messages[i - 1].end_ns <= spans->messages[i].begin_ns);
    }
}

static void test_spans_are_in_order_whatever_the_records_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 120);
        for (uint32_t thread = 0; thread < 3; thread++) {
            struct sbx_thread_spans spans = spans_of(fixture, thread);
            assert_in_order(&spans);
            sbx_thread_spans_finish(&spans);
        }
        report_fixture_destroy(fixture);
    }
}

static void test_the_history_begins_with_the_oldest_of_what_is_known(void **state)
{
    struct sbx_stall *stall = report_fixture_stall(*state);
    report_fixture_report(*state);
    assert_ms(sbx_history_begin_ns(stall, ms_to_ns(-50)), -50);
    report_fixture_wait(*state, 0, SBX_RECORD_COND, SBX_OP_COND_WAIT, -90000, -300, 1, -1, "main;f");
    report_fixture_report(*state);
    assert_ms(sbx_history_begin_ns(stall, ms_to_ns(-50)), -300); /* not -90,000: one wait is not a history */
    stall->trigger.history_ns = ms_to_ns(400);
    assert_ms(sbx_history_begin_ns(stall, ms_to_ns(-50)), -400);
}

static void test_a_run_is_one_span_from_its_first_look_to_its_last(void **state)
{
    report_fixture_sample(*state, 0, -500, 1, 10, "main;f");
    struct sbx_stall_record run = {.kind = SBX_RECORD_LEAF,
                                   .op = SBX_OP_READ,
                                   .begin_ns = ms_to_ns(-500),
                                   .end_ns = ms_to_ns(-410),
                                   .message = 1,
                                   .cpu_ns = ms_to_ns(95),
                                   .peer = -1,
                                   .repeats = 30,
                                   .stack = report_fixture_stack(*state, "main;f")};
    report_fixture_record(*state, run);
    report_fixture_wait(*state, 0, SBX_RECORD_WAIT, SBX_OP_JOIN, -400, -300, 1, -1, "main;g");
    struct sbx_stall_record wake = {.kind = SBX_RECORD_WAKE,
                                    .op = SBX_OP_SEM_POST,
                                    .begin_ns = ms_to_ns(-290),
                                    .end_ns = ms_to_ns(-290),
                                    .message = 1,
                                    .cpu_ns = -1,
                                    .peer = -1,
                                    .stack = report_fixture_stack(*state, "main;h")};
    report_fixture_record(*state, wake);
    struct sbx_thread_spans spans = spans_of(*state, 0);
    assert_int_equal(spans.count, 3); /* a wake-up takes no time */
    assert_int_equal(spans.spans[0].looks, 1);
    assert_ms(spans.spans[1].begin_ns, -500);
    assert_ms(spans.spans[1].end_ns, -410);
    assert_int_equal(spans.spans[1].looks, 30);
    assert_false(spans.spans[1].measured);
    assert_int_equal(spans.spans[1].state, SBX_SPAN_ON_CPU);
    assert_true(spans.spans[2].measured);
    assert_int_equal(spans.spans[2].state, SBX_SPAN_WAIT);
    sbx_thread_spans_finish(&spans);
}

int main(void)
{
#define SPAN_TEST(name) cmocka_unit_test_setup_teardown(name, make, destroy)
    const struct CMUnitTest tests[] = {
        SPAN_TEST(test_a_run_is_one_span_from_its_first_look_to_its_last),
        SPAN_TEST(test_a_sample_lasts_to_the_next_one_near),
        SPAN_TEST(test_a_sample_is_not_stretched_over_a_long_gap),
        SPAN_TEST(test_the_same_stack_without_cpu_time_between_is_drawn_through),
        SPAN_TEST(test_reach_follows_the_sampling_interval_within_limits),
        SPAN_TEST(test_a_message_boundary_cuts),
        SPAN_TEST(test_an_edge_of_the_same_message_does_not_cut),
        SPAN_TEST(test_idle_time_cuts_and_has_no_tail_drawn),
        SPAN_TEST(test_looks_inside_a_measured_wait_are_no_spans_of_their_own),
        SPAN_TEST(test_a_measured_wait_inside_another_is_nested),
        SPAN_TEST(test_waits_that_overlap_by_rounding_are_laid_side_by_side),
        SPAN_TEST(test_the_call_open_at_the_trigger_is_a_span_that_has_not_ended),
        SPAN_TEST(test_the_cpu_clock_says_what_samples_were),
        SPAN_TEST(test_a_wait_uses_no_cpu_time_so_the_rest_gets_it),
        SPAN_TEST(test_blocked_looks_say_in_what),
        SPAN_TEST(test_the_judged_message_that_has_not_ended_is_there),
        SPAN_TEST(test_a_thread_without_records_has_no_spans),
        SPAN_TEST(test_spans_are_in_order_whatever_the_records_say),
        SPAN_TEST(test_the_history_begins_with_the_oldest_of_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
