/* SPDX-License-Identifier: Apache-2.0 */
/* test_span_pieces.c - the pieces that profiles add up: each nanosecond counts once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "random_report.h"
#include "span_pieces.h"

/* The visited pieces as text, for each "begin..end state stack+wait !exact". */
struct visit {
    char text[4096];
    size_t pieces, stop_at;
    int64_t last_end_ns;
};

static int take(void *context, const struct sbx_piece *piece)
{
    struct visit *visit = context;
    assert_true(piece->begin_ns <= piece->end_ns);
    assert_true(piece->begin_ns >= visit->last_end_ns); /* in order, without overlap */
    visit->last_end_ns = piece->end_ns;
    size_t length = strlen(visit->text);
    length +=
        (size_t)snprintf(visit->text + length, sizeof visit->text - length, "%g..%g %s", (double)piece->begin_ns / 1e6,
                         (double)piece->end_ns / 1e6, sbx_span_state_name(piece->state));
    for (size_t i = 0; i < piece->path_count && length < sizeof visit->text; i++) {
        length += (size_t)snprintf(visit->text + length, sizeof visit->text - length, "%c%s", i == 0 ? ' ' : ';',
                                   piece->path[i].location->function);
    }
    if (length < sizeof visit->text) {
        snprintf(visit->text + length, sizeof visit->text - length, "%s%s%s|", piece->wait == NULL ? "" : "+",
                 piece->wait == NULL ? "" : piece->wait, piece->exact ? "!" : "");
    }
    return ++visit->pieces == visit->stop_at ? -7 : 0;
}

static struct visit visit(struct report_fixture *fixture, size_t stop_at, int expected)
{
    struct visit result = {.last_end_ns = INT64_MIN, .stop_at = stop_at};
    struct sbx_thread_spans spans;
    const struct sbx_report *report = report_fixture_report(fixture);
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    assert_int_equal(sbx_thread_spans_init(&spans, report->stall, 0), 0);
    assert_int_equal(sbx_span_pieces_visit(&spans, paths, take, &result), expected);
    sbx_thread_spans_finish(&spans);
    sbx_call_paths_destroy(paths);
    return result;
}

static void test_a_wait_is_one_frame_more_and_its_tail_is_not(void **state)
{
    report_fixture_wait(*state, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -50, -10, 1, 5, "main;f");
    report_fixture_sample(*state, 0, -8, 1, 7, "main;g");
    assert_string_equal(visit(*state, 0, 0).text,
                        "-50..-10 sleep main;f+usleep!|-10..-8 on CPU main;f|-8..-8 on CPU main;g|");
}

static void test_of_a_long_gap_only_the_shared_callers_are_known(void **state)
{
    report_fixture_sample(*state, 0, -900, 1, 10, "main;f;g");
    report_fixture_sample(*state, 0, -10, 1, 800, "main;f;h");
    assert_string_equal(visit(*state, 0, 0).text,
                        "-900..-900 on CPU main;f;g|-900..-10 on CPU main;f|-10..-10 on CPU main;f;h|");
}

static void test_a_long_gap_between_messages_has_no_stack(void **state)
{
    report_fixture_sample(*state, 0, -900, 1, -1, "main;f");
    report_fixture_sample(*state, 0, -10, 2, -1, "main;f");
    assert_string_equal(visit(*state, 0, 0).text, "-900..-900 on CPU main;f|-10..-10 on CPU main;f|");
}

static void test_idle_time_has_no_stack(void **state)
{
    report_fixture_idle(*state, 0, -50, -10);
    assert_string_equal(visit(*state, 0, 0).text, "-50..-10 idle!|");
}

static void test_the_visitor_can_end_the_visit(void **state)
{
    report_fixture_sample(*state, 0, -5, 1, -1, "main");
    report_fixture_sample(*state, 0, -4, 1, -1, "main");
    assert_int_equal(visit(*state, 2, -7).pieces, 2);
}

static void test_no_time_is_given_twice_whatever_the_records_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 90);
        visit(fixture, 0, 0); /* take() checks */
        report_fixture_destroy(fixture);
    }
}

int main(void)
{
#define PIECE_TEST(name) cmocka_unit_test_setup_teardown(name, report_fixture_begin, report_fixture_end)
    const struct CMUnitTest tests[] = {
        PIECE_TEST(test_a_wait_is_one_frame_more_and_its_tail_is_not),
        PIECE_TEST(test_of_a_long_gap_only_the_shared_callers_are_known),
        PIECE_TEST(test_a_long_gap_between_messages_has_no_stack),
        PIECE_TEST(test_idle_time_has_no_stack),
        PIECE_TEST(test_the_visitor_can_end_the_visit),
        PIECE_TEST(test_no_time_is_given_twice_whatever_the_records_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
