/* SPDX-License-Identifier: Apache-2.0 */
/* test_awaited.c - which functions awaited the function that the judged thread ran. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "awaited.h"
#include "one_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

/* The rows of a thread come in the order of their ends, so they are stored until all are there. */
static struct sbx_build_record rows[256];
static size_t row_count;

static void put_sample(int64_t at_ms)
{
    rows[row_count++] = (struct sbx_build_record){.kind = SBX_RECORD_ASYNC,
                                                  .begin_us = MS(at_ms),
                                                  .end_us = MS(at_ms),
                                                  .cpu_us = MS(1000 + at_ms) + 1,
                                                  .stack = sbx_scene_stack(scene, "crunch#shop.py:7 < main")};
}

/* The main thread computes for a second. */
static int begin(void **state)
{
    (void)state;
    scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    row_count = 0;
    for (int64_t ms = -1000; ms < 0; ms += 10) {
        put_sample(ms);
    }
    return 0;
}

static void put_await(uint32_t thread, int64_t begin_ms, int64_t end_ms, const char *stack)
{
    rows[row_count++] = (struct sbx_build_record){.thread = thread,
                                                  .kind = SBX_RECORD_AWAITED,
                                                  .begin_us = MS(begin_ms),
                                                  .end_us = MS(end_ms),
                                                  .stack = sbx_scene_stack(scene, stack)};
}

static int by_end(const void *left, const void *right)
{
    const struct sbx_build_record *a = left, *b = right;
    return (a->end_us > b->end_us) - (a->end_us < b->end_us);
}

static void put_rows(void)
{
    qsort(rows, row_count, sizeof rows[0], by_end);
    for (size_t i = 0; i < row_count; i++) {
        sbx_scene_record(scene, rows[i]);
    }
    row_count = 0;
}

static const struct sbx_report *report_of_rows(void)
{
    put_rows();
    return sbx_scene_report(scene);
}

static void test_those_who_awaited_it_are_evidence_and_no_part_of_the_verdict(void **state)
{
    (void)state;
    put_await(0, -900, -10, "render#shop.py:12 < serve#shop.py:40");
    const struct sbx_report *report = report_of_rows();
    assert_string_equal(sbx_scene_evidence(report, "awaited_by"), "awaited by render (shop.py:12), serve (shop.py:40)");
    assert_int_not_equal(report->verdict.awaited_stack, 0);
    assert_int_equal(report->verdict.cause, SBX_CAUSE_CPU);
    assert_string_equal(report->verdict.location.function, "crunch");
    assert_false(report->verdict.queued_by.is_known);
}

static void test_they_are_no_records_of_what_the_thread_did(void **state)
{
    (void)state;
    put_await(0, -900, -10, "render#shop.py:12");
    put_rows();
    const struct sbx_stall *stall = sbx_scene_stall(scene);
    assert_int_equal(stall->await_count, 1);
    assert_int_equal(stall->awaits[0].begin_ns, MS(-900) * 1000);
    assert_int_equal(stall->awaits[0].end_ns, MS(-10) * 1000);
    for (size_t i = 0; i < stall->record_count; i++) {
        assert_int_not_equal(stall->records[i].kind, SBX_RECORD_AWAITED);
    }
}

static void test_of_several_the_one_that_lasted_longest_counts(void **state)
{
    (void)state;
    put_await(0, -990, -960, "first#shop.py:1");
    put_await(0, -950, -700, "second#shop.py:2");
    put_await(0, -950, -300, "second#shop.py:2");
    put_await(0, -290, -100, "third#shop.py:3");
    assert_string_equal(sbx_scene_evidence(report_of_rows(), "awaited_by"), "awaited by second (shop.py:2)");
}

static void test_what_lies_before_the_message_or_is_another_threads_does_not_count(void **state)
{
    (void)state;
    put_await(0, -3000, -1000, "before#shop.py:1");
    put_await(1, -900, -10, "other#shop.py:2");
    const struct sbx_report *report = report_of_rows();
    assert_null(sbx_scene_evidence(report, "awaited_by"));
    assert_int_equal(report->verdict.awaited_stack, 0);
}

static void test_functions_of_the_standard_library_are_left_out_of_the_sentence(void **state)
{
    (void)state;
    put_await(0, -900, -10, "wait_for#python3.11/asyncio/tasks.py:479 < render#shop.py:12");
    const struct sbx_report *report = report_of_rows();
    assert_string_equal(sbx_scene_evidence(report, "awaited_by"), "awaited by render (shop.py:12)");
    const struct sbx_location *locations[8];
    assert_int_equal(sbx_report_callstack(report, report->verdict.awaited_stack, locations, 8), 2);
    assert_string_equal(locations[0]->function, "wait_for");
}

static void test_a_long_row_of_them_ends_where_the_sentence_has_no_room(void **state)
{
    (void)state;
    put_await(0, -900, -10,
              "one#a.py:1 < two#a.py:2 < three#a.py:3 < four#a.py:4 < five#a.py:5 < six#a.py:6 < seven#a.py:7");
    const char *text = sbx_scene_evidence(report_of_rows(), "awaited_by");
    assert_non_null(text);
    assert_non_null(strstr(text, "six (a.py:6)"));
    assert_null(strstr(text, "seven"));
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(test_those_who_awaited_it_are_evidence_and_no_part_of_the_verdict),
        SCENE(test_they_are_no_records_of_what_the_thread_did),
        SCENE(test_of_several_the_one_that_lasted_longest_counts),
        SCENE(test_what_lies_before_the_message_or_is_another_threads_does_not_count),
        SCENE(test_functions_of_the_standard_library_are_left_out_of_the_sentence),
        SCENE(test_a_long_row_of_them_ends_where_the_sentence_has_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
