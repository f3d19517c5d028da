/* SPDX-License-Identifier: Apache-2.0 */
/* test_slice_builder.c - samples and waits become nested slices, with correct bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "random_report.h"
#include "slice_builder.h"

/* The slices of one thread, with the data that they borrow. */
struct built {
    struct sbx_call_paths *paths;
    struct sbx_thread_spans spans;
    struct sbx_slices slices;
};

static struct built build_at_most(struct report_fixture *fixture, uint32_t thread, size_t max)
{
    struct built built;
    const struct sbx_report *report = report_fixture_report(fixture);
    built.paths = sbx_call_paths_create(report);
    assert_non_null(built.paths);
    assert_int_equal(sbx_thread_spans_init(&built.spans, report->stall, thread), 0);
    assert_int_equal(sbx_slices_init(&built.slices, &built.spans, built.paths, max), 0);
    assert_true(sbx_slices_are_valid(&built.slices));
    return built;
}

static struct built build(struct report_fixture *fixture)
{
    return build_at_most(fixture, 0, SIZE_MAX);
}

static void finish(struct built *built)
{
    sbx_slices_finish(&built->slices);
    sbx_thread_spans_finish(&built->spans);
    sbx_call_paths_destroy(built->paths);
}

/* The n-th slice (from 0) of this name. */
static const struct sbx_slice *find(const struct built *built, const char *name, unsigned n)
{
    for (size_t i = 0; i < built->slices.count; i++) {
        if (strcmp(built->slices.slices[i].name, name) == 0 && n-- == 0) {
            return &built->slices.slices[i];
        }
    }
    fail_msg("no slice %s", name);
    return NULL;
}

static size_t count(const struct built *built, const char *name)
{
    size_t found = 0;
    for (size_t i = 0; i < built->slices.count; i++) {
        found += strcmp(built->slices.slices[i].name, name) == 0;
    }
    return found;
}

static void assert_ms(int64_t ns, double ms)
{
    assert_int_equal(ns, ms_to_ns(ms));
}

static void test_shared_frames_go_on_and_changed_ones_end_between_the_samples(void **state)
{
    report_fixture_sample(*state, 0, -10, 1, -1, "main@1;f@2;g@3");
    report_fixture_sample(*state, 0, -8, 1, -1, "main@1;f@2;g@4");
    report_fixture_sample(*state, 0, -6, 1, -1, "main@1;f@7;h@1");
    report_fixture_sample(*state, 0, -4, 1, -1, "main@1;f@7");
    struct built built = build(*state);
    assert_int_equal(built.slices.count, 4);
    const struct sbx_slice *f = find(&built, "f", 0), *g = find(&built, "g", 0), *h = find(&built, "h", 0);
    assert_int_equal(f->seen, 4);
    assert_ms(f->begin_ns, -10);
    assert_ms(f->end_ns, -4);
    assert_int_equal(g->seen, 2);
    assert_ms(g->begin_ns, -10);
    assert_ms(g->last_seen_ns, -8); /* at least 2 ms ... */
    assert_ms(g->latest_ns, -6);    /* ... ended at -6 at the latest */
    assert_ms(g->end_ns, -6);
    assert_int_equal(g->parent - 1, f - built.slices.slices);
    assert_ms(h->earliest_ns, -8);
    assert_ms(h->begin_ns, -6);
    assert_ms(h->last_seen_ns, -6); /* seen once: its shortest possible duration is 0 */
    assert_ms(h->latest_ns, -4);
    finish(&built);
}

static void test_two_calls_from_one_function_are_two_slices(void **state)
{
    report_fixture_sample(*state, 0, -10, 1, -1, "main@1;f@2;g@3");
    report_fixture_sample(*state, 0, -8, 1, -1, "main@1;f@5;g@3");
    struct built built = build(*state);
    assert_int_equal(count(&built, "f"), 1);
    assert_int_equal(count(&built, "g"), 2);
    finish(&built);
}

static void test_a_message_boundary_always_cuts(void **state)
{
    report_fixture_sample(*state, 0, -10, 1, -1, "main@1;f@2");
    report_fixture_message(*state, 0, -11, -9, 1, 1);
    report_fixture_sample(*state, 0, -8, 2, -1, "main@1;f@2");
    report_fixture_message(*state, 0, -9, -7, 2, 1);
    struct built built = build(*state);
    assert_int_equal(count(&built, "main"), 2);
    assert_int_equal(count(&built, "f"), 2);
    assert_ms(find(&built, "f", 0)->end_ns, -9);
    assert_ms(find(&built, "f", 0)->latest_ns, -9);
    assert_ms(find(&built, "f", 1)->begin_ns, -8);
    assert_ms(find(&built, "f", 1)->earliest_ns, -9);
    finish(&built);
}

static void test_nothing_is_drawn_over_a_gap_that_ends_in_another_stack(void **state)
{
    report_fixture_sample(*state, 0, -1000, 1, -1, "main@1;f@2");
    report_fixture_sample(*state, 0, -10, 1, -1, "main@1;h@2");
    struct built built = build(*state);
    const struct sbx_slice *f = find(&built, "f", 0);
    assert_ms(f->end_ns, -1000);
    assert_ms(f->latest_ns, -10);
    finish(&built);
}

static void test_a_measured_wait_is_an_exact_leaf_under_its_stack(void **state)
{
    report_fixture_sample(*state, 0, -2001, 1, -1, "main@1;f@2");
    report_fixture_wait(*state, 0, SBX_RECORD_SLEEP, SBX_OP_NANOSLEEP, -2000, -5, 1, -1, "main@1;f@4");
    report_fixture_sample(*state, 0, -4, 1, -1, "main@1;f@6");
    struct built built = build(*state);
    assert_int_equal(built.slices.count, 3);
    const struct sbx_slice *wait = find(&built, "nanosleep", 0);
    assert_true(wait->is_wait && wait->exact);
    assert_null(wait->location);
    assert_ms(wait->begin_ns, -2000);
    assert_ms(wait->earliest_ns, -2000);
    assert_ms(wait->end_ns, -5);
    assert_ms(wait->latest_ns, -5);
    assert_string_equal(built.slices.slices[wait->parent - 1].name, "f");
    assert_int_equal(find(&built, "f", 0)->seen, 3); /* one call during all of it */
    finish(&built);
}

static void test_two_measured_waits_in_a_row_are_two_slices(void **state)
{
    report_fixture_wait(*state, 0, SBX_RECORD_FILE, SBX_OP_READ, -20, -15, 1, -1, "main@1;f@4");
    report_fixture_wait(*state, 0, SBX_RECORD_FILE, SBX_OP_READ, -15, -10, 1, -1, "main@1;f@4");
    struct built built = build(*state);
    assert_int_equal(count(&built, "read"), 2);
    assert_int_equal(count(&built, "f"), 1);
    finish(&built);
}

static void test_blocked_looks_at_one_wait_are_one_slice(void **state)
{
    for (int look = 0; look < 3; look++) {
        struct sbx_stall_record record = {.kind = SBX_RECORD_BLOCKED,
                                          .op = SBX_OP_SYSCALL,
                                          .amount = 202,
                                          .begin_ns = ms_to_ns(-600 + 200.0 * look),
                                          .end_ns = ms_to_ns(-600 + 200.0 * look),
                                          .cpu_ns = ms_to_ns(7),
                                          .peer = -1,
                                          .message = 1,
                                          .stack = report_fixture_stack(*state, "main@1;f@4;libc.so.6!futex@1")};
        report_fixture_record(*state, record);
    }
    struct built built = build(*state);
    assert_int_equal(built.slices.count, 3);
    const struct sbx_slice *wait = find(&built, "futex", 0);
    assert_true(wait->is_wait);
    assert_false(wait->exact);
    assert_int_equal(wait->seen, 3);
    assert_ms(wait->begin_ns, -600);
    assert_ms(wait->last_seen_ns, -200);
    finish(&built);
}

static void test_a_wait_inside_a_wait_is_its_child(void **state)
{
    report_fixture_wait(*state, 0, SBX_RECORD_POLL, SBX_OP_POLL, -80, -40, 1, -1, "main@1;f@4;libc.so.6!res_query@1");
    report_fixture_wait(*state, 0, SBX_RECORD_SOCKET, SBX_OP_GETADDRINFO, -100, -20, 1, -1, "main@1;f@4");
    struct built built = build(*state);
    const struct sbx_slice *inner = find(&built, "poll", 0);
    assert_string_equal(built.slices.slices[inner->parent - 1].name, "getaddrinfo");
    assert_true(inner->exact);
    assert_ms(inner->begin_ns, -80);
    assert_ms(inner->end_ns, -40);
    finish(&built);
}

static void test_the_wait_open_at_the_trigger_is_drawn_to_the_trigger_and_not_called_exact(void **state)
{
    report_fixture_sample(*state, 0, -701, 1, -1, "main@1;f@4");
    struct sbx_stall_record look = {.kind = SBX_RECORD_BLOCKED,
                                    .op = SBX_OP_NANOSLEEP,
                                    .cpu_ns = -1,
                                    .peer = -1,
                                    .message = 1,
                                    .stack = report_fixture_stack(*state, "main@1;f@4;libc.so.6!nanosleep@1")};
    report_fixture_record(*state, look);
    struct sbx_stall_thread *self = report_fixture_thread_at(*state, 0);
    self->call_kind = SBX_RECORD_SLEEP;
    self->call_op = SBX_OP_NANOSLEEP;
    self->call_ns = ms_to_ns(700);
    struct built built = build(*state);
    assert_int_equal(built.slices.count, 3);
    const struct sbx_slice *wait = find(&built, "nanosleep", 0);
    assert_true(wait->is_wait);
    assert_false(wait->exact);
    assert_ms(wait->begin_ns, -700);
    assert_ms(wait->end_ns, 0);
    assert_string_equal(built.slices.slices[wait->parent - 1].name, "f");
    finish(&built);
}

static void test_a_wait_without_a_known_stack_stands_alone(void **state)
{
    report_fixture_sample(*state, 0, -30, 1, -1, "main@1;f@2");
    report_fixture_wait(*state, 0, SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, -28, -8, 1, -1, "");
    report_fixture_sample(*state, 0, -6, 1, -1, "main@1;f@2");
    struct built built = build(*state);
    const struct sbx_slice *wait = find(&built, "pthread_mutex_lock", 0);
    assert_int_equal(wait->depth, 0);
    assert_int_equal(wait->parent, 0);
    assert_int_equal(count(&built, "main"), 2); /* it is not known whether main is one call across it */
    finish(&built);
}

static void test_idle_time_has_no_slices(void **state)
{
    report_fixture_idle(*state, 0, -100, -10);
    struct built built = build(*state);
    assert_int_equal(built.slices.count, 0);
    finish(&built);
}

static void test_recursion_nests(void **state)
{
    report_fixture_sample(*state, 0, -10, 1, -1, "main@1;r@2;r@2;r@2");
    report_fixture_sample(*state, 0, -9, 1, -1, "main@1;r@2;r@2");
    struct built built = build(*state);
    assert_int_equal(count(&built, "r"), 3);
    assert_int_equal(find(&built, "r", 2)->depth, 3);
    assert_int_equal(find(&built, "r", 1)->seen, 2);
    finish(&built);
}

static void test_no_more_slices_than_allowed_and_it_says_so(void **state)
{
    for (int i = 0; i < 20; i++) {
        report_fixture_sample(*state, 0, -100 + i, 1, -1, i % 2 ? "main@1;f@2;g@1" : "main@1;h@2;g@1");
    }
    for (size_t max = 0; max < 12; max++) {
        struct built built = build_at_most(*state, 0, max);
        assert_int_equal(built.slices.count, max);
        assert_true(built.slices.cut);
        finish(&built);
    }
    struct built built = build(*state);
    assert_int_equal(built.slices.count, 1 + 20 * 2);
    assert_false(built.slices.cut);
    finish(&built);
}

static void test_slices_are_valid_whatever_the_records_say(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 120);
        for (uint32_t thread = 0; thread < 3; thread++) {
            struct built built = build_at_most(fixture, thread, seed % 3 == 0 ? (size_t)seed : SIZE_MAX);
            finish(&built);
        }
        report_fixture_destroy(fixture);
    }
}

static void test_the_validity_check_finds_broken_slices(void **state)
{
    report_fixture_sample(*state, 0, -10, 1, -1, "main@1;f@2");
    report_fixture_sample(*state, 0, -8, 1, -1, "main@1;g@3");
    struct built built = build(*state);
    struct sbx_slice *slices = built.slices.slices, saved;
#define ASSERT_NOTICED(index, change)                  \
    saved = slices[index];                             \
    change;                                            \
    assert_false(sbx_slices_are_valid(&built.slices)); \
    slices[index] = saved
    ASSERT_NOTICED(1, slices[1].end_ns = slices[1].begin_ns - 1);
    ASSERT_NOTICED(1, slices[1].latest_ns = slices[1].end_ns - 1);
    ASSERT_NOTICED(1, slices[1].end_ns = slices[1].latest_ns = ms_to_ns(-7));
    ASSERT_NOTICED(2, slices[2].parent = 2);
    ASSERT_NOTICED(2, slices[2].depth = 0);
    ASSERT_NOTICED(2, (slices[2].begin_ns = slices[2].earliest_ns = ms_to_ns(-11)));
    assert_true(sbx_slices_are_valid(&built.slices));
    finish(&built);
}

int main(void)
{
#define SLICE_TEST(name) cmocka_unit_test_setup_teardown(name, report_fixture_begin, report_fixture_end)
    const struct CMUnitTest tests[] = {
        SLICE_TEST(test_shared_frames_go_on_and_changed_ones_end_between_the_samples),
        SLICE_TEST(test_two_calls_from_one_function_are_two_slices),
        SLICE_TEST(test_a_message_boundary_always_cuts),
        SLICE_TEST(test_nothing_is_drawn_over_a_gap_that_ends_in_another_stack),
        SLICE_TEST(test_a_measured_wait_is_an_exact_leaf_under_its_stack),
        SLICE_TEST(test_two_measured_waits_in_a_row_are_two_slices),
        SLICE_TEST(test_blocked_looks_at_one_wait_are_one_slice),
        SLICE_TEST(test_a_wait_inside_a_wait_is_its_child),
        SLICE_TEST(test_the_wait_open_at_the_trigger_is_drawn_to_the_trigger_and_not_called_exact),
        SLICE_TEST(test_a_wait_without_a_known_stack_stands_alone),
        SLICE_TEST(test_idle_time_has_no_slices),
        SLICE_TEST(test_recursion_nests),
        SLICE_TEST(test_no_more_slices_than_allowed_and_it_says_so),
        SLICE_TEST(test_slices_are_valid_whatever_the_records_say),
        SLICE_TEST(test_the_validity_check_finds_broken_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
