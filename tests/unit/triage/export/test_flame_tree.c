/* SPDX-License-Identifier: Apache-2.0 */
/* test_flame_tree.c - stacks are merged into a tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "flame_tree.h"
#include "random_report.h"

static void add_thread(struct sbx_flame_tree *tree, struct report_fixture *fixture, int64_t begin_ns, int64_t end_ns)
{
    struct sbx_thread_spans spans;
    const struct sbx_report *report = report_fixture_report(fixture);
    struct sbx_call_paths *paths = sbx_call_paths_create(report);
    assert_int_equal(sbx_flame_tree_init(tree), 0);
    assert_int_equal(sbx_thread_spans_init(&spans, report->stall, 0), 0);
    assert_int_equal(sbx_flame_tree_add_thread(tree, &spans, paths, begin_ns, end_ns), 0);
    sbx_thread_spans_finish(&spans);
    sbx_call_paths_destroy(paths);
}

static uint32_t find(const struct sbx_flame_tree *tree, const char *name)
{
    for (uint32_t node = 1; node < tree->count; node++) {
        if (strcmp(tree->nodes[node].name, name) == 0) {
            return node;
        }
    }
    return 0;
}

static struct report_fixture *one_thread(void)
{
    struct report_fixture *fixture = report_fixture_create();
    report_fixture_thread(fixture, "main", true);
    return fixture;
}

static void test_time_goes_to_the_leaf_and_its_callers(void **state)
{
    (void)state;
    struct report_fixture *fixture = one_thread();
    report_fixture_sample(fixture, 0, -20, 1, -1, "main@1;f@2;g@3");
    report_fixture_sample(fixture, 0, -18, 1, -1, "main@1;f@9;g@3"); /* another call of g: the same node */
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -15, -5, 1, -1, "main@1;f@2");
    report_fixture_idle(fixture, 0, -5, -1);
    struct sbx_flame_tree tree;
    add_thread(&tree, fixture, INT64_MIN, INT64_MAX);
    assert_int_equal(tree.count, 5);
    const struct sbx_flame_node *g = &tree.nodes[find(&tree, "g")], *f = &tree.nodes[find(&tree, "f")];
    const struct sbx_flame_node *wait = &tree.nodes[find(&tree, "usleep")];
    assert_int_equal(g->total_ns, ms_to_ns(5));
    assert_int_equal(g->self_ns, ms_to_ns(5));
    assert_int_equal(g->observations, 2);
    assert_int_equal(f->total_ns, ms_to_ns(15));
    assert_int_equal(f->self_ns, 0);
    assert_int_equal(f->by_state_ns[SBX_SPAN_ON_CPU], ms_to_ns(5));
    assert_int_equal(f->by_state_ns[SBX_SPAN_SLEEP], ms_to_ns(10));
    assert_int_equal(sbx_flame_node_state(f), SBX_SPAN_SLEEP);
    assert_int_equal(wait->total_ns, ms_to_ns(10));
    assert_int_equal(wait->depth, 3);
    assert_int_equal(tree.nodes[0].total_ns, ms_to_ns(15)); /* idle time does not count */
    sbx_flame_tree_finish(&tree);
    report_fixture_destroy(fixture);
}

static void test_only_the_window_counts(void **state)
{
    (void)state;
    struct report_fixture *fixture = one_thread();
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_USLEEP, -100, -40, 1, -1, "main;f");
    report_fixture_wait(fixture, 0, SBX_RECORD_SLEEP, SBX_OP_SLEEP, -10, 0, 1, -1, "main;f");
    struct sbx_flame_tree tree;
    add_thread(&tree, fixture, ms_to_ns(-60), ms_to_ns(-5));
    assert_int_equal(tree.nodes[find(&tree, "usleep")].total_ns, ms_to_ns(20));
    assert_int_equal(tree.nodes[find(&tree, "sleep")].total_ns, ms_to_ns(5));
    sbx_flame_tree_finish(&tree);
    report_fixture_destroy(fixture);
}

static void test_the_hottest_node_is_the_deepest_with_enough_time(void **state)
{
    (void)state;
    struct report_fixture *fixture = one_thread();
    for (int i = 0; i < 10; i++) { /* f has all the time, lua 9/10; its two leaves share that */
        report_fixture_sample(fixture, 0, -10 + i, 1, -1,
                              i == 9  ? "main;f;h"
                              : i % 2 ? "main;f;liblua!lua@1;liblua!a"
                                      : "main;f;liblua!lua@2;liblua!b");
    }
    report_fixture_message(fixture, 0, -10, 0, 1, 1);
    struct sbx_flame_tree tree;
    add_thread(&tree, fixture, INT64_MIN, INT64_MAX);
    uint32_t hot = sbx_flame_tree_hottest(&tree, 0.6);
    assert_string_equal(tree.nodes[hot].name, "lua");
    assert_string_equal(tree.nodes[sbx_flame_tree_hottest(&tree, 0.95)].name, "f");
    assert_string_equal(tree.nodes[sbx_flame_tree_application(&tree, hot)].name, "f");
    assert_int_equal(sbx_flame_tree_application(&tree, 0), 0);
    sbx_flame_tree_finish(&tree);
    report_fixture_destroy(fixture);
}

static void test_code_without_names_is_joined_by_module_when_asked(void **state)
{
    (void)state;
    struct report_fixture *fixture = one_thread();
    report_fixture_sample(fixture, 0, -20, 1, -1, "main;redis-server+0x10;g");
    report_fixture_sample(fixture, 0, -18, 1, -1, "main;redis-server+0x20;g");
    report_fixture_sample(fixture, 0, -16, 1, -1, "main;libz!libz+0x30");
    report_fixture_message(fixture, 0, -20, -14, 1, 1);
    for (int joins = 0; joins < 2; joins++) {
        struct sbx_flame_tree tree;
        struct sbx_thread_spans spans;
        const struct sbx_report *report = report_fixture_report(fixture);
        struct sbx_call_paths *paths = sbx_call_paths_create(report);
        assert_int_equal(sbx_flame_tree_init(&tree), 0);
        tree.joins_unnamed = joins == 1;
        assert_int_equal(sbx_thread_spans_init(&spans, report->stall, 0), 0);
        assert_int_equal(sbx_flame_tree_add_thread(&tree, &spans, paths, INT64_MIN, INT64_MAX), 0);
        assert_int_equal(tree.count, 1 + (joins ? 4 : 6)); /* main, code and g, libz; or each address by itself */
        const struct sbx_flame_node *caller = &tree.nodes[tree.nodes[find(&tree, "g")].parent];
        assert_int_equal(caller->total_ns, ms_to_ns(joins ? 4 : 2));
        char label[64];
        sbx_flame_node_label(caller, label, sizeof label);
        assert_string_equal(label, joins ? "[redis-server]" : "redis-server+0x10");
        uint32_t unnamed = (uint32_t)(caller - tree.nodes);
        assert_string_equal(tree.nodes[sbx_flame_tree_named(&tree, unnamed)].name, "main");
        assert_string_equal(tree.nodes[sbx_flame_tree_application(&tree, unnamed)].name, "main");
        sbx_thread_spans_finish(&spans);
        sbx_call_paths_destroy(paths);
        sbx_flame_tree_finish(&tree);
    }
    report_fixture_destroy(fixture);
}

static void test_children_are_sorted_as_asked(void **state)
{
    (void)state;
    struct report_fixture *fixture = one_thread();
    report_fixture_sample(fixture, 0, -20, 1, -1, "main;c");
    report_fixture_sample(fixture, 0, -18, 1, -1, "main;a");
    report_fixture_sample(fixture, 0, -10, 1, -1, "main;b");
    report_fixture_message(fixture, 0, -20, -9, 1, 1);
    struct sbx_flame_tree tree;
    add_thread(&tree, fixture, INT64_MIN, INT64_MAX);
    static const char *const expected[] = {"abc", "acb"};
    for (enum sbx_flame_order order = SBX_FLAME_BY_NAME; order <= SBX_FLAME_BY_TIME; order++) {
        assert_int_equal(sbx_flame_tree_sort(&tree, order), 0);
        char names[8] = "";
        for (uint32_t node = tree.nodes[find(&tree, "main")].first_child; node != 0;
             node = tree.nodes[node].next_sibling) {
            strcat(names, tree.nodes[node].name);
        }
        assert_string_equal(names, expected[order]);
    }
    sbx_flame_tree_finish(&tree);
    report_fixture_destroy(fixture);
}

static void test_a_full_tree_keeps_all_time_and_says_that_it_was_cut(void **state)
{
    (void)state;
    struct sbx_flame_tree tree;
    assert_int_equal(sbx_flame_tree_init(&tree), 0);
    static char names[SBX_FLAME_NODES_MAX + 100][8];
    for (unsigned i = 0; i < SBX_FLAME_NODES_MAX + 100; i++) {
        snprintf(names[i], sizeof names[i], "%x", i);
        struct sbx_location location = {.function = names[i], .module = "m"};
        static struct sbx_location kept[SBX_FLAME_NODES_MAX + 100];
        kept[i] = location;
        struct sbx_path_frame frame = {.location = &kept[i]};
        struct sbx_piece piece = {.path = &frame, .path_count = 1, .state = SBX_SPAN_ON_CPU};
        assert_int_equal(sbx_flame_tree_add(&tree, &piece, 10), 0);
    }
    assert_int_equal(tree.count, SBX_FLAME_NODES_MAX);
    assert_true(tree.cut);
    assert_int_equal(tree.nodes[0].total_ns, 10 * (SBX_FLAME_NODES_MAX + 100));
    assert_int_equal(tree.nodes[0].self_ns, 10 * 101); /* stacks without room; the root is a node too */
    struct sbx_location known = {.function = names[0], .module = "m"};
    struct sbx_path_frame frame = {.location = &known};
    struct sbx_piece piece = {.path = &frame, .path_count = 1, .state = SBX_SPAN_ON_CPU};
    assert_int_equal(sbx_flame_tree_add(&tree, &piece, 10), 0);
    assert_int_equal(tree.nodes[1].self_ns, 20); /* a node that exists still gets its time */
    sbx_flame_tree_finish(&tree);
}

static void test_parents_have_the_time_of_their_children_and_their_own(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct report_fixture *fixture = random_report_from_seed(seed, 100);
        struct sbx_flame_tree tree;
        add_thread(&tree, fixture, INT64_MIN, INT64_MAX);
        for (uint32_t node = 0; node < tree.count; node++) {
            int64_t sum_ns = tree.nodes[node].self_ns, by_state_ns = 0;
            for (uint32_t child = tree.nodes[node].first_child; child != 0; child = tree.nodes[child].next_sibling) {
                assert_int_equal(tree.nodes[child].parent, node);
                sum_ns += tree.nodes[child].total_ns;
            }
            for (unsigned kind = 0; kind < SBX_SPAN_STATES; kind++) {
                by_state_ns += tree.nodes[node].by_state_ns[kind];
            }
            assert_int_equal(sum_ns, tree.nodes[node].total_ns);
            assert_int_equal(by_state_ns, tree.nodes[node].total_ns);
        }
        sbx_flame_tree_finish(&tree);
        report_fixture_destroy(fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_goes_to_the_leaf_and_its_callers),
        cmocka_unit_test(test_only_the_window_counts),
        cmocka_unit_test(test_the_hottest_node_is_the_deepest_with_enough_time),
        cmocka_unit_test(test_code_without_names_is_joined_by_module_when_asked),
        cmocka_unit_test(test_children_are_sorted_as_asked),
        cmocka_unit_test(test_a_full_tree_keeps_all_time_and_says_that_it_was_cut),
        cmocka_unit_test(test_parents_have_the_time_of_their_children_and_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
