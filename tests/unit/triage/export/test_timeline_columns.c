/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline_columns.c - many pieces are merged into few blocks, without adding time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "random_report.h"
#include "timeline_columns.h"

static struct sbx_blocks blocks_of(struct report_fixture *fixture, double begin_ms, double end_ms, uint32_t columns)
{
    struct sbx_thread_spans spans;
    struct sbx_blocks blocks;
    const struct sbx_report *report = report_fixture_report(fixture);
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    assert_int_equal(sbx_thread_spans_init(&spans, report->stall, 0), 0);
    assert_int_equal(sbx_blocks_init(&blocks, &spans, paths, ms_to_ns(begin_ms), ms_to_ns(end_ms), columns), 0);
    sbx_thread_spans_finish(&spans);
    sbx_call_paths_destroy(paths);
    return blocks;
}

static struct report_fixture *one_thread(void)
{
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    return fixture;
}

static void test_neighbours_of_one_state_are_one_block(void **state)
{
    (void)state;
    struct report_fixture *fixture = one_thread();
    for (int i = 0; i < 500; i++) {
        report_fixture_sample(fixture, 0, -1000 + i, 1, i, i % 2 ? "main;f" : "main;g");
    }
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -500, 0, 1, 500, "main;f");
    struct sbx_blocks blocks = blocks_of(fixture, -1000, 0, 100);
    assert_int_equal(blocks.count, 2);
    assert_int_equal(blocks.blocks[0].state, SBX_SPAN_ON_CPU);
    assert_int_equal(blocks.blocks[0].first, 0);
    assert_int_equal(blocks.blocks[0].last, 49);
    assert_int_equal(blocks.blocks[0].state_ns, ms_to_ns(500));
    assert_int_equal(blocks.blocks[0].observations, 500);
    assert_int_equal(blocks.blocks[1].state, SBX_SPAN_SLEEP);
    assert_int_equal(blocks.blocks[1].first, 50);
    assert_int_equal(blocks.blocks[1].last, 99);
    assert_int_equal(blocks.blocks[1].state_ns, ms_to_ns(500));
    sbx_blocks_finish(&blocks);
    report_fixture_destroy(fixture);
}

static void test_what_is_shown_is_exact_though_columns_are_coarse(void **state)
{
    (void)state;
    struct report_fixture *fixture = one_thread();
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -77.3, -33.3, 1, -1, "main;f");
    struct sbx_blocks blocks = blocks_of(fixture, -100, 0, 10); /* ten milliseconds a column */
    assert_int_equal(blocks.count, 1);
    assert_int_equal(blocks.blocks[0].begin_ns, ms_to_ns(-77.3));
    assert_int_equal(blocks.blocks[0].end_ns, ms_to_ns(-33.3));
    assert_int_equal(blocks.blocks[0].state_ns, ms_to_ns(44));
    sbx_blocks_finish(&blocks);
    report_fixture_destroy(fixture);
}

static void test_a_lone_sample_is_seen(void **state)
{
    (void)state;
    struct report_fixture *fixture = one_thread();
    report_fixture_sample(fixture, 0, -50, 0, -1, "main;f");
    struct sbx_blocks blocks = blocks_of(fixture, -100, 0, 100);
    assert_int_equal(blocks.count, 1);
    assert_int_equal(blocks.blocks[0].first, 50);
    assert_int_equal(blocks.blocks[0].last, 50);
    assert_int_equal(blocks.blocks[0].state_ns, 0);
    sbx_blocks_finish(&blocks);
    report_fixture_destroy(fixture);
}

static void test_what_lies_outside_the_picture_is_clipped(void **state)
{
    (void)state;
    struct report_fixture *fixture = one_thread();
    report_fixture_wait(fixture, 0, SBX_RECORD_COND, SBX_OP_COND_WAIT, -100000, -90, 0, -1, "main;f");
    report_fixture_wait(fixture, 0, SBX_RECORD_COND, SBX_OP_COND_WAIT, -10, 50, 0, -1, "main;f");
    struct sbx_blocks blocks = blocks_of(fixture, -100, 0, 100);
    assert_int_equal(blocks.count, 2);
    assert_int_equal(blocks.blocks[0].begin_ns, ms_to_ns(-100));
    assert_int_equal(blocks.blocks[0].state_ns, ms_to_ns(10));
    assert_int_equal(blocks.blocks[1].end_ns, 0);
    sbx_blocks_finish(&blocks);
    report_fixture_destroy(fixture);
}

static void test_blocks_are_in_order_whatever_the_records_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 100);
        struct sbx_blocks blocks = blocks_of(fixture, -250, -10, 1 + (uint32_t)(seed % 97));
        int64_t total_ns = 0;
        for (size_t i = 0; i < blocks.count; i++) {
            assert_true(blocks.blocks[i].first <= blocks.blocks[i].last);
            assert_true(i == 0 || blocks.blocks[i - 1].last < blocks.blocks[i].first);
            assert_true(blocks.blocks[i].state != SBX_SPAN_UNKNOWN);
            total_ns += blocks.blocks[i].state_ns;
        }
        assert_true(total_ns <= ms_to_ns(240)); /* not more than the picture shows */
        sbx_blocks_finish(&blocks);
        report_fixture_destroy(fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_of_one_state_are_one_block),
        cmocka_unit_test(test_what_is_shown_is_exact_though_columns_are_coarse),
        cmocka_unit_test(test_a_lone_sample_is_seen),
        cmocka_unit_test(test_what_lies_outside_the_picture_is_clipped),
        cmocka_unit_test(test_blocks_are_in_order_whatever_the_records_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
